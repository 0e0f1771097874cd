//! The load sharing of Eager, Lazowska and Zahorjan ("Adaptive Load Sharing in Homogeneous
//! Distributed Systems"; thesis, section 2.4.4): processors with too much work send some of it
//! away, and processors never ask for work.
//!
//! A processor that enables two nodes continues with one. The other is new work, which it sends to
//!
//! - a random processor (*random*);
//! - the first of up to L_p processors whose load is below a threshold (*threshold*), or keeps if
//!   there is none;
//! - the least loaded of L_p processors (*shortest*), or keeps if that has no less load than
//!   itself.

use std::cell::Cell;

use locksley_policy::{Actor, Donor, Memory, Opportunity, Target};

use super::core::{Core, Scheduler};
use super::sampler::Move;
use crate::dag::{Computation, Enabled};

/// The processors of a sender-initiated scheduler.
pub(crate) struct Senders<N> {
    target: Target,
    /// User-defined donors, which replace `target`; empty if there are none.
    donors: Vec<Box<dyn Donor + Send>>,
    queues: Vec<Vec<N>>,
    /// For each processor, nodes on their way to it, with the times of their arrival and their
    /// senders.
    coming: Vec<Vec<(u64, u32, N)>>,
}

impl<N: Copy> Senders<N> {
    pub(crate) fn new(
        target: Target,
        count: usize,
        donors: Option<Vec<Box<dyn Donor + Send>>>,
    ) -> Senders<N> {
        Senders {
            target,
            donors: donors.unwrap_or_default(),
            queues: (0..count).map(|_| Vec::new()).collect(),
            coming: (0..count).map(|_| Vec::new()).collect(),
        }
    }

    /// Returns the number of nodes that wait at a processor or are on their way to it.
    fn waiting_or_coming(&self, p: usize) -> usize {
        self.queues[p].len() + self.coming[p].len()
    }

    /// Chooses the processor that gets new work; `None` if the sender keeps it. Returns the cost of
    /// the choice in ticks as well.
    fn choose<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> (Option<usize>, u32)
    where
        C: Computation<Node = N>,
    {
        let probes = Cell::new(0);
        let mut donors = std::mem::take(&mut self.donors);
        let target = {
            let view = core.view(|q| {
                probes.set(probes.get() + 1);
                self.waiting_or_coming(q)
            });
            let mut draw = core.draw(p, now);
            match donors.get_mut(p) {
                Some(donor) => {
                    let (me, memory) = (p, Memory::default());
                    let opportunity = Opportunity {
                        donor: Actor { me, memory },
                        asked: false,
                    };
                    let chosen = donor.choose(opportunity, &view, &mut draw);
                    let chosen = chosen.filter(|&q| q != p && q < core.count());
                    chosen.inspect(|&donee| donor.offered(donee, true))
                }
                None => self.target.choose(p, &view, &mut draw),
            }
        };
        self.donors = donors;
        let probes = probes.get();
        core.tally.probes += probes;
        let cost = core.costs.probe.saturating_mul(probes as u32);
        let fit = |&q: &usize| match self.target {
            Target::Shortest { .. } if self.donors.is_empty() => {
                let other = self.waiting_or_coming(q) + usize::from(core.busy.contains(q));
                other < self.waiting_or_coming(p) + 1
            }
            _ => true,
        };
        (target.filter(fit), cost)
    }
}

impl<C: Computation> Scheduler<C> for Senders<C::Node> {
    fn begin(&mut self, _: &mut Core<C>) {}

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        match enabled {
            Enabled::One(next) => core.execute(p, next, now),
            Enabled::Two(next, other) => {
                let (target, mut cost) = self.choose(core, p, now);
                match target {
                    None => {
                        core.tally.refused += 1;
                        self.queues[p].push(other);
                    }
                    Some(q) => {
                        cost += core.costs.donation;
                        core.tally.offered += 1;
                        let there = core.at(p, q, core.after(p, now, cost)).max(now + 1);
                        core.sampler.moved(Move::Dealing, p, q, now, there);
                        self.coming[q].push((there, p as u32, other));
                        core.arrive_at(q, there);
                    }
                }
                let then = core.after(p, now, cost);
                core.execute(p, next, then);
            }
            Enabled::Nothing | Enabled::End => match self.queues[p].pop() {
                Some(next) => core.execute(p, next, now),
                None => core.rest(p, now),
            },
        }
    }

    fn acted(&mut self, _: &mut Core<C>, _: usize, _: u64) {}

    fn arrived(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        // There is one event for each node. The order of nodes that are due does not matter, so the
        // oldest is taken.
        let due = self.coming[p].iter().position(|&(there, ..)| there <= now);
        let Some((_, _, node)) = due.map(|at| self.coming[p].remove(at)) else {
            return;
        };
        core.tally.donated += 1;
        if core.busy.contains(p) {
            self.queues[p].push(node)
        } else {
            core.execute(p, node, now)
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.queues[p].len()
    }
}
