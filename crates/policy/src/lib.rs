//! The decisions of a work-stealing scheduler, as pure state machines.
//!
//! No threads, clocks, atomics or I/O: a policy is told what it may know, is given a [`Source`] of
//! random numbers, and answers. So the runtime and a simulator run the same code, and the same seed
//! gives the same decisions.
//!
//! | decision | where |
//! |---|---|
//! | whom does a thief try, and in which order? | [`Victims`], [`Order`] |
//! | how soon does it steal again? | [`Thrift`] |
//!
//! ```
//! use locksley_policy::{Order, Random};
//!
//! // Four processors in two groups of two: processor 0 mostly tries processor 1 first.
//! let groups: [&[u32]; 4] = [&[0], &[0], &[1], &[1]];
//! let order = Order::nearest(0, &groups, 0.9);
//! let mut random = Random::new(7, 0);
//! let mut first = [0; 4];
//! for _ in 0..1000 {
//!     let victims: Vec<usize> = order.sweep(4, &mut random).collect();
//!     assert_eq!(victims.len(), 3);
//!     first[victims[0]] += 1;
//! }
//! assert!(first[1] > first[2] + first[3]);
//! assert_eq!(first[0], 0);
//! ```

#![forbid(unsafe_code)]

mod order;
mod random;
mod thrift;
mod victims;

pub use order::{Order, Sweep};
pub use random::{Random, Source};
pub use thrift::Thrift;
pub use victims::{UnknownVictims, Victims};
