//! Ghosts: entries in queues whose tasks were run in place.
//!
//! A worker that joins a handle claims the task and runs it at once, wherever its entry is. The
//! entry stays in its queue. The worker that takes it out sees that it is claimed, and frees it. If
//! the queue's owner is busy, that may never happen, so the joins free ghosts themselves:
//!
//! - An entry at the newest end of the joiner's own queue is popped, and leaves no ghost.
//! - Otherwise the ghost is counted at the worker that spawned the task, or at the pool's queue.
//!   When the count exceeds the number of jobs that the last sweep left by [`MANY`], the owner
//!   sweeps: it takes the jobs out of its queue, frees the ghosts and puts the others back. That
//!   takes constant time for each ghost, amortised.
//!
//! So whenever the owner of a queue spawns a task with a handle or joins one, the queue holds at
//! most as many ghosts as other jobs, plus a constant. A sweep stops at the job of a `join` that is
//! under way; the entries below it were there before that join.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::job::{Job, JobRef};

/// Number of ghosts that a queue may hold in addition to one for each other job.
pub(crate) const MANY: usize = 32;

/// Where the entry of a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryQueue {
    /// The pool's queue.
    Injector,
    /// A worker's own queue.
    Worker(usize),
    /// A worker's queue of tasks in order.
    Fifo(usize),
}

/// A worker's estimate of the ghosts in its queue.
pub(crate) struct Ghosts {
    /// Number of ghosts that its own joins have left. Accessed by the owner only.
    own: Cell<usize>,
    /// Number of ghosts that other workers' joins have left since the last sweep.
    others: AtomicUsize,
    /// Number of ghosts at which to sweep. Accessed by the owner only.
    limit: Cell<usize>,
}

impl Ghosts {
    pub(crate) fn new() -> Ghosts {
        Ghosts {
            own: Cell::new(0),
            others: AtomicUsize::new(0),
            limit: Cell::new(MANY),
        }
    }

    fn are_many(&self) -> bool {
        self.own.get() + self.others.load(Ordering::Relaxed) >= self.limit.get()
    }

    /// Notes that a sweep has left `left` jobs. Returns how many ghosts had been counted.
    fn swept(&self, left: usize) -> usize {
        self.limit.set(left + MANY);
        // Ghosts that are counted in between are swept next time; the count is only a hint.
        self.own.take() + self.others.swap(0, Ordering::Relaxed)
    }
}

/// Frees the ghosts at both ends of a queue, and those in the middle if there may be as many ghosts
/// as other jobs, and [`MANY`] more. `ghosts` is an upper bound on their number. Calls `freed` with
/// each ghost before it frees it.
pub(crate) fn trim<J>(
    queue: &mut VecDeque<J>,
    ghosts: &mut usize,
    job: impl Fn(&J) -> JobRef,
    mut freed: impl FnMut(JobRef),
) {
    // SAFETY: what is in a queue has not been executed.
    let is_ghost = |one: &J| unsafe { job(one).is_ghost() };
    let before = queue.len();
    let mut free = |one: Option<J>| {
        if let Some(one) = one {
            freed(job(&one));
            // SAFETY: the ghost is out of the queue.
            unsafe { job(&one).free_ghost() };
        }
    };
    while queue.front().is_some_and(is_ghost) {
        free(queue.pop_front());
    }
    while queue.back().is_some_and(is_ghost) {
        free(queue.pop_back());
    }
    *ghosts = ghosts.saturating_sub(before - queue.len());
    if 2 * *ghosts >= queue.len() + MANY {
        for _ in 0..queue.len() {
            let one = queue.pop_front();
            if one.as_ref().is_some_and(is_ghost) {
                free(one)
            } else {
                queue.extend(one)
            }
        }
        *ghosts = 0;
    }
}

impl Worker {
    /// Frees a job that was taken out of a queue, if it is a ghost. Returns `true` if it was.
    #[inline]
    pub(crate) fn drops_ghost(&self, queued: &QueuedJob) -> bool {
        // SAFETY: the job was taken from a queue, and was not executed.
        let ghost = unsafe { queued.job.is_ghost() };
        if ghost {
            self.free_ghost(queued.job);
        }
        ghost
    }

    #[cold]
    #[inline(never)]
    fn free_ghost(&self, job: JobRef) {
        self.count_executed(job);
        // SAFETY: the caller has taken it out of a queue.
        unsafe { job.free_ghost() };
    }

    /// Takes the newest job out of the worker's own queue if it is `wanted`. Frees the ghosts on
    /// top of it.
    pub(crate) fn take_newest(&self, wanted: impl Fn(JobRef) -> bool) -> Option<JobRef> {
        loop {
            let job = self.pop_newest()?;
            if wanted(job) {
                return Some(job);
            }
            if !self.drops_ghost(&self.queued(job)) {
                // It may belong to an enclosing join, so it goes back to its place.
                self.put_back(job);
                return None;
            }
        }
    }

    /// Called when a task whose entry is in `queue` has been run in place, which leaves a ghost
    /// there.
    #[cold]
    #[inline(never)]
    pub(crate) fn left_ghost(&self, queue: EntryQueue) {
        let registry = self.registry();
        let at = match queue {
            EntryQueue::Injector => return self.trim_injector(1),
            EntryQueue::Worker(index) => registry.worker(index),
            EntryQueue::Fifo(index) => {
                let worker = registry.worker(index);
                worker.fifo.trim();
                worker
            }
        };
        if at.index() != self.index() {
            at.ghosts.others.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if matches!(queue, EntryQueue::Fifo(_)) && self.discards_newest_token() {
            return;
        }
        self.ghosts.own.set(self.ghosts.own.get() + 1);
        self.sweep_if_many();
    }

    /// Discards the newest job of the worker's own queue if it is a token and there are too many
    /// tokens. Returns `true` if it did.
    fn discards_newest_token(&self) -> bool {
        let Some(token) = self.take_newest(|job| self.fifo.is_token(job)) else {
            return false;
        };
        let discarded = self.fifo.discard_token();
        if discarded {
            self.count_executed(token);
        } else {
            self.put_back(token);
        }
        discarded
    }

    /// Frees the ghosts in the worker's own queue if there are many.
    #[inline]
    pub(crate) fn sweep_if_many(&self) {
        if self.ghosts.are_many() {
            self.sweep();
        }
    }

    #[cold]
    #[inline(never)]
    fn sweep(&self) {
        let (mut kept, mut freed) = (Vec::new(), 0);
        while let Some(job) = self.pop_newest() {
            if !job.is_spawned() {
                // The job of an enclosing join: it goes back to its place.
                self.put_back(job);
                break;
            }
            if self.fifo.is_token(job) && self.fifo.discard_token() {
                self.count_executed(job);
                freed += 1;
            } else if self.drops_ghost(&self.queued(job)) {
                freed += 1;
            } else {
                kept.push(job);
            }
        }
        let counted = self.ghosts.swept(kept.len());
        for job in kept.into_iter().rev() {
            self.put_back(job);
        }
        freed += self.sweep_dealt();
        // The others were taken by thieves, or are in the pool's queue, to which jobs may be moved.
        if counted > freed {
            self.trim_injector(counted - freed);
        }
    }

    /// Called when up to `left` ghosts were left in the pool's queue: frees the ghosts there if
    /// there are many.
    fn trim_injector(&self, left: usize) {
        let dealt = self.registry().injector.left_ghosts(left);
        // SAFETY: the queue does not call back into the worker.
        if let Some(queue) = unsafe { self.local_queue() } {
            (0..dealt).for_each(|_| queue.executed(false));
        }
    }

    /// Frees the ghosts among what this worker has dealt to others. Returns their number.
    fn sweep_dealt(&self) -> usize {
        // SAFETY: the queue does not call back into the worker.
        let Some(ghosts) = unsafe { self.local_queue() }.map(|queue| queue.take_ghosts()) else {
            return 0;
        };
        let freed = ghosts.len();
        ghosts.into_iter().for_each(|job| self.free_ghost(job));
        // Other workers could not see the jobs that it held meanwhile.
        self.notify_push();
        freed
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/ghosts.rs"]
mod tests;
