//! Heartbeats: detects ranks that have fallen silent.

use super::message::ProtocolError;

/// A neighbour in the tree.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    rank: usize,
    heard: u64,
    /// Set when the neighbour has sent its last message and may be silent.
    released: bool,
}

/// The liveness of a rank's neighbours in the tree. In a job of several ranks every rank has a
/// neighbour, so every rank is watched.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    neighbours: Vec<Neighbour>,
    beat: u64,
    patience: u64,
    /// Time at which the rank itself was last known to be awake.
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
            // At least four beats fit into the patience, so that one late beat does not end a job.
            beat: beat.min(patience / 4).max(1),
            patience,
            awake: 0,
            next_beat: 0,
        }
    }

    /// Starts to watch: no neighbour is accused of silence before this time.
    pub(super) fn begin(&mut self, now: u64) {
        self.awake = now;
        self.next_beat = now.saturating_add(self.beat);
        for neighbour in &mut self.neighbours {
            neighbour.heard = now;
        }
    }

    /// Notes that a message has come from a rank.
    pub(super) fn note_message(&mut self, now: u64, from: usize) {
        for neighbour in &mut self.neighbours {
            if neighbour.rank == from {
                neighbour.heard = neighbour.heard.max(now);
            }
        }
    }

    /// Notes that a neighbour has sent its last message.
    pub(super) fn stop_watching(&mut self, rank: usize) {
        for neighbour in &mut self.neighbours {
            neighbour.released |= neighbour.rank == rank;
        }
    }

    /// Notes that the rank is awake. A rank that did not run itself, like a stopped process, has
    /// not yet read what came meanwhile, and must not accuse others. Returns how long the rank did
    /// not run, if that was half of the patience or more.
    pub(super) fn note_awake(&mut self, now: u64) -> Option<u64> {
        let slept = now.saturating_sub(std::mem::replace(&mut self.awake, now));
        if slept < self.patience / 2 {
            return None;
        }
        for neighbour in &mut self.neighbours {
            neighbour.heard = neighbour.heard.saturating_add(slept).min(now);
        }
        Some(slept)
    }

    /// Returns the trouble if a watched neighbour has been silent for too long.
    pub(super) fn silent(&self, now: u64) -> Option<ProtocolError> {
        let waited = |neighbour: &&Neighbour| now.saturating_sub(neighbour.heard);
        let watched = self.neighbours.iter().filter(|other| !other.released);
        let longest = watched.max_by_key(waited)?;
        self.overdue(longest.rank, longest.heard, now)
    }

    /// Returns the trouble if a rank has been silent for too long since `since`.
    pub(super) fn overdue(&self, rank: usize, since: u64, now: u64) -> Option<ProtocolError> {
        let for_ns = now.saturating_sub(since);
        (for_ns >= self.patience).then_some(ProtocolError::Silent { rank, for_ns })
    }

    /// Returns `true` if a heartbeat is due, and schedules the next one.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn heartbeat() -> Heartbeat {
        let mut heartbeat = Heartbeat::new([4, 5, 6].into_iter(), 20, 100);
        heartbeat.begin(1000);
        heartbeat
    }

    #[test]
    fn beats_come_at_their_times() {
        let mut heartbeat = heartbeat();
        assert_eq!(heartbeat.next_beat(), 1020);
        assert!(!heartbeat.beats(1019));
        assert!(heartbeat.beats(1020));
        assert_eq!(heartbeat.next_beat(), 1040);
        assert!(heartbeat.beats(1090) && !heartbeat.beats(1109));
        assert_eq!(heartbeat.next_beat(), 1110);
        // At least four beats fit into the patience, and a beat takes some time.
        for (beat, patience, expected) in [(90, 100, 25), (0, 100, 1), (5, 0, 1)] {
            let mut other = Heartbeat::new([1].into_iter(), beat, patience);
            other.begin(0);
            assert_eq!(other.next_beat(), expected);
        }
    }

    #[test]
    fn the_neighbour_that_was_silent_for_longest_is_named() {
        let mut heartbeat = heartbeat();
        let silent = |rank, for_ns| Some(ProtocolError::Silent { rank, for_ns });
        heartbeat.note_message(1010, 4);
        heartbeat.note_message(1030, 6);
        assert_eq!(heartbeat.silent(1099), None);
        assert_eq!(heartbeat.silent(1100), silent(5, 100));
        // A neighbour that has left is not watched any more; the others are.
        heartbeat.stop_watching(5);
        assert_eq!(heartbeat.silent(1109), None);
        assert_eq!(heartbeat.silent(1120), silent(4, 110));
        heartbeat.stop_watching(4);
        assert_eq!(heartbeat.silent(1129), None);
        assert_eq!(heartbeat.silent(1130), silent(6, 100));
        heartbeat.note_message(1020, 6);
        assert_eq!(heartbeat.silent(1130), silent(6, 100), "an old message");
        heartbeat.stop_watching(6);
        assert_eq!(heartbeat.silent(9999), None);
    }

    #[test]
    fn half_of_the_patience_asleep_delays_the_accusation() {
        let mut heartbeat = heartbeat();
        assert_eq!(heartbeat.note_awake(1049), None);
        assert_eq!(heartbeat.note_awake(1099), Some(50));
        assert_eq!(heartbeat.silent(1149), None);
        let expected = ProtocolError::Silent {
            rank: 6,
            for_ns: 100,
        };
        assert_eq!(heartbeat.silent(1150), Some(expected));
    }
}
