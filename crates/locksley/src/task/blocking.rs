//! Blocking calls inside of tasks.

use crate::scheduler::worker::Worker;

/// Runs something that blocks the calling thread: a lock, a channel, input or output. The
/// [guide](crate::guide::waiting) says when.
///
/// On a worker a spare takes its place meanwhile, so that the pool loses no processor. Where no
/// spare can ([`Builder::spares`](crate::Builder::spares), [`Waiting::TakeAny`](crate::Waiting)),
/// and outside of a pool, this only calls `block`.
pub fn blocking<R>(block: impl FnOnce() -> R) -> R {
    match Worker::current() {
        Some(worker) => worker.blocking(block),
        None => block(),
    }
}
