//! Shared code of the suites: turns of contenders, and reports. Code that the command `locksley`
//! shares is in `locksley-measure`.

pub(crate) mod bars;
pub(crate) mod build;
pub(crate) mod callgrind;
pub(crate) mod guest;
pub(crate) mod report;
pub(crate) mod tally;

pub(crate) use locksley_measure::{
    Plan, Sample, ThreadClock, WallClock, WrongResult, clock, machine, progress, stats, table,
    verify,
};

pub(crate) use bars::Bar;
pub(crate) use build::Build;
pub(crate) use guest::Guest;
pub(crate) use tally::Tally;

/// A contender with a constant name that owns its data.
pub(crate) type Contender = locksley_measure::Contender<'static>;
/// See [`Contender`].
pub(crate) type Workload = locksley_measure::Workload<'static>;
/// See [`Contender`].
pub(crate) type Measured = locksley_measure::Measured<'static>;
