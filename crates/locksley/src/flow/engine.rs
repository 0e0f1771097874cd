//! Decides which task of a frame may run: the next in order at once, others by their dependencies.
//!
//! A frame has its tasks in a list, in the order of the program. The body adds tasks at its end
//! while thieves look at earlier ones.
//!
//! ```text
//!            done        claimed        not begun
//!   first ── D ── D ── D ── C ── W ── W ── . ── . ── . ── last
//!                           ^ front        ^ cursor: the first that no thief has looked at
//! ```
//!
//! **In order.** The frame's owner runs one task after the other. All tasks before the next one are
//! done, so it may run, whatever it accesses. The owner claims it with one compare-and-swap on the
//! task's state, and finishes it with one swap; it looks at no object.
//!
//! **Out of order.** A thief, under the frame's lock, *watches* tasks one by one from the front: it
//! marks the task's state, and enters its accesses in the queues of their objects
//! ([`queue`](super::queue)), until a task has all of its accesses active. That task is ready, and
//! the thief takes it. The worker that finishes a watched task finds the mark, takes the lock, and
//! lets the accesses leave; tasks whose last access becomes active are ready. An owner that finds
//! its next task watched does the same as a thief, and goes back to running in order when all
//! watched tasks are done.
//!
//! So each task is watched at most once: all steals together cost O(tasks + accesses), and without
//! a thief there is no cost.
//!
//! **Invariant.** Under the lock, every task before the cursor is done or watched, and the queues
//! of the objects hold the accesses of exactly the tasks that are watched and not done. The reason:
//! only the owner runs a task that is not watched, and only when it has seen all before it done; if
//! a thief marks the task before it is finished, the owner finds the mark, and takes the lock.
//!
//! **No worker waits here, and no task is left over.** A ready task is taken by the worker that
//! made it ready, or by a worker that looks for another task, and every worker looks for another
//! task before it leaves. The first task that is not done has no unfinished task before it: it is
//! running, or ready. So while tasks are left, a worker runs one of them.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | E1 | finish: swap to DONE | Release | E2, E3 | a worker that sees it done must see what it wrote | `flow::models::a_thief_sees_what_was_written` |
//! | E2 | a thief looks whether a task is done | Acquire | E1 | as E1 | as E1 |
//! | E3 | watch: mark the state | Acquire | E1 | as E1, if it was finished in between | `flow::models::last_reader_writer_and_thief` |
//! | E4 | the owner moves the front | Release | E5 | no worker looks again at tasks before it | `flow::models::a_thief_starts_at_the_front` |
//! | E5 | a thief reads the front | Acquire | E4, E6 | as E4 | as E4 |
//! | E6 | the owner adds a task | Release | E5, E7 | a thief reads the task's record | `flow::models::a_thief_comes_while_the_body_forks` |
//! | E7 | a thief reads the link to the next task | Acquire | E6 | as E6 | as E6 |
//! | E8 | fences: the owner adds a task, then reads the offer's state; a helper gives the offer back, then looks for more tasks | SeqCst | each other | the task would wait for the next fork | `flow::models::a_helper_does_not_miss_what_is_added` |
//!
//! The claim is Relaxed: it publishes nothing. The mark and the claim are read-modify-writes of the
//! same word, so one of them comes first. Results of watched tasks are published by the lock.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use locksley_trace::recording::TaskGraph;

use super::failure::Failures;
use super::frame::Root;
use super::helpers::{Advice, Offer};
use super::ready::ReadyTasks;
use super::task::{CLAIMED, Context, DONE, LostInput, Task};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, AtomicPtr, Mutex, Ordering, fence, lock};
use crate::task::job::catch;

/// Number of ready tasks with a hint for another worker that a thief passes over in search of one
/// for itself.
const LOOK_PAST: usize = 64;

/// What thieves have learned about the tasks. Under the frame's lock.
#[derive(Debug, Default)]
pub(super) struct WatchState {
    pub(super) ready: ReadyTasks,
    /// Number of tasks of each generation that are watched and not done.
    pub(super) watched: [usize; 2],
    /// The last task that was watched, or found done.
    pub(super) looked: Option<NonNull<Task>>,
}

/// The tasks of a frame.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// A task before which all tasks are done, or null. Thieves start here. Written by the owner.
    pub(super) front: AtomicPtr<Task>,
    /// The newest task. Only the owner touches this, `count`, `young` and `generation`.
    last: Cell<Option<NonNull<Task>>>,
    /// Number of tasks in the younger generation.
    pub(super) count: Cell<usize>,
    /// First task of the younger generation.
    pub(super) young: Cell<Option<NonNull<Task>>>,
    /// Index of the younger generation: 0 or 1.
    pub(super) generation: Cell<u8>,
    pub(super) watch_state: Mutex<WatchState>,
    /// Set if more tasks may be left than the last worker to look has taken. A hint.
    has_more: AtomicBool,
    /// Set if a worker has taken the lock to look for a task since the list began.
    was_searched: AtomicBool,
    pub(crate) failures: Failures,
    /// The graph in which the tasks are recorded, or null. Written by the owner, while no other
    /// worker knows of the list.
    pub(super) record: AtomicPtr<TaskGraph>,
}

// SAFETY: the owner's cells are touched by the owner's thread only; the cells of tasks and objects
// are touched under the lock, or set before other threads see them. The tasks were made of closures
// that are `Send`.
unsafe impl Sync for List {}
// SAFETY: as above.
unsafe impl Send for List {}

/// What a worker that looks for a task is to do next.
pub(crate) enum NextTask {
    /// A task that is ready, out of order.
    Task(NonNull<Task>),
    /// For the owner only: all tasks before this one are done.
    InOrder(NonNull<Task>),
    /// No task is ready. If any is left, another worker runs one that comes before it.
    None,
}

impl NextTask {
    /// Returns the task that is ready, out of order.
    pub(crate) fn task(self) -> Option<NonNull<Task>> {
        match self {
            NextTask::Task(task) => Some(task),
            NextTask::InOrder(_) | NextTask::None => None,
        }
    }
}

/// Why a worker has stopped working at a list.
#[derive(Debug)]
pub(crate) enum Stopped<T> {
    /// Nothing is ready.
    Empty,
    /// The worker holds this task; more are ready, and there is no offer that a thief could take.
    WantsOffer(T),
}

impl List {
    /// Returns `true` if no task was added since the list began.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.get().is_none()
    }

    /// Returns the index of the generation that tasks are added to.
    #[inline]
    pub(crate) fn generation(&self) -> usize {
        usize::from(self.generation.get())
    }

    /// Adds a task. Only the owner calls this.
    ///
    /// # Safety
    ///
    /// The task and its entries stay valid until the list is done and [reset](List::reset), or
    /// their generation is [retired](List::retire); the entries are of objects of the same frame,
    /// which stay valid as long; what the task captures may be sent to other threads.
    #[inline]
    pub(crate) unsafe fn add(&self, task: NonNull<Task>) {
        // SAFETY: guaranteed by the caller.
        unsafe { task.as_ref() }
            .generation
            .set(self.generation.get());
        match self.last.get() {
            // SAFETY: tasks in the list stay valid.
            Some(last) => unsafe { last.as_ref() }.link(task),
            None => self.front.store(task.as_ptr(), Ordering::Release), // [E6]
        }
        self.last.set(Some(task));
        self.count.set(self.count.get() + 1);
        if self.young.get().is_none() {
            self.young.set(Some(task));
        }
    }

    /// Forgets all tasks, which are done. Only the owner calls this, when no other worker knows of
    /// the list.
    pub(crate) fn reset(&self) {
        self.front.store(ptr::null_mut(), Ordering::Relaxed);
        self.record.store(ptr::null_mut(), Ordering::Relaxed);
        self.last.set(None);
        self.young.set(None);
        self.count.set(0);
        if self.was_searched.load(Ordering::Relaxed) {
            self.was_searched.store(false, Ordering::Relaxed);
            let mut watch_state = lock(&self.watch_state);
            debug_assert!(watch_state.watched == [0; 2] && watch_state.ready.is_empty());
            watch_state.looked = None;
        }
    }

    /// Runs tasks in order until it finds one watched, and then those that are ready. Only the
    /// owner calls this; `taken` is a task that it already holds. `advise` decides what to do with
    /// a task that is ready.
    pub(crate) fn run_in_order(
        &self,
        taken: Option<NonNull<Task>>,
        worker: Option<&Worker>,
        root: &Root,
        advise: impl Fn() -> Advice,
    ) -> Stopped<NonNull<Task>> {
        let mut turn = match taken {
            Some(task) => NextTask::Task(task),
            None => {
                let front = NonNull::new(self.front.load(Ordering::Relaxed));
                self.run_unwatched(front, usize::MAX, worker, root)
            }
        };
        loop {
            turn = match turn {
                NextTask::Task(task) => match advise() {
                    Advice::Run => {
                        // SAFETY: the task was handed out, once.
                        unsafe { self.execute(task, worker, root, false) };
                        poll_requests(worker);
                        self.exchange(task, index_of(worker), true)
                    }
                    Advice::Announce => return Stopped::WantsOffer(task),
                    Advice::Leave => {
                        self.put_back(task);
                        return Stopped::Empty;
                    }
                },
                NextTask::InOrder(_) if advise() == Advice::Leave => return Stopped::Empty,
                NextTask::InOrder(task) => self.run_unwatched(Some(task), usize::MAX, worker, root),
                NextTask::None => return Stopped::Empty,
            };
        }
    }

    /// Runs tasks from `next` on, one after the other, up to the index `until`. All tasks before
    /// `next` are done. If a task turns out to be watched, returns what the owner does next.
    pub(super) fn run_unwatched(
        &self,
        mut next: Option<NonNull<Task>>,
        until: usize,
        worker: Option<&Worker>,
        root: &Root,
    ) -> NextTask {
        while let Some(task) = next {
            // SAFETY: tasks in the list stay valid.
            let this = unsafe { task.as_ref() };
            if this.index >= until {
                return NextTask::InOrder(task);
            }
            if !this.claim() {
                return self.next_turn(&mut lock(&self.watch_state), index_of(worker), true);
            }
            self.front.store(task.as_ptr(), Ordering::Release); // [E4]
            // SAFETY: it was claimed here.
            unsafe { self.execute(task, worker, root, true) };
            if this.finish() {
                return self.leave_and_take(task, index_of(worker), true);
            }
            next = this.next_of_own();
            poll_requests(worker);
        }
        NextTask::None
    }

    /// Takes a task that is ready. A thief calls this, and gives its offer back if there is none.
    pub(crate) fn take(&self, worker: usize, offer: Option<&Offer<'_>>) -> NextTask {
        let mut watch_state = lock(&self.watch_state);
        loop {
            let turn = self.next_turn(&mut watch_state, worker, false);
            let (NextTask::None, Some(offer)) = (&turn, offer) else {
                return turn;
            };
            offer.give_back();
            fence(Ordering::SeqCst); // [E8]
            if self.cursor(&watch_state).is_none() {
                return turn;
            }
            // The body has added a task, and may still have seen the offer taken.
            offer.mark_taken();
        }
    }

    /// Runs a task that was handed out.
    ///
    /// # Safety
    ///
    /// The task was handed out to the caller, or claimed by it, and is run once.
    pub(crate) unsafe fn execute(
        &self,
        task: NonNull<Task>,
        worker: Option<&Worker>,
        root: &Root,
        in_order: bool,
    ) {
        // SAFETY: tasks in the list stay valid.
        let this = unsafe { task.as_ref() };
        let lost_input = self.failures.affects(this);
        let context = Context {
            list: self,
            root,
            worker,
            in_order,
            stopped: lost_input || root.token.is_cancelled(),
            index: this.index,
            node: this.node,
        };
        // SAFETY: the function is that of the task; the caller guarantees that it is run once.
        let run = || catch(|| unsafe { (this.run)(task, &context) });
        let run = || self.run_recorded(this, worker, run);
        let result = match &root.drawing {
            Some(drawing) if !context.stopped => drawing.timed(this.node, index_of(worker), run),
            _ => run(),
        };
        if lost_input || result.is_err() {
            let panic = result.err().filter(|payload| !payload.is::<LostInput>());
            self.failures.record(this, panic);
        }
    }

    /// Finishes a task that was handed out, and takes another one.
    pub(crate) fn exchange(&self, task: NonNull<Task>, worker: usize, owner: bool) -> NextTask {
        // SAFETY: tasks in the list stay valid.
        let watched = unsafe { task.as_ref() }.finish();
        debug_assert!(watched, "only watched tasks are handed out");
        self.leave_and_take(task, worker, owner)
    }

    /// Puts back a task that was handed out and did not run.
    pub(crate) fn put_back(&self, task: NonNull<Task>) {
        lock(&self.watch_state).ready.push(task);
        self.has_more.store(true, Ordering::Relaxed);
    }

    fn leave_and_take(&self, task: NonNull<Task>, worker: usize, owner: bool) -> NextTask {
        let mut watch_state = lock(&self.watch_state);
        self.leave(&mut watch_state, task);
        self.next_turn(&mut watch_state, worker, owner)
    }

    /// Removes the accesses of a watched task, which is done, from the queues of their objects.
    fn leave(&self, watch_state: &mut WatchState, task: NonNull<Task>) {
        // SAFETY: tasks in the list stay valid.
        let this = unsafe { task.as_ref() };
        watch_state.watched[usize::from(this.generation.get())] -= 1;
        for entry in this.entries() {
            // SAFETY: the lock is held; the task has run, so its accesses were active.
            unsafe {
                entry.core().leave(|other| {
                    // SAFETY: the task waits, so it is in the list.
                    let waits = &other.as_ref().waits;
                    waits.set(waits.get() - 1);
                    if waits.get() == 0 {
                        watch_state.ready.push(other);
                    }
                });
            }
        }
    }

    fn next_turn(&self, watch_state: &mut WatchState, worker: usize, owner: bool) -> NextTask {
        self.was_searched.store(true, Ordering::Relaxed);
        let turn = match watch_state.ready.pop_for(worker) {
            Some(task) => NextTask::Task(task),
            None if owner && watch_state.watched == [0; 2] => {
                match self.first_undone(watch_state) {
                    Some(task) => NextTask::InOrder(task),
                    None => NextTask::None,
                }
            }
            None => self.watch_more(watch_state, worker),
        };
        let more = !watch_state.ready.is_empty() || self.cursor(watch_state).is_some();
        self.has_more.store(more, Ordering::Relaxed);
        turn
    }

    /// Returns the task at the cursor: the one after the last that was looked at, or the front if
    /// that is further. Tasks that the owner has run unwatched need no look.
    fn cursor(&self, watch_state: &WatchState) -> Option<NonNull<Task>> {
        let front = NonNull::new(self.front.load(Ordering::Acquire)); // [E5]
        let Some(looked) = watch_state.looked else {
            return front;
        };
        // SAFETY: tasks in the list stay valid; this goes for both.
        let index = |task: NonNull<Task>| unsafe { task.as_ref() }.index;
        match front {
            Some(front) if index(front) > index(looked) => Some(front),
            // SAFETY: as above.
            _ => unsafe { looked.as_ref() }.next(),
        }
    }

    /// Returns the first task that is neither watched nor done.
    pub(super) fn first_undone(&self, watch_state: &mut WatchState) -> Option<NonNull<Task>> {
        loop {
            let task = self.cursor(watch_state)?;
            // SAFETY: tasks in the list stay valid.
            if !unsafe { task.as_ref() }.is_done() {
                return Some(task);
            }
            watch_state.looked = Some(task);
        }
    }

    /// Watches tasks from the cursor on, until one is ready whose hint is for `worker` or absent.
    /// If there is none, takes a ready task with a hint for another worker.
    fn watch_more(&self, watch_state: &mut WatchState, worker: usize) -> NextTask {
        let mut passed = 0;
        while let Some(task) = self.cursor(watch_state).filter(|_| passed < LOOK_PAST) {
            // SAFETY: tasks in the list stay valid.
            let this = unsafe { task.as_ref() };
            watch_state.looked = Some(task);
            if !Self::watch(watch_state, task) {
                continue;
            }
            if this.near().is_none_or(|near| near == worker) {
                return NextTask::Task(task);
            }
            watch_state.ready.push(task);
            passed += 1;
        }
        watch_state
            .ready
            .pop_any()
            .map_or(NextTask::None, NextTask::Task)
    }

    /// Watches a task. Returns `true` if it is ready and no worker has claimed it.
    fn watch(watch_state: &mut WatchState, task: NonNull<Task>) -> bool {
        // SAFETY: tasks in the list stay valid.
        let this = unsafe { task.as_ref() };
        let state = this.watch();
        if state & DONE != 0 {
            return false;
        }
        watch_state.watched[usize::from(this.generation.get())] += 1;
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

    /// Returns `true` if more tasks may be left than were taken. A hint.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.has_more.load(Ordering::Relaxed)
    }
}

/// Returns the index of a worker; 0 in tests of the engine alone.
pub(super) fn index_of(worker: Option<&Worker>) -> usize {
    worker.map_or(0, Worker::index)
}

/// Answers requests of thieves: the worker's next fork, which would answer them too, may be far
/// off.
#[inline]
pub(crate) fn poll_requests(worker: Option<&Worker>) {
    if let Some(worker) = worker {
        worker.poll_requests();
    }
}
