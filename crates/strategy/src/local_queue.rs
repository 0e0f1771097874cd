//! The interface of a worker's queue, for every strategy.

use locksley_policy::Outcome;
use locksley_queue::{Owner, Steal, Thief, abp, chase_lev};

use crate::dealing::{DealingStealer, DealtJobs};
use crate::sharing::{Peer, SharingQueue};
use crate::steal_half::{HalfQueue, Halves};
use crate::{Job, QueuedJob};

/// The owner's side of a queue, and the points at which a strategy differs from plain stealing.
///
/// The operations of a single strategy are in that strategy's file: methods of `dyn LocalQueue`
/// that reach the strategy's type by [`as_half`](LocalQueue::as_half),
/// [`as_sharing`](LocalQueue::as_sharing) or [`as_dealing`](LocalQueue::as_dealing), and do nothing
/// under the others.
pub trait LocalQueue<J: Job>: Send {
    /// Pushes a job, or returns it if there is no room.
    fn push(&mut self, job: J) -> Result<(), J>;

    /// Pops the newest job.
    fn pop(&mut self) -> Option<J>;

    /// Pushes a spawned job that prefers the worker `near`. Returns `true` if that worker was
    /// notified.
    fn push_near(&mut self, job: J, near: usize) -> Result<bool, J> {
        let _ = near;
        self.push(job).map(|()| false)
    }

    /// Takes a job that another worker pushed and that was moved to this queue.
    fn pop_received(&mut self) -> Option<QueuedJob<J>> {
        None
    }

    /// Steals from another queue: one job to run, and possibly more that stay in this queue.
    /// Returns `None` if the caller is to use [`StealHandle::steal`].
    fn steal_batch(&mut self, victim: &dyn StealHandle<J>) -> Option<Steal<StolenBatch<J>>> {
        let _ = victim;
        None
    }

    /// Returns the number of pushes and pops after which the owner checks whether to balance, if
    /// ever.
    fn balances_every(&self) -> Option<u32> {
        None
    }

    /// Returns `true` if the owner's next fork is to notify the strategy.
    fn wants_attention(&self) -> bool {
        false
    }

    /// Returns `true` if the owner, which is out of work, is to skip this search.
    fn skips_search(&mut self) -> bool {
        false
    }

    /// Opens the owner to offers, when it has nothing to do, or closes it, before it works or
    /// sleeps. Returns `true` if it is open afterwards.
    fn set_open(&mut self, open: bool) -> bool {
        let _ = open;
        false
    }

    /// Notes that the owner has executed a job that was dealt; `near` if the job preferred it.
    fn executed(&mut self, near: bool) {
        let _ = near;
    }

    /// Returns the numbers of jobs given and taken.
    fn transfers(&self) -> TransferCounts {
        TransferCounts::default()
    }

    /// Returns `true` if forked jobs of other workers may be moved here in batches.
    fn moves_forks(&self) -> bool {
        false
    }

    /// Returns `true` if only the worker that a job was dealt to runs it.
    fn is_dedicated(&self) -> bool {
        false
    }

    /// Returns the queue, if the strategy is `steal-half`.
    fn as_half(&mut self) -> Option<&mut HalfQueue<J>> {
        None
    }

    /// Returns the queue, if the strategy is `sharing`.
    fn as_sharing(&mut self) -> Option<&mut SharingQueue<J>> {
        None
    }

    /// Returns the queue, if the strategy is `dealing`.
    fn as_dealing(&mut self) -> Option<&mut dyn DealtJobs<J>> {
        None
    }
}

impl<J: Job> dyn LocalQueue<J> {
    /// Opens the owner, which has nothing to do, to offers. Returns `true` if it is open
    /// afterwards.
    pub fn open_to_offers(&mut self) -> bool {
        self.set_open(true)
    }

    /// Closes the owner to offers, before it works or sleeps.
    pub fn close_to_offers(&mut self) {
        self.set_open(false);
    }
}

/// Numbers of jobs that a worker has given and taken (strategies `sharing` and `dealing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// Offers made to an idle worker.
    pub offered: u64,
    /// Attempts to make an offer that found no idle worker.
    pub refused: u64,
    /// Offers sent to a mailbox.
    pub mailed: u64,
    /// Offers of other workers that were accepted.
    pub accepted: u64,
    /// Offers of other workers that came too late.
    pub late: u64,
    /// Pointers popped from this worker's deque whose job a donee had.
    pub ghosts: u64,
    /// Jobs dealt to other workers.
    pub dealt: u64,
    /// Spawned jobs that the worker dealt to itself.
    pub kept: u64,
    /// Jobs of other workers taken from this worker's buffers.
    pub collected: u64,
    /// Jobs that a wait took back from another worker's buffers.
    pub recalled: u64,
    /// Jobs spawned near some worker.
    pub near: u64,
    /// Jobs executed that were spawned near this worker.
    pub hits: u64,
}

/// The jobs of a successful steal.
pub struct StolenBatch<J> {
    /// The job to run.
    pub job: J,
    /// Set if another worker than the victim pushed it.
    pub moved: bool,
    /// Number of other jobs that were moved into the thief's queue.
    pub more: usize,
}

impl<J> StolenBatch<J> {
    /// Returns a batch of one job, which the victim had pushed.
    pub fn alone(job: J) -> StolenBatch<J> {
        StolenBatch {
            job,
            moved: false,
            more: 0,
        }
    }
}

/// Returns the outcome of an attempt to steal, as policies see it.
pub fn outcome<T>(answer: &Steal<T>) -> Outcome {
    match answer {
        Steal::Success(_) => Outcome::Success,
        Steal::Empty | Steal::Private => Outcome::Empty,
        Steal::Retry => Outcome::Abort,
    }
}

/// The thief's side of a queue.
pub trait StealHandle<J: Job>: Send + Sync {
    /// Steals the oldest of the jobs that the owner pushed.
    fn steal(&self) -> Steal<J>;

    /// Takes up to `most` jobs out of the queue that were moved to it, and not pushed by the owner.
    fn drain(&self, most: usize) -> Vec<J> {
        let _ = most;
        Vec::new()
    }

    /// Returns the two deques of a queue of the strategy `steal-half`.
    fn halves(&self) -> Option<&Halves<J>> {
        None
    }

    /// Returns the shared state of a worker under the strategy `sharing`.
    fn peer(&self) -> Option<&Peer<J>> {
        None
    }

    /// Returns the handle of a worker's queue under the strategy `dealing`.
    fn as_dealing(&self) -> Option<&DealingStealer<J>> {
        None
    }

    /// Returns an estimate of the number of jobs.
    fn len(&self) -> usize;

    /// Returns `true` if the queue seems to be empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! reference_queue {
    ($($queue:ident),*) => {$(
        impl<J: Job> LocalQueue<J> for $queue::Deque<J> {
            fn push(&mut self, job: J) -> Result<(), J> {
                Owner::push(self, job).map_err(|full| full.into_inner())
            }

            fn pop(&mut self) -> Option<J> {
                Owner::pop(self)
            }
        }

        impl<J: Job> StealHandle<J> for $queue::Stealer<J> {
            fn steal(&self) -> Steal<J> {
                Thief::steal(self)
            }

            fn len(&self) -> usize {
                Thief::len(self)
            }
        }
    )*};
}

reference_queue!(abp, chase_lev);

/// Capacity of a bounded queue, in jobs: no machine can run a recursion that doubles 2^13 times,
/// and a loop that spawns more jobs falls back to the injector.
pub const QUEUE_CAPACITY: usize = if cfg!(loom) { 4 } else { 1 << 13 };

/// The largest number of jobs that are taken at once from the queue of another worker.
pub const MAX_BATCH: usize = 64;

/// The donor that decides what a worker under `sharing` gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DonorKind {
    /// The strategy's policy.
    Policy,
    /// The user's donor, when a thief has asked.
    Own,
    /// The user's donor, at every opportunity.
    OwnEager,
}
