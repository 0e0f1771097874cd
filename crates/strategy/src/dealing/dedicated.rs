//! Work dealing as published (`dealing:...,mode=dedicated`): a worker executes all jobs that it is
//! dealt, and no other worker does.
//!
//! - The put-oracle selects a worker for every spawned job. The jobs that a worker deals to itself
//!   lie in a buffer like any other, and are executed in that order, oldest first.
//! - No worker enters another's inbox: there is no lock, and no barrier except those of going to
//!   sleep.
//! - Items come from lists that are allocated at the beginning (LISTS_NUM). If none is left, a job
//!   goes to the pool's queue, and so do jobs that are spawned while the pool ends.
//!
//! Forks lie in the pool's deque, and are stolen: the paper has no joins. A waiter takes any work,
//! its own buffers first. Otherwise two waiters could wait for each other, each with the job that
//! the other waits for in its buffers. A waiter that has reached the limit of nested jobs moves the
//! contents of its buffers to the pool's queue before it blocks.
//!
//! As under every strategy, a handle that is joined before its task has begun runs the task itself.
//!
//! A dealer wakes the worker that it deals to, if that worker sleeps.
//!
//! **Theorems.** 1: dealing and collecting are wait-free except for the pool of lists, whose
//! compare-and-swap fails only if another thread's succeeds. 2: the memory is fixed: the lists, and
//! n^2 dummies. 3 and 11 hold as for the oracle, since no job goes elsewhere; with `l=inf` every
//! job is executed by the worker that it prefers. 4 to 10: the simulator's `dealing` is this mode.

use std::sync::Arc;

use locksley_policy::{Collector, Dealer, Dealing, Random};
use locksley_queue::Steal;
use locksley_queue::pcb::Process;

use super::local_queue::DealtJobs;
use super::matrix::Matrix;
use crate::QueuedJob;
use crate::{GroupId, Job};
use crate::{LocalQueue, StealHandle, TransferCounts};

/// The owner's side of a queue of the strategy `dealing` in the mode `dedicated`.
pub struct DedicatedQueue<J: Job> {
    me: usize,
    /// The worker's row and column of buffers; `None` if it is not dealt to.
    process: Option<Process<J>>,
    matrix: Arc<Matrix<J>>,
    policy: Dealing,
    dealer: Dealer,
    collector: Collector,
    random: Random,
    /// The worker to which a job was dealt last.
    dealt_to: Option<usize>,
    transfers: TransferCounts,
}

/// The other workers' side of a [`DedicatedQueue`], from which nothing can be stolen.
pub struct Closed;

impl<J: Job> StealHandle<J> for Closed {
    fn steal(&self) -> Steal<J> {
        Steal::Empty
    }

    fn len(&self) -> usize {
        0
    }
}

impl<J: Job> DedicatedQueue<J> {
    /// Creates the queue of the worker with this index.
    pub fn new(me: usize, matrix: Arc<Matrix<J>>, policy: Dealing, seed: u64) -> DedicatedQueue<J> {
        let process = matrix.process(me);
        let members = matrix.members();
        DedicatedQueue {
            me,
            dealer: policy.dealer(me.min(members - 1), members),
            collector: policy.collector(if process.is_some() { me } else { 0 }),
            process,
            matrix,
            policy,
            // A different stream from that of the worker's search.
            random: Random::new(!seed, me as u64),
            dealt_to: None,
            transfers: TransferCounts::default(),
        }
    }

    /// Deals a job: the paper's `putItem`. Returns the job if there is no item for it.
    fn deal(&mut self, job: J, near: Option<usize>) -> Result<(), J> {
        let (me, matrix) = (self.me, &*self.matrix);
        let Some(process) = &mut self.process else {
            return Err(job);
        };
        if !process.reserve() {
            return Err(job);
        }
        let pending = |to: usize| matrix.pending(me, to);
        let to = self.dealer.deal(near, pending, &mut self.random);
        let was_dealt = job.is_dealt();
        let job = job.anywhere().dealt(near == Some(to));
        // Counted before it is linked: see `matrix`.
        matrix.count_dealt(me, to, job.is_near());
        let produced = process.produce(to, job);
        assert!(produced.is_ok(), "all who are dealt to are in the matrix");
        if was_dealt {
            // The job was counted as dealt twice, and will be executed once.
            matrix.count_executed(me);
        }
        self.transfers.near += u64::from(near.is_some());
        if to == me {
            self.transfers.kept += 1;
        } else {
            self.transfers.dealt += 1;
        }
        self.dealt_to = Some(to);
        Ok(())
    }

    /// Takes the oldest job that `from` has dealt to this worker.
    fn consume(&mut self, from: usize) -> Option<QueuedJob<J>> {
        let job = self.process.as_mut()?.consume_from(from)?;
        self.matrix.count_taken(self.me, from, job.is_near());
        self.transfers.collected += u64::from(from != self.me);
        Some(QueuedJob { job, owner: from })
    }
}

impl<J: Job> LocalQueue<J> for DedicatedQueue<J> {
    fn push(&mut self, job: J) -> Result<(), J> {
        self.deal(job, None)
    }

    /// Returns `None`: dealt jobs are taken in the order of dealing, by `pop_received`.
    fn pop(&mut self) -> Option<J> {
        None
    }

    /// Takes a job that this worker was dealt: the paper's `getItem`.
    fn pop_received(&mut self) -> Option<QueuedJob<J>> {
        let members = self.matrix.members();
        (0..=members).find_map(|_| {
            let from = self.collector.at();
            let job = self.consume(from);
            self.collector.advance(job.is_some(), &self.policy, members);
            job
        })
    }

    fn push_near(&mut self, job: J, near: usize) -> Result<bool, J> {
        self.deal(job, Some(near)).map(|()| false)
    }

    fn is_dedicated(&self) -> bool {
        true
    }

    fn transfers(&self) -> TransferCounts {
        self.transfers
    }

    fn executed(&mut self, near: bool) {
        self.transfers.hits += u64::from(near);
        self.matrix.count_executed(self.me);
    }

    fn as_dealing(&mut self) -> Option<&mut dyn DealtJobs<J>> {
        Some(self)
    }
}

impl<J: Job> DealtJobs<J> for DedicatedQueue<J> {
    fn pop_of(&mut self, group: GroupId) -> Option<QueuedJob<J>> {
        let from = (0..self.matrix.members()).find(|&from| {
            let process = self.process.as_ref();
            let Some(word) = process.and_then(|process| process.peek_from(from)) else {
                return false;
            };
            // SAFETY: the word is that of a job in a buffer whose only consumer this worker is, and
            // `J` is `Copy`. The job has not been executed, and stays in the buffer.
            unsafe { J::from_word(word).group() == group }
        })?;
        self.consume(from)
    }

    fn has_received(&self) -> bool {
        let (me, matrix) = (self.me, &*self.matrix);
        self.process.is_some() && matrix.pending_for(me) + matrix.pending(me, me) > 0
    }

    fn dealt_to(&mut self) -> Option<usize> {
        self.dealt_to.take()
    }

    fn is_settled(&self) -> bool {
        self.matrix.is_settled()
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/dedicated.rs"]
mod tests;
