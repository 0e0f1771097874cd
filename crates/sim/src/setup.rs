//! What is simulated.

use std::fmt;

use crate::engine::{Costs, Speeds, Topology};
use crate::strategy::Strategy;

/// The most processors. A processor's number and a mark share a word of 32 bits.
pub const MOST_PROCESSORS: usize = 1 << 30;

/// The most processors of work dealing, which has a buffer for every pair of them.
pub const MOST_DEALERS: usize = 4096;

/// What is simulated: a machine, a scheduler, a seed, and what is noted.
///
/// ```
/// use locksley_sim::{Costs, Setup, Strategy};
///
/// let setup = Setup {
///     costs: Costs { steal: 10, ..Costs::default() },
///     seed: 42,
///     ..Setup::new(64, Strategy::LockFree)
/// };
/// assert!(setup.check().is_ok());
/// assert!(Setup::new(0, Strategy::LockFree).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// How many processors.
    pub processors: usize,
    /// The scheduler.
    pub strategy: Strategy,
    /// What things cost.
    pub costs: Costs,
    /// Who is near whom.
    pub topology: Topology,
    /// How fast processors are.
    pub speeds: Speeds,
    /// Where all random numbers come from.
    pub seed: u64,
    /// Note the loads every so many ticks; 0 for never.
    pub sample: u64,
    /// Note what each processor did when.
    pub timeline: bool,
}

impl Setup {
    /// The thesis's model: equal processors, every iteration takes one step, and nothing is noted.
    pub fn new(processors: usize, strategy: Strategy) -> Setup {
        Setup {
            processors,
            strategy,
            costs: Costs::default(),
            topology: Topology::flat(),
            speeds: Speeds::nominal(),
            seed: 1,
            sample: 0,
            timeline: false,
        }
    }

    /// Does this make sense?
    ///
    /// # Errors
    ///
    /// If not: what is wrong, and what to do.
    pub fn check(&self) -> Result<(), SimError> {
        if self.processors == 0 || self.processors > MOST_PROCESSORS {
            return Err(SimError::Processors(self.processors));
        }
        if matches!(self.strategy, Strategy::Dealing(_)) && self.processors > MOST_DEALERS {
            return Err(SimError::Dealers(self.processors));
        }
        for (name, cost) in [("node", self.costs.node), ("steal", self.costs.steal)] {
            if cost == 0 {
                return Err(SimError::Free(name));
            }
        }
        Ok(())
    }
}

/// What is wrong with a simulation, and what to do about it.
///
/// ```
/// use locksley_sim::{Setup, Strategy};
///
/// let error = Setup::new(0, Strategy::LockFree).check().unwrap_err();
/// assert_eq!(error.to_string(), "0 processors cannot be simulated: give a number from 1 to 1073741824");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// There are too few or too many processors.
    Processors(usize),
    /// There are too many processors for work dealing.
    Dealers(usize),
    /// Something costs nothing that must cost something, or time would stand still.
    Free(&'static str),
    /// The computation does not end.
    Stuck,
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Processors(count) => write!(
                f,
                "{count} processors cannot be simulated: give a number from 1 to {MOST_PROCESSORS}"
            ),
            SimError::Dealers(count) => write!(
                f,
                "work dealing keeps a buffer for every pair of processors, and {count} are too many: give at \
                 most {MOST_DEALERS}, or another strategy"
            ),
            SimError::Free(what) => write!(
                f,
                "costs.{what} is 0, and time would stand still: let it cost at least 1 tick"
            ),
            SimError::Stuck => f.write_str(
                "the computation does not end, because processors that hold some of it have been taken away \
                 for good: let their speed become positive again",
            ),
        }
    }
}

impl std::error::Error for SimError {}
