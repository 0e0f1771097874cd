//! Tasks of a worker that run in the order in which it spawned them.
//!
//! A worker's deque gives its owner the newest job first. For tasks that run in order, each worker
//! has queues beside its deque: one for tasks outside of scopes, and one in each
//! [`ScopeFifo`](super::scope_fifo::ScopeFifo). For each task it pushes a *token* to its deque. The
//! owner or thief that runs the token runs the oldest task of that queue:
//!
//! ```text
//!   queue   | a | b | c |  <- spawned in this order
//!   deque   | t | t | t |  <- popped from this end, stolen from the other: `a` runs first anyway
//! ```
//!
//! All tokens of a queue are references to one job, which is part of the queue.
//!
//! **There is a token for each task.** The tokens that are pushed or under way are counted under
//! the queue's lock, and a token is discarded only while there are more tokens than tasks. A task
//! that was joined, and ran in place, leaves a ghost in the queue and a token in the deque.
//! [`FifoQueue::trim`] frees the ghosts at both ends of the queue, and all of them when they
//! outnumber the tasks.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::scheduler::worker::Worker;
use crate::sync::{Mutex, lock};
use crate::task::ghosts;
use crate::task::job::{GroupId, Header, Job, JobRef, Kind, SpawnHeader};

/// A queue of tasks that one worker has spawned, in order.
#[repr(C)]
pub(crate) struct FifoQueue {
    /// The job that every token refers to. The first field, so that a token's address is its
    /// queue's.
    token: SpawnHeader,
    tasks: Mutex<Tasks>,
}

struct Tasks {
    /// Oldest first, ghosts included.
    jobs: VecDeque<JobRef>,
    /// Number of tokens that were pushed and have been neither run nor discarded.
    tokens: usize,
    /// Upper bound on the number of ghosts.
    ghosts: usize,
}

impl FifoQueue {
    const OF_WORKER: &'static Kind = &Kind {
        execute: Self::execute,
        has_packet: false,
    };

    const OF_SCOPE: &'static Kind = &Kind {
        execute: Self::execute_in_scope,
        has_packet: false,
    };

    /// Creates a worker's queue of tasks that belong to no scope.
    pub(crate) fn new() -> FifoQueue {
        Self::with_token(Self::OF_WORKER, GroupId::NONE)
    }

    /// Creates a scope's queue of the tasks of one worker. None of them becomes a ghost.
    pub(crate) fn of_scope(group: GroupId) -> FifoQueue {
        Self::with_token(Self::OF_SCOPE, group)
    }

    fn with_token(kind: &'static Kind, group: GroupId) -> FifoQueue {
        FifoQueue {
            token: SpawnHeader {
                header: Header::new(kind),
                group,
            },
            tasks: Mutex::new(Tasks {
                jobs: VecDeque::new(),
                tokens: 0,
                ghosts: 0,
            }),
        }
    }

    /// Returns a reference to the token. The queue does not move, and outlives its tokens.
    fn token(&self) -> JobRef {
        // Derived from the whole queue, so that the pointer may access all of it.
        JobRef::spawned(NonNull::from(self).cast())
    }

    /// Returns `true` if the job is a token of this queue.
    pub(crate) fn is_token(&self, job: JobRef) -> bool {
        job.is_same(self.token())
    }

    /// Adds a task, and returns a token, which the caller must push.
    fn push(&self, job: JobRef) -> JobRef {
        let mut tasks = lock(&self.tasks);
        tasks.jobs.push_back(job);
        tasks.tokens += 1;
        self.token()
    }

    /// Runs the oldest task, for a token.
    unsafe fn execute(header: NonNull<Header>, worker: &Worker, _owner: usize) {
        // SAFETY: the header is the first field of a queue, which outlives its tokens.
        let queue = unsafe { header.cast::<FifoQueue>().as_ref() };
        if let Some(job) = queue.pop() {
            worker.run_job(worker.queued(job));
        }
    }

    /// Runs the oldest task, for a token of a scope. The token has the scope's group, and the task
    /// runs as the token.
    unsafe fn execute_in_scope(header: NonNull<Header>, worker: &Worker, owner: usize) {
        // SAFETY: as in `execute`: the scope waits for the task that this token stands for.
        let queue = unsafe { header.cast::<FifoQueue>().as_ref() };
        let job = queue.pop().expect("there is a task for each token");
        // SAFETY: the job was taken from the queue, so it is executed here and nowhere else.
        unsafe { job.execute(worker, owner) };
    }

    /// Takes the oldest task that is not a ghost, and uses up a token.
    fn pop(&self) -> Option<JobRef> {
        let mut tasks = lock(&self.tasks);
        tasks.tokens -= 1;
        loop {
            let job = tasks.jobs.pop_front()?;
            // SAFETY: the reference was in the queue.
            if !unsafe { job.is_ghost() } {
                return Some(job);
            }
            tasks.ghosts = tasks.ghosts.saturating_sub(1);
            // SAFETY: the ghost was taken out of the queue.
            unsafe { job.free_ghost() };
        }
    }

    /// Called when a task was run in place: frees the ghost that it left, if that is at an end of
    /// the queue. Takes amortised constant time.
    pub(crate) fn trim(&self) {
        let mut tasks = lock(&self.tasks);
        tasks.ghosts += 1;
        let Tasks { jobs, ghosts, .. } = &mut *tasks;
        ghosts::trim(jobs, ghosts, |&job| job, |_| ());
    }

    /// Discards a token that was taken out of a deque, if there are more tokens than tasks. If this
    /// returns `false`, the caller must put the token back.
    pub(crate) fn discard_token(&self) -> bool {
        let mut tasks = lock(&self.tasks);
        let surplus = tasks.tokens > tasks.jobs.len();
        if surplus {
            tasks.tokens -= 1;
        }
        surplus
    }
}

/// Pushes a task that runs after those that this worker pushed to the same queue before.
pub(crate) fn push_fifo(worker: &Worker, queue: &FifoQueue, job: JobRef) {
    let token = queue.push(job);
    worker.push_spawned(token);
}
