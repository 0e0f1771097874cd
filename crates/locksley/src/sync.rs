//! The one place that knows whether atomics, locks and threads are the machine's or loom's.

#[cfg(loom)]
use loom as base;
#[cfg(not(loom))]
use std as base;

pub(crate) use base::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use base::sync::{Condvar, Mutex, MutexGuard};

/// The machine's atomics, under loom too: for statics, which loom's cannot be.
pub(crate) mod statics {
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) use std::sync::atomic::AtomicUsize;
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
}

/// Locks a mutex whose data no panic can leave half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits on a condition variable as long as the condition holds.
pub(crate) fn wait_while<'m, T>(
    changed: &Condvar,
    mut guard: MutexGuard<'m, T>,
    condition: impl Fn(&T) -> bool,
) -> MutexGuard<'m, T> {
    while condition(&guard) {
        let woken = changed.wait(guard);
        guard = woken.unwrap_or_else(std::sync::PoisonError::into_inner);
    }
    guard
}

/// Lets other threads run, while the caller waits in a loop.
pub(crate) fn give_way() {
    base::thread::yield_now();
}
