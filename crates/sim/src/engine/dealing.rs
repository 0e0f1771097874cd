//! Work dealing (Hendler and Shavit, "Work Dealing") with each of its policies.
//!
//! Every processor has a buffer for each producer, including itself. A producer deals each item
//! that it generates, that is, each node that it enables and does not continue with, into the
//! buffer of the consumer that its dealer names. A consumer goes through its buffers round robin.
//! There is no compare-and-swap and no fence, and an item is never moved again: the processor that
//! it was dealt to executes it.
//!
//! A look into a buffer costs a probe. A consumer that has found all its buffers empty looks again
//! when these probes are over, but not before `Costs::steal`. The home of an item with affinity i
//! is the processor that i hashes to.

use std::collections::VecDeque;

use locksley_policy::{Collector, Dealer, Dealing};

use super::core::{Core, Scheduler};
use super::sampler::Move;
use super::wheel::NEVER;
use crate::dag::{Computation, Enabled};
use locksley_policy::mix;

/// Returns the home of an affinity.
pub(crate) fn home(affinity: u64, count: usize) -> usize {
    (mix(affinity) % count as u64) as usize
}

/// The processors of work dealing and their P^2 buffers.
pub(crate) struct Dealers<N> {
    policy: Dealing,
    dealers: Vec<Dealer>,
    collectors: Vec<Collector>,
    /// P^2 buffers, those of one consumer side by side. Each entry is an item and the time of its
    /// arrival.
    buffers: Vec<VecDeque<(u64, N)>>,
    /// Number of items in the buffers of each consumer.
    waiting: Vec<usize>,
}

impl<N: Copy> Dealers<N> {
    pub(crate) fn new(policy: Dealing, count: usize) -> Dealers<N> {
        Dealers {
            policy,
            dealers: (0..count).map(|p| policy.dealer(p, count)).collect(),
            collectors: (0..count).map(|p| policy.collector(p)).collect(),
            buffers: (0..count * count).map(|_| VecDeque::new()).collect(),
            waiting: vec![0; count],
        }
    }

    /// Deals an item. Returns the cost in ticks.
    fn deal<C>(&mut self, core: &mut Core<C>, p: usize, item: N, now: u64) -> u32
    where
        C: Computation<Node = N>,
    {
        let count = core.count();
        let affinity = core.computation.affinity(item).map(|key| home(key, count));
        let buffers = &self.buffers;
        let pending = |consumer: usize| buffers[consumer * count + p].len();
        let consumer = self.dealers[p].deal(affinity, pending, &mut core.draw(p, now));
        let there = core.at(p, consumer, core.after(p, now, core.costs.donation));
        self.buffers[consumer * count + p].push_back((there, item));
        self.waiting[consumer] += 1;
        core.tally.offered += 1;
        core.costs.donation
    }

    /// Looks for an item in the buffers of a consumer. Returns it, and the cost in ticks.
    fn collect<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let count = core.count();
        let mut cost: u32 = 0;
        // With a batch, a buffer may be looked into twice.
        for _ in 0..=count {
            let producer = self.collectors[p].at();
            let buffer = &mut self.buffers[p * count + producer];
            let found = matches!(buffer.front(), Some(&(there, _)) if there <= now);
            cost = cost.saturating_add(core.costs.probe);
            core.tally.probes += 1;
            self.collectors[p].advance(found, &self.policy, count);
            if !found {
                continue;
            }
            let item = buffer.pop_front().map(|(_, item)| item);
            self.waiting[p] -= 1;
            core.tally.donated += 1;
            if let Some(item) = item {
                self.note(core, p, producer, item, now);
            }
            return (item, cost);
        }
        (None, cost.max(core.costs.steal))
    }

    fn note<C>(&self, core: &mut Core<C>, p: usize, producer: usize, item: N, now: u64)
    where
        C: Computation<Node = N>,
    {
        if let Some(key) = core.computation.affinity(item) {
            core.tally.affinities += 1;
            core.tally.affinity_hits += u64::from(home(key, core.count()) == p);
        }
        if producer != p {
            core.sampler.moved(Move::Dealing, producer, p, now, now);
        }
    }

    /// Looks for an item for a processor that has no node, and executes it or schedules the next
    /// look.
    fn look<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let (item, cost) = self.collect(core, p, now);
        let then = core.after(p, now, cost);
        match item {
            Some(item) => core.execute(p, item, then),
            None => {
                core.tally.idle_iterations += 1;
                if core.busy.contains(p) {
                    core.rest(p, now);
                }
                core.act_at(p, then);
            }
        }
    }
}

impl<C: Computation> Scheduler<C> for Dealers<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        for p in 1..core.count() {
            self.look(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        match enabled {
            Enabled::One(next) => core.execute(p, next, now),
            Enabled::Two(next, other) => {
                let cost = self.deal(core, p, other, now);
                let then = core.after(p, now, cost);
                core.execute(p, next, then);
            }
            Enabled::Nothing | Enabled::End => self.look(core, p, now),
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        self.look(core, p, now);
    }

    fn waiting(&self, p: usize) -> usize {
        self.waiting[p]
    }

    /// No processor takes the items that were dealt to another. The last item of a producer that
    /// was taken away while dealing it never arrives.
    fn can_progress(&self, p: usize, is_gone: bool) -> bool {
        let count = self.waiting.len();
        let mut items = self.buffers[p * count..(p + 1) * count].iter().flatten();
        !is_gone && items.any(|&(there, _)| there != NEVER)
    }
}
