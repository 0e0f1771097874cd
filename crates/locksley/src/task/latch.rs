//! Latches: how a waiter learns that what it waits for is done.
//!
//! A [`Latch`] is one word in the memory of whatever is waited for, often a stack frame that goes
//! away as soon as the latch is seen to be set. So the setter's one atomic operation on
//! it must be its last touch. Until it is set the word carries an address for whoever will set
//! it: a fork is a handful of stores, and this saves one.
//!
//! ```text
//!              set                             set, and wake
//!   address ─────────> SET     address|PARKED ───────────────> SET
//!      └── park ──> address|PARKED
//! ```
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | L1 | probe | Acquire | L2 | the result would be read before it was written | `latch::models::hands_over_the_result` |
//! | L2 | set | AcqRel | L1, L3 | as L1; as L3 | `latch::models::wakes_a_parked_waiter`; `latch::models::finds_the_parked_waiter` |
//! | L3 | park | Release; Relaxed on failure | L2 | a setter that does not know who waits looks at what the waiters said before they parked; a waiter that fails probes again | `latch::models::finds_the_parked_waiter` |

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

/// The bit that says that somebody is parked. What a latch carries is aligned to more than that.
const PARKED: usize = 1;

/// The word of a latch that is set: no address of anything.
const SET: *mut () = ptr::without_provenance_mut(2);

/// What one can wait for.
pub(crate) trait Awaited {
    /// Is the wait over?
    fn is_over(&self) -> bool;

    /// The latch that will be set when it is over, for a waiter who is about to sleep; none if it is over.
    fn latch(&self) -> Option<&Latch>;
}

impl Awaited for Latch {
    #[inline]
    fn is_over(&self) -> bool {
        self.probe()
    }

    fn latch(&self) -> Option<&Latch> {
        Some(self)
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

    /// A latch that carries a reference.
    #[inline(always)]
    pub(crate) fn carrying<T>(cargo: &'static T) -> Self {
        const { assert!(align_of::<T>() > PARKED) }
        Latch {
            state: AtomicPtr::new(ptr::from_ref(cargo).cast_mut().cast()),
        }
    }

    /// What the latch carries, which is not set yet.
    #[inline]
    pub(crate) fn cargo<T>(&self) -> *const T {
        // What the word was at first, whoever sees the latch has seen.
        let state = self.state.load(Ordering::Relaxed);
        state.map_addr(|addr| addr & !PARKED).cast_const().cast()
    }

    /// Is it set, as far as the calling thread knows? If it has set it itself, it does; what another thread did
    /// before it set it need not be visible yet.
    #[inline(always)]
    pub(crate) fn seems_set(&self) -> bool {
        self.state.load(Ordering::Relaxed) == SET
    }

    /// Is it set?
    #[inline]
    pub(crate) fn probe(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET // [L1]
    }

    /// Sets the latch, and calls `wake` if somebody is parked on it.
    ///
    /// # Safety
    ///
    /// `this` is alive until the waiter sees the latch set. `wake` must not touch it.
    #[inline]
    pub(crate) unsafe fn set(this: *const Self, wake: impl FnOnce()) {
        // SAFETY: the latch is alive until this swap is seen, says the caller.
        let before = unsafe { (*this).state.swap(SET, Ordering::AcqRel) }; // [L2]
        if before.addr() & PARKED != 0 {
            wake();
        }
    }

    /// Is it set? If not, whoever sets it from now on calls its `wake`.
    pub(crate) fn probe_or_await(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        let parked = state.map_addr(|addr| addr | PARKED);
        // If it changes in between, it was set.
        let awaited = state != SET
            && self
                .state
                .compare_exchange(state, parked, Ordering::Release, Ordering::Relaxed) // [L3]
                .is_ok();
        !awaited
    }

    /// Calls `park` once, unless the latch is set. Whoever sets it from now on calls its `wake`, so
    /// `park` may block until then.
    pub(crate) fn park_once(&self, park: impl FnOnce()) {
        if !self.probe_or_await() {
            park();
        }
    }

    /// Blocks until the latch is set. `park` blocks until the setter's `wake`, or for no reason.
    pub(crate) fn park(&self, mut park: impl FnMut()) {
        while !self.probe() {
            self.park_once(&mut park);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::AtomicUsize;

    struct Slot<L> {
        latch: L,
        cells: [UnsafeCell<u32>; 2],
    }

    // SAFETY: loom checks that the accesses to the cells do not race.
    unsafe impl<L: Sync> Sync for Slot<L> {}
    // SAFETY: as above.
    unsafe impl<L: Send> Send for Slot<L> {}

    fn slot<L>(latch: L) -> Arc<Slot<L>> {
        let cells = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Arc::new(Slot { latch, cells })
    }

    fn write<L>(slot: &Slot<L>, cell: usize) {
        // SAFETY: loom checks it.
        slot.cells[cell].with_mut(|value| unsafe { *value = 1 });
    }

    fn read<L>(slot: &Slot<L>, cell: usize) -> u32 {
        // SAFETY: loom checks it.
        slot.cells[cell].with(|value| unsafe { *value })
    }

    #[test]
    fn hands_over_the_result() {
        loom::model(|| {
            let shared = slot(Latch::new());
            let setter = shared.clone();
            let thread = thread::spawn(move || {
                write(&setter, 0);
                // SAFETY: the latch is in an `Arc`.
                unsafe { Latch::set(&raw const setter.latch, || {}) };
            });
            if shared.latch.probe() {
                assert_eq!(read(&shared, 0), 1);
            }
            thread.join().unwrap();
        });
    }

    /// A lost wake-up would be a deadlock, which loom reports.
    #[test]
    fn wakes_a_parked_waiter() {
        loom::model(|| {
            let shared = slot(Latch::new());
            let waiter = shared.clone();
            let thread = thread::spawn(move || {
                waiter.latch.park(thread::park);
                assert_eq!(read(&waiter, 0), 1);
            });
            write(&shared, 0);
            let handle = thread.thread().clone();
            // SAFETY: the latch is in an `Arc`.
            unsafe { Latch::set(&raw const shared.latch, || handle.unpark()) };
            thread.join().unwrap();
        });
    }

    /// Who sets the latch of a job that has moved finds the waiter by what it said before it parked.
    #[test]
    fn finds_the_parked_waiter() {
        loom::model(|| {
            let shared = Arc::new((Latch::new(), AtomicUsize::new(0)));
            let waiter = shared.clone();
            let thread = thread::spawn(move || {
                waiter.1.store(1, Ordering::Relaxed);
                waiter.0.park(thread::park);
            });
            let handle = thread.thread().clone();
            let wake = || {
                assert_eq!(shared.1.load(Ordering::Relaxed), 1, "nobody seems to wait");
                handle.unpark();
            };
            // SAFETY: the latch is in an `Arc`.
            unsafe { Latch::set(&raw const shared.0, wake) };
            thread.join().unwrap();
        });
    }
}
