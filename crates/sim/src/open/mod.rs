//! Arrivals at a rate: an open system, which does not end.
//!
//! Some of the processors *generate*: items arrive there at random, by a Poisson process. An item
//! takes an exponentially distributed time, and waits until a processor begins it. What a scheduler
//! does for such a system is told by how long items wait, and whether the number of those that wait
//! stays bounded (Hendler and Shavit, "Non-Blocking Steal-Half Work Queues", section 1.2, after
//! Berenbrink, Friedetzky and Goldberg; Eager, Lazowska and Zahorjan for those that send).
//!
//! | strategy | what it does here |
//! |---|---|
//! | `greedy` | one queue for all: no scheduler has a smaller mean (the queue M/M/P) |
//! | `lock-free` | an idle processor steals one item from a processor that it draws |
//! | `steal-half` | extended deques; when to balance, and how much to take, as it says |
//! | `sending` | what arrives at a busy processor is sent on, as it says |
//! | `dealing` | what arrives is dealt by the oracle |
//!
//! A processor takes its newest item first, as from any deque; under `greedy` and `dealing` its
//! oldest. An attempt to steal, or to balance, takes time; sending and dealing take none.
//!
//! ```
//! use locksley_sim::open::{Arrivals, simulate};
//!
//! // One processor: the mean wait is load / (1 - load) times the mean service.
//! let alone = Arrivals { items: 200_000, load: 0.5, ..Arrivals::new(1, "lock-free".parse()?) };
//! let outcome = simulate(&alone)?;
//! let mean = outcome.mean_wait / alone.service as f64;
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
    /// How many processors.
    pub processors: usize,
    /// How many of them generate, all at the same rate.
    pub generators: usize,
    /// What arrives, in parts of what all processors together can do.
    pub load: f64,
    /// The mean time that an item takes.
    pub service: u64,
    /// The time of an attempt to steal.
    pub steal: u64,
    /// How many items arrive.
    pub items: u64,
    /// The scheduler.
    pub strategy: Strategy,
    /// Where all random numbers come from.
    pub seed: u64,
}

impl Arrivals {
    /// All generate, at 0.8 of what can be done; an attempt takes a tenth of an item's time.
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

    /// Returns an error if this makes no sense.
    ///
    /// # Errors
    ///
    /// If not: what is wrong, and what to do.
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

    /// The mean time from one arrival to the next, at one generator.
    fn gap(&self) -> f64 {
        self.service as f64 * self.generators as f64 / (self.load * self.processors as f64)
    }
}

/// What an open system has shown.
///
/// ```
/// use locksley_sim::open::{Arrivals, simulate};
///
/// let outcome = simulate(&Arrivals::new(8, "greedy".parse()?))?;
/// assert_eq!(outcome.begun + outcome.left, 100_000);
/// assert!(outcome.is_stable() && outcome.quantile_99 as f64 > outcome.mean_wait);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The scheduler.
    pub strategy: String,
    /// How many processors.
    pub processors: usize,
    /// How many of them generate.
    pub generators: usize,
    /// What arrives, in parts of what can be done.
    pub load: f64,
    /// When the last item arrived, which is when it ends.
    pub time: u64,
    /// How many items had begun then.
    pub begun: u64,
    /// How many still waited.
    pub left: u64,
    /// How long an item waited, on average.
    pub mean_wait: f64,
    /// Half of the items waited no longer than this.
    pub median: u64,
    /// All but one of a hundred waited no longer than this.
    pub quantile_99: u64,
    /// How long an item waited at most.
    pub longest: u64,
    /// How many items waited on average, in each quarter of the time.
    pub backlog: [f64; 4],
    /// Attempts to steal or to balance.
    pub attempts: u64,
    /// Items that went from one processor to another.
    pub moved: u64,
}

impl Outcome {
    /// Returns `true` if the backlog has not grown: its mean in the last quarter is at most twice
    /// that of the second, or less than two items wait for each processor.
    pub fn is_stable(&self) -> bool {
        let [_, second, _, last] = self.backlog;
        last <= 2.0 * second.max(self.processors as f64)
    }
}

/// Why an open system cannot be simulated.
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
    /// A number makes no sense.
    #[error(
        "{found} is no possible number for {what}: all are positive, and no more processors can \
         generate than there are"
    )]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        found: f64,
    },
    /// The strategy, which is named, is not one for open systems.
    #[error(
        "{0} is not simulated with arrivals: take greedy, lock-free, steal-half, sending or dealing"
    )]
    Strategy(String),
}
