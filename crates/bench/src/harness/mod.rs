//! What every suite shares: how contenders take turns, and how the outcome is told.

pub(crate) mod bars;
pub(crate) mod callgrind;
pub(crate) mod clock;
pub(crate) mod guest;
pub(crate) mod machine;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod runner;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod verify;

pub(crate) use bars::Bar;
pub(crate) use clock::{ThreadClock, WallClock};
pub(crate) use guest::Guest;
pub(crate) use runner::{Contender, Measured, Plan, Sample, Workload};
pub(crate) use verify::{Tally, Wrong, verify};
