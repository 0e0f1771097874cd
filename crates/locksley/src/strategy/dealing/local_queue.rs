//! What the worker and its thieves call: the queue of a worker that deals, by the traits of all
//! strategies.

use locksley_queue::Steal;

use super::{DealingQueue, DealingStealer, PATIENCE, RECALL};
use crate::scheduler::injector::QueuedJob;
use crate::strategy::local_queue::{LocalQueue, StealHandle, StolenBatch, TransferCounts};
use crate::task::job::{GroupId, JobRef};

impl LocalQueue for DealingQueue {
    #[inline]
    fn push(&mut self, job: JobRef) -> Result<(), JobRef> {
        // What was dealt comes from the stack, and goes back there.
        if job.is_spawned() && !job.is_dealt() {
            self.deal(job, None)
        } else {
            self.keep(job)
        }
        if self.seat.is_asked() {
            self.answer();
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<JobRef> {
        let seat = &*self.seat;
        self.hand.with(|hand| hand.pop(seat))
    }

    fn pop_received(&mut self) -> Option<QueuedJob> {
        self.collect()
    }

    fn push_near(&mut self, job: JobRef, near: usize) -> Result<bool, JobRef> {
        self.deal(job, Some(near));
        Ok(false)
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle) -> Option<Steal<StolenBatch>> {
        let victim = victim.as_dealing()?;
        Some(if self.dealer.is_some() && self.searches <= PATIENCE {
            self.ask(victim)
        } else {
            self.fetch(victim)
        })
    }

    fn skips_search(&mut self) -> bool {
        self.searches = self.searches.saturating_add(1);
        self.asked = false;
        self.waits = false;
        self.refused = false;
        if self.dealer.is_some() {
            self.seat.set_hungry(true);
        }
        false
    }

    fn was_refused(&self) -> bool {
        self.refused
    }

    fn open_to_offers(&mut self) -> bool {
        true
    }

    fn close_to_offers(&mut self) {
        // One that is about to lie down, and sees what it has asked for, gets up and goes on
        // waiting for it.
        if self.waits {
            self.seat.set_hungry(false)
        } else {
            self.has_found()
        }
    }

    fn dealt_to(&mut self) -> Option<usize> {
        self.told.take()
    }

    fn pop_of(&mut self, group: GroupId) -> Option<QueuedJob> {
        self.dealer.as_ref()?;
        let (me, table) = (self.me, &*self.table);
        let (job, from) = self.hand.with(|hand| {
            let mut all = 0..table.members();
            all.find_map(|from| Some((hand.consume_of(table, me, from, group)?, from)))
        })?;
        Some(self.collected(job, from))
    }

    fn take_back(&mut self, group: GroupId, spawned: bool) -> (Option<QueuedJob>, bool) {
        if self.dealer.is_none() {
            return (None, false);
        }
        let (me, members) = (self.me, self.table.members());
        let mut others = (0..members).filter(|&other| other != me);
        if !others
            .clone()
            .any(|other| self.table.pending(me, other) > 0)
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
            let (found, moved) = self.take_back_from(other, group, spawned);
            any |= moved;
            found
        });
        (found.map(|job| QueuedJob { job, owner: me }), any)
    }

    fn take_ghosts(&mut self) -> Vec<JobRef> {
        if self.dealer.is_none() {
            return Vec::new();
        }
        let (me, members) = (self.me, self.table.members());
        let mut ghosts = Vec::new();
        for other in (0..members).filter(|&other| other != me) {
            let table = &*self.table;
            let most = table.pending(me, other);
            let dealt = table.seat(other).and_then(|seat| {
                let hand = &seat.hand;
                hand.try_with(|hand| {
                    hand.give_back(table, [other, me], GroupId::NONE, most, |_| true)
                })
            });
            for job in dealt.unwrap_or_default() {
                // SAFETY: it has not been executed, and this worker has taken it.
                if unsafe { job.is_ghost() } {
                    ghosts.push(job);
                } else {
                    self.deal_again(other, job);
                }
            }
        }
        ghosts
    }

    fn executed(&mut self, near: bool) {
        self.transfers.hits += u64::from(near);
        self.table.count_executed(self.me);
    }

    fn is_settled(&self) -> bool {
        self.table.is_settled()
    }

    fn transfers(&self) -> TransferCounts {
        self.transfers
    }
}

impl StealHandle for DealingStealer {
    fn steal(&self) -> Steal<JobRef> {
        let seat = &*self.seat;
        if seat.stacked() == 0 {
            return Steal::Empty;
        }
        match seat.hand.try_with(|hand| hand.pop_oldest(seat, |_| true)) {
            Some(Some(job)) => Steal::Success(job.anywhere()),
            Some(None) => Steal::Empty,
            None => Steal::Retry,
        }
    }

    fn drain(&self, most: usize) -> Vec<JobRef> {
        let (seat, table) = (&*self.seat, &*self.table);
        let most = self.len().min(most);
        if most == 0 {
            return Vec::new();
        }
        let taken = seat
            .hand
            .try_with(|hand| hand.give_any(table, self.index, most, seat));
        let taken = taken.unwrap_or_default();
        taken.into_iter().map(JobRef::anywhere).collect()
    }

    fn as_dealing(&self) -> Option<&DealingStealer> {
        Some(self)
    }

    fn len(&self) -> usize {
        self.seat.stacked() + self.table.pending_for(self.index)
    }
}
