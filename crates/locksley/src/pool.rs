//! Pools: how to build one, and the global one.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use locksley_policy::Victims;

use crate::error::BuildError;
use crate::fifo::{ScopeFifo, in_place_scope_fifo_in, scope_fifo};
use crate::injector::Injected;
use crate::job::{Family, HeapJob, Payload, catch};
use crate::latch::Latch;
use crate::pinning::{self, Pinning};
use crate::registry::Registry;
use crate::scope::{Scope, in_place_scope_in, scope_here};
use crate::spawn::{JoinHandle, spawn_fifo_in, spawn_in};
use crate::strategy::{Idle, Strategy, Waiting};
use crate::worker::Worker;
use crate::yields::{Yield, yield_local_in, yield_now_in};

/// The environment variable that sets the size of the global pool.
const NUM_THREADS: &str = "LOCKSLEY_NUM_THREADS";

/// The most workers that a pool can have: what a worker costs in memory when it is idle, a few
/// kilobytes, times this is still little.
const MOST_WORKERS: usize = 1 << 12;

/// How many spares a pool has at least. Each stands for one task that is blocked within another,
/// as where two pools call into each other; their threads start when they are first needed, and a place
/// without a thread is a few kilobytes.
const SPARES: usize = 64;

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;

/// How a pool is configured.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) strategy: Strategy,
    pub(crate) waiting: Waiting,
    pub(crate) idle: Idle,
    pub(crate) stack_size: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) depth_limit: usize,
    pub(crate) victims: Option<Victims>,
    pinning: Pinning,
    /// The CPU of each worker; empty if they are not pinned.
    pub(crate) homes: Vec<usize>,
    thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    start: Option<IndexHandler>,
    exit: Option<IndexHandler>,
    panic: Option<PanicHandler>,
}

impl Config {
    /// How many spare places there are.
    pub(crate) fn spares(&self) -> usize {
        match self.waiting {
            Waiting::Leapfrog => self.workers.max(SPARES),
            Waiting::TakeAny => 0,
        }
    }

    pub(crate) fn thread_name(&self, index: usize) -> String {
        match &self.thread_name {
            Some(name) => name(index),
            None => format!("locksley-{index}"),
        }
    }

    pub(crate) fn run_start_handler(&self, index: usize) {
        if let Some(handler) = &self.start {
            handler(index);
        }
    }

    pub(crate) fn run_exit_handler(&self, index: usize) {
        if let Some(handler) = &self.exit {
            handler(index);
        }
    }

    /// A panic that has nobody else to go to. Without a handler, the message that the panic has
    /// printed already is all.
    pub(crate) fn handle_panic(&self, payload: Payload) {
        if let Some(handler) = &self.panic
            && catch(|| handler(payload)).is_err()
        {
            eprintln!("locksley: the panic handler panicked");
        }
    }
}

/// Builds a [`Pool`]. Made by [`Pool::builder`].
pub struct Builder {
    workers: Option<usize>,
    config: Config,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            workers: None,
            config: Config {
                workers: 0,
                strategy: Strategy::default(),
                waiting: Waiting::default(),
                idle: Idle::default(),
                stack_size: None,
                seed: 0x5eed,
                depth_limit: 128,
                victims: None,
                pinning: Pinning::None,
                homes: Vec::new(),
                thread_name: None,
                start: None,
                exit: None,
                panic: None,
            },
        }
    }

    /// The number of workers. The default is what `LOCKSLEY_NUM_THREADS` says, or else
    /// the number of CPUs that this process may use.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The way of scheduling.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.config.strategy = strategy;
        self
    }

    /// What a worker does while it waits.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.config.waiting = waiting;
        self
    }

    /// How a worker that finds nothing goes to sleep.
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// The size of the workers' stacks, in bytes.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// The seed of the random choice of victims.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// How many jobs of others a worker may have stacked up on its stack by taking each of
    /// them while it waited. A worker that has so many takes no more until the first are done: it
    /// blocks, and a spare takes its place. So the stack does not grow with the number of tasks. With
    /// 0 a worker never takes work while it waits, except that of its own scope. The default is
    /// 128, which leaves each of them 16 KiB of a thread's usual stack of 2 MiB.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).depth_limit(4).build().unwrap();
    /// assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn depth_limit(mut self, depth: usize) -> Self {
        self.config.depth_limit = depth;
        self
    }

    /// How an idle worker chooses whom to steal from. The default is [`Victims::NEAREST`] where workers
    /// are pinned or the machine has several packages, NUMA nodes or last-level caches, and
    /// [`Victims::Uniform`] where all are equally near.
    ///
    /// Where workers are not pinned, a worker's place is the CPU that it was last seen on, and only
    /// what the operating system rarely moves it across counts: last-level caches and wider.
    ///
    /// ```
    /// use locksley::{Pool, Victims};
    ///
    /// let pool = Pool::builder().workers(2).victims(Victims::Uniform).build().unwrap();
    /// assert_eq!(pool.install(|| 1), 1);
    /// ```
    pub fn victims(mut self, victims: Victims) -> Self {
        self.config.victims = Some(victims);
        self
    }

    /// Which CPU each worker is bound to.
    ///
    /// ```
    /// use locksley::{BuildError, Pinning, Pool};
    ///
    /// let error = Pool::builder().pinning(Pinning::List(vec![12345])).build().unwrap_err();
    /// println!("{error}"); // names the CPU, and those that this process may use
    /// # if cfg!(target_os = "linux") {
    /// assert!(matches!(error, BuildError::Pinning { cpu: Some(12345), .. }));
    /// # }
    /// ```
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.config.pinning = pinning;
        self
    }

    /// Names the workers' threads, by index.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.thread_name = Some(Box::new(name));
        self
    }

    /// Runs in each worker's thread when it starts, with the worker's index.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.start = Some(Box::new(handler));
        self
    }

    /// Runs in each worker's thread before it ends, with the worker's index.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.exit = Some(Box::new(handler));
        self
    }

    /// Gets the payload of a panic that has nobody else to go to.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn std::any::Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.config.panic = Some(Box::new(handler));
        self
    }

    /// Builds the pool and starts its workers.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be met, or the operating system refuses a thread; then none is
    /// left behind.
    pub fn build(self) -> Result<Pool, BuildError> {
        let mut config = self.config;
        config.workers = match self.workers {
            Some(workers) => workers,
            None => default_workers()?,
        };
        if !(1..=MOST_WORKERS).contains(&config.workers) {
            return Err(BuildError::Workers {
                wanted: config.workers,
                most: MOST_WORKERS,
            });
        }
        config.homes = pinning::homes(&config.pinning, config.workers)?;
        let registry = Registry::new(config);
        registry.start()?;
        Ok(Pool { registry })
    }

    /// Builds the global pool, which the free functions use. It must not exist yet.
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build), or if the global pool exists.
    pub fn build_global(self) -> Result<(), BuildError> {
        if GLOBAL.get().is_some() {
            return Err(BuildError::GlobalExists);
        }
        let pool = self.build()?;
        GLOBAL.set(pool).map_err(|_| BuildError::GlobalExists)
    }
}

fn default_workers() -> Result<usize, BuildError> {
    match std::env::var(NUM_THREADS) {
        Ok(value) => match value.trim().parse() {
            Ok(0) => Ok(available()),
            Ok(workers) => Ok(workers),
            Err(_) => Err(BuildError::Environment {
                name: NUM_THREADS,
                value,
            }),
        },
        Err(_) => Ok(available()),
    }
}

/// The CPUs that this process may use: affinity and cgroup quota included.
fn available() -> usize {
    crate::topology::available_cpus().count()
}

static GLOBAL: OnceLock<Pool> = OnceLock::new();

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

/// The calling worker's pool, or the global one.
pub(crate) fn current_registry() -> Arc<Registry> {
    match Worker::current() {
        Some(worker) => worker.registry().shared(),
        None => global().registry().clone(),
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

/// A pool of workers. Dropping it lets it finish what was spawned, and ends its threads.
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
    /// A builder with the defaults.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.registry.size()
    }

    /// Runs `f` in the pool and returns its result. Everything that it forks or spawns
    /// through the free functions stays in this pool.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.run(|_| f())
    }

    /// [`install`](Pool::install) that hands `f` its worker.
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
    pub fn stats(&self) -> crate::Stats {
        self.registry.stats()
    }

    /// Ends the pool: waits until everything that was spawned is done and all threads have
    /// ended. Dropping it does the same.
    pub fn shutdown(self) {}
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.registry.close();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .field("strategy", &self.registry.config.strategy)
            .finish_non_exhaustive()
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
        return f(worker);
    }
    let latch = Latch::new();
    let mut result = None;
    {
        let (latch, place) = (&raw const latch, &mut result);
        let waiter = std::thread::current();
        let run = move |worker: &Worker| {
            *place = Some(catch(|| f(worker)));
            // SAFETY: the waiter goes on, and the latch away, only when it sees it set; the
            // thread's handle is the closure's own.
            unsafe { Latch::set(latch, || waiter.unpark()) };
        };
        // SAFETY: this function waits below until the closure has set the latch, and it touches
        // nothing that is borrowed afterwards; `F` and `R` are `Send`.
        let job = unsafe { HeapJob::new_ref(Family::NONE, run) };
        registry.inject(Injected { job, owner: 0 });
    }
    match here {
        Some(worker) => worker.wait_abroad(&latch),
        None => latch.park(std::thread::park),
    }
    match result.expect("the job has run") {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
