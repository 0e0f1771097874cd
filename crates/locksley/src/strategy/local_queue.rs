//! Creates the queues of a worker, for each strategy.
//!
//! The pool's split deque is a field of the worker, and `join` works on it directly. A strategy
//! with a queue of its own has a [`LocalQueue`] of `locksley-strategy`, behind a pointer. A further
//! one takes a queue there, a line in [`local_queue_for`], and a name in `strategy`.

use std::sync::Arc;

use locksley_policy::Sharing;
use locksley_queue::offer::MAX_WORKERS;
use locksley_queue::{Owner, abp, chase_lev};
#[cfg(all(feature = "stats", not(loom)))]
pub(crate) use locksley_strategy::TransferCounts;
use locksley_strategy::{
    Closed, DealingQueue, DedicatedQueue, DonorKind, HalfQueue, LONGEST_PAUSE, Matrix, Peers,
    QUEUE_CAPACITY, SharingQueue,
};
pub(crate) use locksley_strategy::{LocalQueue, MAX_BATCH, StealHandle};

use crate::pool::config::Config;
use crate::scheduler::wait::LOOK_RARELY;
use crate::strategy::{HAS_STRATEGIES, Strategy, Waiting};
use crate::task::job::JobRef;

// Dealing relies on no waiter pausing for longer.
const _: () = assert!(LOOK_RARELY.as_millis() <= LONGEST_PAUSE.as_millis());

/// Returns what the workers of a pool share, which the first worker creates.
fn shared<T: Send + Sync + 'static>(config: &Config, new: impl FnOnce() -> T) -> Arc<T> {
    let shared = config.shared.get_or_init(|| Arc::new(new()));
    let shared = Arc::downcast(shared.clone());
    shared.expect("a pool has one strategy")
}

fn sharing_queue(
    index: usize,
    config: &Config,
    policy: Sharing,
    is_eager: bool,
) -> SharingQueue<JobRef> {
    let donor = match (&config.donor, is_eager) {
        (None, _) => DonorKind::Policy,
        (Some(_), false) => DonorKind::Own,
        (Some(_), true) => DonorKind::OwnEager,
    };
    let slots = (config.workers + config.spares()).min(MAX_WORKERS);
    let peers = shared(config, || Peers::new(slots));
    SharingQueue::new(index, peers, policy, donor, config.seed)
}

/// Both sides of a queue: the owner's and the thieves'.
type Sides = (Box<dyn LocalQueue<JobRef>>, Box<dyn StealHandle<JobRef>>);

/// Creates both sides of the strategy's own queue, if it has one. `is_eager` tells whether the
/// user's donor is eager.
pub(crate) fn local_queue_for(index: usize, config: &Config, is_eager: bool) -> Option<Sides> {
    fn both<D>(deque: D) -> Option<Sides>
    where
        D: LocalQueue<JobRef> + Owner<Item = JobRef> + 'static,
        D::Thief: StealHandle<JobRef> + 'static,
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
        // Workers beyond that number are stolen from, but do not share.
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
        Strategy::Abp => both(abp::Deque::with_capacity(QUEUE_CAPACITY)),
    }
}

#[cfg(all(test, loom))]
#[path = "../../tests/loom/strategy/local_queue.rs"]
mod models;
