//! One task program over threads, processes and hosts.
//!
//! A [`Task`] is a value that can be serialised and run. Running it returns a result, which is
//! combined with those of all other tasks ([`Reduce`]), and may spawn further tasks
//! ([`Tasks::spawn`]). A [`Program`] is a set of task kinds, identified by name. Closures don't
//! travel; values do.
//!
//! ```
//! use locksley_cluster::{Local, Program, Sum, Task, Tasks};
//! use serde::{Deserialize, Serialize};
//!
//! /// Counts the leaves of a binary tree.
//! #[derive(Serialize, Deserialize)]
//! struct Count {
//!     height: u32,
//! }
//!
//! impl Task for Count {
//!     const KIND: &'static str = "count";
//!     type Output = Sum<u64>;
//!
//!     fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
//!         if self.height == 0 {
//!             return Sum(1);
//!         }
//!         for _ in 0..2 {
//!             tasks.spawn(Count { height: self.height - 1 });
//!         }
//!         Sum(0)
//!     }
//! }
//!
//! let program = Program::new("leaves").with::<Count>();
//! let pool = locksley::Pool::builder().workers(2).build()?;
//! let (Sum(leaves), _) = Local::new(pool, &program).run([Count { height: 10 }])?;
//! assert_eq!(leaves, 1024);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod build_id;
pub mod continuation;
pub mod leases;
mod local;
mod parcel;
mod policy;
pub mod programs;
pub mod ranks;
mod reduce;
#[cfg(test)]
mod tangle;
mod task;

pub use build_id::Build;
pub use continuation::{Continuation, Group};
pub use local::{Failed, Local, Panicked, Spawned, Usage};
pub use parcel::{Malformed, Parcel};
pub use policy::Policy;
pub use reduce::{Max, Reduce, Sum};
pub use task::{Boxed, Program, Runnable, Task, Tasks};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
