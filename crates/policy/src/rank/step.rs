//! What a rank does without having received a message.

use super::lifelines::Lifelines;
use super::message::{Message, Next, ProtocolError, Store};
use super::sending::Probing;
use super::{Out, Phase, Rank, Request, parent};
use crate::balancer::Actor;
use crate::view::View;

impl<V: View> Rank<V> {
    /// Does what is due, and returns when to call this next. To be called after messages were
    /// received, when the store has become passive or hungry, when it has surplus and a rank is
    /// [remembered](Rank::waiters), and at the time that the last step returned.
    ///
    /// # Errors
    ///
    /// If the job cannot go on.
    pub fn step<S: Store>(
        &mut self,
        now: u64,
        store: &mut S,
        out: &mut Out<S::Work>,
    ) -> Result<Next, ProtocolError> {
        if self.phase == Phase::Left {
            return Ok(Next::Done);
        }
        self.begin(now, out);
        self.check_neighbours(now, out)?;
        if self.phase == Phase::Working {
            self.serve(store, out);
            self.send(now, store, out);
            if self.seeks(store) {
                self.seek(now, out);
            }
            if store.is_passive() {
                self.pass(out);
            }
        }
        if self.phase == Phase::Ending {
            self.close(out);
        }
        if self.phase == Phase::Left {
            return Ok(Next::Done);
        }
        let working = self.phase == Phase::Working;
        let seeks = working && self.seeks(store) && !self.rests();
        let sends = working && self.gives_surplus() && self.protocol.share(store.surplus(), 1) > 0;
        let wake = self.heartbeat.next_beat();
        Ok(Next::At(if seeks || sends {
            wake.min(self.next_try.max(now))
        } else {
            wake
        }))
    }

    /// Returns `true` if the rank should ask another one for work.
    fn seeks<S: Store>(&self, store: &S) -> bool {
        self.protocol.sending.is_none() && self.request.is_none() && store.is_hungry()
    }

    /// Checks that the neighbours are alive, and sends heartbeats.
    fn check_neighbours<W>(&mut self, now: u64, out: &mut Out<W>) -> Result<(), ProtocolError> {
        if let Some(slept) = self.heartbeat.note_awake(now) {
            let later = |since: &mut u64| *since = since.saturating_add(slept).min(now);
            self.request
                .iter_mut()
                .for_each(|one| later(&mut one.since));
            self.probing
                .iter_mut()
                .for_each(|one| later(&mut one.since));
        }
        let mut trouble = self.heartbeat.silent(now);
        if let Some(Probing { rank, since, .. }) = self.probing {
            trouble = self.heartbeat.overdue(rank, since, now).or(trouble);
        }
        if let Some(Request { victim, since }) = self.request {
            trouble = self.heartbeat.overdue(victim, since, now).or(trouble);
        }
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        if self.heartbeat.beats(now) {
            // A rank's parent does not watch it after its Bye.
            let up = parent(self.me).filter(|_| self.phase < Phase::Closing);
            let before = out.len();
            out.extend(up.map(|parent| (parent, Message::Beat)));
            self.to_children(out, || Message::Beat);
            self.counts.beats += (out.len() - before) as u64;
        }
        Ok(())
    }

    /// Gives remembered ranks their shares.
    fn serve<S: Store>(&mut self, store: &mut S, out: &mut Out<S::Work>) {
        while let Some(&rank) = self.waiters.front() {
            if !self.give(rank, self.waiters.len(), true, store, out) {
                return;
            }
            self.waiters.pop_front();
        }
    }

    /// Returns `true` if the rank has asked all of its lifelines, and waits for one of them to send
    /// work.
    fn rests(&self) -> bool {
        let lifelines = self.protocol.lifelines;
        lifelines.is_some_and(|lines| {
            self.next_lifeline(lines)
                .is_some_and(|line| line >= self.lifelines.len())
        })
    }

    /// Returns the index of the next lifeline to ask, if it is time for lifelines.
    fn next_lifeline(&self, lifelines: Lifelines) -> Option<usize> {
        self.failures
            .checked_sub(lifelines.w)
            .map(|line| line as usize)
    }

    /// Asks a rank for work.
    fn seek<W>(&mut self, now: u64, out: &mut Out<W>) {
        if now < self.next_try {
            return;
        }
        let line = self
            .protocol
            .lifelines
            .and_then(|lines| self.next_lifeline(lines));
        let victim = match line {
            Some(line) if line >= self.lifelines.len() => return,
            Some(line) => Some(self.lifelines[line]),
            None => {
                let (me, memory) = (self.me, self.memory);
                let actor = Actor { me, memory };
                self.protocol
                    .victims
                    .choose(actor, &self.view, &mut self.random)
            }
        };
        let Some(victim) = victim else {
            return self.back_off(now);
        };
        self.request = Some(Request { victim, since: now });
        self.counts.requests += 1;
        let lifeline = line.is_some();
        out.push((victim, Message::Steal { lifeline }));
    }

    /// Passes on the token of this rank's subtree, if it is due. The store is passive.
    fn pass<W>(&mut self, out: &mut Out<W>) {
        let Some(token) = self.safra.take_token() else {
            return;
        };
        self.counts.tokens += 1;
        match parent(self.me) {
            Some(parent) => out.push((parent, Message::Token(token))),
            None if token.is_clean() => self.end(out),
            None => {
                self.safra.begin_wave();
                self.to_children(out, || Message::Again);
            }
        }
    }

    /// Starts the end phase: all work is done.
    pub(super) fn end<W>(&mut self, out: &mut Out<W>) {
        self.phase = Phase::Ending;
        self.waiters.clear();
        self.to_children(out, || Message::Done);
    }

    /// Says Bye, if there is no answer and no child to wait for.
    fn close<W>(&mut self, out: &mut Out<W>) {
        if self.request.is_some() || self.probing.is_some() || self.byes < self.children().len() {
            return;
        }
        match parent(self.me) {
            Some(parent) => {
                out.push((parent, Message::Bye));
                self.phase = Phase::Closing;
            }
            None => self.leave(out),
        }
    }

    pub(super) fn leave<W>(&mut self, out: &mut Out<W>) {
        self.phase = Phase::Left;
        self.to_children(out, || Message::Leave);
    }
}
