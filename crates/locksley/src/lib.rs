//! A fork-join task runtime.
//!
//! ```
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```

mod block_on;
mod broadcast;
mod cancel;
mod error;
mod fifo;
mod frames;
mod injector;
mod job;
mod join;
mod latch;
mod neighbours;
mod pile;
mod pinning;
mod pool;
mod registry;
mod scope;
mod sleep;
mod spawn;
mod stats;
mod strategy;
mod sync;
mod topology;
mod wait;
mod worker;
mod yields;

pub use block_on::block_on;
pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use cancel::CancelToken;
pub use error::BuildError;
pub use fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo};
pub use join::{FnContext, join, join_context};
pub use locksley_policy::Victims;
pub use pinning::{Pinning, UnknownPinning};
pub use pool::{Builder, Pool, max_num_workers};
pub use scope::{Scope, in_place_scope, scope};
pub use spawn::{JoinHandle, spawn, spawn_fifo};
#[cfg(all(feature = "stats", not(loom)))]
pub use stats::{Stats, WorkerStats};
pub use strategy::{Idle, Strategy, Waiting};
pub use topology::{Available, Level, Topology, available_cpus, topology};
pub use worker::{
    Worker, current_num_workers, current_worker_has_pending_tasks, current_worker_index,
};
pub use yields::{Yield, yield_local, yield_now};
