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

use self::attention::EagerExposure;
use self::steal::LastRequest;
use crate::observe::record::CurrentStrand;
use crate::observe::stats::Counters;
use crate::observe::trace::{Tracer, Tracing};
use crate::pool::config::Config;
use crate::scheduler::donor::{OwnDonor, make_donor};
use crate::scheduler::idle::linger::Linger;
use crate::scheduler::idle::sleep::SleepState;
use crate::scheduler::idle::tiny_work::TinyWork;
use crate::scheduler::idle::yield_backoff::YieldBackoff;
use crate::scheduler::injector::Injector;
use crate::scheduler::registry::Registry;
use crate::scheduler::task_stack::TaskStack;
use crate::scheduler::victim_order::VictimSelector;
use crate::strategy::Strategy;
use crate::strategy::local_queue::{LocalQueue, StealHandle, local_queue_for};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::task::blocks::{Blocks, Kept};
use crate::task::fifo::FifoQueue;
use crate::task::ghosts::Ghosts;
use crate::task::job::JobRef;
use crate::task::outstanding::TaskCounts;

thread_local! {
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
    /// The strategy's own queue, if it has one.
    local_queue: UnsafeCell<Option<Box<dyn LocalQueue<JobRef>>>>,
    /// Set if forks go to the strategy's queue, too.
    reference: bool,
    /// Set if the worker exposes a single job on request, as in the thesis's semi-private deques.
    exposes_one: bool,
    eager_exposure: EagerExposure,
    last_request: LastRequest,
    /// When the current search began.
    pub(crate) search_time: Cell<u64>,
    /// Set if the current search may request work of its victims.
    may_request: Cell<bool>,
    /// Set if the worker has run a job since its last search.
    has_worked: Cell<bool>,
    /// Set while the worker is recorded. All of its jobs are public then, so that no thief forces
    /// it. Written by the owner.
    sealed: AtomicBool,
    pub(crate) selector: VictimSelector,
    pub(crate) donor: OwnDonor,
    /// Number of pushes and pops until the queue is asked whether to balance; 0 for never.
    pub(crate) countdown: Cell<u32>,
    /// Set from when the worker is woken to look for work until it starts something.
    pub(crate) summoned: Cell<bool>,
    /// Set while the worker is open to offers.
    pub(crate) open: Cell<bool>,
    /// Number of other workers' jobs on the stack, each run while the worker waited.
    helping: Cell<usize>,
    /// The strand that the worker records.
    pub(crate) strand: CurrentStrand,
    pub(crate) counters: Counters,
    index: usize,
    /// The worker's pool. Set before any thread runs.
    registry: Cell<*const Registry>,
    pub(crate) sleep: SleepState,
    pub(crate) linger: Linger,
    pub(crate) tiny_work: TinyWork,
    /// Decides whether the worker may yield while it is idle.
    pub(crate) yields: YieldBackoff,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the
    /// owner.
    last_cpu: AtomicUsize,
    pub(crate) task_stack: TaskStack,
    /// Jobs that only this worker may run.
    pub(crate) targeted_jobs: Injector,
    /// Tasks that run in the order in which this worker spawned them.
    pub(crate) fifo: FifoQueue,
    pub(crate) ghosts: Ghosts,
    pub(crate) tasks: TaskCounts,
    pub(crate) blocks: Blocks,
    pub(crate) kept: Kept,
    /// Set while the worker is blocked, for other threads to see. Written by the owner.
    blocked: AtomicBool,
    thread: OnceLock<Thread>,
    stealer: Option<Box<dyn StealHandle<JobRef>>>,
    /// Notes what the worker does, if that is traced. Other threads read the notes.
    pub(crate) tracer: Option<Tracer>,
}

// Only the owner accesses cells, and types made of them. They are reached through `&Worker`, which
// only the owner's thread gets: the type is not `Sync`. Other workers reach the rest through
// `Registry::worker`.

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Worker {
        let deque = Embedded::new();
        let (donor, is_eager) = make_donor(index, config);
        let (queue, stealer) = local_queue_for(index, config, is_eager).unzip();
        let reference = config.strategy.is_reference();
        let wants_call = queue.as_ref().is_some_and(|queue| queue.wants_attention());
        if reference || wants_call {
            deque.request_attention();
        }
        let every = queue.as_ref().and_then(|queue| queue.balances_every());
        Worker {
            deque,
            reference,
            exposes_one: config.strategy == Strategy::SemiPrivate,
            eager_exposure: EagerExposure::default(),
            last_request: LastRequest::default(),
            search_time: Cell::new(0),
            may_request: Cell::new(true),
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
            tiny_work: TinyWork::new(),
            yields: YieldBackoff::new(),
            last_cpu: AtomicUsize::new(0),
            task_stack: TaskStack::new(),
            targeted_jobs: Injector::new(),
            fifo: FifoQueue::new(),
            ghosts: Ghosts::new(),
            tasks: TaskCounts::default(),
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
    pub(crate) fn run_as_current(&self, f: impl FnOnce(&Worker)) {
        let before = CURRENT.get();
        self.become_current();
        f(self);
        CURRENT.set(before);
    }

    /// Makes this the calling thread's worker until [`forget_current`](Worker::forget_current).
    pub(crate) fn become_current(&self) {
        // A worker has the same thread from start to end, a spare included.
        self.thread.get_or_init(std::thread::current);
        CURRENT.set(self);
    }

    /// Clears the calling thread's worker: the thread ends, or is that of a forked process, which
    /// has no pool yet.
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

    /// Returns the CPU that the worker was last seen on, if it is known.
    pub(crate) fn last_cpu(&self) -> Option<usize> {
        self.last_cpu.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes the CPU that the worker's thread is on. For the owner.
    pub(crate) fn note_cpu(&self, cpu: Option<usize>) {
        self.last_cpu
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
        None => crate::pool::global().workers(),
    }
}
