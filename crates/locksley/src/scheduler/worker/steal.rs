//! What a worker does to another's queues.

use locksley_queue::Steal;
use locksley_queue::split::Forced;

use super::Worker;
use crate::observe::stats::Event;
use crate::strategy::local_queue::StealHandle;
use crate::sync::Ordering;
use crate::task::job::JobRef;

/// How long a victim may leave a request unanswered before it is forced. It answers at its next
/// fork, so a fine-grained program never is; and the barrier takes a few microseconds itself. In
/// nanoseconds.
const FORCE_AFTER: u64 = 5_000;

impl Worker {
    /// The other side of the pile, unless it is the default strategy's. For other workers.
    pub(crate) fn stealer(&self) -> Option<&dyn StealHandle> {
        self.stealer.as_deref()
    }

    /// Steals one job from `victim`: a forked one, or a spawned one.
    pub(crate) fn steal_one(&self, victim: &Worker) -> Steal<JobRef> {
        let mut answer = Steal::Empty;
        if !victim.reference {
            answer = self.steal_public(victim);
        }
        match (&victim.stealer, &answer) {
            (Some(stealer), Steal::Empty | Steal::Private) => match stealer.steal() {
                Steal::Empty => answer,
                other => other,
            },
            _ => answer,
        }
    }

    /// Steals from the deque of `victim`. If it hides what it has, it is asked, and after a while
    /// it is forced.
    fn steal_public(&self, victim: &Worker) -> Steal<JobRef> {
        match victim.deque.steal() {
            Steal::Private => self.demand(victim),
            Steal::Empty => {
                // Its next push is public at once.
                if victim.deque.request() {
                    victim
                        .asked_at
                        .store(self.registry().now(), Ordering::Relaxed);
                }
                Steal::Empty
            }
            answer => answer,
        }
    }

    #[cold]
    fn demand(&self, victim: &Worker) -> Steal<JobRef> {
        let now = self.registry().now();
        if victim.deque.request() {
            victim.asked_at.store(now, Ordering::Relaxed);
            return Steal::Private;
        }
        if now.saturating_sub(victim.asked_at.load(Ordering::Relaxed)) < FORCE_AFTER {
            return Steal::Private;
        }
        if victim.deque.is_empty() {
            return Steal::Empty;
        }
        if victim.sealed.load(Ordering::Relaxed) {
            return Steal::Private;
        }
        // Others leave it alone meanwhile.
        victim.asked_at.store(now, Ordering::Relaxed);
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

    /// How many jobs seem to be in this worker's queues. For other workers.
    pub(crate) fn load(&self) -> usize {
        self.deque.len() + self.stealer.as_ref().map_or(0, |stealer| stealer.len())
    }

    /// Returns `true` if this worker's queues seem empty. For other workers.
    pub(crate) fn seems_empty(&self) -> bool {
        self.deque.is_empty()
            && self
                .stealer
                .as_ref()
                .is_none_or(|stealer| stealer.is_empty())
    }
}
