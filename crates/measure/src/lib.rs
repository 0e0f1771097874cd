//! Interleaved measurements, for the benchmarks and for the command line.
//!
//! | to | use |
//! |---|---|
//! | let contenders take turns | [`runner`] |
//! | run a program on Locksley or on a rival | [`runtimes`] |
//! | summarise samples | [`Summary`] |
//! | tell the outcome, and how far the run is | [`table`], [`Progress`] |
//! | say where the numbers come from | [`Machine`] |

#![forbid(unsafe_code)]

pub mod clock;
pub mod machine;
pub mod progress;
pub mod runner;
pub mod runtimes;
pub mod table;
mod verify;

pub use clock::{ThreadClock, WallClock};
pub use locksley_figures as stats;
pub use locksley_figures::Summary;
pub use machine::Machine;
pub use progress::Progress;
pub use runner::{Contender, Measured, Plan, Sample, Series, Workload};
pub use verify::{Wrong, verify};
