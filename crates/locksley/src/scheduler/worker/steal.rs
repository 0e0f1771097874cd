//! Stealing: what a worker does to the queues of others.

use std::thread;
use std::time::Duration;

use locksley_queue::Steal;
use locksley_queue::split::Forced;

use super::Worker;
use crate::observe::stats::Event;
use crate::strategy::HAS_STRATEGIES;
use crate::strategy::local_queue::StealHandle;
use crate::sync::{AtomicU64, Ordering};
use crate::task::job::JobRef;

/// How long a thief waits between two looks at a victim that does not answer, in nanoseconds. A
/// victim that has hidden work at two looks in a row is forced. Victims answer at their next fork,
/// so those of a fine-grained program are never forced; and the barrier takes a few microseconds
/// itself.
const LOOK_AFTER: u64 = 3_000;

/// Number of fruitless attempts in a row after which [`Worker::steal_until`] leaves a victim.
const REFUSALS: usize = 8;

/// When thieves last asked a worker for work or looked at it again, and whether they saw hidden
/// work then. Written by thieves.
#[derive(Default)]
pub(super) struct LastRequest(AtomicU64);

impl LastRequest {
    /// `time` is in nanoseconds of the pool's clock. Its lowest bit is dropped.
    fn note(&self, time: u64, hidden: bool) {
        let word = time & !1 | u64::from(hidden);
        self.0.store(word, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, bool) {
        let word = self.0.load(Ordering::Relaxed);
        (word & !1, word & 1 == 1)
    }
}

impl Worker {
    /// Returns the thieves' side of the strategy's own queue, if it has one. For other workers.
    pub(crate) fn stealer(&self) -> Option<&dyn StealHandle<JobRef>> {
        self.stealer.as_deref().filter(|_| HAS_STRATEGIES)
    }

    /// Steals one job from `victim`: a forked one, or a spawned one.
    pub(crate) fn steal_one(&self, victim: &Worker) -> Steal<JobRef> {
        let mut answer = Steal::Empty;
        if !victim.reference {
            answer = self.steal_public(victim);
        }
        match (victim.stealer(), &answer) {
            (Some(stealer), Steal::Empty | Steal::Private) => match stealer.steal() {
                Steal::Empty => answer,
                other => other,
            },
            _ => answer,
        }
    }

    /// Steals from the deque of `victim`. If all jobs there are private, the victim is asked, and
    /// forced after a while.
    pub(crate) fn steal_public(&self, victim: &Worker) -> Steal<JobRef> {
        match victim.deque.steal() {
            // It had no private jobs when it went to sleep.
            Steal::Private if victim.sleep.is_asleep() => Steal::Empty,
            answer @ (Steal::Private | Steal::Empty) if !self.may_request.get() => answer,
            Steal::Private => self.demand(victim),
            Steal::Empty => {
                // Makes its next push public at once.
                if victim.deque.request() {
                    victim.last_request.note(self.search_time.get(), false);
                }
                Steal::Empty
            }
            answer => answer,
        }
    }

    /// Begins a search, for which the clock is read once.
    ///
    /// The first search after a job does not ask victims for work. A worker whose job was stolen
    /// makes its next fork public unasked, and a request just then would hold it up.
    pub(crate) fn begin_search(&self) {
        self.search_time.set(self.registry().now());
        self.may_request.set(!self.has_worked.take());
    }

    /// Notes that the worker has run what it found.
    pub(crate) fn end_work(&self) {
        self.has_worked.set(true);
    }

    #[cold]
    fn demand(&self, victim: &Worker) -> Steal<JobRef> {
        let now = self.search_time.get();
        if victim.deque.request() {
            victim.last_request.note(now, false);
            return Steal::Private;
        }
        let (looked_at, was_hidden) = victim.last_request.get();
        if now.saturating_sub(looked_at) < LOOK_AFTER {
            return Steal::Private;
        }
        let hidden = !victim.deque.is_empty();
        // Other thieves leave it alone meanwhile.
        victim.last_request.note(now, hidden);
        if !hidden {
            return Steal::Empty;
        }
        // Jobs that it has pushed since it was asked are about to become public.
        if !was_hidden || victim.sealed.load(Ordering::Relaxed) {
            return Steal::Private;
        }
        self.force(victim)
    }

    /// Makes private jobs of `victim` public, and steals one of them.
    fn force(&self, victim: &Worker) -> Steal<JobRef> {
        match victim.deque.force() {
            Forced::Public => {
                self.counters.count(Event::Forced);
                victim.deque.steal()
            }
            Forced::Empty => Steal::Empty,
            Forced::Retry => Steal::Retry,
            Forced::Refused => Steal::Private,
        }
    }

    /// Steals up to `most` jobs from `victim`, private ones too, until `enough`. Forces the victim
    /// without waiting for its answer, so this is for a thief that cannot make progress otherwise.
    pub(crate) fn steal_until(
        &self,
        victim: &Worker,
        most: usize,
        mut enough: impl FnMut(JobRef) -> bool,
    ) {
        let mut load = victim.load();
        let mut left = load.min(most);
        let mut refusals = 0;
        while left > 0 && refusals < REFUSALS {
            self.search_time.set(self.registry().now());
            self.may_request.set(true);
            let mut answer = self.steal_one(victim);
            let may_force = !victim.reference && !victim.sealed.load(Ordering::Relaxed);
            if may_force && matches!(answer, Steal::Private) {
                answer = self.force(victim);
            }
            match answer {
                Steal::Success(job) if enough(job) => break,
                Steal::Success(_) => (left, refusals) = (left - 1, 0),
                Steal::Empty => break,
                // The slot was one from which a join has taken its job back.
                Steal::Retry if victim.load() < load => refusals = 0,
                Steal::Private | Steal::Retry => {
                    refusals += 1;
                    thread::sleep(Duration::from_nanos(LOOK_AFTER));
                }
            }
            load = victim.load();
        }
    }

    /// Returns how many jobs seem to be in this worker's queues. For other workers.
    pub(crate) fn load(&self) -> usize {
        self.deque.len() + self.stealer().map_or(0, |stealer| stealer.len())
    }

    /// Returns `true` if this worker sleeps, and a thief would find nothing in its queue: it had
    /// nothing private when it went to sleep. For other workers.
    #[inline]
    pub(crate) fn is_asleep_empty(&self) -> bool {
        self.sleep.is_asleep() && self.stealer.is_none() && self.deque.public_len() == 0
    }

    /// Returns `true` if this worker's queues seem empty. For other workers.
    pub(crate) fn seems_empty(&self) -> bool {
        self.deque.is_empty() && self.stealer().is_none_or(|stealer| stealer.is_empty())
    }
}
