//! User-defined policies under sharing: the choice of victims ([`Balancer`]), and of when and to
//! whom to give ([`Donor`]).

use std::cell::Cell;

use locksley_policy::{Balancer, Donor, Mixed, Opportunity, Outcome, Seeker, other};

use super::Sharers;
use crate::CounterRng;
use crate::Setup;
use crate::dag::Computation;
use crate::engine::core::Core;

/// The user-defined policies of each processor; empty if there are none.
#[derive(Default)]
pub(super) struct Own {
    balancers: Vec<Mixed<Box<dyn Balancer + Send>>>,
    donors: Vec<Box<dyn Donor + Send>>,
}

impl Own {
    /// Returns `true` if user-defined donors decide what is given.
    pub(super) fn gives(&self) -> bool {
        !self.donors.is_empty()
    }
}

impl<N: Copy> Sharers<N> {
    /// Adds the user-defined policies of the setup.
    pub(crate) fn with_own(mut self, setup: &Setup) -> Sharers<N> {
        let count = setup.processors;
        let balancers = setup.balancer.as_ref().map(|own| own.make(count));
        let donors = setup.donor.as_ref().map(|own| own.make(count));
        self.own = Own {
            balancers: balancers.unwrap_or_default(),
            donors: donors.unwrap_or_default(),
        };
        if self.own.gives() {
            for processor in &mut self.processors {
                processor.spreading = false;
            }
        }
        self
    }

    /// Chooses the victim of an attempt; `None` if there is to be none.
    pub(super) fn choose_victim<C>(
        &mut self,
        core: &Core<C>,
        p: usize,
        draw: &mut CounterRng,
    ) -> Option<usize>
    where
        C: Computation<Node = N>,
    {
        let Some(balancer) = self.own.balancers.get_mut(p) else {
            return other(p, core.count(), draw);
        };
        let memory = self.processors[p].memory;
        let processors = &self.processors;
        let view = core.view(|q| processors[q].deque.len());
        balancer.choose(Seeker { me: p, memory }, &view, draw)
    }

    /// Tells the balancer the outcome of an attempt.
    pub(super) fn tried(&mut self, p: usize, outcome: Outcome) {
        let victim = self.victim(p);
        if let (Some(balancer), Some(victim)) = (self.own.balancers.get_mut(p), victim) {
            self.processors[p].memory.tried(victim, outcome);
            balancer.tried(victim, outcome);
        }
    }

    /// Offers an entry, if the user-defined donor chooses a donee. Returns the cost in ticks.
    pub(super) fn spread_own<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        entry: u32,
        now: u64,
    ) -> u32
    where
        C: Computation<Node = N>,
    {
        let asked = std::mem::take(&mut self.processors[p].spreading);
        if !asked && !self.own.donors[p].is_eager() {
            return 0;
        }
        let memory = self.processors[p].memory;
        let opportunity = Opportunity {
            donor: Seeker { me: p, memory },
            asked,
        };
        let probes = Cell::new(0);
        let chosen = {
            let processors = &self.processors;
            let view = core.view(|q| {
                probes.set(probes.get() + 1);
                processors[q].deque.len()
            });
            let mut draw = core.draw(p, now);
            self.own.donors[p].choose(opportunity, &view, &mut draw)
        };
        core.tally.probes += probes.get();
        let cost = core.costs.probe.saturating_mul(probes.get() as u32);
        let Some(donee) = chosen.filter(|&donee| donee != p && donee < core.count()) else {
            core.tally.kept += 1;
            return cost;
        };
        let offered = self.offer(core, p, donee, entry, now);
        if offered {
            core.tally.offered += 1
        } else {
            core.tally.refused += 1
        }
        self.own.donors[p].offered(donee, offered);
        cost + core.costs.donation
    }
}
