//! Deques whose owners fork without synchronization, because thieves pay for both sides: the
//! asymmetric deque, and the split deque of the pool.
//!
//! | | asymmetric | split |
//! |---|---|---|
//! | owner pushes and pops | free | free while the node is private; a compare-and-swap takes half of the public ones back |
//! | thief that finds work | a barrier that interrupts every other processor, and a compare-and-swap | a compare-and-swap, if some of it is public |
//! | thief that finds only private work | | sets the request of the victim; the owner sees it after its current node, and exposes half |
//! | owner that does not answer | | a thief that comes [`PATIENCE`] after the request forces it with a barrier that interrupts only the victim |
//!
//! [`Costs`](super::Costs) has the costs of a barrier and of an interrupt. An interrupted processor
//! makes no progress for that time. Barriers of several thieves overlap; kernels that take a lock
//! for them make the asymmetric deque worse than it is here.

use std::collections::VecDeque;

use locksley_policy::Source;

use super::core::{Core, Scheduler};
use super::sampler::Move;
use crate::dag::{Computation, Enabled};

/// Ticks from a request until a thief may force it: 5 microseconds if a tick is a nanosecond. This
/// models a shorter wait than the pool's, whose thieves force a victim at their second look, each
/// at least 3 microseconds after the one before (`LOOK_AFTER` in the pool's `worker/steal.rs`).
const PATIENCE: u64 = 5000;

/// Kind of deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Asymmetric,
    Split,
}

/// The deque of one processor.
#[derive(Clone, Debug)]
struct Deque<N> {
    nodes: VecDeque<N>,
    /// Number of public nodes, which are the oldest.
    public: usize,
    /// Time of the request, if one is pending.
    asked: Option<u64>,
    /// Time until which a thief holds the top.
    contended: u64,
}

impl<N> Deque<N> {
    fn new() -> Deque<N> {
        Deque {
            nodes: VecDeque::new(),
            public: 0,
            asked: None,
            contended: 0,
        }
    }

    fn private(&self) -> usize {
        self.nodes.len() - self.public
    }

    /// Exposes half of the private nodes. Returns their number.
    fn expose(&mut self) -> usize {
        self.asked = None;
        let half = self.private().div_ceil(2);
        self.public += half;
        half
    }
}

/// The processors of the asymmetric or the split deque.
pub(crate) struct Interrupting<N> {
    kind: Kind,
    deques: Vec<Deque<N>>,
    /// For each thief that waits for a barrier, its victim.
    barriers: Vec<Option<usize>>,
}

impl<N> Interrupting<N> {
    pub(crate) fn new(kind: Kind, count: usize) -> Interrupting<N> {
        Interrupting {
            kind,
            deques: (0..count).map(|_| Deque::new()).collect(),
            barriers: vec![None; count],
        }
    }
}

impl<N: Copy> Interrupting<N> {
    /// Pops the newest node of the owner. Returns it, and the cost in ticks.
    fn pop<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize) -> (Option<N>, u32) {
        let deque = &mut self.deques[p];
        let mut cost = 0;
        if self.kind == Kind::Split && deque.private() == 0 && deque.public > 0 {
            deque.public /= 2;
            core.tally.cas += 1;
            cost = core.costs.cas;
        }
        (deque.nodes.pop_back(), cost)
    }

    /// Answers a pending request of a thief after a node. Returns the cost in ticks.
    fn answer<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize) -> u32 {
        let deque = &mut self.deques[p];
        if deque.asked.is_none() || deque.private() == 0 {
            return 0;
        }
        core.tally.exposed += deque.expose() as u64;
        core.costs.expose
    }

    /// Steals the oldest node and executes it. Returns `false` if another thief holds the top, or
    /// if the deque is empty.
    fn take<C: Computation<Node = N>>(
        &mut self,
        core: &mut Core<C>,
        thief: usize,
        victim: usize,
        now: u64,
    ) -> bool {
        let deque = &mut self.deques[victim];
        if deque.contended > now {
            core.tally.aborted += 1;
            return false;
        }
        let Some(node) = deque.nodes.pop_front() else {
            core.tally.aborted += 1;
            return false;
        };
        deque.public = deque.public.saturating_sub(1);
        let until = core.after(thief, now, core.costs.cas);
        deque.contended = until;
        core.tally.stolen += 1;
        core.tally.items_stolen += 1;
        core.tally.cas += 1;
        let there = core.at(victim, thief, until);
        core.sampler.moved(Move::Steal, victim, thief, now, there);
        core.execute(thief, node, there);
        true
    }

    /// Starts a barrier, which interrupts the victim or all other processors. The thief acts again
    /// when the barrier is over.
    fn begin_barrier<C: Computation<Node = N>>(
        &mut self,
        core: &mut Core<C>,
        thief: usize,
        victim: usize,
        now: u64,
    ) {
        core.tally.barriers += 1;
        match self.kind {
            Kind::Split => core.interrupt(victim),
            Kind::Asymmetric => {
                let others = (0..core.count()).filter(|&p| p != thief);
                others.for_each(|p| core.interrupt(p));
            }
        }
        self.barriers[thief] = Some(victim);
        let over = core.after(thief, now, core.costs.barrier);
        core.act_at(thief, over.max(now + 1));
    }

    /// Tries one victim. Returns `true` if the thief has got work or has started a barrier.
    fn try_one<C: Computation<Node = N>>(
        &mut self,
        core: &mut Core<C>,
        thief: usize,
        victim: usize,
        now: u64,
    ) -> bool {
        let deque = &mut self.deques[victim];
        if victim == thief || deque.nodes.is_empty() {
            core.tally.empty += 1;
            return false;
        }
        if self.kind == Kind::Asymmetric {
            self.begin_barrier(core, thief, victim, now);
            return true;
        }
        if deque.public > 0 {
            return self.take(core, thief, victim, now);
        }
        core.tally.found_private += 1;
        let asked = *deque.asked.get_or_insert(now);
        if now - asked < PATIENCE {
            return false;
        }
        // Thieves that come during the barrier wait anew.
        deque.asked = Some(now);
        self.begin_barrier(core, thief, victim, now);
        true
    }

    fn seek<C: Computation<Node = N>>(core: &mut Core<C>, p: usize, now: u64) {
        let next = core.after(p, now, core.costs.steal);
        core.act_at(p, next);
    }
}

impl<C: Computation> Scheduler<C> for Interrupting<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        for p in 1..core.count() {
            Self::seek(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        let mut cost = 0;
        let next = match enabled {
            Enabled::One(next) => Some(next),
            Enabled::Two(next, other) => {
                self.deques[p].nodes.push_back(other);
                cost += core.costs.fork;
                Some(next)
            }
            Enabled::Nothing | Enabled::End => None,
        };
        if self.kind == Kind::Split {
            cost += self.answer(core, p);
        }
        let next = next.or_else(|| {
            let (node, extra) = self.pop(core, p);
            cost += extra;
            node
        });
        let from = core.after(p, now, cost);
        match next {
            Some(node) => core.execute(p, node, from),
            None => {
                core.rest(p, now);
                Self::seek(core, p, from);
            }
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        core.tally.idle_iterations += 1;
        let done = match self.barriers[p].take() {
            Some(victim) => {
                if self.kind == Kind::Split {
                    core.tally.exposed += self.deques[victim].expose() as u64;
                }
                self.take(core, p, victim, now)
            }
            None => {
                let victim = core.draw(p, now).below(core.count());
                self.try_one(core, p, victim, now)
            }
        };
        if !done {
            Self::seek(core, p, now);
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.deques[p].nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::dag::{Chain, Fib, Generator, Strands};
    use crate::{Costs, Setup, Strategy, simulate};

    const COSTS: Costs = Costs {
        node: 20,
        ..Costs::MEASURED
    };

    fn report(strategy: Strategy, processors: usize, costs: Costs) -> crate::Report {
        let setup = Setup {
            costs,
            ..Setup::new(processors, strategy)
        };
        simulate(&mut Strands::new(Generator::new(500, 250, 1)), &setup).unwrap()
    }

    #[test]
    fn everything_is_executed_once() {
        for text in ["asymmetric", "split"] {
            let strategy: Strategy = text.parse().unwrap();
            for processors in [1, 2, 17] {
                let setup = Setup {
                    costs: COSTS,
                    ..Setup::new(processors, strategy)
                };
                let report = simulate(&mut Strands::new(Fib::new(15)), &setup).unwrap();
                assert_eq!(report.tally.executed, report.size.work, "{text}");
                if processors == 1 {
                    let forks = (report.size.work - 1) / 3;
                    let alone = 20 * report.size.work + 2 * forks;
                    assert!(report.makespan <= alone + 20, "{} {alone}", report.makespan);
                }
            }
        }
    }

    #[test]
    fn every_steal_of_an_asymmetric_deque_interrupts_all_others() {
        let tally = report(Strategy::Asymmetric, 16, COSTS).tally;
        assert_eq!(tally.interrupts, 15 * tally.barriers);
        assert!(tally.barriers >= tally.stolen && tally.stolen > 100);
    }

    #[test]
    fn a_split_deque_is_forced_only_where_its_owner_does_not_answer() {
        let tally = report(Strategy::Split, 16, COSTS).tally;
        // The generator answers after each node, and tasks have no work to give.
        assert_eq!(tally.barriers, 0);
        assert!(tally.exposed > 0 && tally.stolen > 100);
        // While a node that takes longer than the patience is executed, the owner cannot answer.
        let slow = Costs {
            node: 20_000,
            ..COSTS
        };
        let tally = report(Strategy::Split, 16, slow).tally;
        assert!(tally.barriers > 0);
        assert_eq!(tally.interrupts, tally.barriers);
    }

    #[test]
    fn an_interrupt_delays_whom_it_hits() {
        let free = Costs {
            interrupt: 0,
            ..COSTS
        };
        let [with, without] = [COSTS, free].map(|costs| {
            let setup = Setup {
                costs,
                ..Setup::new(2, Strategy::Asymmetric)
            };
            let chain = Chain::new(200, 50, 50);
            simulate(&mut Strands::new(chain), &setup).unwrap()
        });
        assert!(with.tally.barriers > 0);
        assert!(with.makespan > without.makespan);
    }
}
