//! Blocking calls inside of tasks.

use crate::scheduler::worker::Worker;

/// Runs something that blocks the calling thread: a lock, a channel, input or output.
///
/// On a worker a spare takes its place meanwhile, so that the pool loses no processor. Where no
/// spare can ([`Builder::spares`](crate::Builder::spares), [`Waiting::TakeAny`](crate::Waiting)),
/// and outside of a pool, this only calls `block`.
///
/// ```
/// use std::sync::mpsc;
///
/// let pool = locksley::Pool::builder().workers(1).build().unwrap();
/// let (sender, receiver) = mpsc::channel();
/// let answer = pool.install(move || {
///     let task = locksley::spawn(move || sender.send(7));
///     // The only worker waits for a task that a spare runs.
///     let answer = locksley::blocking(|| receiver.recv());
///     task.join().unwrap();
///     answer
/// });
/// assert_eq!(answer, Ok(7));
/// ```
pub fn blocking<R>(block: impl FnOnce() -> R) -> R {
    match Worker::current() {
        Some(worker) => worker.blocking(block),
        None => block(),
    }
}
