//! What a pool of threads runs on. It knows nothing of pools, tasks or queues.
//!
//! | module | what it tells |
//! |---|---|
//! | [`topology`](mod@topology) | which CPUs there are, what they share, which may be used |
//! | [`pinning`] | which CPU each thread is bound to |
//! | [`share`] | how many threads have a processor, while quotas and masks change |
//! | [`jobserver`] | whether make has a job to spare for one more thread |
//! | [`process`] | which process this is, after a `fork` |
//! | [`clock`] | the monotone clock, or what stands for it |
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

/// Whether the target has threads. WebAssembly has them with the feature `atomics` only.
pub const HAS_THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));
