//! What the workers of a pool share: their places, the injector, who sleeps, who waits.
//!
//! # Spare workers
//!
//! A pool has as many spare places as workers, or 64. A worker that is about to block in a wait
//! counts itself as blocked, but only while fewer are blocked than there can be spares. While more
//! are blocked than spares are up, a push calls up a spare. A spare that has finished a job and
//! finds more spares up than workers blocked, or no work, sleeps again. So at most as many threads
//! look for work as the pool has workers, and a waiter that resumes does not wait for its spare.
//!
//! **No finite program stands still for want of threads.** Of all threads at least as many as the
//! pool has workers are not blocked: a worker that would be one blocked too many does not block,
//! but takes any work that there is (`wait`). If the system refuses a spare's thread, the limit
//! falls to the spares that there are, and all waiters wake to look at it again.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;
use locksley_trace::{Activity, Trace};

use crate::error::BuildError;
use crate::machine::share::{self, Share};
use crate::machine::topology::allowed_now;
use crate::observe::record::Recording;
use crate::observe::stats::{Counters, Event};
use crate::pool::config::Config;
use crate::pool::process;
use crate::pool::thread_builder::{self, Report, Reports, Roll, ThreadBuilder};
use crate::scheduler::idle::counts::{AtomicCounts, Counts};
use crate::scheduler::idle::sleep::leave_call;
use crate::scheduler::injector::{Injector, QueuedJob, UNKNOWN_OWNER};
use crate::scheduler::neighbours;
use crate::scheduler::worker::Worker;
use crate::strategy::Waiting;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock};
use crate::task::job::{GroupId, JobRef, catch};
use crate::task::outstanding::{TaskCounts, all_done};

/// After how many rounds of its main loop a worker looks at the clock, to see whether to look how
/// many processors there are.
const LOOKS: u32 = 64;

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
    /// The number of the process that built the pool.
    generation: usize,
    /// The workers, and behind them the spares.
    /// A place is furnished when it is first taken.
    places: Box<[OnceLock<Box<CachePadded<Worker>>>]>,
    size: usize,
    pub(crate) injector: Injector,
    pub(crate) config: Config,
    /// Who sleeps, who is blocked, and which spares are up.
    counts: AtomicCounts,
    /// How many processors there are for its workers.
    processors: usize,
    /// How many workers have a processor, while that changes.
    share: Share,
    /// Held while a broadcast is delivered, so that all workers get broadcasts in the same order.
    pub(crate) broadcasting: Mutex<()>,
    /// The highest number of places ever taken.
    taken: AtomicUsize,
    /// Tasks that threads outside of the pool have spawned.
    outside_tasks: CachePadded<TaskCounts>,
    closing: AtomicBool,
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
            generation: process::watched_generation(),
            places,
            size,
            injector: Injector::new(),
            config,
            counts: AtomicCounts::new(spares),
            processors,
            share: Share::new(size),
            broadcasting: Mutex::new(()),
            taken: AtomicUsize::new(size),
            outside_tasks: CachePadded::new(TaskCounts::new()),
            closing: AtomicBool::new(false),
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

    /// Returns `true` if this process was forked from the one that has the pool's threads.
    #[inline]
    pub(crate) fn is_orphaned(&self) -> bool {
        self.generation != process::generation()
    }

    /// Panics if this process was forked from the one that has the pool's threads.
    #[inline]
    pub(crate) fn check_process(&self) {
        if self.is_orphaned() {
            refuse_orphaned();
        }
    }

    /// Panics if no thread is left that could run a task of this pool.
    pub(crate) fn check_users(&self) {
        self.check_process();
        if self.roll.has_no_users() {
            refuse_unused();
        }
    }

    /// The time since the pool was made, in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns `true` if two workers can run at the same time.
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

    /// The worker with this index, if it is there yet.
    pub(crate) fn try_worker(&self, index: usize) -> Option<&Worker> {
        Some(self.places.get(index)?.get()?)
    }

    /// A worker, for what others may do with it.
    pub(crate) fn worker(&self, index: usize) -> &Worker {
        let worker = self.places[index].get();
        worker.expect("only places that were taken are asked for")
    }

    pub(crate) fn unpark(&self, index: usize) {
        self.worker(index).unpark();
    }

    /// Wakes the one that is parked until a job is done. `owner` is whose job it is, or
    /// [`UNKNOWN_OWNER`].
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
        if let Some(worker) = Worker::current_in(self) {
            worker.publish_counts();
        }
        let workers = self.furnished(0..self.workers());
        let snapshots = workers.map(|worker| worker.counters.snapshot());
        crate::observe::stats::Stats::new(self.size, snapshots.collect(), self.outside.snapshot())
    }

    /// What the workers have noted since the last call, if that is traced.
    pub(crate) fn take_trace(&self) -> Trace {
        match &self.config.tracing {
            Some(tracing) => tracing.take(self),
            None => Trace::new(),
        }
    }

    /// What was recorded since the last call.
    pub(crate) fn take_recording(&self) -> Option<Recording> {
        self.config.recorder.as_ref()?.take()
    }

    /// Hands a job to the pool.
    pub(crate) fn inject(&self, injected: QueuedJob) {
        self.check_process();
        self.count(Event::Handed);
        let job = injected.job.anywhere();
        self.injector.push(QueuedJob { job, ..injected });
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// Sends a job to one worker. It will run it when it is done with what it does, or waits.
    pub(crate) fn deliver(&self, index: usize, job: JobRef) {
        self.check_process();
        let worker = self.worker(index);
        worker.targeted_jobs.push(QueuedJob { job, owner: index });
        // Against `sleep`, which looks for mail after its heavy barrier.
        fence(Ordering::SeqCst);
        self.counts.wake(&worker.sleep);
        worker.unpark();
    }

    /// Wakes a sleeping worker to search, or calls up a spare. Returns `true` if another one would
    /// like to be woken.
    pub(crate) fn wake_one(&self) -> bool {
        // A spare that waits sleeps like any other worker.
        let workers = self.furnished(0..self.workers());
        let states = workers.map(|worker| (worker, &worker.sleep));
        match self.counts.choose(states) {
            Some(worker) => {
                self.count(Event::Woken);
                worker.unpark();
            }
            None => self.call_spare(),
        }
        self.counts.get().wants_work()
    }

    /// [`wake_one`](Registry::wake_one), preferably this one, to which work was dealt.
    pub(crate) fn wake_one_for(&self, dealt_to: Option<usize>) -> bool {
        match dealt_to {
            // Woken to search, so that it passes it on if it has something else to do.
            Some(index) if self.wake_near(index) => self.counts.get().wants_work(),
            _ => self.wake_one(),
        }
    }

    /// Wakes a certain worker for which there is work. Returns `true` if it slept, and this call
    /// woke it.
    pub(crate) fn wake_near(&self, index: usize) -> bool {
        if index >= self.size {
            return false;
        }
        let worker = self.worker(index);
        let woken = self.counts.wake_to_search(&worker.sleep);
        if woken {
            self.count(Event::Woken);
            worker.unpark();
        }
        woken
    }

    /// How many workers are counted as blocked, and how many spares are awake.
    pub(crate) fn blocked_and_spares(&self) -> (usize, usize) {
        self.counts.get().blocked_and_spares()
    }

    /// Returns `true` if there is a job that a worker could take.
    fn work_in_sight(&self) -> bool {
        !self.injector.is_empty()
            || self
                .furnished(0..self.workers())
                .any(|worker| !worker.seems_empty())
    }

    /// Leaves a call at every worker, so that its next push wakes a sleeper, and looks whether
    /// there is work. A push whose store is on its way just then may be missed.
    fn call_and_look(&self) -> bool {
        self.furnished(0..self.workers())
            .for_each(|worker| leave_call(&worker.deque));
        for _ in 0..SETTLE {
            std::hint::spin_loop();
        }
        self.work_in_sight()
    }

    /// The same, and no push is missed. Returns `None` if the barrier was refused, so that one may
    /// be.
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

    /// Puts an idle worker to sleep, unless there is something to do after all, or until `ready`;
    /// the thread that makes it so unparks the worker.
    pub(crate) fn sleep(&self, worker: &Worker, ready: impl Fn() -> bool) {
        self.sleep_until(worker, &ready);
    }

    /// [`sleep`](Registry::sleep), of which there is one copy.
    fn sleep_until(&self, worker: &Worker, ready: &dyn Fn() -> bool) {
        worker.close_to_offers();
        // It looks again whether there is work once it is asleep.
        worker.summoned.set(false);
        self.counts.begin_sleep(&worker.sleep);
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

    /// Sleeps for a moment: what is in sight had better be left to another worker, which is busy;
    /// or what is not in sight is not known.
    fn nap(&self, worker: &Worker, needed: bool) {
        if needed {
            self.nap_for(worker, NAP);
        }
    }

    fn nap_for(&self, worker: &Worker, time: Duration) {
        worker.counters.count(Event::Park);
        let _parked = worker.traced(Activity::Parked);
        thread::park_timeout(time);
    }

    /// Ends the sleep of the calling worker.
    fn end_sleep(&self, worker: &Worker) {
        if self.counts.end_sleep(&worker.sleep) {
            worker.summoned.set(true);
        }
    }

    /// A worker that was woken to search, and has not done so since, has something to do: if there is
    /// work in sight, another one is woken in its place.
    #[inline]
    pub(crate) fn pass_on_summons(&self, worker: &Worker) {
        if worker.summoned.take() {
            self.wake_another();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_another(&self) {
        // What the caller was woken for is in sight behind it, unless it was taken.
        fence(Ordering::Acquire); // [Z6]
        if self.work_in_sight() {
            self.wake_one();
        }
    }

    /// Runs something that blocks the calling worker, while a spare takes its place. Returns
    /// `false`, and runs nothing, if no spare can.
    pub(crate) fn try_blocking(&self, block: Block, wait: impl FnOnce()) -> bool {
        if !self.begin_block(block) {
            return false;
        }
        self.count(Event::Park);
        wait();
        self.counts.change(Counts::end_block);
        true
    }

    /// Counts the caller as blocked, if there is a spare for it.
    fn begin_block(&self, block: Block) -> bool {
        if !self.counts.try_change(Counts::begin_block) {
            return false;
        }
        let work = match block {
            Block::Briefly => self.call_and_look(),
            Block::Indefinitely => self.call_for_work() != Some(false),
        };
        if work {
            self.wake_one();
        }
        // The spare that was called may have been refused.
        if self.counts.get().lacks_spares() {
            self.counts.change(Counts::end_block);
            return false;
        }
        true
    }

    /// Calls up a spare if one is wanted.
    fn call_spare(&self) {
        if self.counts.try_change(Counts::call_spare) {
            self.rouse_spare();
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
            self.counts.change(Counts::lower_spare);
            self.limit_spares();
        }
    }

    /// No further spare can be had: workers that count on one must look after themselves.
    #[cold]
    fn limit_spares(&self) {
        let started = self.workers() - self.size;
        if self.closed()
            || !self
                .counts
                .try_change(|counts| counts.limit_spares(started))
        {
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
        // Before it starts: a thief that sees what it pushed must know of its queue.
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
        let reports = (!self.config.pinned_cpus.is_empty()).then(Reports::new);
        // If `spawn` panics, those that have been started end too.
        let unwinding = EndOnDrop(self);
        for index in usize::from(adopts)..self.size {
            let thread = ThreadBuilder::new(self.clone(), index, reports.as_ref().map(Report::new));
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
        if let Some(error) = reports.and_then(|reports| reports.wait()) {
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
        let _guard = AbortOnUnwind;
        let spare = worker.index() >= self.size;
        let mut idle = 0;
        // A job may have forked the process: what it left behind belongs to frames that are gone.
        let mut rounds = 0_u32;
        while !self.is_orphaned() {
            rounds = rounds.wrapping_add(1);
            if rounds % LOOKS == 0 {
                self.look_at_processors();
            }
            if worker.index() >= self.share.active() {
                self.hold_back(worker);
            }
            if spare && worker.was_refused() && self.counts.get().has_spare_left_over() {
                // It was called up for work that it had to leave alone, and need not wait for more.
                self.lie_down(worker);
            }
            if worker.read_mail() {
                idle = 0;
            } else if let Some(injected) = worker.find_work() {
                worker.run_job(injected);
                idle = 0;
                if !spare {
                    worker.run_newest();
                } else if self.counts.get().has_spare_left_over() {
                    self.lie_down(worker);
                }
            } else if self.closed() && worker.has_settled() {
                worker.trace_leaving();
                // The worker that finished the last task may not have seen that the pool closes.
                // And exit handlers may spawn more tasks.
                self.wake_all();
                return;
            } else {
                worker.trace_idle();
                worker.open_to_offers();
                if self.rest_until(&mut idle, || worker.has_offer()) {
                    self.look_at_processors();
                    if spare {
                        self.nap(worker, worker.was_refused());
                        self.lie_down(worker);
                    } else {
                        self.sleep(worker, || self.closed())
                    }
                    idle = 0;
                }
            }
        }
    }

    /// Looks how many processors there are for the workers, once a second.
    fn look_at_processors(&self) {
        if self.config.processors.is_none() {
            let processors = || thread::available_parallelism().map_or(1, usize::from);
            self.share.look(self.now(), processors);
        }
    }

    /// How many workers look for work without a pause.
    pub(crate) fn active(&self) -> usize {
        self.share.active().min(self.size)
    }

    /// A worker for which there is no processor any more sleeps before it looks for work. Not if it
    /// has work of its own, or something was sent to it.
    #[cold]
    fn hold_back(&self, worker: &Worker) {
        if worker.index() < self.size && worker.seems_empty() && worker.targeted_jobs.is_empty() {
            self.pass_on_summons(worker);
            self.nap_for(worker, share::PAUSE);
        }
    }

    /// One step of idling. Returns `true` if it is time to sleep.
    pub(crate) fn rest(&self, idle: &mut u32) -> bool {
        self.rest_until(idle, || false)
    }

    /// The same, cut short as soon as the worker has been served. To look at what is its own at
    /// every pause disturbs no other worker, as searching more often would.
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
        self.counts.change(Counts::lower_spare);
        // A push that came before that has not called it up.
        if self.counts.get().wants_spare() && self.call_for_work() != Some(false) {
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

    /// A task of a pool that closes is done. A worker that has a main loop sees there whether it
    /// was the last one, and wakes the others before it leaves; an adopted thread does so here.
    #[cold]
    #[inline(never)]
    pub(crate) fn task_done_while_closing(&self, worker: &Worker) {
        let adopted = self.config.use_current_thread && worker.index() == 0;
        if adopted && self.closed() {
            self.wake_all();
        }
    }

    pub(crate) fn closed(&self) -> bool {
        self.closing.load(Ordering::SeqCst) && self.has_no_tasks()
    }

    /// Returns `true` if no spawned task was outstanding at some time during the call.
    fn has_no_tasks(&self) -> bool {
        all_done(|| {
            let workers = self.furnished(0..self.workers());
            let inside = workers.map(|worker| &worker.tasks);
            inside.chain([&*self.outside_tasks])
        })
    }

    /// Counts a user of the pool as gone. If the last one leaves tasks behind, which happens if no
    /// thread ever ran the pool's workers, their handles still refer to the pool: it is not freed.
    pub(crate) fn user_leaves(&self) {
        if self.roll.remove_user() && !self.has_no_tasks() {
            std::mem::forget(self.shared());
        }
    }

    fn wake_all(&self) {
        // Against `sleep`, which looks whether the pool closes after its heavy barrier.
        fence(Ordering::SeqCst);
        for worker in self.furnished(0..self.workers()) {
            if worker.index() < self.size {
                self.counts.wake(&worker.sleep);
            } else {
                self.raise_spare(worker);
            }
            worker.unpark();
        }
    }

    /// Ends a spare's sleep, unless another thread does, and counts it as awake.
    fn raise_spare(&self, worker: &Worker) {
        if !worker.sleep.is_spare() {
            return;
        }
        // Before it can be up: it may lie down again at once.
        self.counts.change(Counts::raise_spare);
        if !worker.sleep.end_spare() {
            self.counts.change(Counts::lower_spare);
            // Another thread may have taken the count for that of a spare that is up, and called
            // none.
            self.call_spare();
        }
    }

    /// Lets the workers finish what was spawned and end, and waits for nothing.
    pub(crate) fn end(&self) {
        if self.is_orphaned() {
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Lets the workers finish what was spawned, and waits for them to end.
    pub(crate) fn close(&self) {
        if self.is_orphaned() {
            // There are no threads to wait for.
            return;
        }
        self.end();
        match Worker::current() {
            // A task of its own drops the pool: the threads end by themselves. An adopted thread
            // that is in no task may have to run what was spawned, for want of others.
            Some(worker) if worker.is_in(self) => {
                let adopted = thread_builder::is_adopted_by(self) && worker.task_stack.depth() == 0;
                if !adopted {
                    return;
                }
                worker.serve_until(false, || self.closed(), || self.closed());
            }
            // A worker of another pool runs what is targeted at it, and a spare takes its place: a
            // task of this pool may wait for that one.
            Some(worker) => {
                worker.wait_until(|| self.roll.is_empty(), || self.roll.is_empty_or_unpark());
            }
            None => {}
        }
        self.wait_for_threads();
    }

    /// Waits until all threads have left, those of the caller included.
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

    /// Returns `true` if a waiter may take any job: by the rule, or because no spare can take its
    /// place.
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

#[cold]
#[inline(never)]
fn refuse_orphaned() -> ! {
    panic!(
        "locksley: this process was forked, and the threads of this pool are its parent's: \
         build a pool in the child, or use the global pool, which starts anew there"
    )
}

#[cold]
#[inline(never)]
fn refuse_unused() -> ! {
    panic!("locksley: the pool has ended, and no thread of it was there to run this task")
}

/// How many processors there are for so many workers. If the affinity mask has enough of them,
/// nothing else is asked.
fn processors_for(workers: usize) -> usize {
    let allowed = allowed_now().map_or(0, |cpus| cpus.len());
    if allowed >= workers {
        return allowed;
    }
    thread::available_parallelism().map_or(1, usize::from)
}

/// Aborts the process if the scheduler panics, which is a fault of this library: the tasks of a
/// worker that is gone would never run.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("locksley: a worker failed; this is a fault of the library");
            std::process::abort();
        }
    }
}

/// Ends a pool whose building was broken off.
struct EndOnDrop<'r>(&'r Registry);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
