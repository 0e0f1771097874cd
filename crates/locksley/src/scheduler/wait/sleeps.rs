//! How long a waiter sleeps that finds nothing to do, and where it looks after that. Pure.

use std::time::Duration;

use crate::strategy::local_queue::HANDFUL;

/// How long a blocked waiter sleeps before it looks again. Where every spare is blocked too, a task
/// of its own may lie in the pool's queue, and no other worker be free to run it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long it sleeps after many looks in vain.
pub(crate) const LOOK_RARELY: Duration = Duration::from_millis(160);

/// How long a waiter without a spare sleeps at first where there is nothing for it to do; then
/// twice as long each time, up to [`LOOK_AGAIN`]. What it waits for unparks it, but a thief that
/// makes new work for it does not.
const FIRST_NAP: Duration = Duration::from_micros(50);

/// The sleeps of a waiter since it last had something to do.
#[derive(Clone, Copy, Default)]
pub(super) struct Sleeps {
    /// Those in which no other worker took its place.
    naps: u32,
    /// Those of [`LOOK_AGAIN`] and more.
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

    /// It has slept for long.
    pub(super) fn count_long(&mut self) {
        self.long = self.long.saturating_add(1);
    }

    /// Where to look after that. Everywhere ever more thoroughly: most waits end by themselves, and
    /// what lies in other workers' queues is in good hands there. But a task behind any number of
    /// others is reached soon. A waiter without a spare sleeps more often, so it looks more rarely.
    pub(super) fn look(&self) -> Look {
        let alone = self.naps > 0;
        if self.long == 0 || alone && !self.long.is_power_of_two() && self.long % 16 > 0 {
            return Look::Nearby;
        }
        let most = HANDFUL.saturating_mul(4_usize.saturating_pow(self.long));
        Look::Everywhere { most }
    }
}

/// Where a waiter looks for its own jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// In its own queues, and in the pool's.
    Nearby,
    /// Among the oldest jobs of other workers' queues too, so many of each: it has slept, and
    /// nothing came of that.
    Everywhere { most: usize },
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/wait/sleeps.rs"]
mod tests;
