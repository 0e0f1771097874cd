//! Tasks of a worker that run in the order in which it spawned them.
//!
//! A worker's deque gives its owner the newest job first. For tasks in order each worker has a
//! queue beside its deque, one for detached tasks and one in each
//! [`ScopeFifo`](super::scope_fifo::ScopeFifo), and for each task pushes a *token*; the worker or
//! thief that runs the token runs the oldest task of that queue:
//!
//! ```text
//!   queue   | a | b | c |  <- spawned in this order
//!   deque   | t | t | t |  <- popped from this end, stolen from the other: `a` runs first anyway
//! ```
//!
//! All tokens of a queue are references to one job, which is a part of it.
//!
//! **For each task there is a token.** The tokens that are pushed or under way are counted with the
//! queue's lock held, and a token is thrown away only while there are more of them than tasks. A
//! task that was joined, and ran in place, leaves a ghost in the queue and a token in the deque.
//! [`FifoQueue::trim`] frees the ghosts at both ends of the queue, and all of them when they
//! outnumber the rest.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::worker::Worker;
use crate::sync::{Mutex, lock};
use crate::task::ghosts;
use crate::task::job::{GroupId, Header, JobRef, Kind, SpawnHeader};

/// A worker's tasks in order.
#[repr(C)]
pub(crate) struct FifoQueue {
    /// The job that every token refers to. The first field, so that a token leads to its queue.
    token: SpawnHeader,
    tasks: Mutex<Tasks>,
}

struct Tasks {
    /// Oldest first, ghosts included.
    jobs: VecDeque<JobRef>,
    /// How many tokens were pushed and not run or thrown away.
    tokens: usize,
    /// How many ghosts may be in the middle.
    ghosts: usize,
}

impl FifoQueue {
    const DETACHED: &'static Kind = &Kind {
        execute: Self::execute,
        has_packet: false,
    };

    const OF_SCOPE: &'static Kind = &Kind {
        execute: Self::execute_in_scope,
        has_packet: false,
    };

    /// A worker's queue of detached tasks.
    pub(crate) fn new() -> FifoQueue {
        Self::with_token(Self::DETACHED, GroupId::NONE)
    }

    /// A scope's queue of the tasks of one worker. None of them becomes a ghost.
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

    /// A reference to the token. The queue stays where it is, and as long as there are tokens.
    fn token(&self) -> JobRef {
        // From the whole queue, so that the pointer may be used for all of it.
        JobRef::spawned(NonNull::from(self).cast())
    }

    /// Returns `true` if the job is a token of this queue.
    pub(crate) fn is_token(&self, job: JobRef) -> bool {
        job.is_same(self.token())
    }

    /// Adds a task. The caller pushes the token.
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
            let owner = worker.index();
            worker.run_job(QueuedJob { job, owner });
        }
    }

    /// Runs the oldest task, for a token of a scope: as a part of what the token is.
    unsafe fn execute_in_scope(header: NonNull<Header>, worker: &Worker, owner: usize) {
        // SAFETY: as in `execute`: the scope waits for the task that this token stands for.
        let queue = unsafe { header.cast::<FifoQueue>().as_ref() };
        let job = queue.pop().expect("there is a task for each token");
        // SAFETY: the job was taken from the queue, so it is executed here and nowhere else.
        unsafe { job.execute(worker, owner) };
    }

    /// Takes the oldest task that is no ghost, and ends a token.
    fn pop(&self) -> Option<JobRef> {
        let mut tasks = lock(&self.tasks);
        tasks.tokens -= 1;
        loop {
            let job = tasks.jobs.pop_front()?;
            // SAFETY: the reference was in the queue.
            if !unsafe { job.is_ghost() } {
                return Some(job);
            }
            tasks.free(job);
        }
    }

    /// A task was run in place: frees what it left, if that is at an end of the queue. Amortised
    /// over the calls, this takes constant time.
    pub(crate) fn trim(&self) {
        let mut tasks = lock(&self.tasks);
        tasks.ghosts += 1;
        let Tasks { jobs, ghosts, .. } = &mut *tasks;
        ghosts::trim(jobs, ghosts, |&job| job, |_| ());
    }

    /// Ends a token that was taken out of a deque, if there are more of them than tasks. If this
    /// returns `false`, it must go back.
    pub(crate) fn discard_token(&self) -> bool {
        let mut tasks = lock(&self.tasks);
        let surplus = tasks.tokens > tasks.jobs.len();
        if surplus {
            tasks.tokens -= 1;
        }
        surplus
    }
}

impl Tasks {
    fn free(&mut self, ghost: JobRef) {
        self.ghosts = self.ghosts.saturating_sub(1);
        // SAFETY: the ghost was taken out of the queue.
        unsafe { ghost.free_ghost() };
    }
}

/// Pushes a task that runs after those which this worker pushed to the same queue before.
pub(crate) fn push_fifo(worker: &Worker, queue: &FifoQueue, job: JobRef) {
    let token = queue.push(job);
    worker.push_spawned(token);
}
