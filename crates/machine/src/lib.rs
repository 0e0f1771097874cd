//! The machine as a thread pool needs to know it. This crate knows nothing of pools, tasks or
//! queues.
//!
//! | module | contents |
//! |---|---|
//! | [`topology`](mod@topology) | the CPUs, what they share, and which of them may be used |
//! | [`pinning`] | binding threads to CPUs |
//! | [`share`] | the number of threads that have a processor, while quotas and masks change |
//! | [`jobserver`] | make's jobserver: permission to run another thread |
//! | [`process`] | detection of `fork`, and values that a forked process creates again |
//! | [`clock`] | the monotone clock, or a substitute |
//!
//! ```
//! println!("{}", locksley_machine::topology());
//! println!("{}", locksley_machine::available_cpus());
//! ```

pub mod clock;
pub mod insertion;
pub mod jobserver;
pub mod pinning;
pub mod process;
pub mod share;
pub mod topology;
#[cfg(all(windows, not(miri)))]
mod windows;

pub use pinning::{Pinning, UnknownPinning};
pub use topology::{Available, Level, Topology, available_cpus, topology};

/// `true` if the target has threads. WebAssembly has them with the feature `atomics` only.
pub const HAS_THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));
