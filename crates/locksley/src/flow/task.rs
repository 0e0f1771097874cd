//! A task: its state, and where its accesses are.
//!
//! ```text
//!   state   | WATCHED | DONE | CLAIMED |
//! ```
//!
//! | field | who, when |
//! |---|---|
//! | state | all workers; see `engine` |
//! | kind, entries, index, node | written before it is added to a list, read by all workers |
//! | next | written by the owner before other workers know of the list |
//! | waits | under the frame's lock |
//!
//! The tags are those of the table in `engine`.

use std::cell::Cell;
use std::ptr::NonNull;

use super::engine::List;
use super::frame::Root;
use super::queue::Entry;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Ordering};

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
    /// The next one in the order of the program. Set by the owner, before another worker sees this
    /// one.
    pub(crate) next: Cell<Option<NonNull<Task>>>,
    /// Its accesses, in its record.
    entries: NonNull<[Entry]>,
    pub(crate) index: usize,
    /// Its number in the picture of the whole, if one is drawn.
    pub(crate) node: usize,
    /// How many of its accesses are not active yet. Under the lock.
    pub(crate) waits: Cell<usize>,
}

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
            next: Cell::new(None),
            entries: NonNull::slice_from_raw_parts(NonNull::dangling(), 0),
            index,
            node,
            waits: Cell::new(0),
        }
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
