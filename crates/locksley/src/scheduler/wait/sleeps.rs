//! How long a waiter sleeps if it finds nothing to do, and where it looks after that. Pure.

use std::time::Duration;

use crate::strategy::local_queue::MAX_BATCH;

/// How long a blocked waiter sleeps before it looks again. If every spare is blocked too, one of
/// its own tasks may be in the pool's queue, with no other worker free to run it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long a blocked waiter sleeps after many looks in vain.
pub(crate) const LOOK_RARELY: Duration = Duration::from_millis(160);

/// The first sleep of a waiter without a spare. Each further one is twice as long, up to
/// [`LOOK_AGAIN`]. The end of the wait unparks the waiter, but a thief that forks new work for it
/// does not.
const FIRST_NAP: Duration = Duration::from_micros(50);

/// The sleeps of a waiter since it last had something to do.
#[derive(Clone, Copy, Default)]
pub(super) struct Sleeps {
    /// Number of sleeps in which no other worker took its place.
    naps: u32,
    /// Number of sleeps of [`LOOK_AGAIN`] or more.
    long: u32,
}

impl Sleeps {
    /// Begins a sleep in which no other worker takes the waiter's place. Returns its length.
    pub(super) fn nap(&mut self) -> Duration {
        let length = (FIRST_NAP * (1 << self.naps)).min(LOOK_AGAIN);
        self.naps = (self.naps + 1).min(8);
        if length == LOOK_AGAIN {
            self.count_long();
        }
        length
    }

    /// The length of the next sleep with a spare in the waiter's place.
    pub(super) fn block(&self) -> Duration {
        (LOOK_AGAIN * (1 << self.long.min(4))).min(LOOK_RARELY)
    }

    /// Counts a sleep of [`LOOK_AGAIN`] or more.
    pub(super) fn count_long(&mut self) {
        self.long = self.long.saturating_add(1);
    }

    /// Returns where to look after the last sleep. Searches of all queues become more thorough each
    /// time: most waits end without them, since the owners run the jobs in their queues, but a task
    /// behind any number of others is reached soon. A waiter without a spare sleeps more often, so
    /// it searches all queues after fewer of its sleeps.
    pub(super) fn look(&self) -> Look {
        let alone = self.naps > 0;
        if self.long == 0 || alone && !self.long.is_power_of_two() && self.long % 16 > 0 {
            return Look::Nearby;
        }
        let most = MAX_BATCH.saturating_mul(4_usize.saturating_pow(self.long));
        Look::Everywhere { most }
    }
}

/// Where a waiter looks for its own jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// In its own queues and the pool's.
    Nearby,
    /// Also among the oldest jobs of other workers' queues, `most` of each, because it has slept in
    /// vain.
    Everywhere { most: usize },
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/wait/sleeps.rs"]
mod tests;
