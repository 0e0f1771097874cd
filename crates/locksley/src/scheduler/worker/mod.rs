//! A worker: its queues, and what it does with them.

mod attention;
mod queue;
mod run;
mod steal;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::thread::Thread;

use locksley_queue::split::Embedded;

use self::attention::Generosity;
use self::steal::Asked;
use crate::observe::record::CurrentStrand;
use crate::observe::stats::Counters;
use crate::observe::trace::{Tracer, Tracing};
use crate::pool::config::Config;
use crate::scheduler::donor::{OwnDonor, make_donor};
use crate::scheduler::idle::linger::Linger;
use crate::scheduler::idle::sleep::SleepState;
use crate::scheduler::injector::Injector;
use crate::scheduler::registry::Registry;
use crate::scheduler::task_stack::TaskStack;
use crate::scheduler::victim_order::VictimSelector;
use crate::strategy::local_queue::{Exposure, LocalQueue, StealHandle, local_queue_for};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::task::blocks::{Blocks, Depot, Kept};
use crate::task::fifo::FifoQueue;
use crate::task::ghosts::Ghosts;
use crate::task::job::JobRef;
use crate::task::outstanding::TaskCounts;

thread_local! {
    /// The worker of this thread, if it has one.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// One of a pool's workers, as its tasks see it.
///
/// A task that gets its worker as an argument can fork with [`Worker::join`], without a lookup of
/// the thread's worker: the cheapest fork there is.
///
/// ```
/// use locksley::{Pool, Worker};
///
/// fn fib(worker: &Worker, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
///
/// let pool = Pool::builder().workers(2).build().unwrap();
/// assert_eq!(pool.run(|worker| fib(worker, 20)), 6765);
/// ```
pub struct Worker {
    /// Jobs that the worker has forked and, unless the strategy has a queue for them, spawned.
    /// Other workers set its request flag to get the worker's attention.
    pub(crate) deque: Embedded<JobRef>,
    /// The strategy's own queue, if it has one. Accessed by the owner only.
    local_queue: UnsafeCell<Option<Box<dyn LocalQueue<JobRef>>>>,
    /// Set if forks go to the strategy's queue, too.
    reference: bool,
    /// How many jobs to expose on request.
    exposure: Exposure,
    generosity: Generosity,
    asked: Asked,
    /// When the current search first read the pool's clock. Accessed by the owner only.
    search_time: Cell<Option<u64>>,
    /// Set if the current search asks its victims for work. Accessed by the owner only.
    asks: Cell<bool>,
    /// Set if the worker has run a job since its last search. Accessed by the owner only.
    has_worked: Cell<bool>,
    /// Set while the worker is recorded. All of its jobs are public then, so that no thief forces
    /// it. Written by the owner.
    sealed: AtomicBool,
    pub(crate) selector: VictimSelector,
    pub(crate) donor: OwnDonor,
    /// Number of pushes and pops until the queue is asked whether to balance; 0 for never. Accessed
    /// by the owner only.
    pub(crate) countdown: Cell<u32>,
    /// Set from when the worker is woken to look for work until it starts something. Accessed by
    /// the owner only.
    pub(crate) summoned: Cell<bool>,
    /// Set while the worker is open to offers. Accessed by the owner only.
    pub(crate) open: Cell<bool>,
    /// Number of other workers' jobs on the stack, each run while the worker waited. Accessed by
    /// the owner only.
    helping: Cell<usize>,
    /// The strand that the worker records. Accessed by the owner only.
    pub(crate) strand: CurrentStrand,
    pub(crate) counters: Counters,
    index: usize,
    /// The worker's pool. Set before any thread runs.
    registry: Cell<*const Registry>,
    pub(crate) sleep: SleepState,
    /// Accessed by the owner only.
    pub(crate) linger: Linger,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the
    /// owner.
    home: AtomicUsize,
    pub(crate) task_stack: TaskStack,
    /// Jobs that only this worker may run.
    pub(crate) targeted_jobs: Injector,
    /// Tasks that run in the order in which this worker spawned them.
    pub(crate) fifo: FifoQueue,
    pub(crate) ghosts: Ghosts,
    pub(crate) tasks: TaskCounts,
    /// Accessed by the owner only.
    pub(crate) blocks: Blocks,
    /// Accessed by the owner only.
    pub(crate) kept: Kept,
    /// Set while the worker is blocked, for other threads to see. Written by the owner.
    blocked: AtomicBool,
    thread: OnceLock<Thread>,
    stealer: Option<Box<dyn StealHandle<JobRef>>>,
    /// Notes what the worker does, if that is traced. Other threads read the notes.
    pub(crate) tracer: Option<Tracer>,
}

// The owner's fields are reached only through `&Worker`, which only the owner's thread gets: the
// type is not `Sync`. Other workers reach the rest through `Registry::worker`.

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Worker {
        let deque = Embedded::new();
        let (donor, is_eager) = make_donor(index, config);
        let (queue, stealer) = local_queue_for(index, config, is_eager).unzip();
        let reference = config.strategy.is_reference();
        let wants_call = queue.as_ref().is_some_and(|queue| queue.wants_call());
        if reference || wants_call {
            deque.call();
        }
        let every = queue.as_ref().and_then(|queue| queue.balances_every());
        Worker {
            deque,
            reference,
            exposure: Exposure::of(config.strategy),
            generosity: Generosity::default(),
            asked: Asked::default(),
            search_time: Cell::new(None),
            asks: Cell::new(true),
            has_worked: Cell::new(false),
            sealed: AtomicBool::new(false),
            countdown: Cell::new(every.unwrap_or(0)),
            local_queue: UnsafeCell::new(queue),
            selector: VictimSelector::new(index, config),
            donor,
            summoned: Cell::new(false),
            open: Cell::new(false),
            helping: Cell::new(0),
            strand: CurrentStrand::default(),
            counters: Counters::default(),
            index,
            registry: Cell::new(ptr::null()),
            sleep: SleepState::new(),
            linger: Linger::new(),
            home: AtomicUsize::new(0),
            task_stack: TaskStack::new(),
            targeted_jobs: Injector::new(),
            fifo: FifoQueue::new(),
            ghosts: Ghosts::new(),
            tasks: TaskCounts::new(),
            blocks: Blocks::default(),
            kept: Kept::default(),
            blocked: AtomicBool::new(false),
            thread: OnceLock::new(),
            stealer,
            tracer: config.tracing.as_ref().map(Tracing::tracer),
        }
    }

    /// Sets the worker's pool. Called once, before its thread starts.
    pub(crate) fn set_registry(&self, registry: *const Registry) {
        self.registry.set(registry);
    }

    /// Returns the worker of the calling thread, if it has one.
    #[inline]
    pub(crate) fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: the pointer is set while the thread's main loop runs, which keeps the pool alive,
        // and every borrow of it ends before that does: tasks run inside the loop.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Returns the worker of the calling thread, if it belongs to this pool.
    #[inline]
    pub(crate) fn current_in<'a>(registry: &Registry) -> Option<&'a Worker> {
        Worker::current().filter(|worker| worker.is_in(registry))
    }

    /// Makes this the calling thread's worker while `f` runs.
    pub(crate) fn be(&self, f: impl FnOnce(&Worker)) {
        let before = CURRENT.get();
        self.become_current();
        f(self);
        CURRENT.set(before);
    }

    /// Makes this the calling thread's worker until [`cease`](Worker::cease).
    pub(crate) fn become_current(&self) {
        // A worker has the same thread from start to end, a spare included.
        self.thread.get_or_init(std::thread::current);
        CURRENT.set(self);
    }

    /// Clears the thread's current worker if it is this one.
    pub(crate) fn cease(&self) {
        if ptr::eq(CURRENT.get(), self) {
            CURRENT.set(ptr::null());
        }
    }

    /// Clears the calling thread's worker: the thread is that of a forked process, which has no
    /// pool yet.
    pub(crate) fn forget_current() {
        CURRENT.set(ptr::null());
    }

    /// Calls `f` with the calling thread's worker, if it has one. For code that does not get its
    /// worker as an argument, and looks it up once instead of at every fork.
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        f(Worker::current())
    }

    /// Returns the number of workers in its pool, without spares.
    #[inline]
    pub fn num_workers(&self) -> usize {
        self.registry().size()
    }

    /// Returns the maximum number of spare workers of its pool: see
    /// [`Builder::spares`](crate::Builder::spares).
    #[inline]
    pub fn num_spares(&self) -> usize {
        self.registry().spares()
    }

    /// Returns the worker's index in its pool. The indices of spare workers, which take the places
    /// of blocked ones, start at the number of workers.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: set before the thread started, and the thread keeps the pool alive.
        unsafe { &*self.registry.get() }
    }

    /// Returns the pool's memory for spawned jobs.
    #[inline]
    pub(crate) fn depot(&self) -> &Depot {
        &self.registry().depot
    }

    /// Returns `true` if the worker belongs to this pool.
    #[inline]
    pub(crate) fn is_in(&self, registry: &Registry) -> bool {
        ptr::eq(self.registry(), registry)
    }

    /// Wakes the worker's thread if it is parked, or soon will be.
    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Runs a closure that blocks the owner's thread, and shows the worker as blocked meanwhile.
    pub(crate) fn seen_blocked<R>(&self, block: impl FnOnce() -> R) -> R {
        struct Seen<'w>(&'w Worker);

        impl Drop for Seen<'_> {
            fn drop(&mut self) {
                self.0.blocked.store(false, Ordering::Relaxed);
            }
        }

        self.blocked.store(true, Ordering::Relaxed);
        let _seen = Seen(self);
        block()
    }

    /// Returns `true` if the worker seems to be blocked. For other threads.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Returns `true` if the worker seems to be asleep. For other threads.
    pub(crate) fn is_asleep(&self) -> bool {
        self.sleep.is_asleep()
    }

    /// Returns the CPU that the worker was last seen on, if it is known.
    pub(crate) fn home(&self) -> Option<usize> {
        self.home.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes the CPU that the worker's thread is on. For the owner.
    pub(crate) fn note_home(&self, cpu: Option<usize>) {
        self.home
            .store(cpu.map_or(0, |cpu| cpu + 1), Ordering::Relaxed);
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// Returns the index of the calling thread's worker, or `None` if the thread is not a worker.
pub fn current_worker_index() -> Option<usize> {
    Worker::current().map(Worker::index)
}

/// Returns whether the calling worker has tasks of its own that have not started, or `None` if the
/// calling thread is not a worker.
pub fn current_worker_has_pending_tasks() -> Option<bool> {
    Worker::current().map(|worker| !worker.seems_empty())
}

/// Returns the number of workers in the calling thread's pool, or in the global pool if the thread
/// belongs to none.
pub fn current_num_workers() -> usize {
    match Worker::current() {
        Some(worker) => worker.registry().size(),
        None => crate::pool::global().registry().size(),
    }
}
