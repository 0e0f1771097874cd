//! Arrivals at a rate: an open system, whose load never ends.
//!
//! Some of the processors *generate*: items arrive there at random, by a Poisson process. An item
//! takes an exponentially distributed time, and waits until a processor begins it. A scheduler for
//! such a system is judged by how long items wait, and by whether the number of waiting items stays
//! bounded (Hendler and Shavit, "Non-Blocking Steal-Half Work Queues", section 1.2, after
//! Berenbrink, Friedetzky and Goldberg; Eager, Lazowska and Zahorjan for sender-initiated
//! policies).
//!
//! | strategy | what it does here |
//! |---|---|
//! | `greedy` | one queue for all: no scheduler has a smaller mean wait (the queue M/M/P) |
//! | `lock-free` | an idle processor steals one item from a random processor |
//! | `steal-half` | extended deques; the policy says when to balance and how much to take |
//! | `sending` | an item that arrives at a busy processor is sent to the target |
//! | `dealing` | the dealer deals each item that arrives |
//!
//! A processor takes its newest item first, as from a deque; under `greedy` and `dealing` it takes
//! the oldest. An attempt to steal, or to balance, takes time; sending and dealing take none.
//!
//! ```
//! use locksley_sim::open::{Arrivals, simulate};
//!
//! // One processor: the mean wait is load / (1 - load) times the mean service.
//! let alone = Arrivals { items: 200_000, load: 0.5, ..Arrivals::new(1, "lock-free".parse()?) };
//! let report = simulate(&alone)?;
//! let mean = report.mean_wait / alone.service as f64;
//! assert!((mean - 1.0).abs() < 0.1, "{mean}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::strategy::Strategy;

pub use engine::simulate;

/// An open system. Times are in ticks.
///
/// ```
/// use locksley_sim::Strategy;
/// use locksley_sim::open::Arrivals;
///
/// let arrivals = Arrivals { generators: 1, ..Arrivals::new(64, Strategy::LockFree) };
/// assert!(arrivals.check().is_ok());
/// assert!(Arrivals::new(64, Strategy::Split).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Number of processors.
    pub processors: usize,
    /// Number of processors that generate, all at the same rate.
    pub generators: usize,
    /// Offered load, as a share of the capacity of all processors.
    pub load: f64,
    /// Mean time that an item takes.
    pub service: u64,
    /// Time of an attempt to steal.
    pub steal: u64,
    /// Number of items that arrive.
    pub items: u64,
    /// The scheduler.
    pub strategy: Strategy,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Arrivals {
    /// Creates a system in which all processors generate, with a load of 0.8. An attempt to steal
    /// takes a tenth of the mean time of an item.
    pub fn new(processors: usize, strategy: Strategy) -> Arrivals {
        Arrivals {
            processors,
            generators: processors,
            load: 0.8,
            service: 1000,
            steal: 100,
            items: 100_000,
            strategy,
            seed: 1,
        }
    }

    /// Checks that the system can be simulated.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is wrong and what to do about it.
    pub fn check(&self) -> Result<(), OpenError> {
        let number = |what, found, least, most| {
            if (least..=most).contains(&found) {
                Ok(())
            } else {
                Err(OpenError::Number { what, found })
            }
        };
        number("processors", self.processors as f64, 1.0, 1e5)?;
        number(
            "generators",
            self.generators as f64,
            1.0,
            self.processors as f64,
        )?;
        number("load", self.load, 0.001, 100.0)?;
        number("service", self.service as f64, 1.0, 1e9)?;
        number("steal", self.steal as f64, 1.0, 1e9)?;
        number("items", self.items as f64, 1.0, 1e9)?;
        match self.strategy {
            Strategy::Greedy
            | Strategy::LockFree
            | Strategy::StealHalf(_)
            | Strategy::Sending(_)
            | Strategy::Dealing(_) => Ok(()),
            other => Err(OpenError::Strategy(other.to_string())),
        }
    }

    /// Returns the mean time from one arrival to the next at one generator.
    fn gap(&self) -> f64 {
        self.service as f64 * self.generators as f64 / (self.load * self.processors as f64)
    }
}

/// Results of the simulation of an open system.
///
/// ```
/// use locksley_sim::open::{Arrivals, simulate};
///
/// let report = simulate(&Arrivals::new(8, "greedy".parse()?))?;
/// assert_eq!(report.begun + report.left, 100_000);
/// assert!(report.is_stable() && report.quantile_99 as f64 > report.mean_wait);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrivalsReport {
    /// The scheduler.
    pub strategy: String,
    /// Number of processors.
    pub processors: usize,
    /// Number of processors that generate.
    pub generators: usize,
    /// Offered load, as a share of the capacity.
    pub load: f64,
    /// Time of the last arrival, which is the end of the simulation.
    pub time: u64,
    /// Number of items that had begun by then.
    pub begun: u64,
    /// Number of items that still waited.
    pub left: u64,
    /// Mean wait of an item.
    pub mean_wait: f64,
    /// Median of the waits.
    pub median: u64,
    /// 0.99 quantile of the waits.
    pub quantile_99: u64,
    /// Longest wait.
    pub longest: u64,
    /// Mean number of waiting items in each quarter of the time.
    pub backlog: [f64; 4],
    /// Number of attempts to steal or to balance.
    pub attempts: u64,
    /// Number of items that were moved from one processor to another.
    pub moved: u64,
}

impl ArrivalsReport {
    /// Returns `true` if the backlog has not grown: its mean in the last quarter is at most twice
    /// that of the second, or less than two items wait for each processor.
    pub fn is_stable(&self) -> bool {
        let [_, second, _, last] = self.backlog;
        last <= 2.0 * second.max(self.processors as f64)
    }
}

/// Error in the description of an open system.
///
/// ```
/// use locksley_sim::Strategy;
/// use locksley_sim::open::Arrivals;
///
/// let error = Arrivals::new(0, Strategy::Greedy).check().unwrap_err();
/// assert!(error.to_string().starts_with("0 is no possible number for processors"));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A number is out of range.
    #[error(
        "{found} is no possible number for {what}: all are positive, and no more processors can \
         generate than there are"
    )]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        found: f64,
    },
    /// The named strategy does not support open systems.
    #[error(
        "{0} is not simulated with arrivals: take greedy, lock-free, steal-half, sending or dealing"
    )]
    Strategy(String),
}
