//! The queue of an object: its active and waiting accesses, in the order of the program.
//!
//! ```text
//!   active: R R R      waiting: W ── R ── R ── C ── C ── W
//! ```
//!
//! Accesses that agree with each other are active together: reads, or cumulative writes. An access
//! that does not agree with the active ones waits, and so does every later one, whatever its mode.
//! When the last active access has left, the first that waits becomes active, together with those
//! right behind it that agree with it. So an access becomes active as soon as every earlier one
//! that it conflicts with has left. To enter costs O(1), and to leave O(1) amortized.
//!
//! Everything here is under the lock of the frame that the object belongs to, except the mark of a
//! failure.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::failure::Failures;
use super::reduce::Parts;
use super::task::Task;
use crate::sync::{AtomicBool, Ordering};

/// The mode of an access, as far as it matters to other accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessMode {
    Read,
    /// Write, or read and write.
    Exclusive,
    Cumulate,
}

impl AccessMode {
    /// Returns `true` if accesses of the two modes may be active at the same time.
    pub(crate) fn agrees_with(self, other: AccessMode) -> bool {
        self == other && self != AccessMode::Exclusive
    }
}

/// One access of a forked task. It lies in the task's record.
#[derive(Debug)]
pub struct Entry {
    pub(crate) core: NonNull<Core>,
    pub(crate) mode: AccessMode,
    /// The task that the access belongs to. Set and read under the lock.
    task: Cell<*const Task>,
    /// The next access that waits. Under the lock.
    next: Cell<*const Entry>,
}

impl Entry {
    pub(crate) fn new(core: NonNull<Core>, mode: AccessMode) -> Entry {
        Entry {
            core,
            mode,
            task: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Returns the queue of the object that the access is to.
    pub(crate) fn core(&self) -> &Core {
        // SAFETY: an object stays valid until its frame ends, when all the frame's tasks are done.
        unsafe { self.core.as_ref() }
    }
}

/// The engine's state of an object.
#[derive(Debug)]
pub(crate) struct Core {
    /// Number of active accesses. Under the lock, as are `mode`, `first` and `last`.
    active: Cell<usize>,
    /// The mode of the active accesses.
    mode: Cell<AccessMode>,
    /// The first access that waits, or null.
    first: Cell<*const Entry>,
    /// The last access that waits.
    last: Cell<*const Entry>,
    /// Set if a task that might have written the object has panicked, or was stopped because an
    /// object that it needs was lost. Written before the task is done, read by later tasks.
    failed: AtomicBool,
    /// The parts of cumulative writes, if the object can have any.
    pub(crate) parts: Option<NonNull<Parts>>,
}

impl Core {
    pub(crate) fn new(parts: Option<NonNull<Parts>>) -> Core {
        Core {
            active: Cell::new(0),
            mode: Cell::new(AccessMode::Read),
            first: Cell::new(ptr::null()),
            last: Cell::new(ptr::null()),
            failed: AtomicBool::new(false),
            parts,
        }
    }

    /// Adds an access, the last one in the order of the program. Returns `true` if it is active at
    /// once.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the entry stays valid until it has left.
    pub(crate) unsafe fn enter(&self, entry: &Entry, task: NonNull<Task>) -> bool {
        entry.task.set(task.as_ptr());
        entry.next.set(ptr::null());
        if self.first.get().is_null() && self.admits(entry.mode) {
            self.activate(entry.mode);
            return true;
        }
        // SAFETY: an access that waits has not left.
        match unsafe { self.last.get().as_ref() } {
            Some(last) => last.next.set(entry),
            None => self.first.set(entry),
        }
        self.last.set(entry);
        false
    }

    /// Removes an active access. Calls `grant` with the task of each access that becomes active.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the access is active.
    pub(crate) unsafe fn leave(&self, mut grant: impl FnMut(NonNull<Task>)) {
        self.active.set(self.active.get() - 1);
        // SAFETY: an access that waits has not left.
        while let Some(entry) = unsafe { self.first.get().as_ref() } {
            if !self.admits(entry.mode) {
                return;
            }
            self.activate(entry.mode);
            self.first.set(entry.next.get());
            // SAFETY: `enter` has set it.
            grant(unsafe { NonNull::new_unchecked(entry.task.get().cast_mut()) });
        }
        self.last.set(ptr::null());
    }

    fn admits(&self, mode: AccessMode) -> bool {
        self.active.get() == 0 || mode.agrees_with(self.mode.get())
    }

    fn activate(&self, mode: AccessMode) {
        self.active.set(self.active.get() + 1);
        self.mode.set(mode);
    }

    /// Returns `true` if no access is active or waits.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.active.get() == 0 && self.first.get().is_null()
    }

    /// Returns `true` if a task that might have written the object has failed.
    pub(crate) fn has_failed(&self) -> bool {
        // Relaxed: a later task has seen the failed one done, and this was written before.
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Folds the parts of all tasks whose index is less than `before` into the object, if there are
    /// any. Returns `true` if the object is complete. If the operation panics, the object has
    /// failed, and the panic counts as one of the task that left the part.
    ///
    /// # Safety
    ///
    /// Those tasks are done, and every task that accesses the object calls this first.
    #[inline]
    pub(crate) unsafe fn fold_before(&self, before: usize, failures: &Failures) -> bool {
        // SAFETY: parts stay valid as long as the object.
        let Some(parts) = self.parts.map(|parts| unsafe { parts.as_ref() }) else {
            return true;
        };
        let failed = |index, payload| {
            self.fail();
            failures.record_panic(index, payload);
        };
        // SAFETY: guaranteed by the caller.
        unsafe { parts.fold_before(before, failed) };
        !self.has_failed()
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/queue.rs"]
mod tests;
