//! A worker: its pile, and what it does with it.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::thread::Thread;

use locksley_queue::{Steal, asymmetric};
use locksley_trace::{Activity, Arrow};

use crate::builder::Config;
use crate::frames::Frames;
use crate::hunt::Hunter;
use crate::injector::{Injected, Injector};
use crate::job::{Family, JobRef};
use crate::pile::{Gifts, Loot, Pile, pile_for};
use crate::record::Deck;
use crate::registry::Registry;
use crate::sleep::{self, Bed};
use crate::stats::{Counters, Event};
use crate::sync::{AtomicUsize, Ordering};
use crate::trace::{Tracer, Tracing};

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
    /// The default strategy's pile; sealed under every other.
    pub(crate) deque: asymmetric::Bare<JobRef>,
    /// The pile of another strategy. The owner's alone.
    pile: UnsafeCell<Option<Box<dyn Pile>>>,
    pub(crate) hunter: Hunter,
    /// After how many more pushes and pops to ask the pile whether to balance; 0 for never. The
    /// owner's alone.
    pub(crate) countdown: Cell<u32>,
    /// Was it woken to look for work, and has not done so since? The owner's alone.
    pub(crate) summoned: Cell<bool>,
    /// Is the worker open to offers? The owner's alone.
    pub(crate) open: Cell<bool>,
    /// How many jobs of others are stacked up by waits. The owner's alone.
    helping: Cell<usize>,
    /// Was what it found last a spawned job, stolen at the price of a barrier? The owner's alone.
    stole: Cell<bool>,
    /// What is recorded of what it runs. The owner's alone.
    pub(crate) deck: Deck,
    pub(crate) counters: Counters,
    index: usize,
    /// Set with the pool, before any thread runs.
    registry: Cell<*const Registry>,
    pub(crate) bed: Bed,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the owner.
    home: AtomicUsize,
    pub(crate) frames: Frames,
    /// Jobs that this worker and no other must run.
    pub(crate) mail: Injector,
    /// Tasks that run in the order in which this worker spawned them.
    pub(crate) fifo: Injector,
    thread: OnceLock<Thread>,
    loot: Option<Box<dyn Loot>>,
    /// Notes what the worker does, if that is traced. Others read what it noted.
    pub(crate) tracer: Option<Tracer>,
}

// The owner's fields are reached only through `&Worker`, which only the owner's thread gets: the
// type is not `Sync`. Other workers reach the rest through `Registry::worker`.

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Worker {
        let deque = asymmetric::Bare::new();
        let (pile, loot) = match pile_for(index, config) {
            None => (None, None),
            Some((pile, loot)) => {
                // SAFETY: nobody else has it yet.
                unsafe { deque.seal() };
                (Some(pile), Some(loot))
            }
        };
        let every = pile.as_ref().and_then(|pile| pile.balances_every());
        Worker {
            deque,
            countdown: Cell::new(every.unwrap_or(0)),
            pile: UnsafeCell::new(pile),
            hunter: Hunter::new(index, config),
            summoned: Cell::new(false),
            open: Cell::new(false),
            helping: Cell::new(0),
            stole: Cell::new(false),
            deck: Deck::default(),
            counters: Counters::default(),
            index,
            registry: Cell::new(ptr::null()),
            bed: Bed::new(),
            home: AtomicUsize::new(0),
            frames: Frames::new(),
            mail: Injector::new(),
            fifo: Injector::new(),
            thread: OnceLock::new(),
            loot,
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
    pub(crate) fn is_in(&self, registry: &Registry) -> bool {
        ptr::eq(self.registry(), registry)
    }

    /// Wakes the worker's thread if it is parked, or soon will be.
    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Pushes a job that `unpush` must not mistake for a join's. A full pile leaves it to the pool.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`, and nothing below comes back here.
        let pile = unsafe { &mut *self.pile.get() };
        let pushed = match pile {
            // SAFETY: as above.
            None => unsafe {
                self.deque.push(job);
                self.deque.mark();
                self.seal_if_recorded();
                Ok(())
            },
            Some(pile) => pile.push(job),
        };
        self.count_down();
        match pushed {
            Ok(()) => self.offer(),
            Err(job) => self.registry().inject(Injected {
                job,
                owner: self.index,
            }),
        }
    }

    /// Sends the next fork the slow way if what the worker runs is recorded: see `record`.
    #[inline]
    pub(crate) fn seal_if_recorded(&self) {
        if self.is_recorded() {
            // SAFETY: only the owner's thread has a `&Worker`.
            unsafe { self.deque.seal() };
        }
    }

    /// Pushes a join's job the slow way. It may come back for want of room.
    pub(crate) fn push_forked(&self, job: JobRef) -> Result<(), JobRef> {
        // SAFETY: as in `push_spawned`.
        let pile = unsafe { &mut *self.pile.get() };
        let pushed = match pile {
            // SAFETY: as above.
            None => unsafe {
                self.deque.push(job);
                Ok(())
            },
            Some(pile) => pile.push(job),
        };
        self.count_down();
        if pushed.is_ok() {
            self.offer();
        }
        pushed
    }

    /// Takes the newest job of the worker's own pile.
    pub(crate) fn pop(&self) -> Option<JobRef> {
        // SAFETY: as in `push_spawned`.
        let pile = unsafe { &mut *self.pile.get() };
        let job = match pile {
            // SAFETY: as above.
            None => unsafe { self.deque.pop() },
            Some(pile) => pile.pop(),
        };
        self.count_down();
        job
    }

    /// Takes the newest job of the pile, though a join may be about to take it back.
    pub(crate) fn pop_from_under(&self) -> Option<JobRef> {
        let job = self.pop()?;
        // SAFETY: only the owner's thread has a `&Worker`.
        if unsafe { &*self.pile.get() }.is_none() {
            // Marked, so that a join further out whose job this was finds out, and does not take
            // the next one for it.
            // SAFETY: as above.
            unsafe { self.deque.mark() };
        }
        Some(job)
    }

    /// Shows others all that is in the pile: the worker is about to block. What others had pushed goes
    /// to the pool's queue, where those who wait for it look. Has anything gone there?
    pub(crate) fn open_pile(&self) -> bool {
        self.close_to_offers();
        // SAFETY: as in `push_spawned`.
        if let Some(pile) = unsafe { &mut *self.pile.get() } {
            pile.open();
        }
        self.trace_resting();
        let mut any = false;
        while let Some(injected) = self.pop_moved() {
            self.registry().inject(injected);
            any = true;
        }
        any
    }

    /// Wakes somebody if somebody wants work. After a push.
    #[inline(always)]
    pub(crate) fn offer(&self) {
        sleep::offered();
        if self.bed.is_wanted() {
            self.rouse();
        }
    }

    /// Somebody wants work: shows some, and wakes one who sleeps.
    #[cold]
    #[inline(never)]
    pub(crate) fn rouse(&self) {
        self.bed.answer();
        // SAFETY: as in `push_spawned`.
        let dealt_to = unsafe { &mut *self.pile.get() }.as_mut().and_then(|pile| {
            pile.attend();
            pile.dealt_to()
        });
        if self.registry().wake_one_for(dealt_to) {
            self.bed.call();
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
    pub(crate) unsafe fn pile(&self) -> Option<&mut Box<dyn Pile>> {
        // SAFETY: only the owner's thread has a `&Worker`; the caller keeps no other reference.
        unsafe { (*self.pile.get()).as_mut() }
    }

    /// The other side of the pile, unless it is the default strategy's. For other workers.
    pub(crate) fn loot(&self) -> Option<&dyn Loot> {
        self.loot.as_deref()
    }

    /// Tries to steal from this worker what it pushed itself. For other workers.
    pub(crate) fn rob(&self) -> Steal<JobRef> {
        match &self.loot {
            None => self.deque.steal(),
            Some(loot) => {
                let answer = loot.steal();
                if answer.is_private() {
                    loot.ask();
                }
                answer
            }
        }
    }

    /// How many jobs seem to be in this worker's pile. For other workers.
    pub(crate) fn load(&self) -> usize {
        match &self.loot {
            None => self.deque.len(),
            Some(loot) => loot.len(),
        }
    }

    /// Does this worker's pile seem empty? For other workers.
    pub(crate) fn seems_empty(&self) -> bool {
        match &self.loot {
            None => self.deque.is_empty(),
            Some(loot) => loot.is_empty(),
        }
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
    pub(crate) fn help(&self, injected: Injected) {
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
            let exposed = pile.map_or(0, |pile| pile.exposed());
            let gifts = pile.map_or(Gifts::default(), |pile| pile.gifts());
            self.counters.publish(exposed, gifts);
        }
    }

    /// Runs a job from the worker's main loop or on behalf of a waiter.
    pub(crate) fn run_job(&self, injected: Injected) {
        self.registry().pass_on_summons(self);
        self.close_to_offers();
        self.publish_counts();
        // SAFETY: the job was taken from a pile, so it is executed here and nowhere else.
        let family = unsafe { injected.job.family() };
        self.frames.enter_root(family);
        self.execute(injected);
        self.frames.leave();
    }

    /// Executes a job within what the frames say already.
    pub(crate) fn execute(&self, injected: Injected) {
        self.counters.count(Event::Task);
        let _work = self.traced(Activity::Work);
        // SAFETY: the job was taken from a pile, so it is executed here and nowhere else.
        unsafe { injected.job.execute(self, injected.owner) };
        if injected.job.is_dealt()
            // SAFETY: the pile does not come back here.
            && let Some(pile) = unsafe { self.pile() }
        {
            pile.executed(injected.job.is_near());
        }
    }

    /// Runs a job on top of whatever the worker is doing.
    pub(crate) fn run_foreign(&self, injected: Injected) {
        // An adopted thread may have forked outside of any job.
        if self.frames.depth() == 0 && self.seems_empty() {
            return self.run_job(injected);
        }
        self.run_apart(injected);
    }

    fn run_apart(&self, injected: Injected) {
        self.frames.enter_foreign();
        self.run_job(injected);
        self.frames.leave_foreign();
    }

    /// Runs a job that was sent to this very worker, if there is one. Was there?
    pub(crate) fn read_mail(&self) -> bool {
        let letter = self.mail.pop();
        letter.map(|letter| self.run_foreign(letter)).is_some()
    }

    /// Looks for a job anywhere: in the worker's own pile, among what it was offered, in the pool's
    /// queue, at the others.
    pub(crate) fn find_work(&self) -> Option<Injected> {
        self.note_theft(None);
        if self.registry().config.breadth_first
            && let Some(job) = self.rob().success()
        {
            return Some(Injected {
                job,
                owner: self.index,
            });
        }
        if let Some(job) = self.pop() {
            return Some(Injected {
                job,
                owner: self.index,
            });
        }
        self.pop_moved()
            .or_else(|| self.receive())
            .or_else(|| self.find_work_abroad())
    }

    /// [`find_work`](Worker::find_work) for a worker that is inside of a job: what it finds in
    /// its pile may be that of a join which it is inside of.
    pub(crate) fn take_anything(&self) -> Option<Injected> {
        self.take_own().or_else(|| self.find_work_abroad())
    }

    /// Takes a job of the worker's own pile, though a join may be about to take it back.
    pub(crate) fn take_own(&self) -> Option<Injected> {
        let oldest = match self.registry().config.breadth_first {
            true => self.rob().success(),
            false => None,
        };
        match oldest.or_else(|| self.pop_from_under()) {
            Some(job) => Some(Injected {
                job,
                owner: self.index,
            }),
            None => self.pop_moved(),
        }
    }

    /// Has it just stolen a spawned job, at the price of a barrier?
    pub(crate) fn has_stolen_spawned(&self) -> bool {
        self.stole.get()
    }

    /// Remembers whether it has.
    pub(crate) fn note_theft(&self, stolen: Option<&Injected>) {
        let spawned = stolen.is_some_and(|stolen| stolen.job.is_spawned());
        self.stole.set(spawned && self.loot.is_none());
    }

    /// Takes the newest job of the worker's own pile if it is a spawned one of this family.
    /// Spawned jobs of others that are in the way go to the pool's queue.
    pub(crate) fn pop_of(&self, family: Family) -> Option<Injected> {
        while let Some(job) = self.pop() {
            let injected = Injected {
                job,
                owner: self.index,
            };
            if !job.is_spawned() {
                // A join's, further out. Whether it is that of the innermost join is not known, so
                // it goes back with a mark.
                self.push_spawned(job);
                break;
            }
            // SAFETY: the job has not been executed.
            if unsafe { job.family() } == family {
                return Some(injected);
            }
            self.registry().inject(injected);
        }
        // SAFETY: the pile does not come back here.
        let dealt = unsafe { self.pile() }?.pop_of(family)?;
        self.trace_move(Arrow::Dealing, dealt.owner);
        Some(dealt)
    }

    /// Takes back a job of a family that this worker dealt to another one, and that nobody has begun.
    pub(crate) fn take_back(&self, family: Family, spawned: bool) -> Option<Injected> {
        // SAFETY: the pile does not come back here.
        let (found, moved) = unsafe { self.pile() }?.take_back(family, spawned);
        if moved {
            // What was in its hands meanwhile, nobody could see.
            self.offer();
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
