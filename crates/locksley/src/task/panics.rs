//! Panics that reach no waiter.

use std::io::Write;

use crate::scheduler::registry::Registry;
use crate::task::job::Payload;

/// Passes a panic of a task that no caller waits for to the pool's panic handler. Without one the
/// process aborts: to go on would hide that a part of the work is missing.
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
    // In one piece: other tasks may panic at the same time. Where it cannot be written, it is lost.
    let _ = std::io::stderr().write_all(message.as_bytes());
    std::process::abort();
}

/// The message of a panic, if it is text.
fn message(payload: &Payload) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("the payload is not text")
}
