//! A task: its state and its accesses.
//!
//! ```text
//!   state   | WATCHED | DONE | CLAIMED |
//! ```
//!
//! | field | accessed by |
//! |---|---|
//! | state | any worker; see `engine` |
//! | run, entries, index, node, near | written before the task is added to a list, read by all |
//! | generation | written by the owner when it adds the task, read by all |
//! | next | written once by the owner, when it adds the next task; read by all |
//! | waits | under the frame's lock |
//!
//! The tags are those of the table in `engine`.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::engine::List;
use super::frame::Root;
use super::queue::Entry;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Bits of a task's state. Zero: not begun, and not watched.
pub(crate) const CLAIMED: usize = 1;
pub(crate) const DONE: usize = 2;
const WATCHED: usize = 4;

/// Runs a task of one type, or, if the context is `stopped`, only drops its contents.
pub(crate) type RunFn = unsafe fn(NonNull<Task>, &Context<'_>);

/// The context that a task runs in.
pub struct Context<'a> {
    pub(crate) list: &'a List,
    pub(crate) root: &'a Root,
    /// None in tests of the engine alone.
    pub(crate) worker: Option<&'a Worker>,
    /// Set if all tasks before it are done.
    pub(crate) in_order: bool,
    /// Set if the task is to be dropped without running.
    pub(crate) stopped: bool,
    pub(crate) index: usize,
    pub(crate) node: usize,
}

/// Panic payload of a task that cannot run because an object that it needs is lost.
pub(crate) struct LostInput;

/// The header of a task's record.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Task {
    state: AtomicUsize,
    pub(crate) run: RunFn,
    /// The next task in the order of the program; null until the owner adds it.
    next: AtomicPtr<Task>,
    /// Its accesses, in its record.
    entries: NonNull<[Entry]>,
    pub(crate) index: usize,
    /// Its number in the flow's drawing, if one is made.
    pub(crate) node: usize,
    /// Number of its accesses that are not active yet. Under the lock.
    pub(crate) waits: Cell<u32>,
    /// Index of the worker that it preferably runs on, or [`ANYWHERE`].
    near: u16,
    /// Index of its generation in the frame: 0 or 1.
    pub(crate) generation: Cell<u8>,
}

/// No preferred worker.
const ANYWHERE: u16 = u16::MAX;

// A task fits into a cache line.
const _: () = assert!(cfg!(loom) || size_of::<Task>() <= 64);

impl Task {
    /// Creates a task with these accesses; `near` is the worker that it preferably runs on.
    #[inline]
    pub(crate) fn new(
        run: RunFn,
        index: usize,
        node: usize,
        entries: NonNull<[Entry]>,
        near: Option<usize>,
    ) -> Task {
        let near = near.and_then(|worker| u16::try_from(worker).ok());
        Task {
            state: AtomicUsize::new(0),
            run,
            next: AtomicPtr::new(ptr::null_mut()),
            entries,
            index,
            node,
            waits: Cell::new(0),
            near: near.unwrap_or(ANYWHERE),
            generation: Cell::new(0),
        }
    }

    /// Returns the worker that the task preferably runs on.
    pub(crate) fn near(&self) -> Option<usize> {
        (self.near != ANYWHERE).then_some(usize::from(self.near))
    }

    /// Returns the task that was added after this one. Any worker may call this.
    pub(crate) fn next(&self) -> Option<NonNull<Task>> {
        NonNull::new(self.next.load(Ordering::Acquire)) // [E7]
    }

    /// [`next`](Task::next) for the owner, which has added the tasks itself.
    #[inline]
    pub(crate) fn next_of_own(&self) -> Option<NonNull<Task>> {
        NonNull::new(self.next.load(Ordering::Relaxed))
    }

    /// Adds a task after this one. The owner calls this, once per task.
    #[inline]
    pub(crate) fn link(&self, next: NonNull<Task>) {
        self.next.store(next.as_ptr(), Ordering::Release); // [E6]
    }

    /// Returns `true` if the task is done. Its writes are visible then.
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) & DONE != 0 // [E2]
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        // SAFETY: they are in the task's arena, which stays until its frame ends or clears it.
        unsafe { self.entries.as_ref() }
    }

    /// Claims the task for the owner, when all tasks before it are done. Returns `false` if the
    /// task is watched.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        self.state
            .compare_exchange(0, CLAIMED, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Marks the task as done. Returns `true` if it was watched.
    #[inline]
    pub(crate) fn finish(&self) -> bool {
        self.state.swap(DONE, Ordering::Release) & WATCHED != 0 // [E1]
    }

    /// Marks the task as watched, unless it is done. Returns its previous state.
    pub(crate) fn watch(&self) -> usize {
        let state = self.state.load(Ordering::Acquire); // [E2]
        if state & DONE != 0 {
            return state;
        }
        self.state.fetch_or(WATCHED, Ordering::Acquire) // [E3]
    }
}
