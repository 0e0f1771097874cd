//! What every suite shares: how contenders take turns, and how the outcome is told. What the
//! command line needs too is in `locksley-measure`.

pub(crate) mod bars;
pub(crate) mod build;
pub(crate) mod callgrind;
pub(crate) mod guest;
pub(crate) mod report;
pub(crate) mod tally;

pub(crate) use locksley_measure::{
    Plan, Sample, ThreadClock, WallClock, Wrong, clock, machine, progress, stats, table, verify,
};

pub(crate) use bars::Bar;
pub(crate) use build::Build;
pub(crate) use guest::Guest;
pub(crate) use tally::Tally;

/// Here names are constants, and contenders own what they use.
pub(crate) type Contender = locksley_measure::Contender<'static>;
/// See [`Contender`].
pub(crate) type Workload = locksley_measure::Workload<'static>;
/// See [`Contender`].
pub(crate) type Measured = locksley_measure::Measured<'static>;
