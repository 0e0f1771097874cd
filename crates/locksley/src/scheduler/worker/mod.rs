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
    /// The worker that this thread is, if it is one.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// One of a pool's workers, as its tasks see it.
///
/// A task that is handed its worker can fork with [`Worker::join`] without asking the thread which
/// worker it is: the cheapest fork there is.
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
    /// What the worker has forked, and, unless the strategy has a queue for them, spawned. Its
    /// request is how others ask for the worker's attention.
    pub(crate) deque: Embedded<JobRef>,
    /// What a strategy has besides. The owner's alone.
    local_queue: UnsafeCell<Option<Box<dyn LocalQueue<JobRef>>>>,
    /// Whether forks go to the queue too.
    reference: bool,
    /// How many items to expose on request.
    exposure: Exposure,
    generosity: Generosity,
    asked: Asked,
    /// When the search under way first looked at the pool's clock. The owner's alone.
    search_time: Cell<Option<u64>>,
    /// Whether the search under way asks its victims for work. The owner's alone.
    asks: Cell<bool>,
    /// Set if it has worked since its last search. The owner's alone.
    has_worked: Cell<bool>,
    /// What the worker runs is recorded, and nothing that it has forked is private: no thief forces
    /// it. Written by the owner.
    sealed: AtomicBool,
    pub(crate) selector: VictimSelector,
    pub(crate) donor: OwnDonor,
    /// After how many more pushes and pops to ask the queue whether to balance; 0 for never. The
    /// owner's alone.
    pub(crate) countdown: Cell<u32>,
    /// Set from when it is woken to look for work until it takes something up. The owner's alone.
    pub(crate) summoned: Cell<bool>,
    /// Set while the worker is open to offers. The owner's alone.
    pub(crate) open: Cell<bool>,
    /// How many jobs of others are stacked up by waits. The owner's alone.
    helping: Cell<usize>,
    /// What is recorded of what it runs. The owner's alone.
    pub(crate) strand: CurrentStrand,
    pub(crate) counters: Counters,
    index: usize,
    /// Set with the pool, before any thread runs.
    registry: Cell<*const Registry>,
    pub(crate) sleep: SleepState,
    /// The owner's alone.
    pub(crate) linger: Linger,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the
    /// owner.
    home: AtomicUsize,
    pub(crate) task_stack: TaskStack,
    /// Jobs that this worker and no other must run.
    pub(crate) targeted_jobs: Injector,
    /// Tasks that run in the order in which this worker spawned them.
    pub(crate) fifo: FifoQueue,
    pub(crate) ghosts: Ghosts,
    pub(crate) tasks: TaskCounts,
    /// The owner's alone.
    pub(crate) blocks: Blocks,
    /// The owner's alone.
    pub(crate) kept: Kept,
    /// Whether the worker is blocked, for those who look. Written by the owner.
    blocked: AtomicBool,
    thread: OnceLock<Thread>,
    stealer: Option<Box<dyn StealHandle<JobRef>>>,
    /// Notes what the worker does, if that is traced. Others read what it noted.
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

    /// Tells the worker which pool it is in. Called once, before its thread starts.
    pub(crate) fn set_registry(&self, registry: *const Registry) {
        self.registry.set(registry);
    }

    /// The worker that the calling thread is.
    #[inline]
    pub(crate) fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: the pointer is set while the thread's main loop runs, which keeps the pool alive,
        // and every borrow of it ends before that does: tasks run inside the loop.
        unsafe { CURRENT.get().as_ref() }
    }

    /// The worker that the calling thread is, if it is one of this pool's.
    #[inline]
    pub(crate) fn current_in<'a>(registry: &Registry) -> Option<&'a Worker> {
        Worker::current().filter(|worker| worker.is_in(registry))
    }

    /// Makes the calling thread this worker while `f` runs.
    pub(crate) fn be(&self, f: impl FnOnce(&Worker)) {
        let before = CURRENT.get();
        self.become_current();
        f(self);
        CURRENT.set(before);
    }

    /// Makes the calling thread this worker until it ceases to be.
    pub(crate) fn become_current(&self) {
        // A thread takes a place once; a spare's place is its own for good.
        self.thread.get_or_init(std::thread::current);
        CURRENT.set(self);
    }

    /// Clears the thread's current worker if it is this one.
    pub(crate) fn cease(&self) {
        if ptr::eq(CURRENT.get(), self) {
            CURRENT.set(ptr::null());
        }
    }

    /// Makes the calling thread no worker: it is that of a forked process, which has no pool yet.
    pub(crate) fn forget_current() {
        CURRENT.set(ptr::null());
    }

    /// Calls `f` with the worker that the calling thread is, if it is one: for code that is not
    /// handed its worker, and asks the thread once instead of at every fork.
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        f(Worker::current())
    }

    /// The number of workers in its pool, without spares.
    #[inline]
    pub fn num_workers(&self) -> usize {
        self.registry().size()
    }

    /// How many spare workers its pool may have: see [`Builder::spares`](crate::Builder::spares).
    #[inline]
    pub fn num_spares(&self) -> usize {
        self.registry().spares()
    }

    /// The worker's index in its pool. Spare workers, which stand in for waiting ones, have
    /// indices from the number of workers on.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: set before the thread started, and the thread keeps the pool alive.
        unsafe { &*self.registry.get() }
    }

    /// Where the pool keeps memory for spawned jobs.
    #[inline]
    pub(crate) fn depot(&self) -> &Depot {
        &self.registry().depot
    }

    /// Returns `true` if the worker is one of this pool's.
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

    /// Blocks the owner's thread, and lets that be seen.
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

    /// The CPU that the worker was last seen on.
    pub(crate) fn home(&self) -> Option<usize> {
        self.home.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes the CPU that the calling thread, whose worker this is, is on.
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

/// The index of the worker that the calling thread is, if it is one of a pool's workers.
pub fn current_worker_index() -> Option<usize> {
    Worker::current().map(Worker::index)
}

/// Returns whether the calling worker has tasks of its own that have not started. `None` if the
/// calling thread is no worker.
pub fn current_worker_has_pending_tasks() -> Option<bool> {
    Worker::current().map(|worker| !worker.seems_empty())
}

/// The number of workers in the pool that the calling thread belongs to; of the global pool if it
/// belongs to none.
pub fn current_num_workers() -> usize {
    match Worker::current() {
        Some(worker) => worker.registry().size(),
        None => crate::pool::global().registry().size(),
    }
}
