//! Tasks on their own.

use crate::global::{global, inside};

/// Spawns a task into the calling thread's pool, or into the global one, and does not wait for it.
///
/// A panic goes to the pool's
/// [panic handler](crate::ThreadPoolBuilder::panic_handler); without one, the process is aborted.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    if inside() {
        locksley::spawn_detached(func)
    } else {
        global().spawn(func)
    }
}

/// [`spawn`] that keeps the order: of the tasks that a thread spawned so, the oldest is begun
/// first.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn_fifo(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    if inside() {
        locksley::spawn_fifo_detached(func)
    } else {
        global().spawn_fifo(func)
    }
}
