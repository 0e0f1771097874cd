//! Signs of life: who is heard of, and who has fallen silent.

use super::message::Trouble;

/// A neighbour in the tree.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    rank: usize,
    heard: u64,
    /// It has said its last word, and need not be heard of again.
    released: bool,
}

/// What a rank knows of the life of its neighbours in the tree. Every rank has a neighbour, so
/// every rank is watched.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    neighbours: Vec<Neighbour>,
    beat: u64,
    patience: u64,
    /// When the rank itself was last awake.
    awake: u64,
    next_beat: u64,
}

impl Heartbeat {
    pub(super) fn new(
        neighbours: impl Iterator<Item = usize>,
        beat: u64,
        patience: u64,
    ) -> Heartbeat {
        let neighbour = |rank| Neighbour {
            rank,
            heard: 0,
            released: false,
        };
        Heartbeat {
            neighbours: neighbours.map(neighbour).collect(),
            // A single beat that comes late is no reason to end a job.
            beat: beat.min(patience / 4).max(1),
            patience,
            awake: 0,
            next_beat: 0,
        }
    }

    /// No rank can be blamed for what was before.
    pub(super) fn begin(&mut self, now: u64) {
        self.awake = now;
        self.next_beat = now.saturating_add(self.beat);
        for neighbour in &mut self.neighbours {
            neighbour.heard = now;
        }
    }

    /// A message has come.
    pub(super) fn heard(&mut self, now: u64, from: usize) {
        for neighbour in &mut self.neighbours {
            if neighbour.rank == from {
                neighbour.heard = neighbour.heard.max(now);
            }
        }
    }

    /// A neighbour has said its last word.
    pub(super) fn release(&mut self, rank: usize) {
        for neighbour in &mut self.neighbours {
            neighbour.released |= neighbour.rank == rank;
        }
    }

    /// Notes that the rank is awake. A rank that slept itself, as a stopped process does, and has
    /// not yet read what came meanwhile, must not accuse others. Returns for how long it was
    /// asleep, if that was long.
    pub(super) fn wake(&mut self, now: u64) -> Option<u64> {
        let slept = now.saturating_sub(std::mem::replace(&mut self.awake, now));
        if slept < self.patience / 2 {
            return None;
        }
        for neighbour in &mut self.neighbours {
            neighbour.heard = neighbour.heard.saturating_add(slept).min(now);
        }
        Some(slept)
    }

    /// Returns a rank that has been silent for too long, if there is one.
    pub(super) fn silent(&self, now: u64) -> Option<Trouble> {
        let waited = |neighbour: &&Neighbour| now.saturating_sub(neighbour.heard);
        let watched = self.neighbours.iter().filter(|other| !other.released);
        let longest = watched.max_by_key(waited)?;
        self.overdue(longest.rank, longest.heard, now)
    }

    /// Returns the trouble if a rank has been silent for too long since some time.
    pub(super) fn overdue(&self, rank: usize, since: u64, now: u64) -> Option<Trouble> {
        let for_ns = now.saturating_sub(since);
        (for_ns >= self.patience).then_some(Trouble::Silent { rank, for_ns })
    }

    /// Returns `true` if it is time for a sign of life.
    pub(super) fn beats(&mut self, now: u64) -> bool {
        let due = now >= self.next_beat;
        if due {
            self.next_beat = now.saturating_add(self.beat);
        }
        due
    }

    pub(super) fn next_beat(&self) -> u64 {
        self.next_beat
    }
}
