//! Who waits for an object: its accesses, in the order of the program.
//!
//! ```text
//!   active: R R R      waiting: W ── R ── R ── C ── C ── W
//! ```
//!
//! Accesses that agree with each other are active together: reads, or cumulative writes. One that
//! does not agree with the active ones waits, and so does every later one, whatever its mode. When
//! the last active one has left, the first that waits becomes active, and with it those right
//! behind it that agree with it. So an access is active exactly when every earlier one that it
//! conflicts with is over, and to enter or to leave costs O(1), shared among those that become
//! active.
//!
//! Everything here is under the lock of the frame that the object belongs to, but for the mark of a
//! failure.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::reduce::Parts;
use super::task::Task;
use crate::sync::{AtomicBool, Ordering};

/// What a task does with an object, as far as others must know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Read,
    /// Write, or read and write.
    Alone,
    Cumulate,
}

impl Mode {
    /// Returns `true` if accesses of the two modes may go on at the same time.
    pub(crate) fn agrees_with(self, other: Mode) -> bool {
        self == other && self != Mode::Alone
    }
}

/// One access of a task that was forked. It lies in the task's record.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) core: NonNull<Core>,
    pub(crate) mode: Mode,
    /// Whose it is. Set, and read, under the lock.
    task: Cell<*const Task>,
    /// The next one that waits. Under the lock.
    next: Cell<*const Entry>,
}

impl Entry {
    pub(crate) fn new(core: NonNull<Core>, mode: Mode) -> Entry {
        Entry {
            core,
            mode,
            task: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// The object that it is of.
    pub(crate) fn core(&self) -> &Core {
        // SAFETY: an object stays until the frame is left, and that is when all its tasks are done.
        unsafe { self.core.as_ref() }
    }
}

/// What the engine knows of an object.
#[derive(Debug)]
pub(crate) struct Core {
    /// How many accesses are active. Under the lock, as are the next three.
    active: Cell<usize>,
    /// The mode of the active ones.
    mode: Cell<Mode>,
    first: Cell<*const Entry>,
    last: Cell<*const Entry>,
    /// A task that might have written it has panicked, or was stopped. Written before such a task
    /// is done, and read by those that come after it.
    failed: AtomicBool,
    /// What cumulative writes have left, if there can be any.
    pub(crate) parts: Option<NonNull<Parts>>,
}

impl Core {
    pub(crate) fn new(parts: Option<NonNull<Parts>>) -> Core {
        Core {
            active: Cell::new(0),
            mode: Cell::new(Mode::Read),
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
    /// The caller holds the lock, and the entry stays until it has left.
    pub(crate) unsafe fn enter(&self, entry: &Entry, task: NonNull<Task>) -> bool {
        entry.task.set(task.as_ptr());
        entry.next.set(ptr::null());
        if self.first.get().is_null() && self.admits(entry.mode) {
            self.activate(entry.mode);
            return true;
        }
        // SAFETY: what waits has not left.
        match unsafe { self.last.get().as_ref() } {
            Some(last) => last.next.set(entry),
            None => self.first.set(entry),
        }
        self.last.set(entry);
        false
    }

    /// Takes away an active access. `grant` is called for each one that becomes active, with its
    /// task.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the access is active.
    pub(crate) unsafe fn leave(&self, mut grant: impl FnMut(NonNull<Task>)) {
        self.active.set(self.active.get() - 1);
        // SAFETY: what waits has not left.
        while let Some(entry) = unsafe { self.first.get().as_ref() } {
            if !self.admits(entry.mode) {
                return;
            }
            self.activate(entry.mode);
            self.first.set(entry.next.get());
            // SAFETY: it was set on entering.
            grant(unsafe { NonNull::new_unchecked(entry.task.get().cast_mut()) });
        }
        self.last.set(ptr::null());
    }

    fn admits(&self, mode: Mode) -> bool {
        self.active.get() == 0 || mode.agrees_with(self.mode.get())
    }

    fn activate(&self, mode: Mode) {
        self.active.set(self.active.get() + 1);
        self.mode.set(mode);
    }

    /// Returns `true` if no access is active or waits.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.active.get() == 0 && self.first.get().is_null()
    }

    /// Returns `true` if a task has failed that might have written it.
    pub(crate) fn has_failed(&self) -> bool {
        // A task that comes after such a one knows that it is done, and this was written before.
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/queue.rs"]
mod tests;
