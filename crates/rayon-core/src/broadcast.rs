//! One closure, once in every thread.

use std::fmt;

use crate::global::{global, inside};

/// What the closure of a [`broadcast`] is told.
pub struct BroadcastContext<'a>(locksley::BroadcastContext<'a>);

impl<'a> BroadcastContext<'a> {
    pub(crate) fn new(context: locksley::BroadcastContext<'a>) -> Self {
        BroadcastContext(context)
    }

    /// The index of the thread that the closure runs on.
    ///
    /// ```
    /// let indices = rayon_core::broadcast(|context| context.index());
    /// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.0.index()
    }

    /// The number of threads, each of which runs the closure.
    ///
    /// ```
    /// let sizes = rayon_core::broadcast(|context| context.num_threads());
    /// assert!(sizes.into_iter().all(|size| size == rayon_core::current_num_threads()));
    /// ```
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.0.num_workers()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}

/// Runs `op` once in every thread of the calling thread's pool, or of the global one; returns the
/// results by index. If some panic, so does this, when all are done.
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert_eq!(indices.len(), rayon_core::current_num_threads());
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    if inside() {
        locksley::broadcast(|context| op(BroadcastContext::new(context)))
    } else {
        global().broadcast(op)
    }
}

/// Spawns `op` once in every thread of the calling thread's pool, or of the global one, and does
/// not wait for it. Panics go where those of [`spawn`](crate::spawn()) do.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().count(), rayon_core::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    if inside() {
        locksley::spawn_broadcast(move |context| op(BroadcastContext::new(context)))
    } else {
        global().spawn_broadcast(op)
    }
}
