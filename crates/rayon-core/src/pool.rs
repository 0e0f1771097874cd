//! Pools.

use std::error::Error;
use std::fmt;

use locksley::{Pool, Worker};

use crate::broadcast::BroadcastContext;
use crate::environment;
use crate::global::{global, with_worker};
use crate::scope::{Scope, ScopeFifo};
use crate::yields::Yield;

/// A pool of threads. Dropping it does not wait; its threads finish what was spawned and end.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 2);
/// ```
pub struct ThreadPool {
    /// `None` only at the end of `drop`.
    pool: Option<Pool>,
}

impl ThreadPool {
    pub(crate) fn over(pool: Pool) -> ThreadPool {
        ThreadPool { pool: Some(pool) }
    }

    #[inline]
    pub(crate) fn inner(&self) -> &Pool {
        self.pool.as_ref().expect("it is there until it is dropped")
    }

    /// Builds a pool. Deprecated name of
    /// [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    ///
    /// ```
    /// # #![allow(deprecated)]
    /// use rayon_core::{Configuration, ThreadPool};
    ///
    /// let pool = ThreadPool::new(Configuration::new().num_threads(2)).unwrap();
    /// assert_eq!(pool.current_num_threads(), 2);
    /// ```
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` in the pool, and returns its result. Joins, spawns and parallel iterators within
    /// `op` use this pool. If the caller is a thread of another pool, it runs tasks of that pool
    /// while it waits.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.inner().install(op)
    }

    /// Runs `op` once in every thread of the pool, and returns the results by index. Panics, once
    /// all calls have ended, if one of them panicked.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.inner()
            .broadcast(|context| op(BroadcastContext::new(context)))
    }

    /// Returns the number of threads.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 3);
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.inner().workers()
    }

    /// Returns the calling thread's index if it belongs to this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_index()), Some(0));
    /// ```
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.inner().current_worker_index()
    }

    /// Returns whether the calling thread's own queue has tasks, or `None` if the thread does not
    /// belong to this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.install(|| pool.current_thread_has_pending_tasks()), Some(false));
    /// ```
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.inner().current_worker_has_pending_tasks()
    }

    /// Runs [`join`](crate::join()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.inner().join(oper_a, oper_b)
    }

    /// Runs [`scope`](crate::scope()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut value = 0;
    /// pool.scope(|s| s.spawn(|_| value = 7));
    /// assert_eq!(value, 7);
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.inner().scope(|scope| op(Scope::of(scope)))
    }

    /// Runs [`scope_fifo`](crate::scope_fifo()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut value = 0;
    /// pool.scope_fifo(|s| s.spawn_fifo(|_| value = 7));
    /// assert_eq!(value, 7);
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.inner().scope_fifo(|scope| op(ScopeFifo::of(scope)))
    }

    /// Runs an [`in_place_scope`](crate::in_place_scope()) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut value = 0;
    /// pool.in_place_scope(|s| s.spawn(|_| value = 7));
    /// assert_eq!(value, 7);
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.inner().in_place_scope(|scope| op(Scope::of(scope)))
    }

    /// Runs an [`in_place_scope_fifo`](crate::in_place_scope_fifo()) whose tasks run in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut value = 0;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| value = 7));
    /// assert_eq!(value, 7);
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.inner()
            .in_place_scope_fifo(|scope| op(ScopeFifo::of(scope)))
    }

    /// [Spawns](crate::spawn()) a task into this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.inner().spawn_detached(op);
    }

    /// Spawns a task into this pool as [`spawn_fifo`](crate::spawn_fifo()) does.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.inner().spawn_fifo_detached(op);
    }

    /// Spawns `op` into this pool as [`spawn_broadcast`](crate::spawn_broadcast()) does.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    /// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1 + 2);
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.inner()
            .spawn_broadcast(move |context| op(BroadcastContext::new(context)));
    }

    /// Runs [`yield_now`](crate::yield_now()) if the calling thread belongs to this pool.
    ///
    /// ```
    /// use rayon_core::Yield;
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.yield_now(), None);
    /// assert_eq!(pool.install(|| pool.yield_now()), Some(Yield::Idle));
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.inner().yield_now().map(Yield::from)
    }

    /// Runs [`yield_local`](crate::yield_local()) if the calling thread belongs to this pool.
    ///
    /// ```
    /// use rayon_core::Yield;
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.yield_local(), None);
    /// assert_eq!(pool.install(|| pool.yield_local()), Some(Yield::Idle));
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.inner().yield_local().map(Yield::from)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.shutdown_background();
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("pool", self.inner())
            .finish()
    }
}

/// Returns the calling thread's index in its pool, below the number of threads, or `None` outside
/// of a pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// assert!(rayon_core::scope(|_| rayon_core::current_thread_index()).is_some());
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    with_worker(|worker| worker.map(Worker::index))
}

/// Returns whether the calling thread's own queue has tasks, or `None` outside of a pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    if crate::global::inside() {
        locksley::current_worker_has_pending_tasks()
    } else {
        None
    }
}

/// Returns the number of threads in the calling thread's pool, or outside of a pool in the global
/// one. If `LOCKSLEY_REPRODUCIBLE` is set, returns its value, which no pool exceeds.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(|| rayon_core::current_num_threads()), 3);
/// ```
#[inline]
pub fn current_num_threads() -> usize {
    let threads = with_worker(|worker| match worker {
        Some(worker) => worker.num_workers(),
        None => global().current_num_threads(),
    });
    environment::reproducible().unwrap_or(threads)
}

/// Returns the largest number of threads that a pool can have. A builder that asks for more gets
/// this number.
///
/// ```
/// assert!(rayon_core::max_num_threads() >= 1024);
/// ```
pub fn max_num_threads() -> usize {
    locksley::max_num_workers()
}
