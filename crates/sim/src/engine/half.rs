//! Stealing half (Hendler and Shavit, "Non-Blocking Steal-Half Work Queues"), with each rule that
//! decides when to balance.
//!
//! Every processor asks its rule after each node that it completes (Figure 2); a processor without
//! work always tries to balance. Balancing takes the time of a steal, even for a processor that has
//! work.

use locksley_policy::{LastLoad, Outcome, StealHalf, other};

use super::core::{Core, Scheduler};
use super::extended::Extended;
use super::sampler::Move;
use crate::dag::{Computation, Enabled};

/// The processors of steal-half.
pub(crate) struct Half<N> {
    pub(super) policy: StealHalf,
    pub(super) queues: Vec<Extended<N>>,
    since: Vec<LastLoad>,
    /// For each processor that is balancing, the node that it continues with afterwards.
    pub(super) next: Vec<Option<N>>,
    victims: Vec<u32>,
    /// For each queue, the time until which attempts to steal from it fail because another thief is
    /// stealing.
    contended: Vec<u64>,
    /// Items on their way from a victim to a thief.
    moving: Vec<N>,
}

impl<N: Copy> Half<N> {
    pub(crate) fn new(policy: StealHalf, count: usize) -> Half<N> {
        Half {
            policy,
            queues: (0..count).map(|_| Extended::default()).collect(),
            since: vec![LastLoad::default(); count],
            next: vec![None; count],
            victims: vec![0; count],
            contended: vec![0; count],
            moving: Vec::new(),
        }
    }

    /// Counts the new compare-and-swaps of a queue and returns their cost.
    fn settle<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize) -> u32 {
        let cas = std::mem::take(&mut self.queues[p].cas);
        core.tally.cas += cas;
        core.costs.cas.saturating_mul(cas as u32)
    }

    /// Lets a processor continue with `next`, unless its rule decides that it balances first.
    fn go_on<C>(&mut self, core: &mut Core<C>, p: usize, next: Option<N>, now: u64)
    where
        C: Computation<Node = N>,
    {
        if next.is_none() && core.busy.contains(p) {
            core.rest(p, now);
        }
        let mut draw = core.draw(p, now);
        let load = self.queues[p].len() + usize::from(next.is_some());
        let asks = next.is_none() || self.policy.when.asks_the_busy();
        let since = &mut self.since[p];
        let balances = asks && self.policy.when.should_balance(since, load, &mut draw);
        let victim = balances.then(|| other(p, core.count(), &mut draw));
        if let Some(victim) = victim.flatten() {
            self.next[p] = next;
            self.victims[p] = victim as u32;
            let there = core.at(p, victim, core.after(p, now, core.costs.steal));
            return core.act_at(p, there);
        }
        if let Some(next) = next {
            core.execute(p, next, now);
        }
    }

    /// Pushes an item. Returns the cost in ticks.
    pub(super) fn push<C>(&mut self, core: &mut Core<C>, p: usize, item: N) -> u32
    where
        C: Computation<Node = N>,
    {
        self.queues[p].push(item);
        self.settle(core, p)
    }

    /// Pops the newest item. Returns it, and the cost in ticks.
    pub(super) fn pop<C>(&mut self, core: &mut Core<C>, p: usize) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let item = self.queues[p].pop();
        core.tally.fences += 1;
        let cost = self.settle(core, p);
        (item, cost + core.costs.fence)
    }

    /// Makes an attempt to steal. If it succeeds and the thief has no node, the newest stolen item
    /// is in `next`. Returns the time at which the thief has the result, and the outcome.
    pub(super) fn steal<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        victim: usize,
        now: u64,
    ) -> (u64, Outcome)
    where
        C: Computation<Node = N>,
    {
        core.tally.fences += 1;
        let mut cost = core.costs.fence;
        if now < self.contended[victim] {
            core.tally.aborted += 1;
            core.tally.cas += 1;
            cost += core.costs.cas;
            let back = core.at(victim, p, core.after(p, now, cost));
            return (back, Outcome::Abort);
        }
        let own = self.queues[p].len() + usize::from(self.next[p].is_some());
        self.moving.clear();
        self.moving
            .extend(self.queues[victim].steal(self.policy.amount, own));
        cost += self.settle(core, victim);
        let back = |core: &Core<C>, cost| core.at(victim, p, core.after(p, now, cost));
        if self.moving.is_empty() {
            core.tally.empty += 1;
            return (back(core, cost), Outcome::Empty);
        }
        core.tally.stolen += 1;
        core.tally.items_stolen += self.moving.len() as u64;
        self.contended[victim] = now + u64::from(core.costs.cas.max(1));
        // A thief without a node continues with the newest item at once.
        if self.next[p].is_none() {
            self.next[p] = self.moving.pop();
        }
        if !self.moving.is_empty() {
            self.queues[p].receive(self.moving.drain(..));
            cost += self.settle(core, p);
        }
        let there = back(core, cost);
        core.sampler.moved(Move::Steal, victim, p, now, there);
        (there, Outcome::Success)
    }
}

impl<C: Computation> Scheduler<C> for Half<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        for p in 1..core.count() {
            self.go_on(core, p, None, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        let (next, cost) = match enabled {
            Enabled::One(next) => (Some(next), 0),
            Enabled::Two(next, other) => (Some(next), self.push(core, p, other)),
            Enabled::Nothing | Enabled::End => self.pop(core, p),
        };
        let now = core.after(p, now, cost);
        self.go_on(core, p, next, now);
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let was_idle = self.next[p].is_none();
        core.tally.idle_iterations += u64::from(was_idle);
        let victim = self.victims[p] as usize;
        let (back, _) = self.steal(core, p, victim, now);
        match self.next[p].take() {
            Some(next) => core.execute(p, next, back),
            None => self.go_on(core, p, None, back),
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.queues[p].len()
    }
}
