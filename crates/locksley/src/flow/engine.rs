//! Which task of a frame may run: in order at once, out of order by what is before it.
//!
//! A frame has its tasks in a list, in the order of the program.
//!
//! ```text
//!            done        claimed        not begun
//!   first ── D ── D ── D ── C ── W ── W ── . ── . ── . ── last
//!                           ^ front        ^ cursor: no thief has looked further
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
//! | E5 | a thief reads the front | Acquire | E4 | as E4 | as E4 |
//!
//! To claim is Relaxed: it hands nothing over. The mark and the claim are read-modify-writes of the
//! same word, so one of them comes first. Results of watched tasks pass through the lock.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ptr::{self, NonNull};

use super::frame::Root;
use super::helpers::{Advice, Offer};
use super::queue::Mode;
use super::task::{Bereft, CLAIMED, Context, DONE, Task};
use crate::observe::record::TaskGraph;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, AtomicPtr, Mutex, Ordering, lock};
use crate::task::job::{Payload, catch, discard};

/// A task that is ready. The first one in the order of the program is taken first.
#[derive(Debug)]
struct Ready(NonNull<Task>, usize);

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.1.cmp(&other.1)
    }
}

/// What thieves have found out.
#[derive(Debug, Default)]
struct Agenda {
    ready: BinaryHeap<Reverse<Ready>>,
    /// How many are watched and not done.
    watched: usize,
    /// The first task that no thief has looked at; `None` before the first look, and behind the
    /// last task.
    cursor: Option<NonNull<Task>>,
    begun: bool,
}

/// The tasks of a frame.
#[derive(Debug)]
pub(crate) struct List {
    /// Where a look begins: all before it are done. Written by the owner.
    pub(super) front: AtomicPtr<Task>,
    /// The owner's alone, as is the next one.
    last: Cell<Option<NonNull<Task>>>,
    count: Cell<usize>,
    agenda: Mutex<Agenda>,
    /// Set if more is ready than the last thief took. A hint.
    spare: AtomicBool,
    /// Set if a thief has looked since the list began.
    seen: AtomicBool,
    /// Set if a task of the frame has failed. Written before the task is done.
    failed: AtomicBool,
    /// The panic of the first task, in the order of the program, of those that have panicked.
    panic: Mutex<Option<(usize, Payload)>>,
    /// Where the tasks are recorded that are in the list, if they are. Set and cleared by the owner
    /// while no other worker knows of the list.
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
            agenda: Mutex::new(Agenda::default()),
            spare: AtomicBool::new(false),
            seen: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            panic: Mutex::new(None),
            record: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// How many tasks are in the list.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Adds a task. For the owner, while no other worker knows of the list.
    ///
    /// # Safety
    ///
    /// The task and its entries stay until the list is done and begun anew; the entries are of
    /// objects of the same frame, which stay as long; what is in the task may be sent to other
    /// threads.
    #[inline]
    pub(crate) unsafe fn add(&self, task: NonNull<Task>) {
        match self.last.get() {
            // SAFETY: it is in the list, so it stays.
            Some(last) => unsafe { last.as_ref() }.next.set(Some(task)),
            // The others will know of it by way of a join.
            None => self.front.store(task.as_ptr(), Ordering::Relaxed),
        }
        self.last.set(Some(task));
        self.count.set(self.count.get() + 1);
    }

    /// Forgets all tasks, which are done. For the owner, when no other worker knows of the list.
    pub(crate) fn begin_anew(&self) {
        self.front.store(ptr::null_mut(), Ordering::Relaxed);
        self.last.set(None);
        self.count.set(0);
        if self.seen.load(Ordering::Relaxed) {
            self.seen.store(false, Ordering::Relaxed);
            let mut agenda = lock(&self.agenda);
            debug_assert!(agenda.watched == 0 && agenda.ready.is_empty());
            agenda.begun = false;
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
                self.run_simply(front, worker, root)
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
                        self.exchange(task, true)
                    }
                    Advice::Announce => return Left::Unannounced(task),
                    Advice::Leave => {
                        self.put_back(task);
                        return Left::Empty;
                    }
                },
                Turn::InOrder(_) if advise() == Advice::Leave => return Left::Empty,
                Turn::InOrder(task) => self.run_simply(Some(task), worker, root),
                Turn::None => return Left::Empty,
            };
        }
    }

    /// Runs tasks from this one on, one after the other: all before it are done. If a thief has
    /// looked at one, returns what is next.
    fn run_simply(
        &self,
        mut next: Option<NonNull<Task>>,
        worker: Option<&Worker>,
        root: &Root,
    ) -> Turn {
        while let Some(task) = next {
            // SAFETY: it is in the list, so it stays.
            let this = unsafe { task.as_ref() };
            if !this.claim() {
                return self.next_turn(&mut lock(&self.agenda), true);
            }
            self.front.store(task.as_ptr(), Ordering::Release); // [E4]
            // SAFETY: it was claimed here.
            unsafe { self.execute(task, worker, root, true) };
            if this.finish() {
                return self.leave_and_take(task, true);
            }
            next = this.next.get();
            answer(worker);
        }
        Turn::None
    }

    /// Takes a task that is ready. For a thief, which gives its offer back if there is none.
    pub(crate) fn take(&self, offer: Option<&Offer<'_>>) -> Turn {
        let mut agenda = lock(&self.agenda);
        let turn = self.next_turn(&mut agenda, false);
        if let (Turn::None, Some(offer)) = (&turn, offer) {
            offer.give_back();
        }
        turn
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
        let bereft = self.failed.load(Ordering::Relaxed) && depends_on_failed(this);
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
            self.note_failure(this, panic);
        }
    }

    /// A task has failed: what it might have written is of no use to others.
    #[cold]
    fn note_failure(&self, task: &Task, payload: Option<Payload>) {
        self.failed.store(true, Ordering::Relaxed);
        let written = task.entries().iter().filter(|e| e.mode != Mode::Read);
        written.for_each(|entry| entry.core().fail());
        if let Some(payload) = payload {
            self.note_panic(task.index, payload);
        }
    }

    /// Keeps a panic, unless there is one of an earlier task.
    pub(crate) fn note_panic(&self, index: usize, payload: Payload) {
        self.failed.store(true, Ordering::Relaxed);
        let mut first = lock(&self.panic);
        let other = match &*first {
            Some((before, _)) if *before <= index => Some(payload),
            _ => first.replace((index, payload)).map(|(_, other)| other),
        };
        drop(first);
        other.into_iter().for_each(discard);
    }

    /// Takes the panic that reaches the caller that waits for the frame.
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        if self.failed.load(Ordering::Relaxed) {
            lock(&self.panic).take().map(|(_, payload)| payload)
        } else {
            None
        }
    }

    /// A task that was handed out is done; takes another one.
    pub(crate) fn exchange(&self, task: NonNull<Task>, owner: bool) -> Turn {
        // SAFETY: it is in the list, so it stays.
        let watched = unsafe { task.as_ref() }.finish();
        debug_assert!(watched, "only watched tasks are handed out");
        self.leave_and_take(task, owner)
    }

    /// Puts back a task that was handed out, and did not run.
    pub(crate) fn put_back(&self, task: NonNull<Task>) {
        // SAFETY: it is in the list, so it stays.
        let index = unsafe { task.as_ref() }.index;
        lock(&self.agenda).ready.push(Reverse(Ready(task, index)));
        self.spare.store(true, Ordering::Relaxed);
    }

    fn leave_and_take(&self, task: NonNull<Task>, owner: bool) -> Turn {
        let mut agenda = lock(&self.agenda);
        self.leave(&mut agenda, task);
        self.next_turn(&mut agenda, owner)
    }

    /// Lets the accesses of a task leave, which is done, and was watched.
    fn leave(&self, agenda: &mut Agenda, task: NonNull<Task>) {
        agenda.watched -= 1;
        // SAFETY: it is in the list, so it stays.
        for entry in unsafe { task.as_ref() }.entries() {
            // SAFETY: the lock is held; the task has run, so its accesses were active.
            unsafe {
                entry.core().leave(|other| {
                    // SAFETY: it waits, so it is in the list.
                    let waits = &other.as_ref().waits;
                    waits.set(waits.get() - 1);
                    if waits.get() == 0 {
                        let index = other.as_ref().index;
                        agenda.ready.push(Reverse(Ready(other, index)));
                    }
                });
            }
        }
        self.spare.store(
            !agenda.ready.is_empty() || agenda.cursor.is_some(),
            Ordering::Relaxed,
        );
    }

    fn next_turn(&self, agenda: &mut Agenda, owner: bool) -> Turn {
        self.find_cursor(agenda);
        let turn = match agenda.ready.pop() {
            Some(Reverse(Ready(task, _))) => Turn::Task(task),
            None if owner && agenda.watched == 0 => match agenda.cursor {
                Some(task) => Turn::InOrder(task),
                None => Turn::None,
            },
            None => self.watch_more(agenda),
        };
        self.spare.store(
            !agenda.ready.is_empty() || agenda.cursor.is_some(),
            Ordering::Relaxed,
        );
        turn
    }

    /// Moves the cursor up to the front: what the owner has run without being looked at needs no
    /// look.
    fn find_cursor(&self, agenda: &mut Agenda) {
        let front = NonNull::new(self.front.load(Ordering::Acquire)); // [E5]
        // SAFETY: what is in the list stays.
        let index = |task: NonNull<Task>| unsafe { task.as_ref() }.index;
        if !agenda.begun {
            agenda.begun = true;
            agenda.cursor = front;
            self.seen.store(true, Ordering::Relaxed);
            return;
        }
        match (front, agenda.cursor) {
            (Some(front), Some(cursor)) if index(front) > index(cursor) => {
                agenda.cursor = Some(front);
            }
            _ => {}
        }
    }

    /// Watches tasks from the cursor on, until one is ready.
    fn watch_more(&self, agenda: &mut Agenda) -> Turn {
        while let Some(task) = agenda.cursor {
            // SAFETY: it is in the list, so it stays.
            let this = unsafe { task.as_ref() };
            agenda.cursor = this.next.get();
            let state = this.watch();
            if state & DONE != 0 {
                continue;
            }
            agenda.watched += 1;
            let mut waits = 0;
            for entry in this.entries() {
                // SAFETY: the lock is held, and the entry is in the task's record.
                if !unsafe { entry.core().enter(entry, task) } {
                    waits += 1;
                }
            }
            this.waits.set(waits);
            debug_assert!(state & CLAIMED == 0 || waits == 0, "run before its turn");
            if waits == 0 && state & CLAIMED == 0 {
                return Turn::Task(task);
            }
        }
        Turn::None
    }

    /// Returns `true` if there may be more than was taken.
    #[inline]
    pub(crate) fn has_spare(&self) -> bool {
        self.spare.load(Ordering::Relaxed)
    }
}

/// Shows others what is in the worker's pile, if they have asked: it may be long until it forks.
#[inline]
pub(crate) fn answer(worker: Option<&Worker>) {
    if let Some(worker) = worker {
        worker.poll_requests();
    }
}

/// Returns `true` if the task needs an object that a failed one might have written. A cumulative
/// write needs nothing of it.
#[cold]
fn depends_on_failed(task: &Task) -> bool {
    let mut needs = task.entries().iter().filter(|e| e.mode != Mode::Cumulate);
    needs.any(|entry| entry.core().has_failed())
}
