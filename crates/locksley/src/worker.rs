//! A worker: its pile, and what it does with it.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::thread::Thread;

use crossbeam_utils::CachePadded;
use locksley_policy::{Order, Random};
use locksley_queue::asymmetric::{self, Unpushed};
use locksley_queue::{Owner, Steal, Thief, barrier};

use crate::frames::Frames;
use crate::injector::Injected;
use crate::job::{Family, JobRef};
use crate::pile::{Loot, Pile, pile_for};
use crate::registry::Registry;
use crate::stats::{Counters, Event};
use crate::strategy::Strategy;
use crate::sync::{AtomicBool, AtomicUsize, Ordering};

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
    /// The default strategy's pile; sealed under every other. The owner's alone.
    deque: UnsafeCell<asymmetric::Deque<JobRef>>,
    /// The pile of another strategy. The owner's alone.
    pile: UnsafeCell<Option<Box<dyn Pile>>>,
    /// Chooses victims. The owner's alone.
    random: Cell<Random>,
    /// The order in which to try them. The owner's alone, once its thread runs.
    order: UnsafeCell<Order>,
    /// How many jobs of others are stacked up by waits. The owner's alone.
    helping: Cell<usize>,
    pub(crate) counters: Counters,
    index: usize,
    /// Set with the pool, before any thread runs.
    registry: Cell<*const Registry>,
    /// Somebody sleeps who would like work. Set by sleepers, cleared by the owner.
    pub(crate) wanted: CachePadded<AtomicBool>,
    /// The worker sleeps until somebody clears this.
    pub(crate) sleeping: CachePadded<AtomicBool>,
    /// The CPU that the worker was last seen on, plus one; 0 if that is not known. Written by the owner.
    home: AtomicUsize,
    pub(crate) frames: Frames,
    thread: OnceLock<Thread>,
    stealer: asymmetric::Stealer<JobRef>,
    loot: Option<Box<dyn Loot>>,
}

// The owner's fields are reached only through `&Worker`, which only the owner's thread gets: the
// type is not `Sync`. Other workers reach the rest through `Registry::worker`.

impl Worker {
    pub(crate) fn new(index: usize, strategy: Strategy, seed: u64) -> Worker {
        let mut deque = asymmetric::Deque::new();
        let stealer = deque.thief();
        let (pile, loot) = match pile_for(strategy) {
            None => (None, None),
            Some((pile, loot)) => {
                deque.seal();
                (Some(pile), Some(loot))
            }
        };
        Worker {
            deque: UnsafeCell::new(deque),
            pile: UnsafeCell::new(pile),
            random: Cell::new(Random::new(seed, index as u64)),
            order: UnsafeCell::new(Order::uniform(index)),
            helping: Cell::new(0),
            counters: Counters::default(),
            index,
            registry: Cell::new(ptr::null()),
            wanted: CachePadded::new(AtomicBool::new(false)),
            sleeping: CachePadded::new(AtomicBool::new(false)),
            home: AtomicUsize::new(0),
            frames: Frames::new(),
            thread: OnceLock::new(),
            stealer,
            loot,
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

    /// Makes the calling thread this worker while `f` runs.
    pub(crate) fn be(&self, f: impl FnOnce(&Worker)) {
        // A thread takes a place once; a spare's place is its own for good.
        let _ = self.thread.set(std::thread::current());
        CURRENT.set(self);
        f(self);
        CURRENT.set(ptr::null());
    }

    /// The worker's index in its pool. Spare workers, which stand in for waiting ones, have
    /// indices from the number of workers on.
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: set before the thread started, and the thread keeps the pool alive.
        unsafe { &*self.registry.get() }
    }

    /// Wakes the worker's thread if it is parked, or soon will be.
    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The owner's deque.
    ///
    /// # Safety
    ///
    /// The reference is not kept while anything else runs that may use the deque.
    #[inline(always)]
    #[allow(
        clippy::mut_from_ref,
        reason = "the type is not `Sync`, and borrows are short"
    )]
    pub(crate) unsafe fn deque(&self) -> &mut asymmetric::Deque<JobRef> {
        // SAFETY: only the owner's thread has a `&Worker`; the caller keeps no other reference.
        unsafe { &mut *self.deque.get() }
    }

    /// Pushes a job that `unpush` must not mistake for a join's. A full pile leaves it to the pool.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        // SAFETY: only the owner's thread has a `&Worker`, and nothing below comes back here.
        let pile = unsafe { &mut *self.pile.get() };
        let pushed = match pile {
            // SAFETY: as above.
            None => unsafe {
                let deque = self.deque();
                let pushed = Owner::push(deque, job).map_err(|full| full.into_inner());
                deque.mark();
                pushed
            },
            Some(pile) => pile.push(job),
        };
        match pushed {
            Ok(()) => self.offer(),
            Err(job) => self.registry().inject(Injected {
                job,
                owner: self.index,
            }),
        }
    }

    /// Pushes a join's job the slow way. It may come back for want of room.
    pub(crate) fn push_forked(&self, job: JobRef) -> Result<(), JobRef> {
        // SAFETY: as in `push_spawned`.
        let pile = unsafe { &mut *self.pile.get() };
        let pushed = match pile {
            // SAFETY: as above.
            None => unsafe { Owner::push(self.deque(), job).map_err(|full| full.into_inner()) },
            Some(pile) => pile.push(job),
        };
        if pushed.is_ok() {
            self.offer();
        }
        pushed
    }

    /// Takes back the join's job that was pushed last, if that is certain to be it.
    #[inline(always)]
    pub(crate) fn unpush(&self) -> Unpushed {
        // SAFETY: only the owner's thread has a `&Worker`.
        unsafe { self.deque().unpush() }
    }

    /// Takes the newest job of the worker's own pile.
    pub(crate) fn pop(&self) -> Option<JobRef> {
        // SAFETY: as in `push_spawned`.
        let pile = unsafe { &mut *self.pile.get() };
        match pile {
            // SAFETY: as above.
            None => unsafe { Owner::pop(self.deque()) },
            Some(pile) => pile.pop(),
        }
    }

    /// Wakes somebody if somebody wants work. After a push.
    #[inline(always)]
    pub(crate) fn offer(&self) {
        // The sleeper sets the flag, passes the heavy barrier and looks at the pile.
        if barrier::payer() == barrier::Payer::Both {
            crate::sync::fence(Ordering::SeqCst);
        } else {
            barrier::light();
        }
        if self.wanted.load(Ordering::Relaxed) {
            self.rouse();
        }
    }

    /// Somebody wants work: shows some, and wakes one who sleeps.
    #[cold]
    #[inline(never)]
    pub(crate) fn rouse(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        // SAFETY: as in `push_spawned`.
        if let Some(pile) = unsafe { &mut *self.pile.get() } {
            pile.attend();
        }
        if self.registry().wake_one() {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Tries to steal from this worker. For other workers.
    pub(crate) fn rob(&self) -> Steal<JobRef> {
        match &self.loot {
            None => Thief::steal(&self.stealer),
            Some(loot) => {
                let answer = loot.steal();
                if answer.is_private() {
                    loot.ask();
                }
                answer
            }
        }
    }

    /// Does this worker's pile seem empty? For other workers.
    pub(crate) fn seems_empty(&self) -> bool {
        match &self.loot {
            None => Thief::is_empty(&self.stealer),
            Some(loot) => loot.is_empty(),
        }
    }

    /// Sets the order in which to try victims. For the owner, or before its thread starts.
    pub(crate) fn set_order(&self, order: Order) {
        // SAFETY: only the owner's thread, or whoever sets the pool up, has a `&Worker` that it calls
        // this on; `find_work`, which borrows the order, does not come here.
        unsafe { *self.order.get() = order };
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
        let depth = self.helping.get() + 1;
        self.helping.set(depth);
        self.counters.set_depth(depth);
        self.run_job(injected);
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
            let pile = unsafe { &*self.pile.get() };
            self.counters
                .publish(pile.as_ref().map_or(0, |pile| pile.exposed()));
        }
    }

    /// Tries to steal from another worker, and counts what comes of it.
    pub(crate) fn steal_from(&self, victim: usize) -> Steal<JobRef> {
        let answer = self.registry().worker(victim).rob();
        self.counters.count(Event::Tried);
        self.counters.count(match answer {
            Steal::Success(_) => Event::Got,
            Steal::Empty => Event::Empty,
            Steal::Retry => Event::Retried,
            Steal::Private => Event::Private,
        });
        answer
    }

    /// Runs a job from the worker's main loop or on behalf of a waiter.
    pub(crate) fn run_job(&self, injected: Injected) {
        self.counters.count(Event::Task);
        self.publish_counts();
        // SAFETY: the job was taken from a pile, so it is executed here and nowhere else.
        let family = unsafe { injected.job.family() };
        self.frames.enter_root(family);
        // SAFETY: as above.
        unsafe { injected.job.execute(self, injected.owner) };
        self.frames.leave();
    }

    /// Looks for a job anywhere: in the worker's own pile, in the pool's queue, at the others.
    pub(crate) fn find_work(&self) -> Option<Injected> {
        if let Some(job) = self.pop() {
            return Some(Injected {
                job,
                owner: self.index,
            });
        }
        let registry = self.registry();
        if let Some(injected) = registry.injector.pop() {
            return Some(injected);
        }
        let mut random = self.random.get();
        // SAFETY: only the owner's thread gets here, and nothing below changes the order.
        let order = unsafe { &*self.order.get() };
        let stolen = order
            .sweep(registry.workers(), &mut random)
            .find_map(|victim| {
                let job = self.steal_from(victim).success()?;
                Some(Injected { job, owner: victim })
            });
        self.random.set(random);
        stolen
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
                // A join's, further out: it was the last one, and is so again.
                if self.push_forked(job).is_err() {
                    self.registry().inject(injected);
                }
                return None;
            }
            // SAFETY: the job has not been executed.
            if unsafe { job.family() } == family {
                return Some(injected);
            }
            self.registry().inject(injected);
        }
        None
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
