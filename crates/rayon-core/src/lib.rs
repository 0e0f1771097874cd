//! A drop-in replacement for rayon-core: the same interface, on Locksley's pool.
//!
//! A program that uses rayon switches with two lines in its `Cargo.toml` and none in its code:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "locksley/crates/rayon-core" }
//! ```
//!
//! rayon's parallel iterators, sorts and scopes are unchanged, and run on this crate.
//!
//! ```
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! # What is the same
//!
//! Names, signatures and documented behaviour: which pool a call uses, what a panic does, that a
//! pool is dropped without waiting for it, that a worker which waits takes any work of its pool.
//! Each thread has one index below [`current_num_threads`], and no two threads of a pool have the
//! same: a pool here has no spare workers.
//!
//! # What is different
//!
//! - Forks and spawns cost less.
//! - A forked process can use the global pool: it starts a new one. A pool of its parent panics
//!   instead of hanging. [`shutdown_global`] ends the global pool, for a library that is unloaded.
//! - If the threads of the global pool cannot be started, it consists of the calling thread only.
//! - A worker of a pool that was built through `locksley` itself counts as a thread outside of any
//!   pool, unless that pool has no spare workers.
//!
//! # Environment
//!
//! `RAYON_NUM_THREADS`, or else the older `RAYON_RS_NUM_CPUS`, sets the default size of pools.
//!
//! | variable | meaning |
//! |---|---|
//! | `LOCKSLEY_WAITING=own` | a waiting thread runs only what it waits for |
//! | `LOCKSLEY_REPRODUCIBLE=N` | iterators split as for `N` threads: the same bits with any number up to `N` |
//! | `LOCKSLEY_STATS=1` | prints statistics to standard error at exit |
//! | `LOCKSLEY_TRACE=FILE` | a timeline for Perfetto |
//! | `LOCKSLEY_PROFILE=FILE` | work and span |
//! | `LOCKSLEY_RECORD=FILE` | a recording for `locksley replay` |
//! | `LOCKSLEY_STRATEGY=NAME` | the strategy of all pools, with the feature `strategies` |
//!
//! The README has the guarantees of each.

mod broadcast;
mod builder;
mod configuration;
mod environment;
mod error;
mod global;
mod join;
mod pool;
mod scope;
mod spawn;
mod threads;
mod yields;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use global::shutdown_global;
pub use join::{FnContext, join, join_context};
pub use pool::{
    ThreadPool, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    max_num_threads,
};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use threads::ThreadBuilder;
pub use yields::{Yield, yield_local, yield_now};
