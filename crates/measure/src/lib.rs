//! Interleaved measurements, for the benchmarks and for the command line.
//!
//! | to | use |
//! |---|---|
//! | measure contenders in interleaved rounds | [`runner`] |
//! | run a program on Locksley or on a rival | [`runtimes`] |
//! | summarise samples | [`Summary`] |
//! | print results and progress | [`table`], [`Progress`] |
//! | describe the machine of a measurement | [`Machine`] |

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
pub use verify::{WrongResult, verify};
