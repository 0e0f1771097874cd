//! What the workers of a pool share: their places, the injector, who sleeps, who waits.
//!
//! # Spare workers
//!
//! A pool has as many spare places as workers, or 64. A worker that is about to block in a wait counts
//! itself as blocked, but only while fewer are blocked than there can be spares. While more are blocked
//! than spares are up, a push calls up a spare. A spare that has finished a job and finds more spares up than
//! workers blocked, or no work, sleeps again. So at most as many threads look for work as the pool has
//! workers, and a waiter that resumes does not wait for its spare.
//!
//! **No finite program stands still for want of threads.** Of all threads at least as many as the pool has workers
//! are not blocked: a worker that would be one blocked too many does not block, but takes any work that there
//! is (`wait`). If the system refuses a spare's thread, the limit falls to the spares that there are, and all
//! waiters wake to look at it again.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;
use locksley_trace::Activity;

use crate::error::BuildError;
use crate::machine::topology::allowed_now;
use crate::observe::stats::{Counters, Event};
use crate::pool::builder::Config;
use crate::pool::thread_builder::{self, Roll, ThreadBuilder};
use crate::scheduler::idle::sleep::{Sleepers, leave_call};
use crate::scheduler::injector::{Injector, QueuedJob, UNKNOWN_OWNER};
use crate::scheduler::neighbours;
use crate::scheduler::worker::Worker;
use crate::strategy::Waiting;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock};
use crate::task::job::{GroupId, JobRef, catch};
use crate::task::outstanding::{TaskCounts, all_done};

/// How long a worker naps when all it can see is private work.
const NAP: Duration = Duration::from_micros(500);

/// Pauses between a sleeper's calls and its look for work: longer than a store takes to be seen.
const SETTLE: u32 = 16;

/// For how long a worker blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// It looks again soon, so that it may miss a push.
    Briefly,
    /// It may miss nothing.
    Indefinitely,
}

pub(crate) struct Registry {
    me: Weak<Registry>,
    /// The workers, and behind them the spares.
    /// A place is furnished when it is first taken.
    places: Box<[OnceLock<Box<CachePadded<Worker>>>]>,
    size: usize,
    pub(crate) injector: Injector,
    pub(crate) config: Config,
    sleepers: Sleepers,
    /// How many processors there are for its workers.
    processors: usize,
    /// How many workers are blocked in a wait, each with a spare to take its place.
    blocked: CachePadded<AtomicUsize>,
    /// How many spares there can be: fewer than there are slots once the system has refused a thread.
    most_spares: AtomicUsize,
    /// Held while a broadcast is delivered, so that all workers get broadcasts in the same order.
    pub(crate) broadcasting: Mutex<()>,
    /// How many spares are up.
    spares_up: AtomicUsize,
    /// The highest number of places ever taken.
    taken: AtomicUsize,
    /// Tasks that threads outside of the pool have spawned.
    outside_tasks: CachePadded<TaskCounts>,
    closing: AtomicBool,
    /// The first worker to leave has woken the others.
    told_closed: AtomicBool,
    /// When the pool was made.
    start: Instant,
    /// Threads that the pool has started itself.
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// Who has not left yet.
    pub(crate) roll: Roll,
    /// What threads outside of the pool did to it.
    outside: Counters,
}

// SAFETY: of another thread's worker only atomics, locks and things that are set before the
// threads start are touched; the owner's fields only by the thread that is the worker.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

impl Registry {
    pub(crate) fn new(config: Config) -> Arc<Registry> {
        let size = config.workers;
        let processors = config.processors.unwrap_or_else(|| processors_for(size));
        let spares = config.spares();
        let empty = || OnceLock::new();
        let places = std::iter::repeat_with(empty)
            .take(size + config.spares())
            .collect();
        let registry = Arc::new_cyclic(|me| Registry {
            me: me.clone(),
            places,
            size,
            injector: Injector::new(),
            config,
            sleepers: Sleepers::new(),
            processors,
            blocked: CachePadded::new(AtomicUsize::new(0)),
            most_spares: AtomicUsize::new(spares),
            broadcasting: Mutex::new(()),
            spares_up: AtomicUsize::new(0),
            taken: AtomicUsize::new(size),
            outside_tasks: CachePadded::new(TaskCounts::new()),
            closing: AtomicBool::new(false),
            told_closed: AtomicBool::new(false),
            start: Instant::now(),
            threads: Mutex::new(Vec::new()),
            roll: Roll::new(),
            outside: Counters::default(),
        });
        for index in 0..size {
            registry.init_worker(index);
        }
        neighbours::settle(&registry);
        registry
    }

    /// Makes the worker of a place that is about to be taken.
    fn init_worker(&self, index: usize) -> &Worker {
        self.places[index].get_or_init(|| {
            let worker = Worker::new(index, &self.config);
            worker.set_registry(self);
            Box::new(CachePadded::new(worker))
        })
    }

    /// The workers of these places, which have been taken.
    fn furnished(&self, places: Range<usize>) -> impl Iterator<Item = &Worker> {
        places.map(|index| self.worker(index))
    }

    /// Another owner of this registry.
    pub(crate) fn shared(&self) -> Arc<Registry> {
        self.me
            .upgrade()
            .expect("whoever borrows a registry keeps it alive")
    }

    /// The time since the pool was made, in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Can a worker run while somebody else does?
    pub(crate) fn has_processors(&self) -> bool {
        self.processors > 1
    }

    /// How many workers the pool has, without spares.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many spares there may be.
    #[inline]
    pub(crate) fn spares(&self) -> usize {
        self.places.len() - self.size
    }

    /// How many places there are, spares included.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// How many places have ever been taken, spares included.
    pub(crate) fn workers(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// A worker, for what others may do with it.
    pub(crate) fn worker(&self, index: usize) -> &Worker {
        let worker = self.places[index].get();
        worker.expect("only places that were taken are asked for")
    }

    pub(crate) fn unpark(&self, index: usize) {
        self.worker(index).unpark();
    }

    /// Wakes the one that is parked until a job is done. `owner` is whose job it is, or [`UNKNOWN_OWNER`].
    pub(crate) fn unpark_waiter(&self, owner: usize, job: GroupId) {
        if owner != UNKNOWN_OWNER {
            return self.unpark(owner);
        }
        for worker in self.furnished(0..self.workers()) {
            if worker.task_stack.may_wait_for(job) {
                worker.unpark();
            }
        }
    }

    /// Counts an event of the calling thread, whether or not it is a worker of this pool.
    fn count(&self, event: Event) {
        if !Counters::ON {
            return;
        }
        match Worker::current() {
            Some(worker) if std::ptr::eq(worker.registry(), self) => worker.counters.count(event),
            _ => self.outside.count_shared(event),
        }
    }

    /// What has been counted so far.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn stats(&self) -> crate::observe::stats::Stats {
        if let Some(worker) = Worker::current()
            && std::ptr::eq(worker.registry(), self)
        {
            worker.publish_counts();
        }
        let workers = self.furnished(0..self.workers());
        let snapshots = workers.map(|worker| worker.counters.snapshot());
        crate::observe::stats::Stats::new(self.size, snapshots.collect(), self.outside.snapshot())
    }

    /// Hands a job to the pool.
    pub(crate) fn inject(&self, injected: QueuedJob) {
        self.count(Event::Handed);
        let job = injected.job.anywhere();
        self.injector.push(QueuedJob { job, ..injected });
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// Sends a job to one worker. It will run it when it is done with what it does, or waits.
    pub(crate) fn deliver(&self, index: usize, job: JobRef) {
        let worker = self.worker(index);
        worker.targeted_jobs.push(QueuedJob { job, owner: index });
        // Against `sleep`, which looks for mail after its heavy barrier.
        fence(Ordering::SeqCst);
        self.sleepers.wake(&worker.sleep);
        worker.unpark();
    }

    /// Wakes a sleeping worker to search, or calls up a spare. Returns `true` if another one would
    /// like to be woken.
    pub(crate) fn wake_one(&self) -> bool {
        // A spare that waits sleeps like any other worker.
        let workers = self.furnished(0..self.workers());
        let states = workers.map(|worker| (worker, &worker.sleep));
        match self.sleepers.choose(states) {
            Some(worker) => {
                self.count(Event::Woken);
                worker.unpark();
            }
            None => self.call_spare(),
        }
        self.sleepers.any() || self.spare_wanted()
    }

    /// [`wake_one`](Registry::wake_one), preferably this one, to which work was dealt.
    pub(crate) fn wake_one_for(&self, dealt_to: Option<usize>) -> bool {
        match dealt_to {
            // Woken to search, so that it passes it on if it has something else to do.
            Some(index) if self.wake_near(index) => self.sleepers.any() || self.spare_wanted(),
            _ => self.wake_one(),
        }
    }

    /// Wakes a certain worker for which there is work. Returns `true` if it slept, and this call woke
    /// it.
    pub(crate) fn wake_near(&self, index: usize) -> bool {
        if index >= self.size {
            return false;
        }
        let worker = self.worker(index);
        let woken = self.sleepers.wake_to_search(&worker.sleep);
        if woken {
            self.count(Event::Woken);
            worker.unpark();
        }
        woken
    }

    /// How many workers are counted as blocked, and how many spares are awake.
    pub(crate) fn blocked_and_spares(&self) -> (usize, usize) {
        let blocked = self.blocked.load(Ordering::Relaxed);
        (blocked, self.spares_up.load(Ordering::Relaxed))
    }

    fn spare_wanted(&self) -> bool {
        let up = self.spares_up.load(Ordering::Relaxed);
        up < self.blocked.load(Ordering::Relaxed) && up < self.most_spares()
    }

    /// How many spares there can be.
    fn most_spares(&self) -> usize {
        self.most_spares.load(Ordering::Relaxed)
    }

    /// Are more spares up than workers blocked?
    fn spare_is_left_over(&self) -> bool {
        self.spares_up.load(Ordering::Relaxed) > self.blocked.load(Ordering::Relaxed)
    }

    /// Is there anything that a worker could take?
    fn work_in_sight(&self) -> bool {
        !self.injector.is_empty()
            || self
                .furnished(0..self.workers())
                .any(|worker| !worker.seems_empty())
    }

    /// Leaves a call at every worker, so that its next push wakes a sleeper, and looks whether there is
    /// work. A push whose store is on its way just then may be missed.
    fn call_and_look(&self) -> bool {
        self.furnished(0..self.workers())
            .for_each(|worker| leave_call(&worker.deque));
        for _ in 0..SETTLE {
            std::hint::spin_loop();
        }
        self.work_in_sight()
    }

    /// The same, and no push is missed. Returns `None` if the barrier was refused, so that one may be.
    fn call_for_work(&self) -> Option<bool> {
        loop {
            let count = self.workers();
            for worker in self.furnished(0..count) {
                leave_call(&worker.deque);
            }
            let ordered = barrier::heavy(); // [Z2]
            // A spare that starts after the barrier takes itself to be called.
            if self.workers() == count {
                return ordered.then(|| self.work_in_sight());
            }
        }
    }

    /// Puts an idle worker to sleep, unless there is something to do after all, or until `ready`; the
    /// thread that makes it so unparks the worker.
    pub(crate) fn sleep(&self, worker: &Worker, ready: impl Fn() -> bool) {
        worker.close_to_offers();
        // It looks again whether there is work once it is asleep.
        worker.summoned.set(false);
        self.sleepers.begin(&worker.sleep);
        let awake = || !worker.sleep.is_asleep() || !worker.targeted_jobs.is_empty() || ready();
        if self.call_and_look() || awake() {
            self.end_sleep(worker);
            self.nap(worker, worker.was_refused());
            return;
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        neighbours::look_around(self, worker);
        let parked = worker.traced(Activity::Parked);
        thread::park_timeout(NAP);
        // Where the barrier is refused, the nap was all.
        if !awake() && self.call_for_work() == Some(false) {
            while worker.sleep.is_asleep() && !ready() {
                thread::park();
            }
        }
        drop(parked);
        self.end_sleep(worker);
        neighbours::look_where(self, worker);
    }

    /// Sleeps for a moment: what is in sight had better be left to another worker, which is busy; or what is
    /// not in sight is not known.
    fn nap(&self, worker: &Worker, needed: bool) {
        if needed {
            worker.counters.count(Event::Park);
            let _parked = worker.traced(Activity::Parked);
            thread::park_timeout(NAP);
        }
    }

    /// Ends the sleep of the calling worker.
    fn end_sleep(&self, worker: &Worker) {
        if self.sleepers.end(&worker.sleep) {
            worker.summoned.set(true);
        }
    }

    /// If a worker was woken to search and has not done so since, another one is woken in its place.
    pub(crate) fn pass_on_summons(&self, worker: &Worker) {
        if worker.summoned.take() {
            self.wake_one();
        }
    }

    /// Runs something that blocks the calling worker, while a spare takes its place. Returns `false`, and
    /// runs nothing, if no spare can.
    pub(crate) fn try_blocking(&self, block: Block, wait: impl FnOnce()) -> bool {
        if !self.begin_block(block) {
            return false;
        }
        self.count(Event::Park);
        wait();
        self.blocked.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Counts the caller as blocked, if there is a spare for it.
    fn begin_block(&self, block: Block) -> bool {
        let blocked = self
            .blocked
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |blocked| {
                (blocked < self.most_spares()).then_some(blocked + 1)
            });
        if blocked.is_err() {
            return false;
        }
        // Against a spare that goes to sleep: one of the two sees the other's count.
        fence(Ordering::SeqCst);
        let work = match block {
            Block::Briefly => self.call_and_look(),
            Block::Indefinitely => self.call_for_work() != Some(false),
        };
        if work {
            self.wake_one();
        }
        // The spare that was called may have been refused.
        if self.blocked.load(Ordering::Relaxed) > self.most_spares() {
            self.blocked.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Calls up a spare if one is wanted.
    fn call_spare(&self) {
        while self.spare_wanted() {
            let up = self.spares_up.load(Ordering::Relaxed);
            let race =
                self.spares_up
                    .compare_exchange(up, up + 1, Ordering::AcqRel, Ordering::Relaxed);
            if race.is_ok() {
                self.rouse_spare();
                return;
            }
        }
    }

    /// Wakes a spare that lies down, or starts a new one. One is counted as up already.
    #[cold]
    fn rouse_spare(&self) {
        self.count(Event::Spare);
        let taken = self.workers();
        let mut spares = self.furnished(self.size..taken);
        if let Some(worker) = spares.find(|worker| worker.sleep.end_spare()) {
            worker.unpark();
        } else if !self.start_spare() {
            self.spares_up.fetch_sub(1, Ordering::AcqRel);
            self.limit_spares();
        }
    }

    /// No further spare can be had: workers that count on one must look after themselves.
    #[cold]
    fn limit_spares(&self) {
        let started = self.workers() - self.size;
        if self.closed() || self.most_spares.swap(started, Ordering::SeqCst) <= started {
            return;
        }
        fence(Ordering::SeqCst);
        for worker in self.furnished(0..self.workers()) {
            worker.unpark();
        }
    }

    fn start_spare(&self) -> bool {
        let mut threads = lock(&self.threads);
        let index = self.workers();
        if index >= self.places.len() || self.closed() {
            return false;
        }
        // It has not heard the calls made so far, so it takes it that there were some.
        self.init_worker(index).deque.call();
        // Before it starts: whoever sees what it pushed must know of its pile.
        self.taken.store(index + 1, Ordering::Release);
        // The user's function for names may panic; no unwinding may leave a frame with a job in it.
        match catch(|| ThreadBuilder::new(self.shared(), index, None).start()) {
            Ok(Ok(handle)) => {
                threads.push(handle);
                true
            }
            _ => {
                self.taken.store(index, Ordering::Release);
                false
            }
        }
    }

    /// Gives each worker to `spawn`, which starts its thread. On failure none is left.
    pub(crate) fn start(
        self: &Arc<Self>,
        mut spawn: impl FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        let adopts = self.config.use_current_thread;
        if adopts && Worker::current().is_some() {
            return Err(BuildError::AlreadyWorker);
        }
        let (report, reports) = mpsc::channel();
        // If `spawn` panics, those that have been started end too.
        let unwinding = EndOnDrop(self);
        for index in usize::from(adopts)..self.size {
            let thread = ThreadBuilder::new(self.clone(), index, Some(report.clone()));
            if let Err(source) = spawn(thread) {
                // Threads that the caller has not started yet end as soon as they do.
                self.end();
                self.join_threads();
                return Err(BuildError::Thread {
                    started: index,
                    source,
                });
            }
        }
        std::mem::forget(unwinding);
        drop(report);
        if !self.config.pinned_cpus.is_empty()
            && let Some(error) = reports.iter().find_map(Result::err)
        {
            self.close();
            return Err(error);
        }
        if adopts {
            thread_builder::adopt(self);
        }
        Ok(())
    }

    /// The main loop of a worker, or of a spare.
    pub(crate) fn main_loop(&self, worker: &Worker) {
        let spare = worker.index() >= self.size;
        let mut idle = 0;
        loop {
            if spare && worker.was_refused() && self.spare_is_left_over() {
                // It was called up for work that it had to leave alone, and need not wait for more.
                self.lie_down(worker);
            }
            if worker.read_mail() {
                idle = 0;
            } else if let Some(injected) = worker.find_work() {
                worker.run_job(injected);
                idle = 0;
                if spare && self.spare_is_left_over() {
                    self.lie_down(worker);
                }
            } else if self.closed() && worker.has_settled() {
                worker.trace_leaving();
                // The worker that finished the last task may not have seen that the pool closes.
                if !self.told_closed.swap(true, Ordering::Relaxed) {
                    self.wake_all();
                }
                return;
            } else {
                worker.trace_idle();
                worker.open_to_offers();
                if self.rest_until(&mut idle, || worker.has_offer()) {
                    match spare {
                        true => {
                            self.nap(worker, worker.was_refused());
                            self.lie_down(worker);
                        }
                        false => self.sleep(worker, || self.closed()),
                    }
                    idle = 0;
                }
            }
        }
    }

    /// One step of idling. Is it time to sleep?
    pub(crate) fn rest(&self, idle: &mut u32) -> bool {
        self.rest_until(idle, || false)
    }

    /// The same, cut short as soon as the worker has been served. To look at what is its own at every
    /// pause disturbs nobody, as searching more often would.
    fn rest_until(&self, idle: &mut u32, served: impl Fn() -> bool) -> bool {
        let rule = self.config.idle;
        *idle += 1;
        if *idle <= rule.spins {
            for _ in 0..1 << (*idle).min(5) {
                std::hint::spin_loop();
                if served() {
                    break;
                }
            }
        } else if *idle <= rule.spins + rule.yields {
            thread::yield_now();
        } else {
            return true;
        }
        false
    }

    /// A spare waits until it is called up again.
    fn lie_down(&self, worker: &Worker) {
        worker.open_pile();
        worker.sleep.begin_spare();
        self.spares_up.fetch_sub(1, Ordering::Release);
        // Against `blocking`: one of the two sees the other's count.
        fence(Ordering::SeqCst);
        // Whoever offered work before it saw this must not have done so in vain.
        if self.spare_wanted() && self.call_for_work() != Some(false) {
            self.call_spare();
        }
        worker.counters.count(Event::Park);
        worker.publish_counts();
        let _parked = worker.traced(Activity::Parked);
        while worker.sleep.is_spare() {
            if self.closed() {
                self.raise_spare(worker);
                return;
            }
            thread::park();
        }
    }

    /// Counts a task that a thread outside of the pool is about to spawn.
    pub(crate) fn task_spawned_outside(&self) {
        self.outside_tasks.spawn_shared();
    }

    /// A task of a pool that closes is done. A worker that has a main loop sees there whether it was the last
    /// one, and wakes the others before it leaves; an adopted thread does so here.
    #[cold]
    #[inline(never)]
    pub(crate) fn task_done_while_closing(&self, worker: &Worker) {
        let adopted = self.config.use_current_thread && worker.index() == 0;
        if adopted && self.closed() {
            self.wake_all();
        }
    }

    pub(crate) fn closed(&self) -> bool {
        let counts = || {
            let workers = self.furnished(0..self.workers());
            let inside = workers.map(|worker| &worker.tasks);
            inside.chain([&*self.outside_tasks])
        };
        self.closing.load(Ordering::SeqCst) && all_done(counts)
    }

    fn wake_all(&self) {
        // Against `sleep`, which looks whether the pool closes after its heavy barrier.
        fence(Ordering::SeqCst);
        for worker in self.furnished(0..self.workers()) {
            if worker.index() < self.size {
                self.sleepers.wake(&worker.sleep);
            } else {
                self.raise_spare(worker);
            }
            worker.unpark();
        }
    }

    /// Ends a spare's sleep, unless somebody else does, and counts it as up.
    fn raise_spare(&self, worker: &Worker) {
        if !worker.sleep.is_spare() {
            return;
        }
        // Before it can be up: it may lie down again at once.
        self.spares_up.fetch_add(1, Ordering::AcqRel);
        if !worker.sleep.end_spare() {
            self.spares_up.fetch_sub(1, Ordering::AcqRel);
            // Somebody may have taken the count for that of a spare that is up, and called none.
            fence(Ordering::SeqCst);
            self.call_spare();
        }
    }

    /// Lets the workers finish what was spawned and end, and waits for nothing.
    pub(crate) fn end(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Lets the workers finish what was spawned, and waits for them to end.
    pub(crate) fn close(&self) {
        self.end();
        match Worker::current() {
            // A task of its own drops the pool: the threads end by themselves. An adopted thread that is in no
            // task may have to run what was spawned, for want of others.
            Some(worker) if worker.is_in(self) => {
                let adopted = thread_builder::is_adopted_by(self) && worker.task_stack.depth() == 0;
                if !adopted {
                    return;
                }
                worker.serve_until(false, || self.closed(), || self.closed());
            }
            // A worker of another pool runs what is targeted at it, and a spare takes its place: a task of
            // this pool may wait for that one.
            Some(worker) => {
                worker.wait_until(|| self.roll.is_empty(), || self.roll.is_empty_or_unpark());
            }
            None => {}
        }
        self.wait_for_threads();
    }

    /// Waits until all threads have left, whoever started them.
    fn wait_for_threads(&self) {
        self.join_threads();
        self.roll.wait_until_empty();
    }

    /// Waits for the threads that the pool has started itself.
    fn join_threads(&self) {
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                return;
            }
            for handle in threads {
                // A worker's thread does not panic: handlers that do are caught.
                let _ = handle.join();
            }
        }
    }

    /// May a waiter take any work, because it is to, or because there is no spare to take its place?
    pub(crate) fn takes_any(&self) -> bool {
        self.spares() == 0
    }

    /// Does a waiter look for what descends from what it waits for?
    pub(crate) fn leapfrogs(&self) -> bool {
        self.config.waiting == Waiting::Leapfrog
    }
}

/// How many processors there are for so many workers. If the affinity mask has enough of them, nothing
/// else is asked.
fn processors_for(workers: usize) -> usize {
    let allowed = allowed_now().map_or(0, |cpus| cpus.len());
    if allowed >= workers {
        return allowed;
    }
    thread::available_parallelism().map_or(1, usize::from)
}

/// Ends a pool whose building was broken off.
struct EndOnDrop<'r>(&'r Registry);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
