//! User-defined policies under sharing: the choice of victims ([`Balancer`]), and of when and to
//! whom to give ([`Donor`]).

use std::cell::Cell;

use locksley_policy::{Actor, Balancer, Donor, Mixed, Opportunity, Outcome, other};

use super::Sharers;
use crate::CounterRng;
use crate::Setup;
use crate::dag::Computation;
use crate::engine::core::Core;

/// The user-defined policies of each processor; empty if there are none.
#[derive(Default)]
pub(super) struct UserPolicies {
    balancers: Vec<Mixed<Box<dyn Balancer + Send>>>,
    donors: Vec<Box<dyn Donor + Send>>,
}

impl UserPolicies {
    /// Returns `true` if user-defined donors decide what is given.
    pub(super) fn has_donors(&self) -> bool {
        !self.donors.is_empty()
    }
}

impl<N: Copy> Sharers<N> {
    /// Adds the user-defined policies of the setup.
    pub(crate) fn with_user_policies(mut self, setup: &Setup) -> Sharers<N> {
        let count = setup.processors;
        let balancers = setup.balancer.as_ref().map(|user| user.make(count));
        let donors = setup.donor.as_ref().map(|user| user.make(count));
        self.user = UserPolicies {
            balancers: balancers.unwrap_or_default(),
            donors: donors.unwrap_or_default(),
        };
        if self.user.has_donors() {
            for processor in &mut self.processors {
                processor.flag = false;
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
        let Some(balancer) = self.user.balancers.get_mut(p) else {
            return other(p, core.count(), draw);
        };
        let memory = self.processors[p].memory;
        let processors = &self.processors;
        let view = core.view(|q| processors[q].deque.len());
        balancer.choose(Actor { me: p, memory }, &view, draw)
    }

    /// Tells the balancer the outcome of an attempt.
    pub(super) fn tried(&mut self, p: usize, outcome: Outcome) {
        let victim = self.victim(p);
        if let (Some(balancer), Some(victim)) = (self.user.balancers.get_mut(p), victim) {
            self.processors[p].memory.tried(victim, outcome);
            balancer.tried(victim, outcome);
        }
    }

    /// Offers an entry, if the user-defined donor chooses a donee. Returns the cost in ticks.
    pub(super) fn offer_by_user<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        entry: u32,
        now: u64,
    ) -> u32
    where
        C: Computation<Node = N>,
    {
        let asked = std::mem::take(&mut self.processors[p].flag);
        if !asked && !self.user.donors[p].is_eager() {
            return 0;
        }
        let memory = self.processors[p].memory;
        let opportunity = Opportunity {
            donor: Actor { me: p, memory },
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
            self.user.donors[p].choose(opportunity, &view, &mut draw)
        };
        core.tally.probes += probes.get();
        let cost = core.costs.probe.saturating_mul(probes.get() as u32);
        let Some(donee) = chosen.filter(|&donee| donee != p && donee < core.count()) else {
            core.tally.kept += 1;
            return cost;
        };
        let (offered, extra) = self.offer_to(core, p, donee, entry, now);
        self.user.donors[p].offered(donee, offered);
        cost + extra
    }
}
