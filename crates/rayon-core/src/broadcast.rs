//! Broadcasts: a closure that runs once in every thread.

use std::fmt;

use crate::global::{global, inside};

/// Context of a closure that runs in a [`broadcast`].
pub struct BroadcastContext<'a>(locksley::BroadcastContext<'a>);

impl<'a> BroadcastContext<'a> {
    pub(crate) fn new(context: locksley::BroadcastContext<'a>) -> Self {
        BroadcastContext(context)
    }

    /// Returns the index of the thread that runs the closure.
    ///
    /// ```
    /// let indices = rayon_core::broadcast(|context| context.index());
    /// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.0.index()
    }

    /// Returns the number of threads that run the closure.
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

/// Runs `op` once in every thread of the calling thread's pool, or of the global one. Returns the
/// results by index. Panics, once all calls have ended, if one of them panicked.
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
/// not wait for it. Panics are handled as those of [`spawn`](crate::spawn()).
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
