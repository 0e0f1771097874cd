//! Blocking calls inside of tasks.

use crate::scheduler::worker::Worker;

/// Runs a closure that blocks the calling thread: on a lock, a channel, input or output. The
/// [guide](crate::guide::waiting) says when to use it.
///
/// On a worker, a spare takes the worker's place meanwhile, so that the pool loses no processor. If
/// no spare can take it ([`Builder::spares`](crate::Builder::spares),
/// [`Waiting::TakeAny`](crate::Waiting)), and outside of a pool, this only calls `block`.
#[cfg_attr(doc, doc = include_str!("../../docs/examples/blocking.md"))]
pub fn blocking<R>(block: impl FnOnce() -> R) -> R {
    match Worker::current() {
        Some(worker) => worker.blocking(block),
        None => block(),
    }
}
