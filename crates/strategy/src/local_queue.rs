//! What a worker's queue is, for every strategy.

use locksley_policy::Outcome;
use locksley_queue::{Owner, Steal, Thief, abp, chase_lev};

use crate::dealing::{DealingStealer, DealtJobs};
use crate::sharing::{Peer, SharingQueue};
use crate::steal_half::{HalfQueue, Halves};
use crate::{Job, QueuedJob};

/// The owner's side of a queue, and the points at which a strategy differs from plain stealing.
///
/// What only one strategy does is in its own file: methods of `dyn LocalQueue` that reach the
/// strategy's type by [`as_half`](LocalQueue::as_half), [`as_sharing`](LocalQueue::as_sharing) or
/// [`as_dealing`](LocalQueue::as_dealing), and do nothing under the others.
pub trait LocalQueue<J: Job>: Send {
    /// Pushes a job, or gives it back if there is no room.
    fn push(&mut self, job: J) -> Result<(), J>;

    /// Takes the newest job.
    fn pop(&mut self) -> Option<J>;

    /// Pushes a spawned job that prefers a worker. Returns `true` if that worker has been told.
    fn push_near(&mut self, job: J, near: usize) -> Result<bool, J> {
        let _ = near;
        self.push(job).map(|()| false)
    }

    /// Takes a job that another worker pushed before it came here.
    fn pop_received(&mut self) -> Option<QueuedJob<J>> {
        None
    }

    /// Steals from another queue: one job to run, and perhaps more that stay here. `None` if this
    /// queue knows nothing better than [`StealHandle::steal`].
    fn steal_batch(&mut self, victim: &dyn StealHandle<J>) -> Option<Steal<StolenBatch<J>>> {
        let _ = victim;
        None
    }

    /// After how many pushes and pops the owner shall ask whether to balance, if ever.
    fn balances_every(&self) -> Option<u32> {
        None
    }

    /// Returns `true` if the owner's next fork shall come by the strategy too.
    fn wants_call(&self) -> bool {
        false
    }

    /// Returns `true` if the owner, out of work, is not to search this time.
    fn skips_search(&mut self) -> bool {
        false
    }

    /// The owner has nothing to do, and opens to offers; or it is about to do something, or to
    /// sleep, and closes. Returns `true` if it is open now.
    fn set_open(&mut self, open: bool) -> bool {
        let _ = open;
        false
    }

    /// The owner has executed a job that was dealt; `near` if the job preferred it.
    fn executed(&mut self, near: bool) {
        let _ = near;
    }

    /// How many jobs were given and taken.
    fn transfers(&self) -> TransferCounts {
        TransferCounts::default()
    }

    /// Returns `true` if forked jobs of others may come here in batches.
    fn moves_forks(&self) -> bool {
        false
    }

    /// Returns `true` if a job runs where it was dealt to, and nowhere else.
    fn is_dedicated(&self) -> bool {
        false
    }

    /// The queue, if the strategy is `steal-half`.
    fn as_half(&mut self) -> Option<&mut HalfQueue<J>> {
        None
    }

    /// The queue, if the strategy is `sharing`.
    fn as_sharing(&mut self) -> Option<&mut SharingQueue<J>> {
        None
    }

    /// The queue, if the strategy is `dealing`.
    fn as_dealing(&mut self) -> Option<&mut dyn DealtJobs<J>> {
        None
    }
}

impl<J: Job> dyn LocalQueue<J> {
    /// The owner has nothing to do, and is closed to offers. Returns `true` if it is open now.
    pub fn open_to_offers(&mut self) -> bool {
        self.set_open(true)
    }

    /// The owner is about to do something, or to sleep.
    pub fn close_to_offers(&mut self) {
        self.set_open(false);
    }
}

/// What a worker has given and taken (strategies `sharing` and `dealing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// Offers made to an idle worker.
    pub offered: u64,
    /// Attempts to make one that found no idle worker.
    pub refused: u64,
    /// Offers left in a mailbox.
    pub mailed: u64,
    /// Offers of others that were taken up.
    pub accepted: u64,
    /// Offers of others that came too late.
    pub late: u64,
    /// Pointers popped from this worker's deque whose job a donee had.
    pub ghosts: u64,
    /// Jobs dealt to others.
    pub dealt: u64,
    /// Spawned jobs dealt to oneself.
    pub kept: u64,
    /// Jobs of others taken from one's buffers.
    pub collected: u64,
    /// Jobs got back from another's buffers by a wait.
    pub recalled: u64,
    /// Jobs spawned near some worker.
    pub near: u64,
    /// Jobs executed that were spawned near this worker.
    pub hits: u64,
}

/// What a thief got.
pub struct StolenBatch<J> {
    /// The job to run.
    pub job: J,
    /// Set if another worker than the victim pushed it.
    pub moved: bool,
    /// How many jobs came into the thief's queue besides.
    pub more: usize,
}

impl<J> StolenBatch<J> {
    /// A job that the victim had pushed, and nothing else.
    pub fn alone(job: J) -> StolenBatch<J> {
        StolenBatch {
            job,
            moved: false,
            more: 0,
        }
    }
}

/// Returns what a policy is told of an attempt to steal.
pub fn outcome<T>(answer: &Steal<T>) -> Outcome {
    match answer {
        Steal::Success(_) => Outcome::Success,
        Steal::Empty | Steal::Private => Outcome::Empty,
        Steal::Retry => Outcome::Abort,
    }
}

/// The thief's side of a queue.
pub trait StealHandle<J: Job>: Send + Sync {
    /// Takes the oldest of the jobs that the owner pushed.
    fn steal(&self) -> Steal<J>;

    /// Takes up to `most` jobs out of the queue that the owner has not pushed: others have moved
    /// them here.
    fn drain(&self, most: usize) -> Vec<J> {
        let _ = most;
        Vec::new()
    }

    /// The two deques of a queue of the strategy `steal-half`.
    fn halves(&self) -> Option<&Halves<J>> {
        None
    }

    /// What others know of a worker under the strategy `sharing`.
    fn peer(&self) -> Option<&Peer<J>> {
        None
    }

    /// The place of a worker under the strategy `dealing`.
    fn as_dealing(&self) -> Option<&DealingStealer<J>> {
        None
    }

    /// How many jobs seem to be there.
    fn len(&self) -> usize;

    /// Returns `true` if it seems to be empty.
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

/// How many jobs fit in a bounded queue: the depth of a recursion that doubles 2^13 times is beyond
/// any machine, and a loop that spawns more falls back to the injector.
pub const BOUNDED: usize = if cfg!(loom) { 4 } else { 1 << 13 };

/// The most jobs that are taken at once from the queue of another worker.
pub const HANDFUL: usize = 64;

/// Which donor decides what a worker under `sharing` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DonorKind {
    /// The strategy's policy.
    Policy,
    /// The user's, where a thief has asked.
    Own,
    /// The user's, at every opportunity.
    OwnEager,
}
