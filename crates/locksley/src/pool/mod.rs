//! Pools, and the global one.

pub(crate) mod builder;
pub(crate) mod process;
pub(crate) mod thread_builder;
mod unwind;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use locksley_trace::Trace;

use crate::strategy::HAS_STRATEGIES;
use crate::task::affinity::{spawn_near_in, worker_for};
use crate::task::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};

use crate::error::BuildError;
use crate::flow::Flow;
use crate::observe::profile::Profile;
use crate::observe::record::{self, Recording};
use crate::observe::state::PoolState;
use crate::pool::builder::{Builder, MOST_WORKERS};
use crate::pool::process::PerProcess;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::scheduler::wait::wait_outside;
use crate::scheduler::worker::Worker;
use crate::task::job::{GroupId, HeapJob, catch};
use crate::task::join::FnContext;
use crate::task::latch::Latch;
use crate::task::scope::{Scope, in_place_scope_in, scope_here};
use crate::task::scope_fifo::{ScopeFifo, in_place_scope_fifo_in, scope_fifo};
use crate::task::spawn::{
    JoinHandle, spawn_detached_in, spawn_fifo_detached_in, spawn_fifo_in, spawn_in,
};
use crate::task::yield_now::{Yield, yield_local_in, yield_now_in};

pub(crate) static GLOBAL: PerProcess<Pool> = PerProcess::new();

/// The global pool, started now if it was not.
pub(crate) fn global() -> &'static Pool {
    GLOBAL.get_or_init(|| {
        Pool::builder().build().unwrap_or_else(|error| {
            eprintln!("locksley: {error}; the global pool has one worker");
            Pool::builder()
                .workers(1)
                .build()
                .expect("a process that can start no thread cannot have a pool")
        })
    })
}

/// Ends the global pool: waits until everything that was spawned is done and its threads have ended.
/// The next use of it starts another one. Does nothing if it has not been started.
///
/// This is for a library that is about to be unloaded, whose code must run in no thread. No other
/// thread may use the global pool meanwhile: what it hands to a pool that has ended does not run.
/// Called from a task of the global pool, it does not wait.
///
/// ```
/// assert_eq!(locksley::join(|| 1, || 2), (1, 2));
/// locksley::shutdown_global();
/// // Another one.
/// assert_eq!(locksley::join(|| 1, || 2), (1, 2));
/// ```
pub fn shutdown_global() {
    if let Some(pool) = GLOBAL.remove() {
        pool.registry.close();
    }
}

/// The most workers that a pool can have.
///
/// ```
/// let most = locksley::max_num_workers();
/// assert!(locksley::Pool::builder().workers(most + 1).build().is_err());
/// ```
pub fn max_num_workers() -> usize {
    MOST_WORKERS
}

/// A pool of workers.
///
/// Dropping it waits until everything that was spawned is done and its threads have ended. That blocks
/// the calling thread: asynchronous code uses [`retire`](Pool::retire) instead.
///
/// ```
/// let pool = locksley::Pool::builder().workers(2).build().unwrap();
/// let sum: u64 = pool.install(|| {
///     let (a, b) = locksley::join(|| (0..500).sum::<u64>(), || (500..1000).sum::<u64>());
///     a + b
/// });
/// assert_eq!(sum, 499_500);
/// ```
pub struct Pool {
    registry: Arc<Registry>,
}

impl Pool {
    /// Builds a pool with the defaults: one worker for each CPU that this process may use.
    ///
    /// # Errors
    ///
    /// As for [`Builder::build`].
    ///
    /// ```
    /// let pool = locksley::Pool::new().unwrap();
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn new() -> Result<Pool, BuildError> {
        Pool::builder().build()
    }

    /// A builder with the defaults.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.workers(), 2);
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn over(registry: Arc<Registry>) -> Pool {
        Pool { registry }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The number of workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(5).build().unwrap();
    /// assert_eq!(pool.workers(), 5);
    /// ```
    #[must_use]
    pub fn workers(&self) -> usize {
        self.registry.size()
    }

    /// How many of the workers look for work without a pause: all of them, unless the process has been
    /// left with fewer processors while it ran, by its affinity mask or the quota of its control group.
    /// The pool looks once a second, while it works. Workers beyond this number sleep for
    /// 20 milliseconds before each job. Not if [`Builder::processors`] has said how many there are.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert!(pool.active_workers() <= 2);
    /// ```
    pub fn active_workers(&self) -> usize {
        self.registry.active()
    }

    /// How many jobs seem to lie in each worker's pile, by index; behind the workers come the spares that
    /// have been called up so far. The lengths are read one after the other, so work that
    /// goes from pile to pile meanwhile may be seen twice, or not at all.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.loads(), [0, 0]);
    /// ```
    #[must_use]
    pub fn loads(&self) -> Vec<usize> {
        let workers = 0..self.registry.workers();
        workers
            .map(|index| self.registry.worker(index).load())
            .collect()
    }

    /// What each worker is doing, what it waits for, and what lies in the queues: to print when nothing
    /// seems to move. The workers go on meanwhile, so the parts need not be of the same moment.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let state = pool.install(|| pool.state());
    /// assert_eq!(state.workers.len(), 2);
    /// println!("{state}");
    /// ```
    pub fn state(&self) -> PoolState {
        PoolState::of(&self.registry)
    }

    /// Runs `f` in the pool and returns its result. Everything that it forks or spawns
    /// through the free functions stays in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let (count, sum) = pool.install(|| {
    ///     // Inside, the free functions are this pool's.
    ///     (locksley::current_num_workers(), locksley::join(|| 1, || 2))
    /// });
    /// assert_eq!((count, sum), (2, (1, 2)));
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.run(|_| f())
    }

    /// [`install`](Pool::install) that hands `f` its worker.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.run(|worker| worker.join(|_| 1, |_| 2)), (1, 2));
    /// ```
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        run_in(&self.registry, f)
    }

    /// [`join`](crate::join()) in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.run(|worker| worker.join(|_| a(), |_| b()))
    }

    /// [`join_context`](crate::join_context) in this pool. If the calling thread is none of its workers,
    /// both closures have migrated.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.join_context(|c| c.migrated(), |c| c.migrated()), (true, true));
    /// ```
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let outside = Worker::current_in(&self.registry).is_none();
        self.run(|worker| {
            worker.fork(
                |_, migrated| a(FnContext::new(migrated || outside)),
                |_, migrated| b(FnContext::new(migrated || outside)),
            )
        })
    }

    /// [`scope`](crate::scope()) in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let mut parts = [1, 2, 3];
    /// pool.scope(|s| {
    ///     for part in &mut parts {
    ///         s.spawn(|_| *part *= 10);
    ///     }
    /// });
    /// assert_eq!(parts, [10, 20, 30]);
    /// ```
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| scope_here(worker, body))
    }

    /// [`flow`](crate::flow()) in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let mut n = 1;
    /// pool.flow(|f| {
    ///     let n = f.object(&mut n);
    ///     f.fork(n.update(), |n| *n += 1);
    ///     f.fork(n.update(), |n| *n *= 10);
    /// });
    /// assert_eq!(n, 20);
    /// ```
    pub fn flow<'env, F, R>(&self, body: F) -> R
    where
        F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::flow::flow(body))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// let order = std::sync::Mutex::new(Vec::new());
    /// pool.scope_fifo(|s| {
    ///     for task in 0..3 {
    ///         let order = &order;
    ///         s.spawn_fifo(move |_| order.lock().unwrap().push(task));
    ///     }
    /// });
    /// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
    /// ```
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(body))
    }

    /// [`in_place_scope`](crate::in_place_scope) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let here = std::thread::current().id();
    /// let mut done = false;
    /// pool.in_place_scope(|s| {
    ///     assert_eq!(std::thread::current().id(), here);
    ///     s.spawn(|_| done = true);
    /// });
    /// assert!(done);
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.registry, body)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let mut done = false;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| done = true));
    /// assert!(done);
    /// ```
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.registry, body)
    }

    /// [`broadcast`](crate::broadcast) to this pool's workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(3).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| context.index() * 10), [0, 10, 20]);
    /// ```
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, f)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) to this pool's workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(3).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    /// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1 + 2);
    /// ```
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, f);
    }

    /// [`yield_now`](crate::yield_now), if the calling thread is one of this pool's workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.yield_now(), None);
    /// assert_eq!(pool.install(|| pool.yield_now()), Some(locksley::Yield::Idle));
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        yield_now_in(&self.registry)
    }

    /// [`yield_local`](crate::yield_local), if the calling thread is one of this pool's workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.yield_local(), None);
    /// assert_eq!(pool.install(|| pool.yield_local()), Some(locksley::Yield::Idle));
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        yield_local_in(&self.registry)
    }

    /// The index of the calling thread, if it is one of this pool's workers. See [`Worker::index`].
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.current_worker_index(), None);
    /// assert_eq!(pool.install(|| pool.current_worker_index()), Some(0));
    /// ```
    pub fn current_worker_index(&self) -> Option<usize> {
        Worker::current_in(&self.registry).map(Worker::index)
    }

    /// [`current_worker_has_pending_tasks`](crate::current_worker_has_pending_tasks), if the
    /// calling thread is one of this pool's workers.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.current_worker_has_pending_tasks(), None);
    /// ```
    pub fn current_worker_has_pending_tasks(&self) -> Option<bool> {
        Worker::current_in(&self.registry).map(|worker| !worker.seems_empty())
    }

    /// [`spawn_near`](crate::spawn_near) into this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.spawn_near(1, || 7).join(), 7);
    /// ```
    pub fn spawn_near<F, T>(&self, worker: usize, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_near_in(&self.registry, worker, task)
    }

    /// [`worker_for_key`](crate::worker_for_key) of this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(3).build().unwrap();
    /// assert!(pool.worker_for_key("tile 7") < 3);
    /// assert_eq!(pool.worker_for_key("tile 7"), pool.worker_for_key("tile 7"));
    /// ```
    pub fn worker_for_key<K: Hash + ?Sized>(&self, key: &K) -> usize {
        worker_for(self.registry.size(), key)
    }

    /// [`spawn_fifo`](crate::spawn_fifo) into this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.spawn_fifo(|| 7).join(), 7);
    /// ```
    pub fn spawn_fifo<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_fifo_in(&self.registry, task)
    }

    /// [`spawn`](crate::spawn()) into this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.spawn(|| 6 * 7).join(), 42);
    /// ```
    pub fn spawn<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(&self.registry, task)
    }

    /// [`spawn_detached`](crate::spawn_detached) into this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_detached(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn_detached<F>(&self, task: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn_detached_in(&self.registry, task);
    }

    /// [`spawn_fifo_detached`](crate::spawn_fifo_detached) into this pool.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_fifo_detached(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn_fifo_detached<F>(&self, task: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn_fifo_detached_in(&self.registry, task);
    }

    /// What the workers have done so far. Feature `stats`, on by default.
    ///
    /// Counts lag behind a little where their worker is busy; see [`Stats`](crate::Stats).
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let before = pool.stats();
    /// pool.install(|| ());
    /// assert_eq!((pool.stats() - before).total().tasks, 1);
    /// ```
    #[cfg(all(feature = "stats", not(loom)))]
    #[must_use]
    pub fn stats(&self) -> crate::Stats {
        self.registry.stats()
    }

    /// Shows the statistics for as long as one likes, after the pool has ended too. It keeps the counters and what
    /// goes with them in memory. Feature `stats`, on by default.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let observer = pool.observer();
    /// drop(pool.spawn(|| ()));
    /// pool.shutdown();
    /// assert_eq!(observer.stats().total().tasks, 1);
    /// ```
    #[cfg(all(feature = "stats", not(loom)))]
    #[must_use]
    pub fn observer(&self) -> crate::Observer {
        crate::Observer::new(self.registry.clone())
    }

    /// What the pool has run since the last call, recorded: see [`Builder::record`]. `None` if it does
    /// not record, or nothing has been run.
    ///
    /// A run is recorded when it is over. Runs that several threads called for at the same time are recorded
    /// as if one had come after the other, in the order in which they ended.
    ///
    /// ```
    /// use locksley::Pool;
    ///
    /// let pool = Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.install(|| locksley::join(|| 1, || 2));
    /// assert_eq!(pool.take_recording().unwrap().forks(), 1);
    /// assert!(pool.take_recording().is_none(), "it has been taken");
    /// ```
    #[must_use = "what was recorded is gone from the pool"]
    pub fn take_recording(&self) -> Option<Recording> {
        self.registry.take_recording()
    }

    /// Runs a closure in the pool, and records what it does: see [`Builder::record`] for what that means. Nothing
    /// else is recorded, and the pool need not have been told to.
    ///
    /// Several such calls may be under way at once; each records its own. One within another is a part of
    /// the outer one's recording too. If the closure panics, so does this.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let (sum, recording) = pool.record(|| {
    ///     let (a, b) = locksley::join(|| 1, || 2);
    ///     a + b
    /// });
    /// assert_eq!((sum, recording.forks()), (3, 1));
    /// ```
    #[must_use = "without a look at the recording, `install` costs less"]
    pub fn record<F, R>(&self, f: F) -> (R, Recording)
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        run_in(&self.registry, |worker| record::record(worker, |_| f()))
    }

    /// Runs a closure in the pool, and tells how parallel it is: its work and span, and what they say about
    /// the speed-up on any number of workers. See [`Profile`], also for how accurate it is.
    ///
    /// It works under every strategy, from inside of the pool and from outside. Several may be under way at once; each is
    /// about its own closure. One within another is a part of the outer one's too. If the closure panics, so does this.
    ///
    /// ```
    /// fn sum(values: &[u64]) -> u64 {
    ///     if values.len() <= 10_000 {
    ///         return values.iter().sum();
    ///     }
    ///     let (left, right) = values.split_at(values.len() / 2);
    ///     let (a, b) = locksley::join(|| sum(left), || sum(right));
    ///     a + b
    /// }
    ///
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let values: Vec<u64> = (0..100_000).collect();
    /// let (sum, profile) = pool.profile(|| sum(&values));
    /// assert_eq!(sum, 4_999_950_000);
    /// assert_eq!(profile.spawns, 15);
    /// println!("{profile}");
    /// ```
    #[must_use = "without a look at the profile, `install` costs less"]
    pub fn profile<F, R>(&self, f: F) -> (R, Profile)
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let (result, recording, cost) = run_in(&self.registry, |worker| {
            let cost = record::cost_of_a_strand(worker);
            let (result, recording) = record::record(worker, |_| f());
            (result, recording, cost)
        });
        let profile = recording.profile(Profile::BURDEN, Duration::from_nanos(cost));
        (result, profile)
    }

    /// What the workers have done since the last call, for a timeline: see [`Builder::trace`]. Empty if nothing is traced.
    ///
    /// It can be called at any time, and stops nobody. What a worker is at is drawn up to now; the rest of it comes with the
    /// next call. The process has the number that it has in the system, and each worker is a thread of it, by its index;
    /// spares come behind. Time counts from when the pool was configured.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).trace(1000).build().unwrap();
    /// pool.install(|| ());
    /// let trace = pool.take_trace();
    /// assert_eq!(trace.source.lost, 0);
    /// println!("{}", trace.to_json()); // for https://ui.perfetto.dev
    ///
    /// let untraced = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert!(untraced.take_trace().is_empty());
    /// ```
    #[must_use = "what was traced is gone from the pool"]
    pub fn take_trace(&self) -> Trace {
        self.registry.take_trace()
    }

    /// Ends the pool: waits until everything that was spawned is done and all threads have
    /// ended. Dropping it does the same.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let done = Arc::new(AtomicUsize::new(0));
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// for _ in 0..100 {
    ///     let done = done.clone();
    ///     drop(pool.spawn(move || done.fetch_add(1, Ordering::Relaxed)));
    /// }
    /// pool.shutdown();
    /// assert_eq!(done.load(Ordering::Relaxed), 100);
    /// ```
    pub fn shutdown(self) {}

    /// [`shutdown`](Pool::shutdown) of a pool that lives as long as the process. No thread may use the
    /// pool afterwards.
    #[doc(hidden)]
    pub fn shutdown_static(&'static self) {
        self.registry.close();
    }

    /// Ends the pool, and does not wait: the threads finish what was spawned, and end by themselves.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// let (go, wait) = mpsc::channel();
    /// let task = pool.spawn(move || wait.recv().unwrap());
    /// pool.retire(); // dropping it would wait for the task for ever
    /// go.send(7).unwrap();
    /// assert_eq!(task.join(), 7);
    /// ```
    pub fn retire(self) {
        self.registry.end();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.registry.is_closing() {
            self.registry.close();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategy = &self.registry.config.strategy;
        let mut pool = f.debug_struct("Pool");
        pool.field("workers", &self.workers());
        // What describes the policies of all strategies is left out with them.
        if HAS_STRATEGIES {
            pool.field("strategy", strategy);
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
    if let Some(worker) = here
        && worker.is_in(registry)
    {
        return record::run(worker, f);
    }
    let latch = Latch::new();
    let group = GroupId::of(&latch);
    let mut result = None;
    {
        let (latch, place) = (&raw const latch, &mut result);
        let waiter = std::thread::current();
        let run = move |worker: &Worker| {
            *place = Some(catch(|| record::run(worker, f)));
            // SAFETY: the waiter goes on, and the latch away, only when it sees it set; the
            // thread's handle is the closure's own.
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
