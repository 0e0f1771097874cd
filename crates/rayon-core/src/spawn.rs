//! Spawned tasks.

use crate::global::{global, inside};

/// Spawns a task into the calling thread's pool, or into the global one, and does not wait for it.
///
/// A panic is passed to the pool's
/// [panic handler](crate::ThreadPoolBuilder::panic_handler). Without a handler the process aborts.
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

/// Like [`spawn`], but tasks that a thread spawns in this way begin in order, the oldest first.
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
