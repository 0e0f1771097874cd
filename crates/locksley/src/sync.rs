//! The one place that knows whether atomics, locks and threads are the machine's or loom's.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex};

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

#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard;
#[cfg(not(loom))]
pub(crate) use std::sync::MutexGuard;

/// Lets other threads run, while the caller waits in a loop.
pub(crate) fn give_way() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::thread::yield_now();
}
