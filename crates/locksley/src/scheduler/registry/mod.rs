//! State that the workers of a pool share: the worker slots, the injector, and the counts of
//! sleeping and blocked workers.

mod close;
mod main_loop;
mod nap;
mod spares;
mod wake;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;
use locksley_trace::Trace;
use locksley_trace::recording::Recording;

use crate::machine::clock::Instant;
use crate::machine::jobserver::Jobserver;
use crate::machine::share::ActiveShare;
use crate::machine::topology::allowed_now;
use crate::observe::stats::{Counters, Event};
use crate::pool::config::Config;
use crate::pool::process;
use crate::pool::thread_builder::ThreadCounts;
use crate::scheduler::idle::counts::AtomicCounts;
use crate::scheduler::idle::shared_barrier::SharedBarrier;
use crate::scheduler::idle::yield_backoff::YieldBackoff;
use crate::scheduler::injector::{Injector, UNKNOWN_OWNER};
use crate::scheduler::worker::Worker;
use crate::strategy::Waiting;
use crate::sync::{AtomicBool, AtomicIsize, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::task::blocks::Depot;
use crate::task::job::GroupId;
use crate::task::outstanding::TaskCounts;

pub(crate) use spares::{Block, Blocked};

pub(crate) struct Registry {
    me: Weak<Registry>,
    /// The number of the process that built the pool.
    generation: usize,
    /// The slots of the workers, and after them those of the spares. The worker of a slot is
    /// created on first use.
    slots: Box<[OnceLock<Box<CachePadded<Worker>>>]>,
    size: usize,
    pub(crate) injector: Injector,
    pub(crate) config: Config,
    /// Numbers of sleeping and blocked workers, and of spares that are up.
    pub(crate) counts: AtomicCounts,
    /// Number of processors for the pool's workers.
    processors: usize,
    /// Number of workers that have a processor, which may change.
    share: ActiveShare,
    /// The jobserver of the make that runs this program, if it limits the number of jobs.
    jobserver: Option<&'static Jobserver>,
    /// Held while a broadcast is delivered, so that all workers get broadcasts in the same order.
    broadcasting: Mutex<Reach>,
    /// Number of slots that have ever been used.
    taken: AtomicUsize,
    /// Memory for spawned jobs that its workers do not keep themselves.
    pub(crate) depot: Depot,
    /// Tasks that threads outside of the pool have spawned.
    outside_tasks: CachePadded<TaskCounts>,
    /// Number of start handlers that have not run yet: they may use the pool. Negative if the
    /// construction has failed.
    start_handlers: AtomicIsize,
    closing: AtomicBool,
    /// Set once no thread is left that could run a job, although the pool has not ended.
    deserted: AtomicBool,
    sleepers_barrier: SharedBarrier,
    /// Set while a worker lingers.
    lingering: AtomicBool,
    /// Decides whether threads outside of the pool may yield while they wait.
    pub(crate) outside_yields: YieldBackoff,
    /// When the pool was created.
    start: Instant,
    /// Threads that the pool has started itself.
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// The threads that have not left yet.
    pub(crate) thread_counts: ThreadCounts,
    /// Counters of threads outside of the pool.
    outside: Counters,
}

// SAFETY: of another thread's worker, only atomics, locks and fields that are set before the
// threads start are accessed; owner-only fields are accessed only by the worker's own thread.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

/// Which workers a broadcast reaches.
pub(crate) enum Reach {
    All,
    /// A worker has left for good.
    NotAll,
}

impl Registry {
    pub(crate) fn new(config: Config) -> Arc<Registry> {
        barrier::prepare();
        let size = config.workers;
        let processors = config.processors.unwrap_or_else(|| processors(&config));
        let spares = config.spares();
        let empty = || OnceLock::new();
        let slots = std::iter::repeat_with(empty)
            .take(size + config.spares())
            .collect();
        let registry = Arc::new_cyclic(|me| Registry {
            me: me.clone(),
            generation: process::watched_generation(),
            slots,
            size,
            injector: Injector::new(),
            config,
            counts: AtomicCounts::new(spares),
            processors,
            share: ActiveShare::new(size),
            jobserver: Jobserver::of_this_process(),
            broadcasting: Mutex::new(Reach::All),
            taken: AtomicUsize::new(size),
            depot: Depot::default(),
            outside_tasks: CachePadded::new(TaskCounts::default()),
            start_handlers: AtomicIsize::new(0),
            closing: AtomicBool::new(false),
            deserted: AtomicBool::new(false),
            sleepers_barrier: SharedBarrier::default(),
            lingering: AtomicBool::new(false),
            outside_yields: YieldBackoff::new(),
            start: Instant::now(),
            threads: Mutex::new(Vec::new()),
            thread_counts: ThreadCounts::default(),
            outside: Counters::default(),
        });
        for index in 0..size {
            registry.init_worker(index);
        }
        if let Some(pinner) = &registry.config.pinner {
            (pinner.set_orders)(&registry);
        }
        registry
    }

    /// Creates the worker of slot `index` on first use.
    pub(super) fn init_worker(&self, index: usize) -> &Worker {
        self.slots[index].get_or_init(|| {
            let worker = Worker::new(index, &self.config);
            worker.set_registry(self);
            Box::new(CachePadded::new(worker))
        })
    }

    /// Returns the workers of these slots, which must be in use.
    pub(crate) fn workers_in(&self, slots: Range<usize>) -> impl Iterator<Item = &Worker> {
        slots.map(|index| self.worker(index))
    }

    /// Returns another `Arc` of this registry.
    pub(crate) fn shared(&self) -> Arc<Registry> {
        self.me
            .upgrade()
            .expect("a thread that borrows a registry keeps it alive")
    }

    /// Returns `true` if this process was forked from the one that has the pool's threads.
    #[inline]
    pub(crate) fn is_orphaned(&self) -> bool {
        self.generation != process::generation()
    }

    /// Panics if this process was forked from the one that has the pool's threads.
    #[inline]
    pub(crate) fn check_process(&self) {
        if self.is_orphaned() {
            refuse(ORPHANED);
        }
    }

    /// Panics if no thread is left that could run a task of this pool, and the task is not `done`.
    /// `done` is called last, because the thread that ran the task may have left just now.
    pub(crate) fn check_users(&self, done: impl FnOnce() -> bool) {
        self.check_process();
        if self.thread_counts.has_no_users() && !done() {
            refuse(UNUSED);
        }
    }

    /// Begins a broadcast. No other one is delivered until the guard is dropped. Panics if a worker
    /// has left the pool for good, so that no broadcast can reach it.
    pub(crate) fn begin_broadcast(&self) -> MutexGuard<'_, Reach> {
        self.check_process();
        let reach = lock(&self.broadcasting);
        if matches!(*reach, Reach::NotAll) {
            drop(reach);
            refuse(WORKER_LEFT);
        }
        reach
    }

    /// Ends all broadcasts, because the worker leaves for good. Returns `false`, and ends none, if
    /// the worker has yet to run one that was delivered before.
    pub(crate) fn end_broadcasts(&self, worker: &Worker) -> bool {
        let mut reach = lock(&self.broadcasting);
        let ends = worker.targeted_jobs.is_empty();
        if ends {
            *reach = Reach::NotAll;
        }
        ends
    }

    /// Panics if the pool's only worker was a thread that it had adopted, and that has ended.
    pub(crate) fn check_adopted(&self) {
        if self.config.use_current_thread && self.deserted.load(Ordering::Acquire) {
            refuse(DESERTED);
        }
    }

    /// Notes that the adopted thread ends. Jobs that it has are left to others.
    pub(crate) fn adopted_ends(&self, worker: &Worker) {
        if self.is_orphaned() {
            // A thread that does not exist in this process may hold a lock.
            return;
        }
        while !self.end_broadcasts(worker) {
            worker.run_targeted();
        }
        worker.expose_jobs();
        if self.size == 1 {
            self.deserted.store(true, Ordering::Release);
        }
    }

    /// Returns the time since the pool was created, in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns `true` if two workers can run at the same time.
    pub(crate) fn has_processors(&self) -> bool {
        self.processors > 1
    }

    /// Returns the number of workers, without spares.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the maximum number of spares.
    #[inline]
    pub(crate) fn spares(&self) -> usize {
        self.slots.len() - self.size
    }

    /// Returns the number of slots, spares included.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of slots that have ever been used, spares included.
    pub(crate) fn workers(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// Returns the worker with this index, if it has been created.
    pub(crate) fn try_worker(&self, index: usize) -> Option<&Worker> {
        Some(self.slots.get(index)?.get()?)
    }

    /// Returns the worker with this index, for access to what is not owner-only.
    pub(crate) fn worker(&self, index: usize) -> &Worker {
        let worker = self.slots[index].get();
        worker.expect("the slot is in use")
    }

    /// Unparks the worker that waits for a job. `owner` is the index of the worker that made the
    /// job, or [`UNKNOWN_OWNER`].
    pub(crate) fn unpark_waiter(&self, owner: usize, job: GroupId) {
        if owner != UNKNOWN_OWNER {
            return self.worker(owner).unpark();
        }
        for worker in self.workers_in(0..self.workers()) {
            if worker.task_stack.may_wait_for(job) {
                worker.unpark();
            }
        }
    }

    /// Counts an event of the calling thread, whether or not it is a worker of this pool.
    pub(super) fn count(&self, event: Event) {
        if !Counters::ON {
            return;
        }
        match Worker::current() {
            Some(worker) if std::ptr::eq(worker.registry(), self) => worker.counters.count(event),
            _ => self.outside.count_shared(event),
        }
    }

    /// Returns what has been counted so far.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn stats(&self) -> locksley_trace::stats::Stats {
        if let Some(worker) = Worker::current_in(self) {
            worker.publish_counts();
        }
        let workers = self.workers_in(0..self.workers());
        let snapshots = workers.map(|worker| worker.counters.snapshot());
        locksley_trace::stats::Stats::new(self.size, snapshots.collect(), self.outside.snapshot())
    }

    /// Returns what the workers have noted since the last call, if they are traced.
    pub(crate) fn take_trace(&self) -> Trace {
        match &self.config.tracing {
            Some(tracing) => tracing.take(self),
            None => Trace::new(),
        }
    }

    /// Returns what was recorded since the last call.
    pub(crate) fn take_recording(&self) -> Option<Recording> {
        self.config.recorder.as_ref()?.take()
    }

    /// Returns `true` if a waiter may take any job, by the pool's [`Waiting`] or because there are
    /// no spares.
    pub(crate) fn takes_any(&self) -> bool {
        self.spares() == 0 && !self.blocks_alone()
    }

    /// Returns `true` if a waiter that has nothing to do sleeps, and no worker takes its place.
    pub(crate) fn blocks_alone(&self) -> bool {
        self.config.waiting == Waiting::Own
    }

    /// Returns `true` if a waiter looks for jobs that descend from what it waits for.
    pub(crate) fn leapfrogs(&self) -> bool {
        self.config.waiting != Waiting::TakeAny
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if self.is_orphaned() {
            // Neither joined nor detached: they are threads of another process.
            let threads = self.threads.get_mut();
            let threads = threads.unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::forget(std::mem::take(threads));
        }
    }
}

const ORPHANED: &str = "locksley: this process was forked, and the threads of this pool are its \
    parent's: build a pool in the child, or use the global pool, which starts anew there";

const WORKER_LEFT: &str = "locksley: a worker of this pool has left, so that no broadcast can \
    reach it: the pool ends, or the thread that it had adopted has ended";

const DESERTED: &str = "locksley: the thread that was this pool's only worker has ended: build the \
    pool on a thread that outlives it, or with more workers";

const UNUSED: &str = "locksley: the pool has ended without a thread to run this task";

#[cold]
#[inline(never)]
fn refuse(why: &'static str) -> ! {
    std::panic::panic_any(why)
}

/// Returns the number of processors: those that the workers are pinned to, or those in the affinity
/// mask, if it is known. The quota is not read, which would take two dozen system calls: the
/// default number of workers does not exceed it.
fn processors(config: &Config) -> usize {
    if !config.pinned_cpus.is_empty() {
        let distinct: BTreeSet<_> = config.pinned_cpus.iter().collect();
        return distinct.len();
    }
    allowed_now().map_or_else(
        || thread::available_parallelism().map_or(1, usize::from),
        |cpus| cpus.len(),
    )
}
