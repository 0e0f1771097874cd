//! A fork-join task runtime: forks that cost a few nanoseconds, waiting that runs only what it
//! waits for, workers that sleep when there is nothing to do.
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
//! # What there is
//!
//! | to | use |
//! |---|---|
//! | run two closures, or more | [`join()`], [`join_context`], [`join!`] |
//! | the same without looking up the worker | [`Worker::join`], from [`Pool::run`] |
//! | spawn tasks that borrow, and wait for them | [`scope`], [`in_place_scope`], [`scope_fifo`] |
//! | spawn tasks on their own; wait for them or `.await` them | [`spawn`], [`spawn_fifo`], [`JoinHandle`] |
//! | fork tasks that say what they read and write | [`flow()`], [`mod@flow`] |
//! | run something on every worker | [`broadcast`], [`spawn_broadcast`] |
//! | let other work go first | [`yield_now`], [`yield_local`] |
//! | wait for a future | [`block_on`] |
//! | give up early | [`Scope::cancel`], [`CancelToken`] |
//! | have a pool of one's own | [`Pool::builder`], [`Pool::install`] |
//! | see what the workers did | [`Pool::stats`](Pool) (feature `stats`) |
//! | see how parallel a program is | [`Pool::profile`] |
//! | record a run for the simulator | [`Pool::record`], [`Builder::record`] |
//! | see who did what when, in Perfetto | [`Builder::trace`], [`Pool::take_trace`] |
//! | see what the machine looks like | [`topology()`], [`available_cpus`] |
//!
//! # Where work runs
//!
//! A closure that runs on a worker forks and spawns into that worker's pool. Elsewhere the free
//! functions use the global pool, which starts on first use with one worker for each CPU that
//! the process may use ([`available_cpus`]), or as many as `LOCKSLEY_NUM_THREADS` says, or as
//! [`Builder::build_global`] asked for.
//!
//! # Waiting
//!
//! A worker whose job was stolen takes only work that descends from it ([`Waiting::Leapfrog`]). So
//! a task may hold a lock while it waits, and leaving a scope runs no stranger's task. Where there is
//! nothing of that kind to do the worker blocks, and a *spare* worker takes its place, so that
//! the pool keeps as many running as it has workers. Spares have indices from the number of
//! workers on. There are as many spares as workers, or 64: where more tasks than that are blocked
//! inside each other, as by pools that call into each other without end, the pool can stand still.
//! [`Waiting::TakeAny`] takes whatever there is, as most other runtimes do.
//!
//! # Strategies
//!
//! [`Strategy`] says which pile the workers have. Under the default,
//! [`Stealing`](Strategy::Stealing), a fork is a dozen plain instructions, and a thief pays with
//! a system call. Some strategies have policies, which are written behind the name:
//! `"flexible:steal-back,theta_r=0.25".parse()`. Under any of them
//! [`Builder::victims`] or [`Builder::balancer`] says whom an idle worker tries first.
//!
//! # Panics
//!
//! A panic in either closure of a join, or in a task of a scope, reaches whoever waits for it when
//! everything else that it waits for is done. That of a spawned task reaches whoever joins or awaits it,
//! or else the pool's [panic handler](Builder::panic_handler).
//!
//! # Features
//!
//! `stats` (on by default): counters of each worker. Without it they compile to nothing. The fast
//! path of a join counts nothing in any case.
//!
//! # Environment
//!
//! `LOCKSLEY_NUM_THREADS`: the size of the global pool, and of every pool that is not told otherwise.
//! `LOCKSLEY_NO_MEMBARRIER`: if set, fences are used where `membarrier` would be.

mod error;
pub mod flow;
mod machine;
mod observe;
mod pool;
mod scheduler;
mod strategy;
mod sync;
mod task;

pub use error::BuildError;
pub use flow::flow;
pub use locksley_policy::{
    Amount, Balancer, Dealing, Factor, Flexible, Heuristic, Memory, Mu, Oracle, OutOfRange,
    Outcome, ParseError, Seeker, Sharing, Source, StealHalf, Target, Theta, Update, Victims, View,
    When,
};
pub use locksley_trace::Trace;
pub use machine::pinning::{Pinning, UnknownPinning};
pub use machine::topology::{Available, Level, Topology, available_cpus, topology};
pub use observe::profile::{Bounds, Profile};
pub use observe::record::Recording;
pub use observe::state::{PoolState, WorkerActivity, WorkerState};
#[cfg(all(feature = "stats", not(loom)))]
pub use observe::stats::{Observer, Stats, WorkerStats};
pub use pool::builder::Builder;
pub use pool::thread_builder::ThreadBuilder;
pub use pool::{Pool, max_num_workers};
pub use scheduler::worker::{
    Worker, current_num_workers, current_worker_has_pending_tasks, current_worker_index,
};
pub use strategy::{Idle, Strategy, Waiting};
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

/// The examples of the project's README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadMe;
