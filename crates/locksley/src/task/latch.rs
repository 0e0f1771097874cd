//! Latches: flags that tell a waiter that what it waits for is done.
//!
//! A [`Latch`] is one word in the memory of the awaited object, often a stack frame that is gone as
//! soon as the waiter sees the latch set. So the setter's one atomic operation must be its last
//! access. Until the latch is set, the word carries an address for the thread that will set it: a
//! fork is a handful of stores, and this saves one.
//!
//! ```text
//!              set                             set, and wake
//!   address ─────────> SET     address|PARKED ───────────────> SET
//!      └── park ──> address|PARKED
//! ```
//!
//! The thief of a job replaces the address, which it no longer needs, with its own index, so that
//! the waiter finds the thief without a search. The index is only a hint.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | L1 | probe | Acquire | L2 | the result would be read before it was written | `latch::models::hands_over_the_result` |
//! | L2 | set | AcqRel | L1, L3 | as L1; as L3 | `latch::models::wakes_a_parked_waiter`; `latch::models::finds_the_parked_waiter` |
//! | L3 | park | Release; Relaxed on failure | L2 | a setter that does not know its waiter reads what waiters published before they parked; a waiter whose exchange fails probes again | `latch::models::finds_the_parked_waiter` |

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

/// Set while a waiter is parked. What a latch carries is aligned to more than that.
const PARKED: usize = 1;

/// Set if the word is an index, shifted by [`INDEX_SHIFT`].
const RUNNER: usize = 4;
const INDEX_SHIFT: u32 = 3;

/// The word of a latch that is set: not the address of anything.
const SET: *mut () = ptr::without_provenance_mut(2);

/// Something that a worker can wait for.
pub(crate) trait Awaited {
    /// Returns `true` if the wait is over.
    fn is_over(&self) -> bool;

    /// Returns the latch that will be set when the wait is over, for a waiter that is about to
    /// sleep; `None` if the wait is over.
    fn latch(&self) -> Option<&Latch>;

    /// Returns the worker that was seen to run what is waited for, if that is one job.
    fn runner(&self) -> Option<usize> {
        None
    }
}

impl Awaited for Latch {
    #[inline]
    fn is_over(&self) -> bool {
        self.probe()
    }

    fn latch(&self) -> Option<&Latch> {
        Some(self)
    }

    fn runner(&self) -> Option<usize> {
        let state = self.state.load(Ordering::Relaxed).addr();
        (state & RUNNER != 0).then_some(state >> INDEX_SHIFT)
    }
}

/// A flag that is set once.
#[derive(Debug)]
pub(crate) struct Latch {
    state: AtomicPtr<()>,
}

impl Latch {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Latch {
            state: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Creates a latch that carries a reference.
    #[inline(always)]
    pub(crate) fn carrying<T>(cargo: &'static T) -> Self {
        const { assert!(align_of::<T>() > RUNNER) }
        Latch {
            state: AtomicPtr::new(ptr::from_ref(cargo).cast_mut().cast()),
        }
    }

    /// Returns what the latch carries. The latch must not be set.
    #[inline]
    pub(crate) fn cargo<T>(&self) -> *const T {
        // A thread that can reach the latch has seen the word's initial value.
        let state = self.state.load(Ordering::Relaxed);
        state.map_addr(|addr| addr & !PARKED).cast_const().cast()
    }

    /// Returns `true` if the latch is set, as far as the calling thread knows. It always knows if
    /// it has set the latch itself. What another thread wrote before it set the latch need not be
    /// visible yet.
    #[inline(always)]
    pub(crate) fn seems_set(&self) -> bool {
        self.state.load(Ordering::Relaxed) == SET
    }

    #[inline]
    pub(crate) fn probe(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET // [L1]
    }

    /// Sets the latch, and calls `wake` if a waiter is parked on it.
    ///
    /// # Safety
    ///
    /// `this` is alive until the waiter sees the latch set. `wake` must not touch it.
    #[inline]
    pub(crate) unsafe fn set(this: *const Self, wake: impl FnOnce()) {
        // SAFETY: the caller guarantees that the latch is alive until this swap is seen.
        let before = unsafe { (*this).state.swap(SET, Ordering::AcqRel) }; // [L2]
        if before.addr() & PARKED != 0 {
            wake();
        }
    }

    /// Returns `true` if the latch is set, without acquiring what the setter has written. Otherwise
    /// marks it, so that the thread that sets it calls its `wake`.
    pub(crate) fn probe_or_await(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state != SET {
            let parked = state.map_addr(|addr| addr | PARKED);
            let exchange =
                self.state
                    .compare_exchange(state, parked, Ordering::Release, Ordering::Relaxed); // [L3]
            match exchange {
                Ok(_) => return false,
                Err(now) => state = now,
            }
        }
        true
    }

    /// Stores the index of the worker that runs the job, in place of what the latch carried. Called
    /// by that worker, before it sets the latch.
    pub(crate) fn note_runner(&self, index: usize) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let parked = state.addr() & PARKED;
            let runner = ptr::without_provenance_mut(index << INDEX_SHIFT | RUNNER | parked);
            // Relaxed: as part of the release sequence of [L3], it does not hide the waiter's
            // writes from [L2].
            let exchange =
                self.state
                    .compare_exchange(state, runner, Ordering::Relaxed, Ordering::Relaxed);
            match exchange {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Blocks until the latch is set. `park` blocks until the setter's `wake`, and may return
    /// spuriously.
    pub(crate) fn park(&self, mut park: impl FnMut()) {
        // Only the probe acquires what the setter has written.
        while !self.probe() {
            if !self.probe_or_await() {
                park();
            }
        }
    }
}

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/latch.rs"]
mod models;
