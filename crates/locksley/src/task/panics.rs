//! Panics that are kept for a waiter, and panics that reach none.

use std::io::Write;
use std::ptr;

use crate::scheduler::registry::Registry;
use crate::sync::{AtomicPtr, Ordering};
use crate::task::job::{Payload, discard};

/// Passes a panic of a task that no caller waits for to the pool's panic handler. Without a handler
/// the process aborts: going on would hide that a part of the work is missing.
#[cold]
#[inline(never)]
pub(crate) fn reached_no_waiter(registry: &Registry, payload: Payload) {
    if registry.config.has_panic_handler() {
        return registry.config.handle_panic(payload);
    }
    let message = format!(
        "locksley: a task that no caller waits for panicked: {}\n\
         locksley: aborting; `Builder::panic_handler` sets what to do instead\n",
        message(&payload)
    );
    // Written in one piece, because other tasks may panic at the same time. An error is ignored.
    let _ = std::io::stderr().write_all(message.as_bytes());
    std::process::abort();
}

fn message(payload: &Payload) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("the payload is not text")
}

/// The first panic of a scope's tasks. The count of the tasks orders the write before the waiter's
/// read.
pub(super) struct FirstPanic(AtomicPtr<Payload>);

impl FirstPanic {
    pub(super) fn new() -> FirstPanic {
        FirstPanic(AtomicPtr::new(ptr::null_mut()))
    }

    /// Keeps the panic if it is the first one, and discards it otherwise.
    #[cold]
    #[inline(never)]
    pub(super) fn keep(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        let first = self.0.compare_exchange(
            ptr::null_mut(),
            payload,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if first.is_err() {
            // SAFETY: the pointer comes from the box above, and was not passed on.
            discard(unsafe { *Box::from_raw(payload) });
        }
    }

    /// Takes the panic, if there was one. For the waiter, when all tasks are done.
    pub(super) fn take(&self) -> Option<Payload> {
        let payload = self.0.load(Ordering::Relaxed);
        if payload.is_null() {
            return None;
        }
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the pointer comes from a box in `keep`, and is taken once.
        Some(unsafe { *Box::from_raw(payload) })
    }
}
