//! Selects the atomics: the standard library's, or loom's.
//!
//! All other modules of this crate import their atomics, fences and shared cells from here. With
//! the feature `count` the wrappers count the expensive operations, so that a test can assert what
//! a queue's documentation claims about its fast path. Otherwise they add nothing.
//!
//! # What loom makes of SeqCst
//!
//! Store-load ordering is always written with [`fence`]`(SeqCst)` or with the asymmetric pair in
//! [`barrier`]. loom treats SeqCst *accesses* as AcqRel, which can only raise false alarms. But its
//! SeqCst *fences* are stronger than those of C++20: in loom a fence synchronises with every fence
//! that comes after it in their total order. In C++20 the order of two fences restricts which
//! values may be read after the second one; a happens-before edge arises only if a thread reads,
//! after the second fence, an atomic that was written before the first one, or from another pair of
//! a release and an acquire. Also, a loom fence that acquires does so from every store that the
//! thread knows another thread to have read; in C++20 it acquires from what the thread itself has
//! read. So loom would accept an algorithm in which a fence alone publishes plain data.
//!
//! No queue here relies on that. From the order of two fences it concludes only which value of an
//! *atomic* is read after the later one: an index, a circle's address, a count of visitors, a word
//! in a slot. The data that an index or an address leads to has a happens-before edge of its own,
//! in a row of the module's table that is not a fence: the item by the Acquire load of `bottom`,
//! `boundary` or `bot`, the circle by R1 and R4, the end of a visit by R6 and R3. loom checks these
//! edges even though its fences are too strong: each of these rows is needed in an execution in
//! which the fences come in the order that does not help, and `scripts/mutate` shows that loom
//! finds such an execution for every one of them. Where a table says that a fence acquires or
//! releases *too*, it means that in the sense of C++20: together with the Relaxed access before or
//! after it.
//!
//! The asymmetric pair has a model of its own, which is weaker than a pair of fences: see
//! [`barrier`].

#![allow(
    unused,
    reason = "each wrapper is complete, whichever of its methods are in use"
)]

pub mod barrier;
#[cfg(feature = "count")]
pub mod counts;
pub(crate) mod trace;

#[cfg(not(loom))]
use std::sync::atomic as imp;

#[cfg(loom)]
use loom::sync::atomic as imp;

pub(crate) use imp::Ordering;
#[cfg(loom)]
pub(crate) use loom::sync::Arc;
#[cfg(not(loom))]
pub(crate) use std::sync::Arc;

#[inline(always)]
fn note_rmw() {
    #[cfg(feature = "count")]
    counts::add(|c| c.rmws += 1);
}

/// A memory fence.
#[inline(always)]
pub(crate) fn fence(order: Ordering) {
    #[cfg(feature = "count")]
    if order == Ordering::SeqCst {
        counts::add(|c| c.fences += 1);
    }
    imp::fence(order);
}

/// Tells the processor that the caller is waiting in a loop.
#[inline(always)]
pub(crate) fn spin_loop() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::hint::spin_loop();
}

/// Returns `order`, or SeqCst under ThreadSanitizer (`--cfg tsan`), which does not understand
/// fences. There every access synchronises, so that each report is a race of plain data, whatever
/// the orderings.
#[inline(always)]
const fn strong(order: Ordering) -> Ordering {
    if cfg!(tsan) { Ordering::SeqCst } else { order }
}

/// The operations that every atomic has.
macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $imp:ty, $value:ty) => {
        #[doc = concat!("A counted [`", stringify!($imp), "`](std::sync::atomic).")]
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name $(<$t>)? ($imp);

        impl $(<$t>)? $name $(<$t>)? {
            #[inline(always)]
            pub(crate) fn new(value: $value) -> Self {
                Self(<$imp>::new(value))
            }

            #[inline(always)]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(strong(order))
            }

            #[inline(always)]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, strong(order));
            }

            #[inline(always)]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                note_rmw();
                self.0.swap(value, strong(order))
            }

            #[inline(always)]
            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                note_rmw();
                self.0
                    .compare_exchange(old, new, strong(success), strong(failure))
            }
        }
    };
}

/// The operations that only integers have.
macro_rules! arithmetic {
    ($name:ident, $value:ty) => {
        impl $name {
            #[inline(always)]
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                note_rmw();
                self.0.fetch_add(value, strong(order))
            }

            #[inline(always)]
            pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                note_rmw();
                self.0.fetch_sub(value, strong(order))
            }

            #[inline(always)]
            pub(crate) fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                note_rmw();
                self.0.fetch_max(value, strong(order))
            }
        }
    };
}

impl AtomicU64 {
    /// Issues a SeqCst fence. `held` is the value that the caller, the only writer, stored last.
    ///
    /// On x86-64 this is a locked instruction, which orders all accesses before it against all
    /// after it as `mfence` does, in about half of the time. The memory model makes no such promise
    /// for read-modify-writes, so on other targets it is a fence.
    #[inline(always)]
    pub(crate) fn fence_behind(&self, held: u64) {
        if cfg!(all(target_arch = "x86_64", not(loom), not(miri))) {
            #[cfg(feature = "count")]
            counts::add(|c| c.fences += 1);
            self.0.swap(held, Ordering::SeqCst);
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

atomic!(AtomicBool, imp::AtomicBool, bool);
atomic!(AtomicU64, imp::AtomicU64, u64);
atomic!(AtomicUsize, imp::AtomicUsize, usize);
atomic!(AtomicPtr<T>, imp::AtomicPtr<T>, *mut T);
arithmetic!(AtomicU64, u64);

arithmetic!(AtomicUsize, usize);

/// A cell whose accesses loom checks for data races.
#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// A cell whose accesses loom checks for data races; here, a plain one.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    #[inline(always)]
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer for reading.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
