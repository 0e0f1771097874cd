//! How a pool is configured and built.

use std::fmt;
use std::io;
use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use locksley_policy::{Balancer, Theta, Victims};

use crate::error::BuildError;
use crate::machine::pinning::{self, Pinning};
use crate::observe::record::Recorder;
use crate::observe::trace::Tracing;
use crate::pool::thread_builder::ThreadBuilder;
use crate::pool::{GLOBAL, Pool};
use crate::scheduler::registry::Registry;
use crate::strategy::dealing::Table;
use crate::strategy::sharing::Peers;
use crate::strategy::{HAS_STRATEGIES, Idle, Strategy, Waiting};
use crate::task::job::{Payload, catch, discard};

/// The environment variable that sets the size of the global pool.
const NUM_THREADS: &str = "LOCKSLEY_NUM_THREADS";

/// The most workers that a pool can have: what a worker costs in memory when it is idle, a few
/// kilobytes, times this is still little.
pub(crate) const MOST_WORKERS: usize = 1 << 12;

/// How many spares a pool has at least. Each stands for one task that is blocked within another,
/// as where two pools call into each other. A place costs nothing until it is first taken.
const SPARES: usize = 64;

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;

/// A user's choice of victims: how often it is asked, and how each worker's is made.
pub(crate) struct OwnBalancer {
    pub(crate) theta: Theta,
    pub(crate) make: Box<dyn Fn(usize) -> Box<dyn Balancer + Send> + Send + Sync>,
}

/// How a pool is configured.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) strategy: Strategy,
    pub(crate) waiting: Waiting,
    spares: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) use_current_thread: bool,
    pub(crate) idle: Idle,
    /// How many processors there are, if somebody has said so.
    pub(crate) processors: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) seed: u64,
    /// What was run, if that is recorded.
    pub(crate) recorder: Option<Recorder>,
    /// What the workers do when, if that is traced.
    pub(crate) tracing: Option<Tracing>,
    pub(crate) depth_limit: usize,
    victims: Option<Victims>,
    pub(crate) balancer: Option<OwnBalancer>,
    /// What the workers know of each other under the strategy `sharing`. Made with the first worker.
    pub(crate) peers: OnceLock<Arc<Peers>>,
    /// The same under the strategy `dealing`.
    pub(crate) table: OnceLock<Arc<Table>>,
    pinning: Pinning,
    /// The CPU of each worker; empty if they are not pinned.
    pub(crate) pinned_cpus: Vec<usize>,
    thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    start: Option<IndexHandler>,
    exit: Option<IndexHandler>,
    panic: Option<PanicHandler>,
}

impl Config {
    /// How many spare places there are.
    pub(crate) fn spares(&self) -> usize {
        match self.waiting {
            Waiting::Leapfrog => self.spares.unwrap_or(self.workers.max(SPARES)),
            Waiting::Own | Waiting::TakeAny => 0,
        }
    }

    /// How victims are chosen, if somebody has said so.
    pub(crate) fn victims(&self) -> Option<Victims> {
        match self.strategy {
            Strategy::Flexible(policy) => self.victims.or(Some(policy.victims)),
            _ => self.victims,
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
        let Some(handler) = &self.panic else {
            return discard(payload);
        };
        if let Err(payload) = catch(|| handler(payload)) {
            eprintln!("locksley: the panic handler panicked");
            discard(payload);
        }
    }
}

/// Builds a [`Pool`]. Made by [`Pool::builder`], or by `Builder::default`.
///
/// ```
/// use locksley::{Pool, Strategy, Waiting};
///
/// let pool = Pool::builder()
///     .workers(2)
///     .strategy(Strategy::ChaseLev)
///     .waiting(Waiting::TakeAny)
///     .thread_name(|index| format!("solver-{index}"))
///     .build()
///     .unwrap();
/// assert_eq!(pool.workers(), 2);
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    /// What was asked for; `None` for the default.
    workers: Option<NonZero<usize>>,
    config: Config,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("strategy", &config.strategy)
            .field("waiting", &config.waiting)
            .field("spares", &config.spares)
            .field("idle", &config.idle)
            .field("pinning", &config.pinning)
            .field("stack_size", &config.stack_size)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            workers: None,
            config: Config {
                workers: 0,
                strategy: Strategy::default(),
                waiting: Waiting::default(),
                spares: None,
                breadth_first: false,
                use_current_thread: false,
                idle: Idle::default(),
                processors: None,
                stack_size: None,
                seed: 0x5eed,
                recorder: None,
                tracing: None,
                depth_limit: 128,
                victims: None,
                peers: OnceLock::new(),
                table: OnceLock::new(),
                balancer: None,
                pinning: Pinning::None,
                pinned_cpus: Vec::new(),
                thread_name: None,
                start: None,
                exit: None,
                panic: None,
            },
        }
    }

    /// The number of workers, at most [`max_num_workers`](crate::max_num_workers). The default, and
    /// what 0 means, is what `LOCKSLEY_NUM_THREADS` says, or else the number of CPUs that this
    /// process may use.
    ///
    /// ```
    /// use locksley::Pool;
    ///
    /// let pool = Pool::builder().workers(3).build().unwrap();
    /// assert_eq!(pool.workers(), 3);
    /// let [zero, default] = [Pool::builder().workers(0), Pool::builder()];
    /// assert_eq!(zero.build().unwrap().workers(), default.build().unwrap().workers());
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZero::new(workers);
        self
    }

    /// The way of scheduling.
    ///
    /// ```
    /// use locksley::{Pool, Strategy};
    ///
    /// let pool = Pool::builder().workers(2).strategy(Strategy::Abp).build().unwrap();
    /// assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.config.strategy = strategy;
        self
    }

    /// What a worker does while it waits.
    ///
    /// ```
    /// use locksley::{Pool, Waiting};
    ///
    /// // As rayon waits: whatever there is, related or not.
    /// let pool = Pool::builder().workers(2).waiting(Waiting::TakeAny).build().unwrap();
    /// assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.config.waiting = waiting;
        self
    }

    /// How many spare workers there may be: threads that take the places of blocked ones, with indices from
    /// the number of workers on. The default is as many as workers, or 64; nothing is started until it is
    /// needed.
    ///
    /// With none, every index is below [`current_num_workers`](crate::current_num_workers), and no two
    /// tasks that run at the same time have the same one. For that, a worker that waits and finds nothing
    /// that descends from what it waits for takes any work, as with [`Waiting::TakeAny`], which needs no
    /// spares and has none. [`Waiting::Own`] has none either, and lets it sleep.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).spares(0).build().unwrap();
    /// assert_eq!(pool.run(|worker| worker.num_spares()), 0);
    /// ```
    pub fn spares(mut self, spares: usize) -> Self {
        self.config.spares = Some(spares);
        self
    }

    /// Lets a worker take the oldest of its own tasks first instead of the newest. A hint: what a join
    /// waits for still runs first. [`scope_fifo`](crate::scope_fifo) and
    /// [`spawn_fifo`](crate::spawn_fifo) do the same for some tasks only, at less cost.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let pool = locksley::Pool::builder().workers(1).breadth_first(true).build().unwrap();
    /// let order = Mutex::new(Vec::new());
    /// let order = &order;
    /// pool.in_place_scope(|s| {
    ///     s.spawn(move |s| {
    ///         for task in 0..3 {
    ///             s.spawn(move |_| order.lock().unwrap().push(task));
    ///         }
    ///     });
    /// });
    /// assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
    /// ```
    pub fn breadth_first(mut self, breadth_first: bool) -> Self {
        self.config.breadth_first = breadth_first;
        self
    }

    /// Makes the thread that builds the pool its first worker, with index 0, until the thread ends.
    ///
    /// The pool starts one thread less, and start and exit handlers are not run for this one. It works for
    /// the pool where it waits for something of the pool's or gives way ([`yield_now`](crate::yield_now));
    /// a task that is spawned into a pool of one such worker runs no sooner. Dropping the pool on that thread,
    /// outside of a task, runs what is left. The thread is a worker of the pool's even after that: what it forks it
    /// then runs itself, and a broadcast would wait for workers that have left.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = locksley::Pool::builder().workers(2).use_current_thread().build().unwrap();
    ///     assert_eq!(locksley::current_worker_index(), Some(0));
    ///     assert_eq!(pool.install(std::thread::current).id(), std::thread::current().id());
    /// });
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.config.use_current_thread = true;
        self
    }

    /// How a worker that finds nothing goes to sleep.
    ///
    /// ```
    /// use locksley::{Idle, Pool};
    ///
    /// // A pool for rare work: its workers sleep as soon as they have nothing to do.
    /// let lazy = Idle { spins: 0, yields: 0 };
    /// let pool = Pool::builder().workers(2).idle(lazy).build().unwrap();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// ```
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// How many processors there are for the pool's workers, if the pool shall not find out itself. It decides
    /// how long a thread outside of the pool spins before it parks.
    ///
    /// ```
    /// // Tasks that mostly wait for something else than a processor: eight at a time.
    /// let pool = locksley::Pool::builder().workers(8).processors(8).build().unwrap();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// ```
    pub fn processors(mut self, processors: usize) -> Self {
        self.config.processors = Some(processors.max(1));
        self
    }

    /// The size of the workers' stacks, in bytes.
    ///
    /// ```
    /// fn depth(n: u32) -> u32 {
    ///     if n == 0 { 0 } else { 1 + locksley::join(|| depth(n - 1), || ()).0 }
    /// }
    /// let pool = locksley::Pool::builder().workers(1).stack_size(64 << 20).build().unwrap();
    /// assert_eq!(pool.install(|| depth(20_000)), 20_000);
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// The seed of the random choice of victims.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).seed(7).build().unwrap();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Records what the pool runs: which strands fork and join, and how long each of them takes between.
    /// [`Pool::take_recording`] gives the recording, which the simulator `locksley-sim` reads. To record a single call, on any
    /// pool, there is [`Pool::record`].
    ///
    /// **What is recorded** is what [`run`](Pool::run), [`install`](Pool::install), [`join`](Pool::join),
    /// [`scope`](Pool::scope) and their kin run in the pool when they are called from outside of it: the joins
    /// in it, and its scopes with their tasks. A task leads to the end of its scope, whichever task spawned it.
    /// The time of a strand is what it spends on its own worker: waiting is left out, and so is what the worker runs
    /// meanwhile. The structure is that of the program, whatever the number of workers and the strategy. A
    /// panic merely ends a strand.
    ///
    /// **What is not**: tasks on their own ([`spawn`](crate::spawn()) and its kin), which need not be joined where
    /// they were spawned; scopes whose body runs outside of the pool ([`Pool::in_place_scope`]); and what
    /// another pool runs. Of a [flow](crate::flow()) it is recorded who helped whom in this run, not which task needs which. Where a strand is kept waiting by something else than the pool, a lock or
    /// the operating system, that counts as its work: have no more workers than processors.
    ///
    /// **What it costs**: at each fork six readings of the clock, two allocations and some 100 bytes until the
    /// recording is dropped, about a microsecond in all; a join takes a few nanoseconds otherwise. Part of that is
    /// in the recorded times, some 60 nanoseconds for each strand between two forks, so look at programs whose
    /// strands take much longer. A join's frame is larger too, which may call for a larger
    /// [stack](Builder::stack_size). A pool that does not record pays nothing at a fork.
    ///
    /// ```
    /// use std::time::Duration;
    /// use locksley::Pool;
    ///
    /// fn fib(n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    ///     a + b
    /// }
    ///
    /// let pool = Pool::builder().workers(2).record(true).build().unwrap();
    /// assert_eq!(pool.install(|| fib(10)), 55);
    /// let recording = pool.take_recording().unwrap();
    /// assert_eq!(recording.forks(), 88);
    /// // A step for each microsecond, for the simulator.
    /// let json = recording.to_json(Duration::from_micros(1));
    /// assert_eq!(json.matches("id").count(), 3 * 88 + 1);
    /// ```
    pub fn record(mut self, record: bool) -> Self {
        self.config.recorder = record.then(Recorder::new);
        self
    }

    /// Traces what the workers do, for a timeline: [`Pool::take_trace`] gives what they noted.
    ///
    /// **What is noted**: the jobs that a worker takes from a pile, from the pool's queue or from its mail, not those that a
    /// join takes back and runs inlined; from whom each job came that another worker had: stolen, donated or dealt; the times in which a worker
    /// waits for others, has no work, or is parked.
    ///
    /// **Memory is bounded**: each worker keeps its newest `capacity` entries, of 16 bytes, at most 2^24 of them. A job is
    /// two, or four with the idle time around it, and one more if it was another worker's. What is overwritten before it is taken is
    /// counted (`Trace::source`). A capacity of 0 turns it off.
    ///
    /// **What it costs**: some 40 nanoseconds for each entry, and so nothing at a fork that nobody steals. A pool that does not trace pays a
    /// branch for each of them.
    ///
    /// ```
    /// use locksley::Pool;
    ///
    /// fn fib(n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    ///     a + b
    /// }
    ///
    /// let pool = Pool::builder().workers(2).trace(10_000).build().unwrap();
    /// assert_eq!(pool.install(|| fib(20)), 6765);
    /// let mut file = Vec::new(); // or a file, for https://ui.perfetto.dev
    /// pool.take_trace().write(&mut file)?;
    /// let text = String::from_utf8(file).unwrap();
    /// assert!(text.contains("worker 1") && text.contains("\"work\""));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace(mut self, capacity: usize) -> Self {
        self.config.tracing = (capacity > 0).then(|| Tracing::new(capacity));
        self
    }

    /// How many jobs of others a worker may have stacked up on its stack by taking each of
    /// them while it waited. A worker that has so many takes no more until the first are done: it
    /// blocks, and a spare takes its place. So the stack does not grow with the number of tasks. With
    /// 0 a worker never takes work while it waits, except that of its own scope. The default is
    /// 128, which leaves each of them 16 KiB of a thread's usual stack of 2 MiB. Where no spare is left, a worker
    /// takes more all the same, rather than stand still; the statistics count that as `no_spare`.
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
    /// use locksley::policy::Victims;
    /// use locksley::Pool;
    ///
    /// let pool = Pool::builder().workers(2).victims(Victims::Uniform).build().unwrap();
    /// assert_eq!(pool.install(|| 1), 1);
    /// ```
    pub fn victims(mut self, victims: Victims) -> Self {
        self.config.victims = Some(victims);
        self
    }

    /// Your own choice of victims, under any strategy: `make` is called with each worker's index, and
    /// what it makes is asked with probability `theta` whom to try first; otherwise the worker tries
    /// somebody at random. If that is in vain, it tries the others. See [`Balancer`].
    ///
    /// A balancer that panics, or cannot be made for a panic, is not asked again: its worker tries
    /// everybody alike from then on. The panic goes to the [panic handler](Builder::panic_handler).
    ///
    /// ```
    /// use locksley::policy::{Balancer, Seeker, Source, Theta, View};
    /// use locksley::Pool;
    ///
    /// /// Tries the one to the right.
    /// struct Right;
    ///
    /// impl Balancer for Right {
    ///     fn choose(&mut self, seeker: Seeker, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
    ///         Some((seeker.me + 1) % view.count())
    ///     }
    /// }
    ///
    /// let pool = Pool::builder().workers(4).balancer(Theta::HALF, |_| Right).build().unwrap();
    /// assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn balancer<B>(
        mut self,
        theta: Theta,
        make: impl Fn(usize) -> B + Send + Sync + 'static,
    ) -> Self
    where
        B: Balancer + Send + 'static,
    {
        self.config.balancer = Some(OwnBalancer {
            theta,
            make: Box::new(move |index| Box::new(make(index))),
        });
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
    ///
    /// ```
    /// let builder = locksley::Pool::builder().workers(1);
    /// let pool = builder.thread_name(|index| format!("solver-{index}")).build().unwrap();
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("solver-0"));
    /// ```
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.thread_name = Some(Box::new(name));
        self
    }

    /// Runs in each worker's thread when it starts, with the worker's index.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let builder = locksley::Pool::builder().workers(2);
    /// let pool = builder.start_handler(move |index| sender.send(index).unwrap()).build().unwrap();
    /// let mut started: Vec<usize> = receiver.iter().take(2).collect();
    /// started.sort();
    /// assert_eq!(started, [0, 1]);
    /// ```
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.start = Some(Box::new(handler));
        self
    }

    /// Runs in each worker's thread before it ends, with the worker's index.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let ended = Arc::new(AtomicUsize::new(0));
    /// let count = ended.clone();
    /// let builder = locksley::Pool::builder().workers(2);
    /// let builder = builder.exit_handler(move |_| drop(count.fetch_add(1, Ordering::Relaxed)));
    /// builder.build().unwrap().shutdown();
    /// assert_eq!(ended.load(Ordering::Relaxed), 2);
    /// ```
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.exit = Some(Box::new(handler));
        self
    }

    /// Gets the payload of a panic that has nobody else to go to.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let builder = locksley::Pool::builder().workers(1).panic_handler(move |payload| {
    ///     sender.send(payload.downcast_ref::<&str>().map(|text| text.to_string())).unwrap();
    /// });
    /// let pool = builder.build().unwrap();
    /// drop(pool.spawn(|| panic!("nobody waits for this")));
    /// assert_eq!(receiver.recv().unwrap().as_deref(), Some("nobody waits for this"));
    /// ```
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
    ///
    /// ```
    /// let error = locksley::Pool::builder().workers(usize::MAX).build().unwrap_err();
    /// println!("{error}");
    /// assert!(error.to_string().contains("workers"));
    /// ```
    pub fn build(self) -> Result<Pool, BuildError> {
        self.build_with(ThreadBuilder::spawn)
    }

    /// Builds the pool with threads that the caller starts: `spawn` gets each worker, in order, and sees to
    /// it that some thread [runs](ThreadBuilder::run) it, there and then or later. That thread may be scoped,
    /// may set up what tasks find in thread-local variables, or come from elsewhere.
    ///
    /// Spares are threads of the pool's own: a pool whose tasks need what the caller sets up should have
    /// [none](Builder::spares). Ending the pool waits until each worker has been run or dropped.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// thread_local!(static SHIFT: Cell<&'static str> = const { Cell::new("none") });
    ///
    /// let pool = locksley::Pool::builder()
    ///     .workers(2)
    ///     .spares(0)
    ///     .build_with(|thread| {
    ///         std::thread::Builder::new().name(thread.name()).spawn(move || {
    ///             SHIFT.set("night");
    ///             thread.run();
    ///         })?;
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// assert_eq!(pool.install(|| SHIFT.get()), "night");
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build), or if `spawn` fails. Then workers that were given out find the
    /// pool ended when they are run.
    pub fn build_with(
        self,
        spawn: impl FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let mut config = self.config;
        config.workers = match self.workers {
            Some(workers) => workers.get(),
            None => default_workers()?,
        };
        if !(1..=MOST_WORKERS).contains(&config.workers) {
            return Err(BuildError::Workers {
                wanted: config.workers,
                most: MOST_WORKERS,
            });
        }
        if !HAS_STRATEGIES && !config.strategy.is_built_in() {
            return Err(BuildError::StrategyLeftOut);
        }
        config.pinned_cpus = pinning::pinned_cpus(&config.pinning, config.workers)?;
        let registry = Registry::new(config);
        registry.start(spawn)?;
        Ok(Pool::over(registry))
    }

    /// Builds the global pool, which the free functions use. It must not exist yet.
    ///
    /// # Errors
    ///
    /// As for [`build`](Builder::build), or if the global pool exists.
    ///
    /// ```
    /// locksley::Pool::builder().workers(2).build_global().unwrap();
    /// assert_eq!(locksley::current_num_workers(), 2);
    /// // There is one, so another one cannot be.
    /// assert!(locksley::Pool::builder().build_global().is_err());
    /// ```
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
    std::thread::available_parallelism().map_or(1, usize::from)
}
