//! The traits of all strategies, implemented for the queue of a worker that deals.

use locksley_machine::clock::Instant;
use locksley_queue::Steal;

use super::{DealingQueue, DealingStealer, PATIENCE, RECALL};
use crate::QueuedJob;
use crate::{GroupId, Job};
use crate::{LocalQueue, MAX_BATCH, StealHandle, StolenBatch, TransferCounts};

/// The operations that only a queue of the strategy `dealing` has.
pub trait DealtJobs<J: Job> {
    /// Takes a spawned job of this group that was dealt to this queue.
    fn pop_of(&mut self, group: GroupId) -> Option<QueuedJob<J>>;

    /// Takes back a job of this group that was dealt to another worker and has not begun. The
    /// second result is `true` if any jobs were moved.
    fn take_back(&mut self, group: GroupId) -> (Option<QueuedJob<J>>, bool) {
        let _ = group;
        (None, false)
    }

    /// Takes the ghosts among the jobs that were dealt to other queues, for the caller to free.
    fn take_ghosts(&mut self) -> Vec<J> {
        Vec::new()
    }

    /// Returns `true` if there are jobs that only this worker may take.
    fn has_received(&self) -> bool {
        false
    }

    /// Returns `true` if the last search saw work that is better left to another worker.
    fn was_refused(&self) -> bool {
        false
    }

    /// Takes the index of the worker to which a job was dealt last, if any was since the last call.
    fn dealt_to(&mut self) -> Option<usize>;

    /// Returns `true` if all dealt jobs have been executed.
    fn is_settled(&self) -> bool;
}

/// The operations of this strategy alone: see [`DealtJobs`].
impl<J: Job> dyn LocalQueue<J> {
    /// See [`DealtJobs::pop_of`].
    pub fn pop_of(&mut self, group: GroupId) -> Option<QueuedJob<J>> {
        self.as_dealing()?.pop_of(group)
    }

    /// See [`DealtJobs::take_back`].
    pub fn take_back(&mut self, group: GroupId) -> (Option<QueuedJob<J>>, bool) {
        self.as_dealing()
            .map_or((None, false), |queue| queue.take_back(group))
    }

    /// See [`DealtJobs::take_ghosts`].
    pub fn take_ghosts(&mut self) -> Vec<J> {
        self.as_dealing()
            .map(|queue| queue.take_ghosts())
            .unwrap_or_default()
    }

    /// See [`DealtJobs::has_received`].
    pub fn has_received(&mut self) -> bool {
        self.as_dealing().is_some_and(|queue| queue.has_received())
    }

    /// See [`DealtJobs::was_refused`].
    pub fn was_refused(&mut self) -> bool {
        self.as_dealing().is_some_and(|queue| queue.was_refused())
    }

    /// See [`DealtJobs::dealt_to`].
    pub fn dealt_to(&mut self) -> Option<usize> {
        self.as_dealing()?.dealt_to()
    }

    /// See [`DealtJobs::is_settled`]. Returns `true` under other strategies.
    pub fn is_settled(&mut self) -> bool {
        self.as_dealing().is_none_or(|queue| queue.is_settled())
    }
}

impl<J: Job> LocalQueue<J> for DealingQueue<J> {
    #[inline]
    fn push(&mut self, job: J) -> Result<(), J> {
        // A job that was dealt before comes from the stack, and goes back there.
        if job.is_dealt() {
            self.keep(job)
        } else {
            self.deal(job, None)
        }
        if self.state.is_asked() && self.state.stacked() > 1 {
            self.answer();
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<J> {
        let state = &*self.state;
        self.inbox.with(|inbox| inbox.pop(state))
    }

    fn pop_received(&mut self) -> Option<QueuedJob<J>> {
        self.collect()
    }

    fn push_near(&mut self, job: J, near: usize) -> Result<bool, J> {
        self.deal(job, Some(near));
        Ok(false)
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle<J>) -> Option<Steal<StolenBatch<J>>> {
        let victim = victim.as_dealing()?;
        Some(if self.dealer.is_some() && !self.fetches {
            self.ask(victim)
        } else {
            self.fetch(victim)
        })
    }

    fn skips_search(&mut self) -> bool {
        // The time is measured from the first search that sees work.
        let now = (self.waits || self.refused).then(Instant::now);
        self.waits_since = now.map(|now| self.waits_since.unwrap_or(now));
        let waited = now.zip(self.waits_since).map(|(now, since)| now - since);
        self.fetches = waited.is_some_and(|waited| waited >= PATIENCE);
        self.asked = false;
        self.waits = false;
        self.refused = false;
        if self.dealer.is_some() {
            self.state.set_idle(true);
        }
        false
    }

    fn transfers(&self) -> TransferCounts {
        self.transfers
    }

    fn set_open(&mut self, open: bool) -> bool {
        // A worker that is about to sleep, and sees the job that it has asked for, wakes again, and
        // its waiting time continues.
        if !open {
            if self.waits {
                self.state.set_idle(false);
            } else {
                self.has_found();
            }
        }
        open
    }

    fn executed(&mut self, near: bool) {
        self.transfers.hits += u64::from(near);
        self.matrix.count_executed(self.me);
    }

    fn as_dealing(&mut self) -> Option<&mut dyn DealtJobs<J>> {
        Some(self)
    }
}

impl<J: Job> DealtJobs<J> for DealingQueue<J> {
    fn was_refused(&self) -> bool {
        self.refused
    }

    fn dealt_to(&mut self) -> Option<usize> {
        self.dealt_to.take()
    }

    fn pop_of(&mut self, group: GroupId) -> Option<QueuedJob<J>> {
        self.dealer.as_ref()?;
        let (me, matrix) = (self.me, &*self.matrix);
        let (job, from) = self.inbox.with(|inbox| {
            let mut all = 0..matrix.members();
            all.find_map(|from| Some((inbox.consume_of(matrix, me, from, group)?, from)))
        })?;
        Some(self.collected(job, from))
    }

    fn take_back(&mut self, group: GroupId) -> (Option<QueuedJob<J>>, bool) {
        if self.dealer.is_none() {
            return (None, false);
        }
        let (me, members) = (self.me, self.matrix.members());
        let mut others = (0..members).filter(|&other| other != me);
        if !others
            .clone()
            .any(|other| self.matrix.pending(me, other) > 0)
        {
            return (None, false);
        }
        self.recalls += 1;
        if self.recalls < RECALL {
            return (None, false);
        }
        self.recalls = 0;
        let mut any = false;
        let found = others.find_map(|other| {
            let (found, moved) = self.take_back_from(other, group);
            any |= moved;
            found
        });
        (found.map(|job| QueuedJob { job, owner: me }), any)
    }

    fn take_ghosts(&mut self) -> Vec<J> {
        if self.dealer.is_none() {
            return Vec::new();
        }
        let (me, members) = (self.me, self.matrix.members());
        let mut ghosts = Vec::new();
        for other in (0..members).filter(|&other| other != me) {
            let matrix = &*self.matrix;
            let most = matrix.pending(me, other);
            let dealt = matrix.state(other).and_then(|state| {
                let inbox = &state.inbox;
                inbox.try_with(|inbox| inbox.give_back(matrix, [other, me], most, |_| true))
            });
            for job in dealt.unwrap_or_default() {
                // SAFETY: the job has not been executed, and this worker has taken it.
                if unsafe { job.is_ghost() } {
                    ghosts.push(job);
                } else {
                    self.put_back(other, job);
                }
            }
        }
        ghosts
    }

    fn is_settled(&self) -> bool {
        self.matrix.is_settled()
    }
}

impl<J: Job> StealHandle<J> for DealingStealer<J> {
    fn steal(&self) -> Steal<J> {
        let state = &*self.state;
        if state.stacked() == 0 {
            return Steal::Empty;
        }
        match state
            .inbox
            .try_with(|inbox| inbox.pop_oldest(state, |_| true))
        {
            Some(Some(job)) => Steal::Success(job.anywhere()),
            Some(None) => Steal::Empty,
            None => Steal::Retry,
        }
    }

    fn drain(&self, most: usize) -> Vec<J> {
        let (state, matrix) = (&*self.state, &*self.matrix);
        let most = self.len().min(most);
        let mut taken = Vec::new();
        while taken.len() < most {
            // The owner waits for the transfer of at most `MAX_BATCH` jobs.
            let room = MAX_BATCH.min(most - taken.len());
            let some = state
                .inbox
                .try_with(|inbox| inbox.give_any(matrix, self.index, room, state));
            match some {
                Some(some) if !some.is_empty() => taken.extend(some),
                _ => break,
            }
        }
        taken.into_iter().map(J::anywhere).collect()
    }

    fn as_dealing(&self) -> Option<&DealingStealer<J>> {
        Some(self)
    }

    fn len(&self) -> usize {
        self.state.stacked() + self.matrix.pending_for(self.index)
    }
}
