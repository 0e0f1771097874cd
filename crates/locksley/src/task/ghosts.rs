//! Ghosts: what a task that was run in place leaves in the queues.
//!
//! A worker that joins a handle claims the task and runs it there and then, wherever its entry
//! lies. The entry stays behind. The worker that takes it out of its queue sees that it is claimed,
//! and frees it. Where that may be never, because the queue's owner is busy, the joins see to it
//! themselves:
//!
//! - An entry at the newest end of the joiner's own queue is popped before anything is left.
//! - Otherwise the ghost is counted at the worker that spawned the task, or at the pool's queue.
//!   When as many were counted as there were jobs in the queue at the last sweep, and [`MANY`]
//!   more, the owner sweeps: it takes the jobs out of its queue, frees the ghosts and puts the
//!   others back. That takes constant time for each ghost.
//!
//! So a queue holds at most as many ghosts as other jobs, and some more, whenever its owner spawns
//! a task with a handle or joins one. Below the job of a `join` that is under way nothing is swept
//! until that is over; what lies there was there before.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::job::JobRef;

/// How many ghosts a queue may hold besides one for each other job.
pub(crate) const MANY: usize = 32;

/// Where the entry of a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The pool's queue.
    Injector,
    /// A worker's own queue.
    Worker(usize),
    /// A worker's queue of tasks in order.
    Fifo(usize),
}

/// What a worker knows of the ghosts in its queue.
pub(crate) struct Ghosts {
    /// How many its own joins have left. The owner's alone.
    own: Cell<usize>,
    /// How many other workers' joins have left since the last sweep.
    others: AtomicUsize,
    /// At how many to sweep. The owner's alone.
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

    /// A sweep has left so many jobs.
    fn swept(&self, left: usize) {
        self.own.set(0);
        // What is counted in between is swept next time; the count is no more than a hint.
        self.others.store(0, Ordering::Relaxed);
        self.limit.set(left + MANY);
    }
}

/// Frees the ghosts at both ends of a queue; and those in the middle if there may be as many as
/// other jobs, and [`MANY`] more. `ghosts` is how many there may be. `freed` is told of each before it
/// is freed.
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
    if *ghosts >= queue.len() / 2 + MANY {
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

    /// Takes this job out of the worker's own queue, if it is the newest there. Ghosts on top of it
    /// are freed.
    pub(crate) fn take_newest(&self, wanted: impl Fn(JobRef) -> bool) -> Option<JobRef> {
        loop {
            let job = self.pop_newest()?;
            if wanted(job) {
                return Some(job);
            }
            let owner = self.index();
            if !self.drops_ghost(&QueuedJob { job, owner }) {
                // It may be a join's, further out: it goes back to where it was.
                self.put_back(job);
                return None;
            }
        }
    }

    /// A task whose entry was put there has been run in place, and its entry left behind.
    #[cold]
    #[inline(never)]
    pub(crate) fn left_ghost(&self, home: Home) {
        let registry = self.registry();
        let at = match home {
            Home::Injector => return self.trim_injector(),
            Home::Worker(index) => registry.worker(index),
            Home::Fifo(index) => {
                let worker = registry.worker(index);
                worker.fifo.trim();
                worker
            }
        };
        if at.index() != self.index() {
            at.ghosts.others.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if matches!(home, Home::Fifo(_)) && self.discards_newest_token() {
            return;
        }
        self.ghosts.own.set(self.ghosts.own.get() + 1);
        self.sweep_if_many();
    }

    /// Throws away a token if it is the newest job of the worker's own queue, and there are too
    /// many.
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
        let mut kept = Vec::new();
        while let Some(job) = self.pop_newest() {
            let owner = self.index();
            if !job.is_spawned() {
                // A join's, further out: it goes back to where it was.
                self.put_back(job);
                break;
            }
            if self.fifo.is_token(job) && self.fifo.discard_token() {
                self.count_executed(job);
            } else if !self.drops_ghost(&QueuedJob { job, owner }) {
                kept.push(job);
            }
        }
        self.ghosts.swept(kept.len());
        for job in kept.into_iter().rev() {
            self.put_back(job);
        }
        self.trim_injector();
        self.sweep_dealt();
    }

    /// A ghost was left in the pool's queue: frees the ghosts there if there are many.
    fn trim_injector(&self) {
        let dealt = self.registry().injector.left_ghost();
        // SAFETY: the queue does not come back here.
        if let Some(queue) = unsafe { self.local_queue() } {
            (0..dealt).for_each(|_| queue.executed(false));
        }
    }

    /// Frees the ghosts among what this worker has dealt to others.
    fn sweep_dealt(&self) {
        // SAFETY: the queue does not come back here.
        let ghosts = unsafe { self.local_queue() }.map(|queue| queue.take_ghosts());
        if let Some(ghosts) = ghosts {
            ghosts.into_iter().for_each(|job| self.free_ghost(job));
            // What was in its hands meanwhile, no other worker could see.
            self.notify_push();
        }
    }
}
