//! The seam between the pool and the queues: what a worker's queue is, for each strategy.
//!
//! The default strategy's deque is a field of the worker, and `join` works on it directly. Every
//! other strategy is a [`LocalQueue`] behind a pointer. To add one: a queue in `locksley-queue`, a
//! line in [`local_queue_for`], a name in `strategy`.

use std::sync::Arc;

use locksley_policy::Sharing;
use locksley_queue::offer::MAX_WORKERS;
use locksley_queue::{Owner, Steal, Thief, abp, chase_lev};

use crate::pool::config::Config;
use crate::scheduler::injector::QueuedJob;
use crate::strategy::dealing::dedicated::{Closed, DedicatedQueue};
use crate::strategy::dealing::{DealingQueue, DealingStealer, DealtJobs, Matrix};
use crate::strategy::sharing::{Peer, Peers, SharingQueue};
use crate::strategy::steal_half::{HalfQueue, Halves};
use crate::strategy::{HAS_STRATEGIES, Strategy, Waiting};
use crate::task::job::JobRef;

/// The owner's side of a queue, and the points at which a strategy differs from plain stealing.
///
/// What only one strategy does is in its own file: methods of `dyn LocalQueue` that reach the
/// strategy's type by [`as_half`](LocalQueue::as_half), [`as_sharing`](LocalQueue::as_sharing) or
/// [`as_dealing`](LocalQueue::as_dealing), and do nothing under the others.
pub(crate) trait LocalQueue: Send {
    /// Pushes a job, or gives it back if there is no room.
    fn push(&mut self, job: JobRef) -> Result<(), JobRef>;

    /// Takes the newest job.
    fn pop(&mut self) -> Option<JobRef>;

    /// Pushes a spawned job that prefers a worker. Returns `true` if that worker has been told.
    fn push_near(&mut self, job: JobRef, near: usize) -> Result<bool, JobRef> {
        let _ = near;
        self.push(job).map(|()| false)
    }

    /// Takes a job that another worker pushed before it came here.
    fn pop_received(&mut self) -> Option<QueuedJob> {
        None
    }

    /// Steals from another queue: one job to run, and perhaps more that stay here. `None` if this
    /// queue knows nothing better than [`StealHandle::steal`].
    fn steal_batch(&mut self, victim: &dyn StealHandle) -> Option<Steal<StolenBatch>> {
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
    fn as_half(&mut self) -> Option<&mut HalfQueue> {
        None
    }

    /// The queue, if the strategy is `sharing`.
    fn as_sharing(&mut self) -> Option<&mut SharingQueue> {
        None
    }

    /// The queue, if the strategy is `dealing`.
    fn as_dealing(&mut self) -> Option<&mut dyn DealtJobs> {
        None
    }
}

impl dyn LocalQueue {
    /// The owner has nothing to do, and is closed to offers. Returns `true` if it is open now.
    pub(crate) fn open_to_offers(&mut self) -> bool {
        self.set_open(true)
    }

    /// The owner is about to do something, or to sleep.
    pub(crate) fn close_to_offers(&mut self) {
        self.set_open(false);
    }
}

/// What a worker has given and taken (strategies `sharing` and `dealing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "stats", not(loom))),
    allow(dead_code, reason = "what is counted is not published then")
)]
pub(crate) struct TransferCounts {
    /// Offers made to an idle worker.
    pub(crate) offered: u64,
    /// Attempts to make one that found no idle worker.
    pub(crate) refused: u64,
    /// Offers left in a mailbox.
    pub(crate) mailed: u64,
    /// Offers of others that were taken up.
    pub(crate) accepted: u64,
    /// Offers of others that came too late.
    pub(crate) late: u64,
    /// Pointers popped from this worker's deque whose job a donee had.
    pub(crate) ghosts: u64,
    /// Jobs dealt to others.
    pub(crate) dealt: u64,
    /// Spawned jobs dealt to oneself.
    pub(crate) kept: u64,
    /// Jobs of others taken from one's buffers.
    pub(crate) collected: u64,
    /// Jobs got back from another's buffers by a wait.
    pub(crate) recalled: u64,
    /// Jobs spawned near some worker.
    pub(crate) near: u64,
    /// Jobs executed that were spawned near this worker.
    pub(crate) hits: u64,
}

/// What a thief got.
pub(crate) struct StolenBatch {
    pub(crate) job: JobRef,
    /// Set if another worker than the victim pushed it.
    pub(crate) moved: bool,
    /// How many jobs came into the thief's queue besides.
    pub(crate) more: usize,
}

impl StolenBatch {
    /// A job that the victim had pushed, and nothing else.
    pub(crate) fn alone(job: JobRef) -> StolenBatch {
        StolenBatch {
            job,
            moved: false,
            more: 0,
        }
    }
}

/// The thief's side of a queue.
pub(crate) trait StealHandle: Send + Sync {
    /// Takes the oldest of the jobs that the owner pushed.
    fn steal(&self) -> Steal<JobRef>;

    /// Takes up to `most` jobs out of the queue that the owner has not pushed: others have moved
    /// them here.
    fn drain(&self, most: usize) -> Vec<JobRef> {
        let _ = most;
        Vec::new()
    }

    /// The two deques of a queue of the strategy `steal-half`.
    fn halves(&self) -> Option<&Halves> {
        None
    }

    /// What others know of a worker under the strategy `sharing`.
    fn peer(&self) -> Option<&Peer> {
        None
    }

    /// The place of a worker under the strategy `dealing`.
    fn as_dealing(&self) -> Option<&DealingStealer> {
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
        impl LocalQueue for $queue::Deque<JobRef> {
            fn push(&mut self, job: JobRef) -> Result<(), JobRef> {
                Owner::push(self, job).map_err(|full| full.into_inner())
            }

            fn pop(&mut self) -> Option<JobRef> {
                Owner::pop(self)
            }
        }

        impl StealHandle for $queue::Stealer<JobRef> {
            fn steal(&self) -> Steal<JobRef> {
                Thief::steal(self)
            }

            fn len(&self) -> usize {
                Thief::len(self)
            }
        }
    )*};
}

reference_queue!(abp, chase_lev);

/// How many of its private jobs a worker makes public when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// The oldest, as in the thesis's semi-private deques.
    One,
    /// The older half, rounded up: the next thieves need not ask.
    Half,
}

impl Exposure {
    pub(crate) fn of(strategy: Strategy) -> Exposure {
        match strategy {
            Strategy::SemiPrivate => Exposure::One,
            _ => Exposure::Half,
        }
    }

    /// How many of `private` jobs to make public.
    pub(crate) fn amount(self, private: usize) -> usize {
        match self {
            Exposure::One => 1,
            Exposure::Half => private.div_ceil(2),
        }
    }
}

/// How many jobs fit in a bounded queue: the depth of a recursion that doubles 2^13 times is beyond
/// any machine, and a loop that spawns more falls back to the injector.
pub(crate) const BOUNDED: usize = if cfg!(loom) { 4 } else { 1 << 13 };

/// The most jobs that are taken at once from the queue of another worker.
pub(crate) const HANDFUL: usize = 64;

/// What the workers of a pool share, created by the first.
fn shared<T: Send + Sync + 'static>(config: &Config, new: impl FnOnce() -> T) -> Arc<T> {
    let shared = config.shared.get_or_init(|| Arc::new(new()));
    let shared = Arc::downcast(shared.clone());
    shared.expect("a pool has one strategy")
}

/// Which donor decides what a worker under `sharing` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DonorKind {
    /// The strategy's policy.
    Policy,
    /// The user's, where a thief has asked.
    Own,
    /// The user's, at every opportunity.
    OwnEager,
}

fn sharing_queue(index: usize, config: &Config, policy: Sharing, is_eager: bool) -> SharingQueue {
    let donor = match (&config.donor, is_eager) {
        (None, _) => DonorKind::Policy,
        (Some(_), false) => DonorKind::Own,
        (Some(_), true) => DonorKind::OwnEager,
    };
    let places = (config.workers + config.spares()).min(MAX_WORKERS);
    let peers = shared(config, || Peers::new(places));
    SharingQueue::new(index, peers, policy, donor, config.seed)
}

/// The queue of a strategy other than the default, and its other side. `is_eager` if a user's donor
/// is.
pub(crate) fn local_queue_for(
    index: usize,
    config: &Config,
    is_eager: bool,
) -> Option<(Box<dyn LocalQueue>, Box<dyn StealHandle>)> {
    fn both<D>(deque: D) -> Option<(Box<dyn LocalQueue>, Box<dyn StealHandle>)>
    where
        D: LocalQueue + Owner<Item = JobRef> + 'static,
        D::Thief: StealHandle + 'static,
    {
        let stealer = deque.thief();
        Some((Box::new(deque), Box::new(stealer)))
    }
    if !HAS_STRATEGIES {
        return None;
    }
    match config.strategy {
        Strategy::Stealing | Strategy::Flexible(_) | Strategy::SemiPrivate => None,
        Strategy::ChaseLev => both(chase_lev::Deque::new()),
        Strategy::StealHalf(policy) => {
            // Why not otherwise: see `scheduler::batch`.
            let queue = HalfQueue::new(policy, config.waiting == Waiting::TakeAny);
            let stealer = queue.halves();
            Some((Box::new(queue), Box::new(stealer)))
        }
        // Beyond that, workers are stolen from, and share nothing.
        Strategy::Sharing(_) if index >= MAX_WORKERS => both(chase_lev::Deque::new()),
        Strategy::Sharing(policy) => {
            let queue = sharing_queue(index, config, policy, is_eager);
            let stealer = queue.peer();
            Some((Box::new(queue), Box::new(stealer)))
        }
        Strategy::Dealing(policy) => {
            let new = || Matrix::new(config.workers, config.spares(), policy);
            let matrix = shared(config, new);
            if config.strategy.is_dedicated() {
                let queue = DedicatedQueue::new(index, matrix, policy, config.seed);
                return Some((Box::new(queue), Box::new(Closed)));
            }
            let queue = DealingQueue::new(index, matrix, policy, config.seed);
            let stealer = queue.as_dealing();
            Some((Box::new(queue), Box::new(stealer)))
        }
        Strategy::Abp => both(abp::Deque::with_capacity(BOUNDED)),
    }
}
