//! A task: its state, and where its accesses are.
//!
//! ```text
//!   state   | WATCHED | DONE | CLAIMED |
//! ```
//!
//! | field | who, when |
//! |---|---|
//! | state | any worker; see `engine` |
//! | kind, entries, index, node, near | written before it is added to a list, read by all |
//! | generation | written by the owner as it adds the task, read by all |
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

/// Bits of a task's state. Nought: not begun, and not watched.
pub(crate) const CLAIMED: usize = 1;
pub(crate) const DONE: usize = 2;
const WATCHED: usize = 4;

/// How to run the tasks of one type.
pub(crate) struct Kind {
    /// Runs the task, or only drops what is in it.
    pub(crate) run: unsafe fn(NonNull<Task>, &Context<'_>),
}

/// What a running task knows.
pub(crate) struct Context<'a> {
    pub(crate) list: &'a List,
    pub(crate) root: &'a Root,
    /// None in tests of the engine alone.
    pub(crate) worker: Option<&'a Worker>,
    /// Set if everything is done that comes before it.
    pub(crate) in_order: bool,
    /// Set if it is to be dropped, and not to run.
    pub(crate) stopped: bool,
    pub(crate) index: usize,
    pub(crate) node: usize,
}

/// Panic payload of a task whose input turns out to be lost.
pub(crate) struct Bereft;

/// The beginning of a task's record.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Task {
    state: AtomicUsize,
    pub(crate) kind: &'static Kind,
    /// The next one in the order of the program; null until the owner adds it.
    next: AtomicPtr<Task>,
    /// Its accesses, in its record.
    entries: NonNull<[Entry]>,
    pub(crate) index: usize,
    /// Its number in the picture of the whole, if one is drawn.
    pub(crate) node: usize,
    /// How many of its accesses are not active yet. Under the lock.
    pub(crate) waits: Cell<u32>,
    /// The index of the worker that it had better run on, or [`ANYWHERE`].
    near: u16,
    /// Which of the frame's two generations it is of.
    pub(crate) generation: Cell<u8>,
}

/// Stands for no worker.
const ANYWHERE: u16 = u16::MAX;

// With the state and the pointers in front of it, one cache line.
const _: () = assert!(cfg!(loom) || size_of::<Task>() <= 64);

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kind").finish_non_exhaustive()
    }
}

impl Task {
    pub(crate) fn new(kind: &'static Kind, index: usize, node: usize) -> Task {
        Task {
            state: AtomicUsize::new(0),
            kind,
            next: AtomicPtr::new(ptr::null_mut()),
            entries: NonNull::slice_from_raw_parts(NonNull::dangling(), 0),
            index,
            node,
            waits: Cell::new(0),
            near: ANYWHERE,
            generation: Cell::new(0),
        }
    }

    /// Sets the worker that the task had better run on. Before it is added to a list.
    pub(crate) fn set_near(&mut self, worker: usize) {
        self.near = u16::try_from(worker).unwrap_or(ANYWHERE);
    }

    /// The worker that the task had better run on.
    pub(crate) fn near(&self) -> Option<usize> {
        (self.near != ANYWHERE).then_some(usize::from(self.near))
    }

    /// The task that was added after this one, for any worker.
    pub(crate) fn next(&self) -> Option<NonNull<Task>> {
        NonNull::new(self.next.load(Ordering::Acquire)) // [E7]
    }

    /// The same for the owner, which has added it.
    #[inline]
    pub(crate) fn next_of_own(&self) -> Option<NonNull<Task>> {
        NonNull::new(self.next.load(Ordering::Relaxed))
    }

    /// Adds a task after this one. For the owner, once.
    #[inline]
    pub(crate) fn link(&self, next: NonNull<Task>) {
        self.next.store(next.as_ptr(), Ordering::Release); // [E6]
    }

    /// Returns `true` if the task is done. What it wrote is visible then.
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) & DONE != 0 // [E2]
    }

    /// Says where the accesses are. Before it is added to a list.
    pub(crate) fn set_entries(&mut self, entries: NonNull<[Entry]>) {
        self.entries = entries;
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        // SAFETY: they are in the task's record, which stays until its frame is left or begins
        // anew.
        unsafe { self.entries.as_ref() }
    }

    /// Claims the task, whose turn it is, for the owner. If it cannot, the task is watched.
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

    /// Watches the task. Returns its state before.
    pub(crate) fn watch(&self) -> usize {
        let state = self.state.load(Ordering::Acquire); // [E2]
        if state & DONE != 0 {
            return state;
        }
        self.state.fetch_or(WATCHED, Ordering::Acquire) // [E3]
    }
}
