//! The pool's own queue: work that comes from outside, or that a worker may not keep.
//! A worker's mail and its first-in-first-out tasks are queues of the same kind.
//!
//! A lock suffices: it is touched once for each task that enters the pool, and looked at through a
//! counter. Jobs can be taken by family, which no lock-free queue offers: a scope that waits
//! finds its tasks wherever they were put.

use std::collections::VecDeque;

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::task::job::{GroupId, JobRef};

/// A job, and the worker in whose pile it was pushed first.
#[derive(Clone, Copy)]
pub(crate) struct QueuedJob {
    pub(crate) job: JobRef,
    /// Whom to wake when it is done, should that one wait for it; [`UNKNOWN_OWNER`] if that is not known.
    pub(crate) owner: usize,
}

impl QueuedJob {
    /// Is it a spawned job of this family?
    pub(crate) fn is_spawned_in(&self, group: GroupId) -> bool {
        // SAFETY: whoever has it has not executed it yet.
        self.job.is_spawned() && unsafe { self.job.group() } == group
    }
}

/// The owner of a job that has gone from one pile to another: it is looked for when it must be
/// woken.
pub(crate) const UNKNOWN_OWNER: usize = usize::MAX;

/// The queue, oldest first.
pub(crate) struct Injector {
    /// The length, for a look without the lock. Written with the lock held.
    len: AtomicUsize,
    jobs: Mutex<VecDeque<QueuedJob>>,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Injector {
            len: AtomicUsize::new(0),
            jobs: Mutex::new(VecDeque::new()),
        }
    }

    pub(crate) fn push(&self, injected: QueuedJob) {
        let mut jobs = lock(&self.jobs);
        jobs.push_back(injected);
        self.len.store(jobs.len(), Ordering::Relaxed);
    }

    /// Does nothing seem to be there?
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Takes the oldest job.
    pub(crate) fn pop(&self) -> Option<QueuedJob> {
        self.take(|_| true)
    }

    /// Takes the oldest job of a family: a spawned one, or the forked one that the family is.
    pub(crate) fn pop_of(&self, group: GroupId) -> Option<QueuedJob> {
        // SAFETY: what is in the queue has not been executed.
        self.take(|injected| unsafe { injected.job.group() } == group)
    }

    fn take(&self, fits: impl Fn(&QueuedJob) -> bool) -> Option<QueuedJob> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = lock(&self.jobs);
        let place = jobs.iter().position(fits)?;
        let taken = jobs.remove(place);
        self.len.store(jobs.len(), Ordering::Relaxed);
        taken
    }
}
