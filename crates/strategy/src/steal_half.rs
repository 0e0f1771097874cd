//! The queue of the strategy `steal-half`: two extended deques (Hendler and Shavit, "Non-Blocking
//! Steal-Half Work Queues"), of which a thief takes up to half at once.
//!
//! ```text
//!   pushes, pops ──>  own     | a  b  c  d  e |    what this worker forked and spawned
//!   batches ───────>  moved   | x  y |             what it stole with others, or by balancing
//!                               └─ a thief takes up to half of the longer one
//! ```
//!
//! In the paper a thief's batch goes into its only deque. Here a join takes back the job that it
//! pushed last, and a waiter that leapfrogs may run only jobs that were forked below the task that
//! it waits for (`wait`). Both rely on a worker's deque to hold only jobs that this worker pushed,
//! in the order of its stack. So jobs that were pushed by others lie in a deque of their own, from
//! which idle workers take them, the owner's main loop included. A worker that leapfrogs may not
//! run them: before it blocks, it moves them to the pool's queue, where a waiter for them finds
//! them.
//!
//! **Joins.** The jobs that joins have forked lie in the pool's deque. Where waiters take any work
//! (`Waiting::TakeAny`), a thief takes up to half of these too, and busy workers balance them.
//! Where waiters leapfrog, idle workers take them one by one. `scheduler::batch` explains how and
//! why. Spawned jobs move under every rule.
//!
//! **When.** Figure 2's steal-initiation code runs every [`EVERY`] pushes and pops, and whenever
//! the worker is out of work. [`When`](locksley_policy::When) decides whether it tries to balance.
//!
//! **How much.** [`Amount`] decides, given the length of the stealRange and the worker's own load.
//!
//! **Theorem 3.9.** Under probabilistic balancing the expected load of every worker is below
//! a constant times the average, as long as every worker asks before its load has changed by a
//! constant, here [`EVERY`].
//!
//! **Deviations from the paper.** Two deques, as above: a theft takes from the longer one, which is
//! at least half of all, so that by Theorem 3.10 it can take at least a sixteenth of all. A worker
//! inside a long task that neither forks nor spawns does not ask.

use locksley_policy::{LastLoad, Random, StealHalf};
use locksley_queue::steal_half::extended::{Deque, Offered, Stealer};
use locksley_queue::{Owner, Steal, Thief};

use crate::{Job, LocalQueue, QUEUE_CAPACITY, QueuedJob, StealHandle, StolenBatch, UNKNOWN_OWNER};

/// Number of pushes and pops after which a worker checks whether to balance: Theorem 3.9's u. An
/// attempt costs about as much as ten pushes, so the overhead is small even if all succeed.
const EVERY: u32 = 64;

/// The owner's side of a queue of the strategy `steal-half`.
pub struct HalfQueue<J: Job> {
    own: Deque<J>,
    moved: Deque<J>,
    policy: StealHalf,
    since: LastLoad,
    /// Set if the jobs of joins move between queues too.
    joins_move: bool,
}

/// The thieves' side of a [`HalfQueue`].
pub struct Halves<J: Job> {
    own: Stealer<J>,
    moved: Stealer<J>,
}

impl<J: Job> HalfQueue<J> {
    /// Creates a queue. The jobs of joins move between queues too if `joins_move` is set.
    pub fn new(policy: StealHalf, joins_move: bool) -> HalfQueue<J> {
        HalfQueue {
            own: Deque::with_capacity(QUEUE_CAPACITY),
            moved: Deque::with_capacity(QUEUE_CAPACITY),
            policy,
            since: LastLoad::default(),
            joins_move,
        }
    }

    /// Returns a handle for thieves.
    pub fn halves(&self) -> Halves<J> {
        Halves {
            own: self.own.thief(),
            moved: self.moved.thief(),
        }
    }

    fn load(&self) -> usize {
        Owner::len(&self.own) + Owner::len(&self.moved)
    }

    /// Steals as many jobs as the policy decides from the longer deque of a queue, or else from the
    /// other. `most` is the room for them; `least` is the number that the thief may take in any
    /// case.
    fn take(&mut self, victim: &Halves<J>, least: usize, most: usize) -> Steal<StolenBatch<J>> {
        let (load, policy, joins_move) = (self.load(), self.policy, self.joins_move);
        let mut answer = Steal::Empty;
        for (stealer, moved) in victim.longer_first() {
            let amount = |range: Offered<'_, J>| {
                let amount = policy.amount.of_range(load, range.len()).min(most);
                if joins_move || amount <= least {
                    return amount;
                }
                let spawned = range.words().take_while(|&word| J::is_spawned_word(word));
                spawned.take(amount).count().max(least)
            };
            match stealer.steal_some(&mut self.moved, amount) {
                Steal::Success((job, more)) => {
                    return Steal::Success(StolenBatch { job, moved, more });
                }
                Steal::Empty => {}
                Steal::Retry | Steal::Private => answer = Steal::Retry,
            }
        }
        answer
    }

    /// Returns `true` if the owner is to balance although it has work.
    fn should_balance(&mut self, random: &mut Random) -> bool {
        let load = self.load();
        self.policy
            .when
            .should_balance(&mut self.since, load, random)
    }

    /// Returns how many of `public` forked jobs of another worker to take at once, given the
    /// owner's number of jobs. Limited by the room for moved jobs.
    fn amount_of_forks(&self, load: usize, public: usize) -> usize {
        let room = self.moved.capacity() - Owner::len(&self.moved);
        self.policy.amount.of_load(load, public).min(room)
    }

    /// Keeps a forked job of a batch. There is room for [`amount_of_forks`](Self::amount_of_forks)
    /// jobs.
    fn keep_moved(&mut self, job: J) {
        let pushed = Owner::push(&mut self.moved, job);
        assert!(pushed.is_ok(), "there was room for what was taken");
    }

    /// Steals from another queue to even out the two. Returns the number of jobs stolen.
    fn balance(&mut self, victim: &dyn StealHandle<J>) -> Steal<usize> {
        let Some(victim) = victim.halves() else {
            return Steal::Empty;
        };
        let room = self.moved.capacity() - Owner::len(&self.moved);
        self.take(victim, 0, room).map(|steal_batch| {
            self.keep_moved(steal_batch.job);
            steal_batch.more + 1
        })
    }
}

impl<J: Job> LocalQueue<J> for HalfQueue<J> {
    fn push(&mut self, job: J) -> Result<(), J> {
        Owner::push(&mut self.own, job).map_err(|full| full.into_inner())
    }

    fn pop(&mut self) -> Option<J> {
        Owner::pop(&mut self.own)
    }

    fn pop_received(&mut self) -> Option<QueuedJob<J>> {
        let job = Owner::pop(&mut self.moved)?;
        Some(QueuedJob {
            job,
            owner: UNKNOWN_OWNER,
        })
    }

    fn balances_every(&self) -> Option<u32> {
        self.policy.when.asks_the_busy().then_some(EVERY)
    }

    fn moves_forks(&self) -> bool {
        self.joins_move
    }

    /// Where forks move, they are counted too: see [`balances_every`](LocalQueue::balances_every).
    fn wants_attention(&self) -> bool {
        self.joins_move && self.policy.when.asks_the_busy()
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle<J>) -> Option<Steal<StolenBatch<J>>> {
        // This is an attempt to balance with load 0, from which `When::Factor` counts again.
        self.since = LastLoad::default();
        Some(self.take(victim.halves()?, 1, usize::MAX))
    }

    fn as_half(&mut self) -> Option<&mut HalfQueue<J>> {
        Some(self)
    }
}

/// The operations of this strategy alone: see [`HalfQueue`].
impl<J: Job> dyn LocalQueue<J> {
    /// Returns `true` if the owner is to balance although it has work.
    pub fn should_balance(&mut self, random: &mut Random) -> bool {
        self.as_half()
            .is_some_and(|queue| queue.should_balance(random))
    }

    /// Returns how many of `public` forked jobs of another worker to take at once.
    pub fn amount_of_forks(&mut self, load: usize, public: usize) -> usize {
        self.as_half()
            .map_or(0, |queue| queue.amount_of_forks(load, public))
    }

    /// Keeps a forked job of a batch.
    pub fn keep_moved(&mut self, job: J) {
        if let Some(queue) = self.as_half() {
            queue.keep_moved(job);
        }
    }

    /// Steals from another queue to even out the two. Returns the number of jobs stolen.
    pub fn balance(&mut self, victim: &dyn StealHandle<J>) -> Steal<usize> {
        self.as_half()
            .map_or(Steal::Empty, |queue| queue.balance(victim))
    }
}

impl<J: Job> Halves<J> {
    /// Returns both deques, each with a flag that is set for the one of moved jobs.
    fn longer_first(&self) -> [(&Stealer<J>, bool); 2] {
        let (own, moved) = ((&self.own, false), (&self.moved, true));
        if Thief::len(&self.moved) > Thief::len(&self.own) {
            [moved, own]
        } else {
            [own, moved]
        }
    }
}

impl<J: Job> StealHandle<J> for Halves<J> {
    fn steal(&self) -> Steal<J> {
        Thief::steal(&self.own)
    }

    fn drain(&self, most: usize) -> Vec<J> {
        let moved = std::iter::from_fn(|| Thief::steal(&self.moved).success());
        moved.take(most.min(Thief::len(&self.moved))).collect()
    }

    fn halves(&self) -> Option<&Halves<J>> {
        Some(self)
    }

    fn len(&self) -> usize {
        Thief::len(&self.own) + Thief::len(&self.moved)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../tests/unit/steal_half.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../tests/loom/steal_half.rs"]
mod models;
