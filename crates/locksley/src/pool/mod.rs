//! Pools, and the global one.

pub(crate) mod builder;
mod call;
pub(crate) mod config;
pub(crate) mod environment;
mod observe;
pub(crate) mod process;
mod spawn;
pub(crate) mod thread_builder;
mod unwind;

use std::fmt;
use std::sync::Arc;

use crate::error::{BuildError, report};
use crate::observe::record;
use crate::pool::builder::Builder;
use crate::pool::config::MOST_WORKERS;
use crate::pool::process::PerProcess;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::scheduler::wait::wait_outside;
use crate::scheduler::worker::Worker;
use crate::strategy::HAS_STRATEGIES;
use crate::task::job::{GroupId, HeapJob, catch};
use crate::task::latch::Latch;

pub(crate) static GLOBAL: PerProcess<Pool> = PerProcess::new();

/// Returns the global pool, and starts it on first use.
pub(crate) fn global() -> &'static Pool {
    GLOBAL.get_or_init(|| {
        Pool::builder().build().unwrap_or_else(|error| {
            report(format_args!("{error}; the global pool has one worker"));
            Pool::builder()
                .workers(1)
                .build()
                .expect("a process that can start no thread cannot have a pool")
        })
    })
}

/// Shuts the global pool down: waits until all spawned tasks are done and its threads have ended.
/// The next use of the global pool starts another one. Does nothing if it has not been started.
///
/// This is for a library that is about to be unloaded, whose code must not run in any thread. No
/// other thread may use the global pool meanwhile: a task that is passed to a pool that has ended
/// does not run. Called from a task of the global pool, it does not wait.
pub fn shutdown_global() {
    if let Some(pool) = GLOBAL.remove() {
        pool.registry.close();
    }
}

/// Returns the maximum number of workers of a pool.
pub fn max_num_workers() -> usize {
    MOST_WORKERS
}

/// A pool of workers.
///
/// Dropping it waits until all spawned tasks are done and its threads have ended. That blocks the
/// calling thread: asynchronous code uses [`shutdown_background`](Pool::shutdown_background)
/// instead.
pub struct Pool {
    pub(crate) registry: Arc<Registry>,
}

impl Pool {
    /// Builds a pool with the defaults, as [`Builder`] states them: one worker for each CPU that
    /// this process may use.
    ///
    /// # Errors
    ///
    /// As for [`Builder::build`].
    pub fn new() -> Result<Pool, BuildError> {
        Pool::builder().build()
    }

    /// Returns a builder with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the number of workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.registry.size()
    }

    /// Returns the index of the calling thread's worker, if it belongs to this pool. See
    /// [`Worker::index`].
    pub fn current_worker_index(&self) -> Option<usize> {
        Worker::current_in(&self.registry).map(Worker::index)
    }

    /// [`current_worker_has_pending_tasks`](crate::current_worker_has_pending_tasks), if the
    /// calling thread is one of this pool's workers.
    pub fn current_worker_has_pending_tasks(&self) -> Option<bool> {
        Worker::current_in(&self.registry).map(|worker| !worker.seems_empty())
    }

    /// Shuts the pool down: waits until all spawned tasks are done and all threads have ended.
    /// Dropping the pool does the same.
    pub fn shutdown(self) {}

    /// [`shutdown`](Pool::shutdown) of a pool that lives as long as the process. No thread may use
    /// the pool afterwards.
    #[doc(hidden)]
    pub fn shutdown_static(&'static self) {
        self.registry.close();
    }

    /// Shuts the pool down without waiting: the threads finish all spawned tasks, and end.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// let (go, wait) = mpsc::channel();
    /// let task = pool.spawn(move || wait.recv().unwrap());
    /// pool.shutdown_background(); // dropping it would wait for the task for ever
    /// go.send(7).unwrap();
    /// assert_eq!(task.join(), 7);
    /// ```
    pub fn shutdown_background(self) {
        self.registry.end();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.registry.is_closing() {
            self.registry.close();
        }
        self.registry.user_leaves();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategy = &self.registry.config.strategy;
        let mut pool = f.debug_struct("Pool");
        pool.field("workers", &self.workers());
        // The code that prints the policies of the strategies is left out with them.
        if HAS_STRATEGIES {
            pool.field("strategy", &format_args!("{strategy}"));
        } else {
            pool.field("strategy", &format_args!("{}", strategy.name()));
        }
        pool.finish_non_exhaustive()
    }
}

/// Runs `f` on a worker: on this one if the calling thread is one, or on the global pool.
pub(crate) fn on_worker<F, R>(f: F) -> R
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    match Worker::current() {
        Some(worker) => f(worker),
        None => global().run(f),
    }
}

/// Runs `f` on a worker of a pool.
fn run_in<F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    let here = Worker::current();
    if let Some(worker) = here.filter(|worker| worker.is_in(registry)) {
        return record::run(worker, f);
    }
    registry.check_adopted();
    let latch = Latch::new();
    let group = GroupId::of(&latch);
    let mut result = None;
    {
        let (latch, slot) = (&raw const latch, &mut result);
        let waiter = std::thread::current();
        let run = move |worker: &Worker| {
            *slot = Some(catch(|| record::run(worker, f)));
            // SAFETY: the waiter goes on, and the latch away, only when it sees the latch set; the
            // closure owns the thread's handle.
            unsafe { Latch::set(latch, || waiter.unpark()) };
        };
        // SAFETY: this function waits below until the closure has set the latch, and it touches
        // nothing that is borrowed afterwards; `F` and `R` are `Send`.
        let job = unsafe { HeapJob::new_ref(None, group, run) };
        registry.inject(QueuedJob { job, owner: 0 });
    }
    match here {
        Some(worker) => worker.wait_abroad(registry, &latch, group),
        None => wait_outside(registry, &latch),
    }
    match result.expect("the job has run") {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
