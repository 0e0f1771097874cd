//! The one place that knows whether the atomics are the machine's or loom's.
//!
//! Everything in this crate takes its atomics, its fences and the cells that threads share from here. The wrappers add
//! nothing but a count of the expensive operations, and that only with the feature `count`, so
//! that a test can assert what a queue's documentation claims about its fast path.
//!
//! Store-load ordering is always written with [`fence`]`(SeqCst)` or with the asymmetric pair in
//! [`barrier`]: loom models SeqCst fences faithfully, but takes SeqCst accesses for AcqRel.

#![allow(
    unused,
    reason = "each wrapper is complete, whichever of its methods are in use"
)]

pub mod barrier;
#[cfg(feature = "count")]
pub mod counts;

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

/// ThreadSanitizer does not understand fences. Under it (`--cfg tsan`) every access synchronises, so
/// that what it reports is a race of plain data, whatever the orderings.
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

/// What integers have besides.
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
        }
    };
}

atomic!(AtomicBool, imp::AtomicBool, bool);
atomic!(AtomicU64, imp::AtomicU64, u64);
atomic!(AtomicUsize, imp::AtomicUsize, usize);
atomic!(AtomicPtr<T>, imp::AtomicPtr<T>, *mut T);
arithmetic!(AtomicU64, u64);

impl AtomicU64 {
    #[inline(always)]
    pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        note_rmw();
        self.0.fetch_max(value, strong(order))
    }
}
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
