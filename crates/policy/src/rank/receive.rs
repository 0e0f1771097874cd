//! How a rank handles incoming messages.

use super::message::{Message, ProtocolError, Store};
use super::{Out, Phase, Rank, parent};
use crate::balancer::Outcome;
use crate::random::Source;
use crate::view::View;

impl<V: View> Rank<V> {
    /// Handles a message from rank `from`, and puts the answers into `out`.
    ///
    /// # Errors
    ///
    /// If the job cannot go on.
    pub fn receive<S: Store>(
        &mut self,
        now: u64,
        from: usize,
        message: Message<S::Work>,
        store: &mut S,
        out: &mut Out<S::Work>,
    ) -> Result<(), ProtocolError> {
        self.begin(now, out);
        self.heartbeat.note_message(now, from);
        let unexpected = Err(ProtocolError::Unexpected {
            rank: from,
            message: message.name(),
        });
        let (up, down) = (
            parent(self.me) == Some(from),
            self.children().contains(&from),
        );
        if from == self.me || from >= self.view.count() || self.phase == Phase::Left {
            return unexpected;
        }
        match message {
            Message::Hello { build } if up || down => return self.greet(from, build, out),
            Message::Beat if up || down => {}
            Message::Steal { lifeline } => self.answer(from, lifeline, store, out),
            Message::Work { tasks, lifeline } if self.may_bring(from, lifeline) => {
                self.take(from, tasks, lifeline, store);
            }
            Message::Nothing if self.awaits(from) => self.fail(now, from),
            Message::Probe => self.answer_probe(from, store, out),
            Message::Load(load) if self.probes(from) => self.receive_load(now, load, store, out),
            Message::Token(token) if down => {
                if !self.safra.gather(token) {
                    return unexpected;
                }
            }
            Message::Again if up && self.safra.begin_wave() => {
                self.to_children(out, || Message::Again)
            }
            Message::Done if up && self.phase == Phase::Working => self.end(out),
            Message::Bye if down && self.phase == Phase::Ending => {
                self.byes += 1;
                self.heartbeat.stop_watching(from);
            }
            Message::Leave if up && self.phase == Phase::Closing => self.leave(out),
            _ => return unexpected,
        }
        Ok(())
    }

    /// Starts the rank at its first message or step: starts the heartbeats and greets the parent.
    pub(super) fn begin<W>(&mut self, now: u64, out: &mut Out<W>) {
        if self.phase > Phase::Fresh {
            return;
        }
        self.heartbeat.begin(now);
        self.phase = match parent(self.me) {
            Some(parent) => {
                out.push((parent, Message::Hello { build: self.build }));
                Phase::Greeting
            }
            None => Phase::Working,
        };
    }

    fn greet<W>(&mut self, from: usize, build: u64, out: &mut Out<W>) -> Result<(), ProtocolError> {
        let hello = || Message::Hello { build: self.build };
        let from_child = parent(self.me) != Some(from);
        if build != self.build {
            if from_child {
                // Tells the child our build, so that it fails too.
                out.push((from, hello()));
            }
            return Err(ProtocolError::OtherBuild {
                rank: from,
                theirs: build,
                ours: self.build,
            });
        }
        match (from_child, self.phase) {
            (true, Phase::Greeting) => self.unanswered.push(from),
            (true, _) => out.push((from, hello())),
            (false, Phase::Greeting) => {
                out.extend(self.unanswered.drain(..).map(|child| (child, hello())));
                self.phase = Phase::Working;
            }
            (false, _) => {
                let (rank, message) = (from, "Hello");
                return Err(ProtocolError::Unexpected { rank, message });
            }
        }
        Ok(())
    }

    /// Answers a request for work, or remembers the thief if it asks on a lifeline.
    fn answer<S: Store>(
        &mut self,
        thief: usize,
        lifeline: bool,
        store: &mut S,
        out: &mut Out<S::Work>,
    ) {
        if self.give(thief, 1, false, store, out) {
            self.waiters.retain(|&rank| rank != thief);
            return;
        }
        out.push((thief, Message::Nothing));
        if lifeline && !self.is_done() && !self.waiters.contains(&thief) {
            self.waiters.push_back(thief);
        }
    }

    /// Gives a rank its share of the surplus, which is divided among `requests` ranks and this one.
    /// Returns `false` if it gave nothing.
    pub(super) fn give<S: Store>(
        &mut self,
        to: usize,
        requests: usize,
        lifeline: bool,
        store: &mut S,
        out: &mut Out<S::Work>,
    ) -> bool {
        if self.phase != Phase::Working {
            return false;
        }
        let share = self.protocol.share(store.surplus(), requests);
        let Some(tasks) = (share > 0).then(|| store.give(share)).flatten() else {
            return false;
        };
        self.counts.gifts += 1;
        self.counts.lifeline_gifts += u64::from(lifeline);
        self.counts.given += S::size(&tasks) as u64;
        self.memory.stolen_by(to);
        self.safra.sent();
        out.push((to, Message::Work { tasks, lifeline }));
        true
    }

    fn awaits(&self, victim: usize) -> bool {
        self.request.is_some_and(|request| request.victim == victim)
    }

    /// Returns `true` if the protocol allows `from` to send work to this rank.
    fn may_bring(&self, from: usize, lifeline: bool) -> bool {
        let asked = if lifeline {
            self.lifelines.contains(&from) || self.protocol.sending.is_some()
        } else {
            self.awaits(from)
        };
        asked && self.phase == Phase::Working
    }

    fn take<S: Store>(&mut self, from: usize, tasks: S::Work, lifeline: bool, store: &mut S) {
        self.safra.received();
        self.counts.taken += S::size(&tasks) as u64;
        if !lifeline {
            self.request = None;
            self.counts.successes += 1;
            self.memory.tried(from, Outcome::Success);
        }
        self.failures = 0;
        store.take(tasks);
    }

    /// Notes that a request has failed.
    fn fail(&mut self, now: u64, victim: usize) {
        self.request = None;
        self.memory.tried(victim, Outcome::Empty);
        self.back_off(now);
    }

    pub(super) fn back_off(&mut self, now: u64) {
        let (least, most) = self.protocol.backoff;
        let doublings = self.failures.min(32);
        self.failures = self.failures.saturating_add(1);
        if self.protocol.lifelines.is_none() {
            let longest = least.saturating_mul(1 << doublings).min(most.max(least));
            // Randomised, so that the ranks do not all ask at the same time.
            let spread = self.random.below(longest as usize / 2 + 1) as u64;
            self.next_try = now.saturating_add(longest - spread);
        }
    }
}
