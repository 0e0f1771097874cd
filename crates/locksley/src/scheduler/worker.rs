//! A worker: its pile, and what it does with it.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::thread::Thread;

use locksley_queue::Steal;
use locksley_queue::barrier::{self, FenceMode};
use locksley_queue::split::{Embedded, Forced, PushToken};
use locksley_trace::{Activity, Arrow};

use crate::observe::record::Deck;
use crate::observe::stats::{Counters, Event};
use crate::observe::trace::{Tracer, Tracing};
use crate::pool::builder::Config;
use crate::scheduler::idle::sleep::{SleepState, take_call};
use crate::scheduler::injector::{Injector, QueuedJob};
use crate::scheduler::registry::Registry;
use crate::scheduler::task_stack::TaskStack;
use crate::scheduler::victim_order::VictimSelector;
use crate::strategy::local_queue::{Exposure, LocalQueue, StealHandle, local_queue_for};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::task::blocks::Blocks;
use crate::task::fifo::FifoQueue;
use crate::task::ghosts::Ghosts;
use crate::task::job::{GroupId, JobRef};
use crate::task::outstanding::TaskCounts;

/// How long a victim may leave a request unanswered before it is forced. It answers at its next fork, so a
/// fine-grained program never is; and the barrier takes a few microseconds itself. In nanoseconds.
const FORCE_AFTER: u64 = 5_000;

/// For how many spawned jobs after a request a worker keeps half of all public. Thieves that ask once
/// mostly come again, and a task that spawns others spawns many.
const GENEROUS: u32 = 64;

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
    /// What the worker has forked, and, unless the strategy has a queue for them, spawned. Its request is
    /// how others ask for the worker's attention.
    pub(crate) deque: Embedded<JobRef>,
    /// What a strategy has besides. The owner's alone.
    pile: UnsafeCell<Option<Box<dyn LocalQueue>>>,
    /// Whether forks go to the pile too.
    reference: bool,
    /// How many items to expose on request.
    exposure: Exposure,
    /// For how many more spawned jobs half of all are kept public. The owner's alone.
    generous: Cell<u32>,
    /// When a thief last asked this worker for work, in nanoseconds of the pool's clock. Written by thieves.
    asked_at: AtomicU64,
    pub(crate) selector: VictimSelector,
    /// After how many more pushes and pops to ask the pile whether to balance; 0 for never. The
    /// owner's alone.
    pub(crate) countdown: Cell<u32>,
    /// Was it woken to look for work, and has not done so since? The owner's alone.
    pub(crate) summoned: Cell<bool>,
    /// Is the worker open to offers? The owner's alone.
    pub(crate) open: Cell<bool>,
    /// How many jobs of others are stacked up by waits. The owner's alone.
    helping: Cell<usize>,
    /// What is recorded of what it runs. The owner's alone.
    pub(crate) deck: Deck,
    pub(crate) counters: Counters,
    index: usize,
    /// Set with the pool, before any thread runs.
    registry: Cell<*const Registry>,
    pub(crate) sleep: SleepState,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the owner.
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
    /// Whether the worker is blocked, for those who look. Written by the owner.
    blocked: AtomicBool,
    thread: OnceLock<Thread>,
    stealer: Option<Box<dyn StealHandle>>,
    /// Notes what the worker does, if that is traced. Others read what it noted.
    pub(crate) tracer: Option<Tracer>,
}

// The owner's fields are reached only through `&Worker`, which only the owner's thread gets: the
// type is not `Sync`. Other workers reach the rest through `Registry::worker`.

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Worker {
        let deque = Embedded::new();
        let (pile, stealer) = local_queue_for(index, config).unzip();
        let reference = config.strategy.is_reference();
        let wants_call = pile.as_ref().is_some_and(|pile| pile.wants_call());
        if reference || wants_call {
            deque.call();
        }
        let every = pile.as_ref().and_then(|pile| pile.balances_every());
        Worker {
            deque,
            reference,
            exposure: Exposure::of(config.strategy),
            generous: Cell::new(0),
            asked_at: AtomicU64::new(0),
            countdown: Cell::new(every.unwrap_or(0)),
            pile: UnsafeCell::new(pile),
            selector: VictimSelector::new(index, config),
            summoned: Cell::new(false),
            open: Cell::new(false),
            helping: Cell::new(0),
            deck: Deck::default(),
            counters: Counters::default(),
            index,
            registry: Cell::new(ptr::null()),
            sleep: SleepState::new(),
            home: AtomicUsize::new(0),
            task_stack: TaskStack::new(),
            targeted_jobs: Injector::new(),
            fifo: FifoQueue::new(),
            ghosts: Ghosts::new(),
            tasks: TaskCounts::new(),
            blocks: Blocks::default(),
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
        let _ = self.thread.set(std::thread::current());
        CURRENT.set(self);
    }

    /// The calling thread is this worker no more.
    pub(crate) fn cease(&self) {
        if ptr::eq(CURRENT.get(), self) {
            CURRENT.set(ptr::null());
        }
    }

    /// Makes the calling thread no worker: it is that of a forked process, which has no pool yet.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn forget_current() {
        CURRENT.set(ptr::null());
    }

    /// Calls `f` with the worker that the calling thread is, if it is one: for code that is not handed its
    /// worker, and asks the thread once instead of at every fork.
    ///
    /// ```
    /// use locksley::Worker;
    ///
    /// assert!(Worker::with_current(|worker| worker.is_none()));
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// let sum = pool.install(|| {
    ///     Worker::with_current(|worker| match worker {
    ///         Some(worker) => worker.join(|_| 1, |_| 2),
    ///         None => (1, 2),
    ///     })
    /// });
    /// assert_eq!(sum, (1, 2));
    /// ```
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        f(Worker::current())
    }

    /// The number of workers in its pool, without spares.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.run(|worker| worker.num_workers()), 2);
    /// ```
    #[inline]
    pub fn num_workers(&self) -> usize {
        self.registry().size()
    }

    /// How many spare workers its pool may have: see [`Builder::spares`](crate::Builder::spares).
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).spares(3).build().unwrap();
    /// assert_eq!(pool.run(|worker| worker.num_spares()), 3);
    /// ```
    #[inline]
    pub fn num_spares(&self) -> usize {
        self.registry().spares()
    }

    /// The worker's index in its pool. Spare workers, which stand in for waiting ones, have
    /// indices from the number of workers on.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.run(|worker| worker.index()), 0);
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: set before the thread started, and the thread keeps the pool alive.
        unsafe { &*self.registry.get() }
    }

    /// Is the worker one of this pool's?
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

    /// Pushes a spawned job. If there is no room, it goes to the pool's queue.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`, and nothing below comes back here.
        let pile = unsafe { &mut *self.pile.get() };
        let Some(pile) = pile else {
            return self.push_marked(job);
        };
        let pushed = pile.push(job);
        self.count_down();
        match pushed {
            Ok(()) => self.notify_push(),
            Err(job) => self.registry().inject(QueuedJob {
                job,
                owner: self.index,
            }),
        }
    }

    /// Pushes a job to the deque that no join takes back.
    fn push_marked(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`, for both.
        let attention = unsafe {
            let (_, attention) = self.deque.push(job);
            self.deque.mark();
            attention
        };
        if attention {
            self.attend();
        } else if self.generous.get() > 0 {
            self.generous.set(self.generous.get() - 1);
            self.keep_half_public();
        }
    }

    /// Makes jobs public until they are half of all, so that thieves need not ask.
    fn keep_half_public(&self) {
        // SAFETY: only the owner's thread has a `&Worker`, for both.
        unsafe {
            let (public, private) = (self.deque.public_len(), self.deque.private_len());
            if private > public {
                self.deque.expose((private - public).div_ceil(2));
            }
        }
    }

    /// Sends the next fork the slow way if what the worker runs is recorded: see `record`.
    #[inline]
    pub(crate) fn seal_if_recorded(&self) {
        if self.is_recorded() {
            self.deque.call();
        }
    }

    /// Returns `true` if forks go to the strategy's own queue.
    #[inline]
    pub(crate) fn has_reference_queue(&self) -> bool {
        self.reference
    }

    /// Pushes a join's job the slow way, and returns its place if it is in the deque. It may come back for
    /// want of room.
    pub(crate) fn push_forked(&self, job: JobRef) -> Result<Option<PushToken>, JobRef> {
        if !self.reference {
            // SAFETY: only the owner's thread has a `&Worker`.
            let (place, attention) = unsafe { self.deque.push(job) };
            if attention {
                self.attend();
            }
            return Ok(Some(place));
        }
        // SAFETY: as in `push_spawned`.
        if let Some(pile) = unsafe { &mut *self.pile.get() } {
            pile.push(job)?;
        }
        self.count_down();
        self.notify_push();
        Ok(None)
    }

    /// Takes the newest job of the worker's own.
    #[inline]
    pub(crate) fn pop(&self) -> Option<JobRef> {
        let forked = match self.reference {
            // SAFETY: only the owner's thread has a `&Worker`.
            false => unsafe { self.deque.pop() },
            true => None,
        };
        let job = forked.or_else(|| self.pop_spawned());
        self.poll_requests();
        job
    }

    /// Takes the newest job of the strategy's queue, if it has one.
    fn pop_spawned(&self) -> Option<JobRef> {
        // SAFETY: as in `push_spawned`.
        let job = unsafe { &mut *self.pile.get() }.as_mut()?.pop();
        self.count_down();
        job
    }

    /// Hides nothing: the worker is about to block. What others had pushed goes to the pool's
    /// queue, where those that wait for it look. Returns `true` if anything went there.
    pub(crate) fn open_pile(&self) -> bool {
        self.close_to_offers();
        // SAFETY: only the owner's thread has a `&Worker`.
        unsafe { self.deque.expose(usize::MAX) };
        self.trace_resting();
        let mut any = false;
        while let Some(injected) = self.pop_received() {
            self.registry().inject(injected);
            any = true;
        }
        any
    }

    /// Wakes a sleeping worker if one wants work. After a push to the strategy's queue.
    #[inline(always)]
    pub(crate) fn notify_push(&self) {
        barrier::light(); // [Z3]
        // Whatever is in its own queues: the job may have gone to another worker's.
        if self.deque.is_called() {
            self.attend();
        }
    }

    /// Answers a request, if one stands and there is something to answer it with.
    #[inline(always)]
    pub(crate) fn poll_requests(&self) {
        if self.deque.is_called() && !self.seems_empty() {
            self.attend();
        }
    }

    /// A request stands, or the deque must make room: exposes jobs, and wakes a sleeping worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn attend(&self) {
        // SAFETY: only the owner's thread has a `&Worker`, for all of these.
        let attention = unsafe { take_call(&self.deque) };
        if !attention.requested {
            return;
        }
        if attention.asked {
            self.generous.set(GENEROUS);
        }
        if barrier::fence_mode() == FenceMode::Symmetric {
            // SAFETY: as above.
            unsafe { self.deque.expose(usize::MAX) };
            fence(Ordering::SeqCst); // [Z3]
        } else if self.deque.public_len() == 0 {
            // SAFETY: as above.
            unsafe {
                let private = self.deque.private_len();
                self.deque.expose(self.exposure.amount(private));
            }
        }
        let (mut dealt_to, mut wants_call) = (None, self.reference);
        // SAFETY: as in `push_spawned`.
        if let Some(pile) = unsafe { &mut *self.pile.get() } {
            if self.deque.public_len() > 0 {
                pile.share_public();
            }
            dealt_to = pile.dealt_to();
            wants_call |= pile.wants_call();
        }
        let more_sleep = self.registry().wake_one_for(dealt_to);
        if more_sleep || wants_call || self.is_recorded() {
            self.deque.call();
        }
    }

    /// The pile, for what the worker itself does with it.
    ///
    /// # Safety
    ///
    /// The reference is not kept while anything else runs that may use the pile.
    #[allow(
        clippy::mut_from_ref,
        reason = "the type is not `Sync`, and borrows are short"
    )]
    pub(crate) unsafe fn pile(&self) -> Option<&mut Box<dyn LocalQueue>> {
        // SAFETY: only the owner's thread has a `&Worker`; the caller keeps no other reference.
        unsafe { (*self.pile.get()).as_mut() }
    }

    /// The other side of the pile, unless it is the default strategy's. For other workers.
    pub(crate) fn stealer(&self) -> Option<&dyn StealHandle> {
        self.stealer.as_deref()
    }

    /// Steals one job from `victim`: a forked one, or a spawned one.
    pub(crate) fn steal_one(&self, victim: &Worker) -> Steal<JobRef> {
        let mut answer = Steal::Empty;
        if !victim.reference {
            answer = self.steal_public(victim);
        }
        match (&victim.stealer, &answer) {
            (Some(stealer), Steal::Empty | Steal::Private) => match stealer.steal() {
                Steal::Empty => answer,
                other => other,
            },
            _ => answer,
        }
    }

    /// Steals from the deque of `victim`. If it hides what it has, it is asked, and after a while it
    /// is forced.
    fn steal_public(&self, victim: &Worker) -> Steal<JobRef> {
        match victim.deque.steal() {
            Steal::Private => self.demand(victim),
            Steal::Empty => {
                // Its next push is public at once.
                if victim.deque.request() {
                    victim
                        .asked_at
                        .store(self.registry().now(), Ordering::Relaxed);
                }
                Steal::Empty
            }
            answer => answer,
        }
    }

    #[cold]
    fn demand(&self, victim: &Worker) -> Steal<JobRef> {
        let now = self.registry().now();
        if victim.deque.request() {
            victim.asked_at.store(now, Ordering::Relaxed);
            return Steal::Private;
        }
        if now.saturating_sub(victim.asked_at.load(Ordering::Relaxed)) < FORCE_AFTER {
            return Steal::Private;
        }
        if victim.deque.is_empty() {
            return Steal::Empty;
        }
        // Others leave it alone meanwhile.
        victim.asked_at.store(now, Ordering::Relaxed);
        match victim.deque.force() {
            Forced::Public => {
                self.counters.count(Event::Forced);
                victim.deque.steal()
            }
            Forced::Empty => Steal::Empty,
            Forced::Retry => Steal::Retry,
            Forced::Refused => Steal::Private,
        }
    }

    /// How many jobs seem to be in this worker's queues. For other workers.
    pub(crate) fn load(&self) -> usize {
        self.deque.len() + self.stealer.as_ref().map_or(0, |stealer| stealer.len())
    }

    /// Returns `true` if this worker's queues seem empty. For other workers.
    pub(crate) fn seems_empty(&self) -> bool {
        self.deque.is_empty()
            && self
                .stealer
                .as_ref()
                .is_none_or(|stealer| stealer.is_empty())
    }

    /// Blocks the owner's thread, and lets that be seen.
    pub(crate) fn seen_blocked<R>(&self, block: impl FnOnce() -> R) -> R {
        self.blocked.store(true, Ordering::Relaxed);
        let result = block();
        self.blocked.store(false, Ordering::Relaxed);
        result
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

    /// Runs a job of somebody else while this worker waits.
    pub(crate) fn help(&self, injected: QueuedJob) {
        self.deeper(|| match self.seems_empty() {
            true => self.run_job(injected),
            // What lies there was pushed before, and need not descend from the job.
            false => self.run_apart(injected),
        });
    }

    /// Runs something one level deeper.
    pub(crate) fn deeper(&self, run: impl FnOnce()) {
        let depth = self.helping.get() + 1;
        self.helping.set(depth);
        self.counters.set_depth(depth);
        run();
        self.helping.set(depth - 1);
        self.counters.set_depth(depth - 1);
    }

    /// How many jobs of others are stacked up by waits.
    pub(crate) fn depth(&self) -> usize {
        self.helping.get()
    }

    /// Publishes what the owner's thread has counted on its own.
    pub(crate) fn publish_counts(&self) {
        if Counters::ON {
            // SAFETY: as in `push_spawned`.
            let pile = unsafe { &*self.pile.get() }.as_ref();
            // SAFETY: as above.
            let exposed = unsafe { self.deque.exposed() };
            self.counters.publish(exposed);
            if let Some(pile) = pile {
                self.counters.publish_transfers(pile.transfers());
            }
        }
    }

    /// Runs a job from the worker's main loop or on behalf of a waiter.
    pub(crate) fn run_job(&self, injected: QueuedJob) {
        if self.drops_ghost(&injected) {
            return;
        }
        self.registry().pass_on_summons(self);
        self.close_to_offers();
        self.publish_counts();
        // SAFETY: the job was taken from a pile, so it is executed here and nowhere else.
        let group = unsafe { injected.job.group() };
        self.task_stack.enter_root(group);
        self.execute(injected);
        self.task_stack.leave();
    }

    /// Runs the newest jobs of the worker's own, one after the other, until there is none, or something
    /// is targeted at the worker.
    pub(crate) fn run_newest(&self) {
        let registry = self.registry();
        if registry.config.breadth_first {
            return;
        }
        let owner = self.index;
        while self.targeted_jobs.is_empty() && !registry.is_orphaned() {
            let Some(job) = self.pop() else { break };
            let queued = QueuedJob { job, owner };
            if !self.drops_ghost(&queued) {
                // SAFETY: the job was taken from a queue, so it is executed here and nowhere else.
                let group = unsafe { job.group() };
                self.task_stack.enter_root(group);
                self.execute(queued);
                self.task_stack.leave();
            }
        }
        self.publish_counts();
    }

    /// Executes a job within what the frames say already.
    #[inline]
    pub(crate) fn execute(&self, injected: QueuedJob) {
        self.counters.count(Event::Task);
        let _work = self.traced(Activity::Work);
        // SAFETY: the job was taken from a pile, so it is executed here and nowhere else.
        unsafe { injected.job.execute(self, injected.owner) };
        self.count_executed(injected.job);
    }

    /// Tells the strategy's queue that a job of it is done with, if it was dealt.
    #[inline]
    pub(crate) fn count_executed(&self, job: JobRef) {
        if job.is_dealt()
            // SAFETY: the pile does not come back here.
            && let Some(pile) = unsafe { self.pile() }
        {
            pile.executed(job.is_near());
        }
    }

    /// Runs a job on top of whatever the worker is doing.
    pub(crate) fn run_foreign(&self, injected: QueuedJob) {
        // An adopted thread may have forked outside of any job.
        if self.task_stack.depth() == 0 && self.seems_empty() {
            return self.run_job(injected);
        }
        self.run_apart(injected);
    }

    fn run_apart(&self, injected: QueuedJob) {
        self.task_stack.enter_foreign();
        self.run_job(injected);
        self.task_stack.leave_foreign();
    }

    /// Runs a job that was sent to this very worker, if there is one. Was there?
    pub(crate) fn read_mail(&self) -> bool {
        let letter = self.targeted_jobs.pop();
        letter.map(|letter| self.run_foreign(letter)).is_some()
    }

    /// Looks for a job anywhere: in the worker's own pile, among what it was offered, in the pool's
    /// queue, at the others.
    pub(crate) fn find_work(&self) -> Option<QueuedJob> {
        if self.registry().config.breadth_first
            && let Some(job) = self.take_oldest()
        {
            return Some(QueuedJob {
                job,
                owner: self.index,
            });
        }
        if let Some(job) = self.pop() {
            return Some(QueuedJob {
                job,
                owner: self.index,
            });
        }
        self.pop_received()
            .or_else(|| self.receive())
            .or_else(|| self.find_work_abroad())
    }

    /// [`find_work`](Worker::find_work) for a worker that is inside of a job: what it finds in
    /// its pile may be that of a join which it is inside of.
    pub(crate) fn take_anything(&self) -> Option<QueuedJob> {
        self.take_own().or_else(|| self.find_work_abroad())
    }

    /// Takes the oldest job of the worker's own.
    fn take_oldest(&self) -> Option<JobRef> {
        if self.deque.public_len() == 0 {
            // SAFETY: only the owner's thread has a `&Worker`.
            unsafe { self.deque.expose(1) };
        }
        let oldest = self.deque.steal().success();
        oldest.or_else(|| self.stealer.as_ref()?.steal().success())
    }

    /// Takes a job of the worker's own pile, though a join may be about to take it back.
    pub(crate) fn take_own(&self) -> Option<QueuedJob> {
        let oldest = match self.registry().config.breadth_first {
            true => self.take_oldest(),
            false => None,
        };
        match oldest.or_else(|| self.pop()) {
            Some(job) => Some(QueuedJob {
                job,
                owner: self.index,
            }),
            None => self.pop_received(),
        }
    }

    /// Takes the newest job of the queue that spawned jobs are pushed to.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<JobRef> {
        // SAFETY: only the owner's thread has a `&Worker`.
        match unsafe { &*self.pile.get() } {
            // SAFETY: as above.
            None => unsafe { self.deque.pop() },
            Some(_) => self.pop_spawned(),
        }
    }

    /// Takes the newest job of the worker's own pile if it is a spawned one of this family.
    /// Spawned jobs of others that are in the way go to the pool's queue.
    pub(crate) fn pop_of(&self, group: GroupId) -> Option<QueuedJob> {
        while let Some(job) = self.pop_newest() {
            let injected = QueuedJob {
                job,
                owner: self.index,
            };
            if !job.is_spawned() {
                // A join's, further out: it goes back to where it was.
                self.put_back(job);
                break;
            }
            // SAFETY: the job has not been executed.
            if unsafe { job.group() } == group {
                return Some(injected);
            }
            if !self.drops_ghost(&injected) {
                self.registry().inject(injected);
            }
        }
        // SAFETY: the pile does not come back here.
        let dealt = unsafe { self.pile() }?.pop_of(group)?;
        self.trace_move(Arrow::Dealing, dealt.owner);
        Some(dealt)
    }

    /// Pushes a job that was just popped, or that no join may take for its own.
    pub(crate) fn put_back(&self, job: JobRef) {
        if job.is_spawned() || self.reference {
            self.push_spawned(job);
        } else {
            self.push_marked(job);
        }
    }

    /// Takes back a job of a family that this worker dealt to another one, and that nobody has begun.
    pub(crate) fn take_back(&self, group: GroupId, spawned: bool) -> Option<QueuedJob> {
        // SAFETY: the pile does not come back here.
        let (found, moved) = unsafe { self.pile() }?.take_back(group, spawned);
        if moved {
            // What was in its hands meanwhile, nobody could see.
            self.notify_push();
        }
        found
    }

    /// Did the last search see work that this worker may not take yet?
    pub(crate) fn was_refused(&self) -> bool {
        // SAFETY: the pile does not come back here.
        unsafe { self.pile() }.is_some_and(|pile| pile.was_refused())
    }

    /// Is everything done that was dealt?
    pub(crate) fn has_settled(&self) -> bool {
        // SAFETY: the pile does not come back here.
        unsafe { self.pile() }.is_none_or(|pile| pile.is_settled())
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
///
/// ```
/// assert_eq!(locksley::current_worker_index(), None);
/// ```
pub fn current_worker_index() -> Option<usize> {
    Worker::current().map(Worker::index)
}

/// Does the calling worker have tasks of its own that nobody has started? `None` if the calling
/// thread is no worker.
///
/// ```
/// assert_eq!(locksley::current_worker_has_pending_tasks(), None);
/// let pool = locksley::Pool::builder().workers(1).build().unwrap();
/// pool.install(|| {
///     assert_eq!(locksley::current_worker_has_pending_tasks(), Some(false));
///     let task = locksley::spawn(|| 7);
///     assert_eq!(locksley::current_worker_has_pending_tasks(), Some(true));
///     assert_eq!(task.join(), 7);
/// });
/// ```
pub fn current_worker_has_pending_tasks() -> Option<bool> {
    Worker::current().map(|worker| !worker.seems_empty())
}

/// The number of workers in the pool that the calling thread belongs to; of the global pool if it
/// belongs to none.
///
/// ```
/// assert!(locksley::current_num_workers() >= 1);
/// ```
pub fn current_num_workers() -> usize {
    match Worker::current() {
        Some(worker) => worker.registry().size(),
        None => crate::pool::global().registry().size(),
    }
}
