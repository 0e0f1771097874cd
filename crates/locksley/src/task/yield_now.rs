//! Yielding: a task lets another job run before it goes on.

use crate::observe::record;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::worker::Worker;

/// Result of [`yield_now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was nothing to run.
    Idle,
}

/// Runs one job of the calling worker's pool, if there is any: one of the worker's own, else one
/// from outside or a stolen one. Returns `None` if the calling thread is not a worker.
///
/// The job may be any, and runs on top of the calling task: the task must not hold a lock that
/// another task may want.
///
/// ```
/// use locksley::Yield;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// assert_eq!(locksley::yield_now(), None);
/// let set = AtomicBool::new(false);
/// locksley::scope(|s| {
///     s.spawn(|_| set.store(true, Ordering::Release));
///     while !set.load(Ordering::Acquire) {
///         if locksley::yield_now() == Some(Yield::Idle) {
///             std::thread::yield_now();
///         }
///     }
/// });
/// ```
pub fn yield_now() -> Option<Yield> {
    Worker::current().map(|worker| worker.yield_to(Worker::take_anything))
}

/// Runs one of the calling worker's own jobs, if there is any. Returns `None` if the calling thread
/// is not a worker.
pub fn yield_local() -> Option<Yield> {
    Worker::current().map(|worker| worker.yield_to(Worker::take_own))
}

impl Worker {
    /// Runs one job that is targeted at this worker, or else one that `find` returns.
    pub(crate) fn yield_to(&self, find: impl Fn(&Worker) -> Option<QueuedJob>) -> Yield {
        let _pause = record::pause(self);
        if self.run_targeted() {
            return Yield::Executed;
        }
        while let Some(queued) = find(self) {
            if !self.drops_ghost(&queued) {
                self.run_foreign(queued);
                return Yield::Executed;
            }
        }
        Yield::Idle
    }
}
