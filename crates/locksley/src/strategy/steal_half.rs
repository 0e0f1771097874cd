//! The queue of the strategy `steal-half`: two extended deques (Hendler and Shavit, "Non-Blocking
//! Steal-Half Work Queues"), of which a thief takes up to half at once.
//!
//! ```text
//!   pushes, pops ──>  own     | a  b  c  d  e |    what this worker forked and spawned
//!   batches ───────>  moved   | x  y |             what it stole with others, or by balancing
//!                               └─ a thief takes up to half of the longer one
//! ```
//!
//! In the paper a thief's loot goes into its only deque. Here a join takes back what it pushed
//! last, and a waiter that leapfrogs may run what was forked below the task that it waits for, and
//! nothing else (`wait`). Both count on it that a worker's deque holds what this worker pushed, in
//! the order of its stack. So jobs that were pushed by others lie in a deque of their own, which
//! idle workers take from, the owner's main loop included. A worker that leapfrogs may not run
//! them: if it comes to blocking, they go to the pool's queue, where a waiter for them finds them.
//!
//! **Joins.** What a join has forked lies in the pool's deque. Where waiters take any work
//! ([`Waiting::TakeAny`](crate::Waiting)), a thief takes up to half of it too, and busy workers
//! balance it. Where they leapfrog it is taken one by one, by idle workers. `scheduler::batch` says
//! how and why. What is spawned moves under every rule.
//!
//! **When.** Figure 2's steal-initiation code runs every [`EVERY`] pushes and pops, and whenever
//! the worker is out of work. [`When`](locksley_policy::When) says whether it tries to balance.
//!
//! **How much.** [`Amount`] says, given the length of the stealRange and the worker's own load.
//!
//! **Theorem 3.9.** Under probabilistic balancing the expected load of every worker is below
//! a constant times the average, as long as every worker asks before its load has changed by a
//! constant, here [`EVERY`].
//!
//! **Deviations from the paper.** Two deques, as above: a theft takes from the longer one, which is
//! at least half of all, so that by Theorem 3.10 it can take at least a sixteenth of all. A worker
//! inside a long task that neither forks nor spawns does not ask.

use locksley_policy::{Random, Since, StealHalf};
use locksley_queue::steal_half::extended::{Deque, Offered, Stealer};
use locksley_queue::{Owner, Steal, Thief};

use crate::scheduler::injector::{QueuedJob, UNKNOWN_OWNER};
use crate::strategy::local_queue::{BOUNDED, HANDFUL, LocalQueue, StealHandle, StolenBatch};
use crate::task::job::JobRef;

/// After how many pushes and pops a worker asks whether to balance: Theorem 3.9's u. An attempt
/// costs about as much as ten pushes; this many make that little even if all succeed.
const EVERY: u32 = 64;

/// The owner's side.
pub(crate) struct HalfQueue {
    own: Deque<JobRef>,
    moved: Deque<JobRef>,
    policy: StealHalf,
    since: Since,
    /// Set if the jobs of joins move between queues too.
    joins_move: bool,
}

/// The thief's side.
pub(crate) struct Halves {
    own: Stealer<JobRef>,
    moved: Stealer<JobRef>,
}

impl HalfQueue {
    pub(crate) fn new(policy: StealHalf, joins_move: bool) -> HalfQueue {
        HalfQueue {
            own: Deque::with_capacity(BOUNDED),
            moved: Deque::with_capacity(BOUNDED),
            policy,
            since: Since::default(),
            joins_move,
        }
    }

    /// The other side.
    pub(crate) fn halves(&self) -> Halves {
        Halves {
            own: self.own.thief(),
            moved: self.moved.thief(),
        }
    }

    fn load(&self) -> usize {
        Owner::len(&self.own) + Owner::len(&self.moved)
    }

    /// Takes as much as the policy says from the longer deque of a queue, or else from the other.
    /// `most` is what there is room for; `least` is what the thief can do with in any case.
    fn take(&mut self, victim: &Halves, least: usize, most: usize) -> Steal<StolenBatch> {
        let (load, policy, joins_move) = (self.load(), self.policy, self.joins_move);
        let mut answer = Steal::Empty;
        for (stealer, moved) in victim.longer_first() {
            let amount = |range: Offered<'_, JobRef>| {
                let amount = policy.amount.of_range(load, range.len()).min(most);
                if joins_move || amount <= least {
                    return amount;
                }
                let spawned = range
                    .words()
                    .take_while(|&word| JobRef::is_spawned_word(word));
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

    /// Returns `true` if the owner is to balance now, though it has work.
    fn should_balance(&mut self, random: &mut Random) -> bool {
        let load = self.load();
        self.policy
            .when
            .should_balance(&mut self.since, load, random)
    }

    /// How many of `public` forked jobs of another worker to take at once, given how many jobs the
    /// owner has, and the room for those that have moved.
    fn amount_of_forks(&self, load: usize, public: usize) -> usize {
        let room = self.moved.capacity() - Owner::len(&self.moved);
        self.policy.amount.of_load(load, public).min(room)
    }

    /// Keeps a forked job that came with others. There is room for as many as were asked for.
    fn keep_moved(&mut self, job: JobRef) {
        let pushed = Owner::push(&mut self.moved, job);
        assert!(pushed.is_ok(), "there was room for what was taken");
    }

    /// Steals from another queue what evens the two out. Returns how many jobs that are.
    fn balance(&mut self, victim: &dyn StealHandle) -> Steal<usize> {
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

impl LocalQueue for HalfQueue {
    fn push(&mut self, job: JobRef) -> Result<(), JobRef> {
        Owner::push(&mut self.own, job).map_err(|full| full.into_inner())
    }

    fn pop(&mut self) -> Option<JobRef> {
        Owner::pop(&mut self.own)
    }

    fn pop_received(&mut self) -> Option<QueuedJob> {
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

    /// Forks are counted too where they move: see [`balances_every`](LocalQueue::balances_every).
    fn wants_call(&self) -> bool {
        self.joins_move && self.policy.when.asks_the_busy()
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle) -> Option<Steal<StolenBatch>> {
        // This is an attempt, with nothing at hand: the rule of the factor counts from here.
        self.since = Since::default();
        Some(self.take(victim.halves()?, 1, usize::MAX))
    }

    fn as_half(&mut self) -> Option<&mut HalfQueue> {
        Some(self)
    }
}

/// What the worker asks of this strategy alone: see [`HalfQueue`].
impl dyn LocalQueue {
    pub(crate) fn should_balance(&mut self, random: &mut Random) -> bool {
        self.as_half()
            .is_some_and(|queue| queue.should_balance(random))
    }

    pub(crate) fn amount_of_forks(&mut self, load: usize, public: usize) -> usize {
        self.as_half()
            .map_or(0, |queue| queue.amount_of_forks(load, public))
    }

    pub(crate) fn keep_moved(&mut self, job: JobRef) {
        if let Some(queue) = self.as_half() {
            queue.keep_moved(job);
        }
    }

    pub(crate) fn balance(&mut self, victim: &dyn StealHandle) -> Steal<usize> {
        self.as_half()
            .map_or(Steal::Empty, |queue| queue.balance(victim))
    }
}

impl Halves {
    /// Both deques, and whether what is in them was moved.
    fn longer_first(&self) -> [(&Stealer<JobRef>, bool); 2] {
        let (own, moved) = ((&self.own, false), (&self.moved, true));
        if Thief::len(&self.moved) > Thief::len(&self.own) {
            [moved, own]
        } else {
            [own, moved]
        }
    }
}

impl StealHandle for Halves {
    fn steal(&self) -> Steal<JobRef> {
        Thief::steal(&self.own)
    }

    fn drain(&self) -> Vec<JobRef> {
        let moved = std::iter::from_fn(|| Thief::steal(&self.moved).success());
        moved.take(HANDFUL).collect()
    }

    fn halves(&self) -> Option<&Halves> {
        Some(self)
    }

    fn len(&self) -> usize {
        Thief::len(&self.own) + Thief::len(&self.moved)
    }
}

#[cfg(test)]
pub(crate) mod dummies {
    #[cfg(not(loom))]
    use locksley_queue::Word;

    use super::*;
    use crate::scheduler::worker::Worker;
    use crate::task::job::StackJob;

    type Dummy = StackJob<fn(&Worker, bool), ()>;

    /// Jobs that are never run.
    pub(crate) struct Dummies(Vec<Dummy>);

    impl Dummies {
        pub(crate) fn new(count: usize) -> Dummies {
            let dummy = || StackJob::new((|_, _| ()) as fn(&Worker, bool));
            Dummies((0..count).map(|_| dummy()).collect())
        }

        pub(crate) fn job(&self, number: usize) -> JobRef {
            self.0[number].as_ref()
        }

        /// One that looks as if it had been spawned.
        #[cfg(not(loom))]
        pub(crate) fn as_spawned(&self, number: usize) -> JobRef {
            let word = self.job(number).into_word();
            let word = word.map_addr(|addr| addr | 1);
            // SAFETY: the word is not null, and the job is not run.
            let job = unsafe { JobRef::from_word(word) };
            assert!(job.is_spawned());
            job
        }

        #[cfg(not(loom))]
        pub(crate) fn count(&self) -> usize {
            self.0.len()
        }

        /// Which one it is.
        pub(crate) fn number(&self, job: JobRef) -> usize {
            let mut jobs = self.0.iter();
            let place = jobs.position(|dummy| dummy.as_ref() == job);
            place.expect("one of these")
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use locksley_policy::{Amount, When};

    use super::dummies::Dummies;
    use super::*;

    fn queue(amount: Amount) -> HalfQueue {
        let when = When::PROBABILISTIC;
        HalfQueue::new(StealHalf { when, amount }, true)
    }

    fn filled(amount: Amount, jobs: &Dummies, numbers: std::ops::Range<usize>) -> HalfQueue {
        let mut queue = queue(amount);
        for number in numbers {
            assert!(queue.push(jobs.job(number)).is_ok());
        }
        queue
    }

    /// The numbers of the jobs in the part for what was moved, newest first.
    fn moved(queue: &mut HalfQueue, jobs: &Dummies) -> Vec<usize> {
        std::iter::from_fn(|| queue.pop_received())
            .map(|moved| jobs.number(moved.job))
            .collect()
    }

    #[test]
    fn an_idle_thief_gets_half_and_runs_the_newest_of_it() {
        let jobs = Dummies::new(8);
        for (amount, job, more) in [
            (Amount::One, 0, vec![]),
            (Amount::Half, 3, vec![2, 1, 0]),
            (Amount::Difference, 3, vec![2, 1, 0]),
        ] {
            let victim = filled(Amount::Half, &jobs, 0..8);
            let mut thief = queue(amount);
            let Some(Steal::Success(steal_batch)) = thief.steal_batch(&victim.halves()) else {
                panic!("there is something to steal");
            };
            assert_eq!(jobs.number(steal_batch.job), job);
            assert!(!steal_batch.moved);
            assert_eq!(steal_batch.more, more.len());
            assert!(thief.pop().is_none(), "not where its own jobs are");
            assert_eq!(moved(&mut thief, &jobs), more);
        }
    }

    #[test]
    fn balancing_evens_out() {
        let jobs = Dummies::new(40);
        let mut rich = filled(Amount::Difference, &jobs, 0..32);
        let mut poor = filled(Amount::Difference, &jobs, 32..36);
        // The range holds 16, so the victim has 32 at least: 16 - 4/2.
        assert_eq!(poor.balance(&rich.halves()), Steal::Success(14));
        assert_eq!((rich.load(), poor.load()), (18, 18));
        assert_eq!(
            rich.balance(&poor.halves()),
            Steal::Empty,
            "as rich as oneself"
        );
        assert_eq!(
            poor.pop().map(|job| jobs.number(job)),
            Some(35),
            "its own first"
        );
        assert_eq!(moved(&mut poor, &jobs), (0..14).rev().collect::<Vec<_>>());
    }

    /// The victim has eight jobs of joins, and between the second and the third a spawned one.
    #[test]
    fn joins_may_stay_where_they_are() {
        let jobs = Dummies::new(8);
        let spawned = jobs.as_spawned(7);
        let mut victim = filled(Amount::Half, &jobs, 0..2);
        for job in [spawned, jobs.job(2), jobs.job(3), jobs.job(4), jobs.job(5)] {
            assert!(victim.push(job).is_ok());
        }
        let policy = StealHalf {
            when: When::Empty,
            amount: Amount::Half,
        };
        let (mut idle, mut busy) = (HalfQueue::new(policy, false), HalfQueue::new(policy, false));
        for number in 0..2 {
            assert_eq!(busy.balance(&victim.halves()), Steal::Empty);
            let Some(Steal::Success(steal_batch)) = idle.steal_batch(&victim.halves()) else {
                panic!("there is something to steal");
            };
            assert_eq!(jobs.number(steal_batch.job), number);
            assert_eq!(steal_batch.more, 0);
        }
        assert_eq!(busy.balance(&victim.halves()), Steal::Success(1));
        assert!(busy.pop_received().map(|moved| moved.job) == Some(spawned));
    }

    #[test]
    fn what_was_moved_can_be_stolen_on() {
        let jobs = Dummies::new(16);
        let first = filled(Amount::Half, &jobs, 0..16);
        let (mut second, mut third) = (queue(Amount::Half), queue(Amount::Half));
        assert_eq!(second.balance(&first.halves()), Steal::Success(8));
        let Some(Steal::Success(steal_batch)) = third.steal_batch(&second.halves()) else {
            panic!("there is something to steal");
        };
        assert!(steal_batch.moved);
        assert!(steal_batch.more > 0);
        assert!(
            second.halves().steal().is_empty(),
            "nothing that it pushed itself"
        );
    }

    #[test]
    fn a_batch_is_no_larger_than_the_room_for_it() {
        let jobs = Dummies::new(1);
        let full = |jobs: &Dummies| {
            let mut queue = queue(Amount::Half);
            while queue.push(jobs.job(0)).is_ok() {}
            queue
        };
        let (victims, mut thief) = ([full(&jobs), full(&jobs), full(&jobs)], queue(Amount::Half));
        for victim in &victims {
            while thief.balance(&victim.halves()).is_success() {}
        }
        assert_eq!(Owner::len(&thief.moved), BOUNDED);
        let left: usize = victims.iter().map(HalfQueue::load).sum();
        assert_eq!(left, 2 * BOUNDED);
        // One can still be taken to run it.
        assert!(matches!(
            thief.steal_batch(&victims[2].halves()),
            Some(Steal::Success(_))
        ));
    }

    #[test]
    fn rules_that_ask_only_the_idle_need_no_questions() {
        let mut random = Random::new(1, 1);
        let jobs = Dummies::new(4);
        for when in When::ALL {
            let amount = Amount::Half;
            let mut queue = HalfQueue::new(StealHalf { when, amount }, true);
            assert_eq!(queue.balances_every().is_some(), when != When::Empty);
            assert!(queue.should_balance(&mut random), "{when}: it has nothing");
            for number in 0..4 {
                assert!(queue.push(jobs.job(number)).is_ok());
            }
            let answers: Vec<bool> = (0..100)
                .map(|_| queue.should_balance(&mut random))
                .collect();
            let yes = answers.iter().filter(|&&yes| yes).count();
            match when {
                When::Empty => assert_eq!(yes, 0),
                When::Factor { .. } => assert_eq!(yes, 1, "from nothing to four, once"),
                _ => assert!((5..60).contains(&yes), "about a quarter: {yes}"),
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use locksley_policy::{Amount, When};
    use loom::sync::Arc;
    use loom::thread;

    use super::dummies::Dummies;
    use super::*;

    fn local_queue() -> HalfQueue {
        let (when, amount) = (When::Empty, Amount::Difference);
        HalfQueue::new(StealHalf { when, amount }, true)
    }

    /// Tries to steal once; the numbers of the jobs that came of it.
    fn steal_batch(thief: &mut HalfQueue, victim: &Halves, jobs: &Dummies) -> Vec<usize> {
        let mut got = Vec::new();
        if let Some(Steal::Success(steal_batch)) = thief.steal_batch(victim) {
            got.push(jobs.number(steal_batch.job));
        }
        got
    }

    fn drain(queue: &mut HalfQueue, jobs: &Dummies) -> Vec<usize> {
        let moved = |queue: &mut HalfQueue| queue.pop_received().map(|moved| moved.job);
        let popped = std::iter::from_fn(|| queue.pop().or_else(|| moved(queue)));
        popped.map(|job| jobs.number(job)).collect()
    }

    /// One worker moves half of another's jobs into its queue and pops from that, while a third
    /// steals from it. Every job goes to one of them.
    #[test]
    fn moved_jobs_are_run_once() {
        loom::model(|| {
            let jobs = Arc::new(Dummies::new(4));
            let (mut first, mut second) = (local_queue(), local_queue());
            for number in 0..4 {
                assert!(first.push(jobs.job(number)).is_ok());
            }
            let middle = second.halves();
            let third = {
                let jobs = jobs.clone();
                thread::spawn(move || steal_batch(&mut local_queue(), &middle, &jobs))
            };
            let mut all = steal_batch(&mut second, &first.halves(), &jobs);
            all.extend(drain(&mut second, &jobs));
            all.extend(third.join().unwrap());
            assert!(
                all.contains(&0) && all.contains(&1),
                "half was moved: {all:?}"
            );
            all.extend(drain(&mut first, &jobs));
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        });
    }
}
