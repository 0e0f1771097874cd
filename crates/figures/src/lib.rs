//! Measured numbers: summaries of samples, and the format of numbers.
//!
//! Benchmarks, the command line and the report all use these, so that the same samples have the
//! same quartiles everywhere, and the same time the same text.
//!
//! ```
//! use locksley_figures::{Summary, seconds};
//!
//! let times = Summary::of(&[0.0419, 0.0417, 0.0424]).unwrap();
//! assert_eq!(seconds(times.median), "41.9 ms");
//! ```

#![forbid(unsafe_code)]

mod summary;
mod text;

pub use summary::{Summary, median};
pub use text::{Unit, number, plural, range, ratio, seconds};
