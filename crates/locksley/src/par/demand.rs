//! Tests whether another worker would take a part of a loop.
//!
//! A thief can leave a request only at a victim where it sees a queued job, and a loop that has not
//! been split has none. So the loop looks at the thieves instead: the [task stack] of an idle
//! worker, asleep or awake, is empty, and that of a waiting worker ends in a wait. Both words exist
//! for leapfrogging; their owners write them when they begin or end a job or a wait, never while
//! they search. A look is one or two relaxed loads per worker, of lines that stay in the loop's
//! cache as long as nothing changes. It works the same under all strategies, and costs idle workers
//! nothing.
//!
//! [task stack]: crate::scheduler::task_stack

use crate::par::clock::ticks;
use crate::scheduler::worker::Worker;

/// Number of workers that one look covers. Its first worker changes with the time.
const SIGHT: usize = 16;

/// What another worker would do with a part of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Every worker in sight is busy, or there is a queued job to steal.
    None,
    /// A worker sleeps because it has no work. Waking it takes tens of microseconds.
    Asleep,
    /// A worker is searching, or waits for a job and would help with it.
    Awake,
}

impl Worker {
    /// Returns `true` if another worker is out of work and this one has no queued job that it could
    /// steal. For loops that fork only if the fork will be stolen.
    ///
    /// Jobs that are queued but still private are offered to thieves by the same call, so a loop
    /// that calls it now and then delays no thief. It costs a few nanoseconds.
    ///
    /// ```
    /// use locksley::{Pool, Worker};
    ///
    /// fn add_up(worker: &Worker, mut rest: &[u64]) -> u64 {
    ///     let mut sum = 0;
    ///     while let Some((block, tail)) = rest.split_at_checked(1000) {
    ///         sum += block.iter().sum::<u64>();
    ///         rest = tail;
    ///         if worker.wanted() {
    ///             let (left, right) = rest.split_at(rest.len() / 2);
    ///             let (a, b) = worker.join(|w| add_up(w, left), |w| add_up(w, right));
    ///             return sum + a + b;
    ///         }
    ///     }
    ///     sum + rest.iter().sum::<u64>()
    /// }
    ///
    /// let pool = Pool::builder().workers(2).build().unwrap();
    /// let values: Vec<u64> = (0..100_000).collect();
    /// assert_eq!(pool.run(|worker| add_up(worker, &values)), 4_999_950_000);
    /// ```
    #[inline]
    pub fn wanted(&self) -> bool {
        self.visible_demand() != Demand::None
    }

    /// Returns the strongest demand of the other workers; in a large pool, of some of them,
    /// different ones each time.
    #[inline]
    pub(crate) fn visible_demand(&self) -> Demand {
        let registry = self.registry();
        if self.is_recorded() {
            // A recording has all splits that are possible, not those of this run.
            return Demand::Awake;
        }
        if registry.size() == 1 {
            return Demand::None;
        }
        if !self.seems_empty() {
            self.poll_requests();
            return Demand::None;
        }
        self.look_around()
    }

    fn look_around(&self) -> Demand {
        let mut demand = Demand::None;
        for other in self.visible_others() {
            match other {
                Demand::Awake => return Demand::Awake,
                Demand::Asleep => demand = Demand::Asleep,
                Demand::None => {}
            }
        }
        demand
    }

    /// Estimates how many workers are out of work, from those in sight.
    pub(crate) fn estimate_idle(&self) -> usize {
        let idle = self.visible_others();
        let idle = idle.filter(|other| *other != Demand::None).count();
        idle * self.registry().workers().div_ceil(SIGHT)
    }

    /// Returns what each of the other workers in sight would do with a part of a loop.
    fn visible_others(&self) -> impl Iterator<Item = Demand> {
        let registry = self.registry();
        let count = registry.workers();
        let first = if count > SIGHT {
            ticks() as usize % count
        } else {
            0
        };
        let indices = (0..count.min(SIGHT)).map(move |offset| (first + offset) % count);
        let others = indices.filter(|&index| index != self.index());
        others.map(move |index| {
            let other = registry.worker(index);
            if other.sleep.is_asleep() {
                // A sleeping spare is not to be woken.
                if index < registry.size() {
                    return Demand::Asleep;
                }
            } else if other.task_stack.is_hungry() {
                return Demand::Awake;
            }
            Demand::None
        })
    }

    /// Makes the next fork act as if a thief had requested work: it exposes its job and wakes a
    /// sleeper.
    pub(crate) fn expose_next_fork(&self) {
        if !self.deque.is_attention_requested() {
            self.deque.request_attention();
        }
    }
}
