//! The pile of the strategy `auto`: stealing, stealing half and sharing, whichever suits what the pool is doing.
//!
//! ```text
//!                       ┌─ halves ──  stealing (one at a time), stealing half
//!   pushes, pops ──────>┤             the thief decides which, when it steals
//!                       └─ sharing ─  sharing: offers, flags, mailboxes
//!                          the owner decides which, when both are empty
//! ```
//!
//! A worker has the piles of both strategies, [`halves`](crate::strategy::steal_half) and [`sharing`](crate::strategy::sharing),
//! and uses one of them. To steal one job or half of them is up to the thief, so a change between these two takes
//! effect at once. To go over to the other pile, a worker waits until its own is empty, which it finds at a
//! push. So what a worker has pushed lies in one pile, in the order of its stack, and all that is said of
//! that strategy holds: who may take what, who is woken, what a waiter may run.
//!
//! **Who decides.** The pool's [`Pulse`] has the mode, in one word that everybody reads. Workers count for
//! themselves: searches, those that found something, jobs stolen, jobs taken to be run. Every [`EVERY`]
//! pushes and pops, and whenever it runs out of work, a worker publishes its counts and takes a sample
//! of how many processors are idle. After enough samples one of them adds the counts up to a
//! [`Period`], asks [`Auto`] what to do, and stores the answer. There is no clock in it: a pool that does nothing
//! changes nothing.
//!
//! **What is idle.** A worker that is in no job. The ratio is of the processors that the pool's workers
//! can use: those beyond, which a pool keeps asleep, are not missed. With two or three processors the
//! ratio is at most 2/3 as long as anybody works, below the least at which sharing begins, so such a pool
//! steals, one or half at a time.
//!
//! All atomics are Relaxed. They are counts and hints; nothing is published by them.
//!
//! **Deviations from the paper.** The thesis compares its schedulers and switches between none. The
//! thresholds for sharing are those from which on it proves that piles shrink (section 5.3).

mod pulse;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;

use locksley_policy::{Amount, Mode, Period, StealHalf, When};
use locksley_queue::Steal;

use pulse::Counts;
pub(crate) use pulse::Pulse;

use crate::scheduler::injector::Injected;
use crate::strategy::local_queue::{Gifts, Haul, Loot, Pile};
use crate::strategy::sharing::{Member, SharingPile};
use crate::strategy::steal_half::{HalfPile, Halves};
use crate::task::job::JobRef;

/// After how many pushes and pops a worker takes a sample.
const EVERY: u32 = Period::EVERY;

/// The owner's side.
pub(crate) struct AutoPile {
    index: usize,
    halves: HalfPile,
    /// Not there for the few workers that an offer cannot name.
    sharing: Option<SharingPile>,
    /// Do pushes go to the sharing pile? The other one has nothing in it that this worker pushed.
    shares: bool,
    pulse: Arc<Pulse>,
    counts: Counts,
}

/// The thief's side.
pub(crate) struct AutoLoot {
    halves: Halves,
    member: Option<Arc<Member>>,
}

impl AutoPile {
    /// The pile of the worker with this index. `joins_move` is for [`HalfPile`].
    pub(crate) fn new(
        index: usize,
        pulse: Arc<Pulse>,
        sharing: Option<SharingPile>,
        joins_move: bool,
    ) -> AutoPile {
        let policy = StealHalf {
            when: When::Empty,
            amount: Amount::One,
        };
        AutoPile {
            index,
            halves: HalfPile::new(policy, joins_move),
            sharing,
            shares: false,
            pulse,
            counts: Counts::default(),
        }
    }

    /// The other side.
    pub(crate) fn loot(&self) -> AutoLoot {
        AutoLoot {
            halves: self.halves.halves(),
            member: self.sharing.as_ref().map(SharingPile::member),
        }
    }

    /// Goes over to the pile that suits the pool's mode, unless there is something in the old one.
    fn follow(&mut self) {
        let (mode, Some(sharing)) = (self.pulse.mode(), &mut self.sharing) else {
            return;
        };
        match mode {
            Mode::Sharing(heuristic) if self.shares || self.halves.has_none_of_its_own() => {
                sharing.set_heuristic(heuristic);
                self.shares = true;
            }
            Mode::Stealing | Mode::StealHalf if self.shares && sharing.is_empty() => {
                self.shares = false;
            }
            _ => {}
        }
    }

    /// The pile that pushes go to.
    fn current(&mut self) -> &mut dyn Pile {
        match &mut self.sharing {
            Some(sharing) if self.shares => sharing,
            _ => &mut self.halves,
        }
    }

    /// Steals from another's sharing pile.
    fn haul_shared(&mut self, victim: &dyn Loot, mode: Mode) -> Option<Steal<Haul>> {
        match (mode, &mut self.sharing) {
            (Mode::Sharing(_), Some(sharing)) => sharing.haul(victim),
            // What is left there from before; or it shares nothing itself.
            _ => Some(victim.member()?.rob().map(Haul::alone)),
        }
    }

    /// Counts what was taken to be run, if anything was.
    fn taken<T>(&mut self, job: Option<T>) -> Option<T> {
        self.counts.executed += u64::from(job.is_some());
        job
    }
}

impl Pile for AutoPile {
    fn push(&mut self, job: JobRef) -> Result<(), JobRef> {
        self.follow();
        self.current().push(job)
    }

    fn pop(&mut self) -> Option<JobRef> {
        let job = self.current().pop();
        self.taken(job)
    }

    fn pop_moved(&mut self) -> Option<Injected> {
        let job = self.halves.pop_moved();
        self.taken(job)
    }

    fn balances_every(&self) -> Option<u32> {
        Some(EVERY)
    }

    fn sample(&mut self, idle: &dyn Fn() -> f64) -> bool {
        self.pulse.publish(self.index, &self.counts);
        self.pulse.sample(idle)
    }

    fn haul(&mut self, victim: &dyn Loot) -> Option<Steal<Haul>> {
        let mode = self.pulse.mode();
        self.halves.set_amount(match mode {
            Mode::StealHalf => Amount::Difference,
            _ => Amount::One,
        });
        let mut answer = self.halves.haul(victim)?;
        if answer.is_empty() {
            answer = self.haul_shared(victim, mode).unwrap_or(answer);
        }
        if let Steal::Success(haul) = &answer {
            self.counts.successes += 1;
            self.counts.stolen += 1 + haul.more as u64;
            self.counts.executed += 1;
        }
        Some(answer)
    }

    fn push_near(&mut self, job: JobRef, near: usize) -> Result<bool, JobRef> {
        self.follow();
        self.current().push_near(job, near)
    }

    fn skips_search(&mut self) -> bool {
        self.counts.attempts += 1;
        false
    }

    fn open_to_offers(&mut self) -> bool {
        self.sharing.as_mut().is_none_or(Pile::open_to_offers)
    }

    fn has_offer(&self) -> bool {
        self.sharing.as_ref().is_some_and(Pile::has_offer)
    }

    fn close_to_offers(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.close_to_offers();
        }
    }

    fn receive(&mut self) -> Option<Injected> {
        let received = self.sharing.as_mut()?.receive();
        self.taken(received)
    }

    fn gifts(&self) -> Gifts {
        self.sharing.as_ref().map_or(Gifts::default(), Pile::gifts)
    }
}

impl Loot for AutoLoot {
    fn steal(&self) -> Steal<JobRef> {
        match (self.halves.steal(), &self.member) {
            (Steal::Empty, Some(member)) => member.steal(),
            (answer, _) => answer,
        }
    }

    fn halves(&self) -> Option<&Halves> {
        Some(&self.halves)
    }

    fn member(&self) -> Option<&Member> {
        self.member.as_deref()
    }

    fn len(&self) -> usize {
        self.halves.len() + self.member.as_ref().map_or(0, Loot::len)
    }
}
