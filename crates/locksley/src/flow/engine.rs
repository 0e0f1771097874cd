//! Which task of a frame may run: in order at once, out of order by what is before it.
//!
//! A frame has its tasks in a list, in the order of the program. The body adds tasks at its end
//! while thieves look at those before.
//!
//! ```text
//!            done        claimed        not begun
//!   first ── D ── D ── D ── C ── W ── W ── . ── . ── . ── last
//!                           ^ front        ^ cursor: the first that no thief has looked at
//! ```
//!
//! **In order.** The frame's owner runs one task after the other. All before the next one are done,
//! so it may run, whatever it accesses. To claim it is one compare-and-swap on the task's state,
//! and to finish it one swap; no object is looked at.
//!
//! **Out of order.** A thief, under the frame's lock, *watches* tasks one by one from the front: it
//! marks the task's state, and enters its accesses at their objects ([`queue`](super::queue)),
//! until one has all of its accesses active. That one is ready, and the thief claims it. The worker
//! that finishes a watched task finds the mark, takes the lock, and lets the accesses leave; tasks
//! whose last access becomes active are ready. An owner that finds its next task watched does the
//! same as a thief, and goes back to the simple way when all that are watched are done.
//!
//! So each task is watched at most once: all steals together cost O(tasks + accesses), and without
//! a thief there is no cost.
//!
//! **Invariant.** Under the lock, every task before the cursor is done or watched, and the objects
//! know the accesses of exactly those that are watched and not done. For only the owner runs a task
//! that is not watched, when it has seen all before it done; if a thief marks one before it is
//! finished, the owner meets the mark, and waits for the lock.
//!
//! **No worker waits in here, and no task is left over.** A ready task is taken by the worker that
//! made it ready, or by a worker that comes for more, and every worker comes for more before it
//! leaves. The first task that is not done has nothing before it: it is running, or ready. So while
//! tasks are left, a worker runs one of them.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | E1 | finish: swap to DONE | Release | E2, E3 | a worker that sees it done must see what it wrote | `flow::models::a_thief_sees_what_was_written` |
//! | E2 | a thief looks whether a task is done | Acquire | E1 | as E1 | as E1 |
//! | E3 | watch: mark the state | Acquire | E1 | as E1, if it was finished in between | `flow::models::last_reader_writer_and_thief` |
//! | E4 | the owner moves the front | Release | E5 | what is before it is not looked at again | `flow::models::a_thief_starts_at_the_front` |
//! | E5 | a thief reads the front | Acquire | E4, E6 | as E4 | as E4 |
//! | E6 | the owner adds a task | Release | E5, E7 | a thief reads the task's record | `flow::models::a_thief_comes_while_the_body_forks` |
//! | E7 | a thief reads what was added | Acquire | E6 | as E6 | as E6 |
//! | E8 | fences: the owner adds, then looks whether its helper leaves; a helper leaves, then looks for more | SeqCst | each other | the task would wait for the next fork | `flow::models::a_helper_does_not_miss_what_is_added` |
//!
//! To claim is Relaxed: it hands nothing over. The mark and the claim are read-modify-writes of the
//! same word, so one of them comes first. Results of watched tasks pass through the lock.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use locksley_trace::recording::TaskGraph;

use super::failure::Failures;
use super::frame::Root;
use super::helpers::{Advice, Offer};
use super::ready::ReadyTasks;
use super::task::{Bereft, CLAIMED, Context, DONE, Task};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, AtomicPtr, Mutex, Ordering, fence, lock};
use crate::task::job::catch;

/// How many tasks for other workers a thief looks past for one that it had better run.
const LOOK_PAST: usize = 64;

/// What thieves have found out.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    pub(super) ready: ReadyTasks,
    /// How many are watched and not done, of each generation.
    pub(super) watched: [usize; 2],
    /// The last that a thief has looked at, or that was done when it did.
    pub(super) looked: Option<NonNull<Task>>,
}

/// The tasks of a frame.
#[derive(Debug)]
pub(crate) struct List {
    /// Where a look begins: all before it are done. Written by the owner.
    pub(super) front: AtomicPtr<Task>,
    /// The owner's alone, as is the next one.
    last: Cell<Option<NonNull<Task>>>,
    /// How many tasks the younger generation has.
    pub(super) count: Cell<usize>,
    /// Its first task.
    pub(super) young: Cell<Option<NonNull<Task>>>,
    /// Which of the two it is.
    pub(super) generation: Cell<u8>,
    pub(super) agenda: Mutex<Agenda>,
    /// Set if there is more than the last worker to look has taken. A hint.
    spare: AtomicBool,
    /// Set if a thief has looked since the list began.
    seen: AtomicBool,
    pub(crate) failures: Failures,
    /// Where the tasks are recorded, if they are. Written by the owner, while no other worker knows
    /// of the list.
    pub(super) record: AtomicPtr<TaskGraph>,
}

// SAFETY: the owner's cells are touched by the owner's thread only; what tasks and objects have in
// cells is under the lock, or set before others see it. The tasks were made of closures that are
// `Send`.
unsafe impl Sync for List {}
// SAFETY: as above.
unsafe impl Send for List {}

/// What a worker gets that comes for a task.
pub(crate) enum Turn {
    /// One that is ready, out of order.
    Task(NonNull<Task>),
    /// For the owner: all before this one are done.
    InOrder(NonNull<Task>),
    /// None is ready. If any is left, a worker runs one that comes before it.
    None,
}

/// Why a worker has stopped working at a list.
#[derive(Debug)]
pub(crate) enum Left<T> {
    /// Nothing is ready.
    Empty,
    /// It has taken this one; more is ready, and no offer to help is out.
    Unannounced(T),
}

impl List {
    pub(crate) fn new() -> List {
        List {
            front: AtomicPtr::new(ptr::null_mut()),
            last: Cell::new(None),
            count: Cell::new(0),
            young: Cell::new(None),
            generation: Cell::new(0),
            agenda: Mutex::new(Agenda::default()),
            spare: AtomicBool::new(false),
            seen: AtomicBool::new(false),
            failures: Failures::new(),
            record: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// How many tasks the younger generation has.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Returns `true` if no task was added since the list began.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.get().is_none()
    }

    /// Which generation tasks are added to.
    #[inline]
    pub(crate) fn generation(&self) -> usize {
        usize::from(self.generation.get())
    }

    /// Adds a task. For the owner.
    ///
    /// # Safety
    ///
    /// The task and its entries stay until the list is done and begun anew, or their generation is
    /// [retired](List::retire); the entries are of objects of the same frame, which stay as long;
    /// what is in the task may be sent to other threads.
    #[inline]
    pub(crate) unsafe fn add(&self, task: NonNull<Task>) {
        // SAFETY: the caller says so.
        unsafe { task.as_ref() }
            .generation
            .set(self.generation.get());
        match self.last.get() {
            // SAFETY: it is the last one of the list, so it stays.
            Some(last) => unsafe { last.as_ref() }.link(task),
            None => self.front.store(task.as_ptr(), Ordering::Release), // [E6]
        }
        self.last.set(Some(task));
        self.count.set(self.count.get() + 1);
        if self.young.get().is_none() {
            self.young.set(Some(task));
        }
    }

    /// Forgets all tasks, which are done. For the owner, when no other worker knows of the list.
    pub(crate) fn begin_anew(&self) {
        self.front.store(ptr::null_mut(), Ordering::Relaxed);
        self.last.set(None);
        self.young.set(None);
        self.count.set(0);
        if self.seen.load(Ordering::Relaxed) {
            self.seen.store(false, Ordering::Relaxed);
            let mut agenda = lock(&self.agenda);
            debug_assert!(agenda.watched == [0; 2] && agenda.ready.is_empty());
            agenda.looked = None;
        }
    }

    /// Runs tasks in order until a thief has looked, and then those that are ready. For the
    /// owner, who may have taken one already. `advise` says what to do with a task that is ready.
    pub(crate) fn run_in_order(
        &self,
        taken: Option<NonNull<Task>>,
        worker: Option<&Worker>,
        root: &Root,
        advise: impl Fn() -> Advice,
    ) -> Left<NonNull<Task>> {
        let mut turn = match taken {
            Some(task) => Turn::Task(task),
            None => {
                let front = NonNull::new(self.front.load(Ordering::Relaxed));
                self.run_simply(front, usize::MAX, worker, root)
            }
        };
        // A thief has looked.
        loop {
            turn = match turn {
                Turn::Task(task) => match advise() {
                    Advice::Run => {
                        // SAFETY: it was handed out, once.
                        unsafe { self.execute(task, worker, root, false) };
                        answer(worker);
                        self.exchange(task, index_of(worker), true)
                    }
                    Advice::Announce => return Left::Unannounced(task),
                    Advice::Leave => {
                        self.put_back(task);
                        return Left::Empty;
                    }
                },
                Turn::InOrder(_) if advise() == Advice::Leave => return Left::Empty,
                Turn::InOrder(task) => self.run_simply(Some(task), usize::MAX, worker, root),
                Turn::None => return Left::Empty,
            };
        }
    }

    /// Runs tasks from this one on, one after the other, up to the index `until`: all before it are
    /// done. If a thief has looked at one, returns what is next.
    pub(super) fn run_simply(
        &self,
        mut next: Option<NonNull<Task>>,
        until: usize,
        worker: Option<&Worker>,
        root: &Root,
    ) -> Turn {
        while let Some(task) = next {
            // SAFETY: it is in the list, so it stays.
            let this = unsafe { task.as_ref() };
            if this.index >= until {
                return Turn::InOrder(task);
            }
            if !this.claim() {
                return self.next_turn(&mut lock(&self.agenda), index_of(worker), true);
            }
            self.front.store(task.as_ptr(), Ordering::Release); // [E4]
            // SAFETY: it was claimed here.
            unsafe { self.execute(task, worker, root, true) };
            if this.finish() {
                return self.leave_and_take(task, index_of(worker), true);
            }
            next = this.next_of_own();
            answer(worker);
        }
        Turn::None
    }

    /// Takes a task that is ready. For a thief, which gives its offer back if there is none.
    pub(crate) fn take(&self, worker: usize, offer: Option<&Offer<'_>>) -> Turn {
        let mut agenda = lock(&self.agenda);
        loop {
            let turn = self.next_turn(&mut agenda, worker, false);
            let (Turn::None, Some(offer)) = (&turn, offer) else {
                return turn;
            };
            offer.give_back();
            fence(Ordering::SeqCst); // [E8]
            if self.cursor(&agenda).is_none() {
                return turn;
            }
            // The body has added one, and may have seen the helper at it still.
            offer.take_again();
        }
    }

    /// Runs a task that was handed out.
    ///
    /// # Safety
    ///
    /// It was handed out to the caller, or claimed, and is run once.
    pub(crate) unsafe fn execute(
        &self,
        task: NonNull<Task>,
        worker: Option<&Worker>,
        root: &Root,
        in_order: bool,
    ) {
        // SAFETY: it is in the list, so it stays.
        let this = unsafe { task.as_ref() };
        let bereft = self.failures.reach(this);
        let context = Context {
            list: self,
            root,
            worker,
            in_order,
            stopped: bereft || root.token.is_cancelled(),
            index: this.index,
            node: this.node,
        };
        // SAFETY: the task is of its kind, and is run once, says the caller.
        let run = || catch(|| unsafe { (this.kind.run)(task, &context) });
        let run = || self.run_recorded(this, worker, run);
        let result = match &root.sketch {
            Some(sketch) if !context.stopped => {
                sketch.timed(this.node, worker.map_or(0, Worker::index), run)
            }
            _ => run(),
        };
        if bereft || result.is_err() {
            let panic = result.err().filter(|payload| !payload.is::<Bereft>());
            self.failures.note(this, panic);
        }
    }

    /// A task that was handed out is done; takes another one.
    pub(crate) fn exchange(&self, task: NonNull<Task>, worker: usize, owner: bool) -> Turn {
        // SAFETY: it is in the list, so it stays.
        let watched = unsafe { task.as_ref() }.finish();
        debug_assert!(watched, "only watched tasks are handed out");
        self.leave_and_take(task, worker, owner)
    }

    /// Puts back a task that was handed out, and did not run.
    pub(crate) fn put_back(&self, task: NonNull<Task>) {
        lock(&self.agenda).ready.push(task);
        self.spare.store(true, Ordering::Relaxed);
    }

    fn leave_and_take(&self, task: NonNull<Task>, worker: usize, owner: bool) -> Turn {
        let mut agenda = lock(&self.agenda);
        self.leave(&mut agenda, task);
        self.next_turn(&mut agenda, worker, owner)
    }

    /// Lets the accesses of a task leave, which is done, and was watched.
    fn leave(&self, agenda: &mut Agenda, task: NonNull<Task>) {
        // SAFETY: it is in the list, so it stays.
        let this = unsafe { task.as_ref() };
        agenda.watched[usize::from(this.generation.get())] -= 1;
        for entry in this.entries() {
            // SAFETY: the lock is held; the task has run, so its accesses were active.
            unsafe {
                entry.core().leave(|other| {
                    // SAFETY: it waits, so it is in the list.
                    let waits = &other.as_ref().waits;
                    waits.set(waits.get() - 1);
                    if waits.get() == 0 {
                        agenda.ready.push(other);
                    }
                });
            }
        }
    }

    fn next_turn(&self, agenda: &mut Agenda, worker: usize, owner: bool) -> Turn {
        self.seen.store(true, Ordering::Relaxed);
        let turn = match agenda.ready.pop_for(worker) {
            Some(task) => Turn::Task(task),
            None if owner && agenda.watched == [0; 2] => match self.first_undone(agenda) {
                Some(task) => Turn::InOrder(task),
                None => Turn::None,
            },
            None => self.watch_more(agenda, worker),
        };
        let more = !agenda.ready.is_empty() || self.cursor(agenda).is_some();
        self.spare.store(more, Ordering::Relaxed);
        turn
    }

    /// The first task that no thief has looked at. What the owner has run without being looked at
    /// needs no look.
    fn cursor(&self, agenda: &Agenda) -> Option<NonNull<Task>> {
        let front = NonNull::new(self.front.load(Ordering::Acquire)); // [E5]
        let Some(looked) = agenda.looked else {
            return front;
        };
        // SAFETY: what is in the list stays, for both.
        let index = |task: NonNull<Task>| unsafe { task.as_ref() }.index;
        match front {
            Some(front) if index(front) > index(looked) => Some(front),
            // SAFETY: as above.
            _ => unsafe { looked.as_ref() }.next(),
        }
    }

    /// The same, without those that the owner has run since.
    pub(super) fn first_undone(&self, agenda: &mut Agenda) -> Option<NonNull<Task>> {
        loop {
            let task = self.cursor(agenda)?;
            // SAFETY: it is in the list, so it stays.
            if !unsafe { task.as_ref() }.is_done() {
                return Some(task);
            }
            agenda.looked = Some(task);
        }
    }

    /// Watches tasks from the cursor on, until one is ready that the worker had better run. If none
    /// is, takes one for another worker.
    fn watch_more(&self, agenda: &mut Agenda, worker: usize) -> Turn {
        let mut passed = 0;
        while let Some(task) = self.cursor(agenda).filter(|_| passed < LOOK_PAST) {
            // SAFETY: it is in the list, so it stays.
            let this = unsafe { task.as_ref() };
            agenda.looked = Some(task);
            if !Self::watch(agenda, task) {
                continue;
            }
            if this.near().is_none_or(|near| near == worker) {
                return Turn::Task(task);
            }
            agenda.ready.push(task);
            passed += 1;
        }
        agenda.ready.pop_any().map_or(Turn::None, Turn::Task)
    }

    /// Watches a task. Returns `true` if it is ready, and no worker has claimed it.
    fn watch(agenda: &mut Agenda, task: NonNull<Task>) -> bool {
        // SAFETY: it is in the list, so it stays.
        let this = unsafe { task.as_ref() };
        let state = this.watch();
        if state & DONE != 0 {
            return false;
        }
        agenda.watched[usize::from(this.generation.get())] += 1;
        let mut waits = 0;
        for entry in this.entries() {
            // SAFETY: the lock is held, and the entry is in the task's record.
            if !unsafe { entry.core().enter(entry, task) } {
                waits += 1;
            }
        }
        this.waits.set(waits);
        debug_assert!(state & CLAIMED == 0 || waits == 0, "run before its turn");
        waits == 0 && state & CLAIMED == 0
    }

    /// Returns `true` if there may be more than was taken.
    #[inline]
    pub(crate) fn has_spare(&self) -> bool {
        self.spare.load(Ordering::Relaxed)
    }
}

/// The index of a worker; 0 in tests of the engine alone.
pub(super) fn index_of(worker: Option<&Worker>) -> usize {
    worker.map_or(0, Worker::index)
}

/// Shows others what is in the worker's queue, if they have asked: it may be long until it forks.
#[inline]
pub(crate) fn answer(worker: Option<&Worker>) {
    if let Some(worker) = worker {
        worker.poll_requests();
    }
}
