//! A fork-join task runtime. A fork costs a few nanoseconds, a waiting worker runs only tasks that
//! descend from what it waits for, and workers without work sleep.
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
//!
//! The [guide] starts with [first steps](guide::first_steps). It has a page for [users of
//! rayon](guide::from_rayon), with the counterparts of all names, and one with the library's
//! [promises](guide::promises).
//!
//! # Overview
//!
//! | to | use |
//! |---|---|
//! | run two closures, or more | [`join()`], [`join_context`], [`join!`] |
//! | the same, without a lookup of the thread's worker | [`Worker::join`], from [`Pool::run`] |
//! | spawn tasks that borrow, and wait for them | [`scope`], [`in_place_scope`], [`scope_fifo`] |
//! | spawn `'static` tasks; join or await them | [`spawn`], [`spawn_fifo`], [`JoinHandle`] |
//! | loop over data in parallel, without a chunk size | [`mod@par`], [`prelude`] |
//! | fork tasks that declare what they read and write | [`flow()`], [`mod@flow`] |
//! | run something on every worker | [`broadcast`], [`spawn_broadcast`] |
//! | let other jobs run first | [`yield_now`], [`yield_local`] |
//! | wait for a future | [`block_on`] |
//! | call something that blocks | [`blocking`] |
//! | cancel tasks | [`Scope::cancel`], [`CancelToken`] |
//! | keep a task near its data | [`spawn_near`], [`worker_for_key`] |
//! | create a pool | [`Pool::builder`], [`Pool::install`] |
//! | choose a scheduler | [`Strategy`], [`policy`] |
//! | read counters of what the workers did | [`Pool::stats`](Pool) (feature `stats`) |
//! | measure work, span and parallelism | [`Pool::profile`] |
//! | record a run for the simulator | [`Pool::record`], [`Builder::record`] |
//! | trace the workers, for Perfetto | [`Builder::trace`], [`Pool::take_trace`] |
//! | query the machine's topology | [`topology()`], [`available_cpus`] |
//!
//! # Where work runs
//!
//! A closure that runs on a worker forks and spawns into that worker's pool. Elsewhere the free
//! functions use the global pool, which starts on first use with one worker for each CPU that
//! the process may use ([`available_cpus`]), or as many as `LOCKSLEY_NUM_THREADS` says, or as
//! [`Builder::build_global`] asked for. [`shutdown_global`] ends it.
//!
//! While a task waits, its worker takes only work that descends from what it waits for, so a task
//! may hold a lock while it waits ([waiting](guide::waiting)). [`Strategy`] determines how work
//! gets to idle workers ([strategies](guide::strategies)). Panics, forked processes and environment
//! variables are described under [promises](guide::promises).
//!
//! # Features
//!
//! `stats` (on by default): counters of each worker. Without it they compile to nothing. The fast
//! path of a join counts nothing in any case.
//!
//! `strategies` (on by default): strategies with queues of their own ([`HAS_STRATEGIES`]).

mod error;
pub mod flow;
pub mod guide;
mod observe;
pub mod par;
pub mod policy;
mod pool;
mod scheduler;
mod strategy;
mod sync;
mod task;

pub use error::BuildError;
#[doc(hidden)]
pub use error::report;
pub use flow::flow;
use locksley_machine as machine;
#[doc(hidden)]
pub use locksley_machine::process::PerProcess;
pub use locksley_machine::{
    Available, Level, Pinning, Topology, UnknownPinning, available_cpus, topology,
};
pub use locksley_policy::ParseError;
pub use locksley_trace::recording::Recording;
#[cfg(all(feature = "stats", not(loom)))]
pub use locksley_trace::stats::{Stats, WorkerStats};
pub use locksley_trace::{Bounds, Profile, Trace};
pub use observe::state::{PoolState, WorkerActivity, WorkerState};
#[cfg(all(feature = "stats", not(loom)))]
pub use observe::stats::Observer;
pub use pool::builder::Builder;
pub use pool::thread_builder::ThreadBuilder;
pub use pool::{Pool, max_num_workers, shutdown_global};
pub use scheduler::worker::{
    Worker, current_num_workers, current_worker_has_pending_tasks, current_worker_index,
};
pub use strategy::{HAS_STRATEGIES, Idle, Strategy, Waiting};
pub use task::affinity::{spawn_near, worker_for_key};
pub use task::block_on::block_on;
pub use task::blocking::blocking;
pub use task::broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use task::cancel::CancelToken;
pub use task::join::{FnContext, join, join_context};
pub use task::scope::{Scope, in_place_scope, scope};
pub use task::scope_fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo};
pub use task::spawn::{JoinHandle, spawn, spawn_detached, spawn_fifo, spawn_fifo_detached};
pub use task::yield_now::{Yield, yield_local, yield_now};

/// The traits of parallel loops: `use locksley::prelude::*;`.
pub mod prelude {
    pub use crate::par::{AsPar, IntoPar, ParSlice, ParSort, ParStr, ParVec};
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
