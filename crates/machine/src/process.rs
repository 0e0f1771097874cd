//! Detection of `fork`, and values that a forked process creates again.
//!
//! A forked process has a copy of its parent's memory and none of its threads, except the one that
//! called `fork`. A pool in that copy would wait for workers that do not exist, on locks that such
//! a worker may hold. So the processes are numbered: the handler that `fork` calls in the child
//! raises the number, and a pool stores the number of the process that created it. The child
//! creates the value of a [`PerProcess`] again.
//!
//! `exec`, `vfork` and `posix_spawn` call no handler and need none. A process that was copied by
//! the raw system call `clone` is not detected.

use std::ptr;
use std::sync::OnceLock;

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Differs between a process and those forked from it: each fork raises it at least once.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of this process.
#[inline]
pub fn generation() -> usize {
    GENERATION.load(Ordering::Relaxed)
}

/// Returns the number of this process, and makes `fork` raise it in the child from now on.
pub fn watched_generation() -> usize {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Threads that come here at the same time each register the handler, so that none of them
    // returns before that is done. A lock would stay locked in a process that is forked meanwhile.
    if !WATCHED.load(Ordering::Acquire) {
        on_fork(enter_child);
        WATCHED.store(true, Ordering::Release);
    }
    generation()
}

extern "C" fn enter_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Registers `handler` to run in every child that is forked from now on, on its only thread. The
/// handler must take no lock and allocate no memory. Forks are not detected if the system has no
/// memory for the registration, nor on systems other than Linux.
pub fn on_fork(handler: extern "C" fn()) {
    #[cfg(target_os = "linux")]
    // SAFETY: the handler is a function of the program, or of a library; in that case it is
    // unregistered when the library is unloaded.
    unsafe {
        libc::pthread_atfork(None, None, Some(handler));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = handler;
}

/// A value for a static, which is created on first use, and again in a forked process. Values are
/// never dropped: a thread may still use one, and those of a parent process may be locked for ever.
#[derive(Debug)]
pub struct PerProcess<T> {
    slot: AtomicPtr<Slot<T>>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: usize,
    value: OnceLock<T>,
}

impl<T> PerProcess<T> {
    /// Creates a cell without a value.
    pub const fn new() -> Self {
        PerProcess {
            slot: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

impl<T: Send + Sync> PerProcess<T> {
    /// Returns the slot at this address, if it was created in this process.
    fn of_this_process(slot: *mut Slot<T>) -> Option<&'static Slot<T>>
    where
        T: 'static,
    {
        // SAFETY: slots are published with Release, read with Acquire, and never freed.
        unsafe { slot.as_ref() }.filter(|slot| slot.generation == generation())
    }

    /// Returns the slot of this process, and creates it if there is none.
    fn slot(&self) -> &'static Slot<T>
    where
        T: 'static,
    {
        let mut seen = self.slot.load(Ordering::Acquire);
        loop {
            if let Some(slot) = Self::of_this_process(seen) {
                return slot;
            }
            let fresh = Box::into_raw(Box::new(Slot {
                generation: watched_generation(),
                value: OnceLock::new(),
            }));
            let race = self
                .slot
                .compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire);
            if let Err(now) = race {
                // SAFETY: the slot was created above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                seen = now;
            } else {
                seen = fresh;
            }
        }
    }

    /// Returns the value, if it was created in this process.
    pub fn get(&self) -> Option<&'static T>
    where
        T: 'static,
    {
        Self::of_this_process(self.slot.load(Ordering::Acquire))?
            .value
            .get()
    }

    /// Returns the value, and creates it with `make` if there is none.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &'static T
    where
        T: 'static,
    {
        self.slot().value.get_or_init(make)
    }

    /// Sets the value. Returns `value` if there is one already.
    pub fn set(&self, value: T) -> Result<(), T>
    where
        T: 'static,
    {
        self.slot().value.set(value)
    }

    /// Removes the value and returns it: the next use creates another one.
    pub fn remove(&self) -> Option<&'static T>
    where
        T: 'static,
    {
        let slot = self.slot.swap(ptr::null_mut(), Ordering::AcqRel);
        Self::of_this_process(slot)?.value.get()
    }
}

#[cfg(test)]
#[path = "../tests/unit/process.rs"]
mod tests;
