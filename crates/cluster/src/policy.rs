//! Time limits, tries, pauses and priority of the tasks of a kind on leases.

use std::time::Duration;

/// How workers treat the tasks of a kind on [leases](crate::leases): how long a try may take, how
/// often and after which pauses a task is tried again, and whether it goes before others.
///
/// ```
/// use std::time::Duration;
/// use locksley_cluster::{Policy, Sum, Task, Tasks};
/// use serde::{Deserialize, Serialize};
///
/// /// Asks another service, which may be overloaded.
/// #[derive(Serialize, Deserialize)]
/// struct Fetch(String);
///
/// impl Task for Fetch {
///     const KIND: &'static str = "fetch";
///     const POLICY: Policy = Policy::new()
///         .timeout(Duration::from_secs(30))
///         .tries(6)
///         .back_off(Duration::from_millis(500), Duration::from_secs(60));
///     type Output = Sum<u64>;
///
///     fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
///         // A task with a time limit looks now and then, and returns at once.
///         if tasks.cancelled() {
///             return Sum(0);
///         }
///         Sum(self.0.len() as u64)
///     }
/// }
/// assert_eq!(Fetch::POLICY.pause(1, 1.0), Duration::from_millis(500));
/// assert_eq!(Fetch::POLICY.pause(3, 0.0), Duration::from_secs(1));
/// ```
///
/// In one process and on ranks a policy has no effect: a task that fails ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Time limit of a try. When it is over the try has failed, what it has spawned is void, and
    /// [`Tasks::cancelled`](crate::Tasks::cancelled) returns `true` in the task. A thread cannot be
    /// stopped: a task that does not poll occupies a worker of its pool, and a process ends if all
    /// of its workers are occupied like that.
    pub timeout: Option<Duration>,
    /// How often a task that panics or runs out of time is tried; `None` for the number of tries of
    /// the [job](crate::leases::Terms).
    pub tries: Option<u32>,
    /// Pause before the second try. It doubles with each further try.
    pub first_pause: Duration,
    /// Longest pause.
    pub longest_pause: Duration,
    /// Whether tasks of this kind go before all tasks of all jobs that are not urgent.
    pub urgent: bool,
}

impl Policy {
    /// Creates a policy with no time limit, as many tries as the job has, no pauses, and no
    /// urgency.
    pub const fn new() -> Policy {
        Policy {
            timeout: None,
            tries: None,
            first_pause: Duration::ZERO,
            longest_pause: Duration::ZERO,
            urgent: false,
        }
    }

    /// Limits the time of a try.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Policy {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how often a task that fails is tried.
    #[must_use]
    pub const fn tries(mut self, tries: u32) -> Policy {
        self.tries = Some(tries);
        self
    }

    /// Sets the pauses between tries: the first one, and the longest. The actual pause is chosen at
    /// random between half of that and all of it, so that tasks that failed together do not come
    /// back together.
    ///
    /// A task whose worker dies is tried again when its lease expires, without a further pause.
    #[must_use]
    pub const fn back_off(mut self, first: Duration, longest: Duration) -> Policy {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// Makes tasks of this kind urgent.
    #[must_use]
    pub const fn urgent(mut self) -> Policy {
        self.urgent = true;
        self
    }

    /// Returns the pause after `tries` failed tries. `chance`, from 0 to 1, selects the pause
    /// within its range.
    pub fn pause(&self, tries: u32, chance: f64) -> Duration {
        let doublings = tries.saturating_sub(1).min(31);
        let whole = self.first_pause.saturating_mul(1 << doublings);
        whole
            .min(self.longest_pause)
            .mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
    }
}

impl Default for Policy {
    /// The same as [`Policy::new`].
    fn default() -> Policy {
        Policy::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let policy = Policy::new().back_off(first, longest);
        let pauses = |chance| [1, 2, 3, 4, 5, 1000].map(|tries| policy.pause(tries, chance));
        let millis = |pauses: [Duration; 6]| pauses.map(|pause| pause.as_millis());
        assert_eq!(millis(pauses(1.0)), [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(millis(pauses(0.0)), [50, 100, 200, 400, 500, 500]);
        assert_eq!(Policy::new().pause(7, 1.0), Duration::ZERO);
    }
}
