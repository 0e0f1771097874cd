//! Which process a pool belongs to.

pub(crate) use crate::machine::process::{PerProcess, generation};

use crate::machine::process;
use crate::scheduler::worker::Worker;
use crate::sync::statics::{AtomicBool, Ordering};

/// Returns the number of this process. From now on `fork` raises it in the child, and makes the
/// child's only thread cease to be a worker.
pub(crate) fn watched_generation() -> usize {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.swap(true, Ordering::Relaxed) {
        process::on_fork(enter_child);
    }
    process::watched_generation()
}

extern "C" fn enter_child() {
    Worker::forget_current();
}
