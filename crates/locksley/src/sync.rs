//! Atomics, locks and threads of std, or of loom under `cfg(loom)`. Only this module chooses
//! between the two.

#[cfg(loom)]
use loom as base;
#[cfg(not(loom))]
use std as base;

pub(crate) use base::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use base::sync::{Mutex, MutexGuard};
pub(crate) use base::thread::yield_now;

/// Atomics of std, also under loom: for statics, which loom's atomics cannot initialise.
pub(crate) mod statics {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
}

/// Locks a mutex and ignores poisoning, for data that no panic can leave half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
