//! Work stealing with lifelines (Saraswat et al., "Lifeline-based global load balancing"): for
//! large networks.
//!
//! A processor whose attempts have failed w times tries its *lifelines*, a few fixed neighbours,
//! one after the other. With each of them that has no work it leaves a request, and then it makes
//! no more attempts. A processor that holds a request and has a node in its queue sends the oldest
//! one when it forks. So idle processors put no load on the network, and work still reaches every
//! processor in few hops: the lifelines form a hypercube of z dimensions with `base` positions in
//! each. In each dimension, the lifeline of a processor is the next processor.

use std::collections::VecDeque;

use locksley_policy::{Lifelines, other};

use super::core::{Core, Scheduler};
use super::sampler::Move;
use crate::dag::{Computation, Enabled};

struct Processor<N> {
    /// The oldest node first.
    queue: VecDeque<N>,
    /// Number of failed attempts since it ran out of work.
    failures: u32,
    victim: Option<u32>,
    /// Time at which its attempt takes effect. Events of other times are void: work has arrived
    /// since they were scheduled.
    due: u64,
    /// Processors that have left a request here.
    requests: Vec<u32>,
    /// Nodes on their way to this processor, with the times of their arrival.
    coming: Vec<(u64, N)>,
    contended: u64,
}

/// The processors of lifeline-based stealing.
pub(crate) struct Lines<N> {
    policy: Lifelines,
    /// Number of lifelines of a processor.
    dimensions: u32,
    processors: Vec<Processor<N>>,
}

impl<N: Copy> Lines<N> {
    pub(crate) fn new(policy: Lifelines, count: usize) -> Lines<N> {
        let processor = |_| Processor {
            queue: VecDeque::new(),
            failures: 0,
            victim: None,
            due: 0,
            requests: Vec::new(),
            coming: Vec::new(),
            contended: 0,
        };
        Lines {
            policy,
            dimensions: policy.dimensions(count),
            processors: (0..count).map(processor).collect(),
        }
    }

    /// Starts an attempt of an idle processor, or nothing if all its lifelines have been tried: it
    /// then waits until it is sent work.
    fn seek<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let tried = self.processors[p].failures;
        let victim = match tried.checked_sub(self.policy.w) {
            None => other(p, core.count(), &mut core.draw(p, now)),
            Some(dimension) if dimension < self.dimensions => {
                Some(self.policy.along(p, dimension, core.count()))
            }
            Some(_) => return,
        };
        let mut there = core.after(p, now, core.costs.steal);
        if let Some(victim) = victim {
            there = core.at(p, victim, there);
        }
        self.processors[p].victim = victim.map(|victim| victim as u32);
        self.processors[p].due = there;
        core.act_at(p, there);
    }

    /// Sends the oldest node to the processor whose request is the oldest, if there are both.
    /// Returns the cost in ticks.
    fn serve<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> u32 {
        let processor = &mut self.processors[p];
        if processor.requests.is_empty() || processor.queue.is_empty() {
            return 0;
        }
        let q = processor.requests.remove(0) as usize;
        let Some(node) = processor.queue.pop_front() else {
            return 0;
        };
        let sent = core.after(p, now, core.costs.donation);
        let there = core.at(p, q, sent).max(now + 1);
        core.tally.offered += 1;
        core.sampler.moved(Move::Lifeline, p, q, now, there);
        self.processors[q].coming.push((there, node));
        core.arrive_at(q, there);
        core.costs.donation
    }

    fn steal<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        victim: usize,
        now: u64,
    ) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        core.tally.fences += 1;
        let cost = core.costs.fence;
        let is_lifeline = self.processors[p].failures >= self.policy.w;
        let from = &mut self.processors[victim];
        if now < from.contended {
            core.tally.aborted += 1;
            core.tally.cas += 1;
            return (None, cost + core.costs.cas);
        }
        let node = from.queue.pop_front();
        match node {
            Some(_) => {
                core.tally.stolen += 1;
                core.tally.items_stolen += 1;
                core.tally.cas += 1;
                from.contended = now + u64::from(core.costs.cas.max(1));
                (node, cost + core.costs.cas)
            }
            None => {
                core.tally.empty += 1;
                if is_lifeline && !from.requests.contains(&(p as u32)) {
                    from.requests.push(p as u32);
                }
                self.processors[p].failures += 1;
                (None, cost)
            }
        }
    }

    fn take<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize, node: N, from: u64) {
        self.processors[p].failures = 0;
        core.execute(p, node, from);
    }
}

impl<C: Computation> Scheduler<C> for Lines<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        for p in 1..core.count() {
            self.seek(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        match enabled {
            Enabled::One(next) => core.execute(p, next, now),
            Enabled::Two(next, other) => {
                self.processors[p].queue.push_back(other);
                let cost = self.serve(core, p, now);
                let then = core.after(p, now, cost);
                core.execute(p, next, then);
            }
            Enabled::Nothing | Enabled::End => {
                core.tally.fences += 1;
                let mut cost = core.costs.fence;
                let node = self.processors[p].queue.pop_back();
                if node.is_some() && self.processors[p].queue.is_empty() {
                    core.tally.cas += 1;
                    cost += core.costs.cas;
                }
                let then = core.after(p, now, cost);
                match node {
                    Some(node) => core.execute(p, node, then),
                    None => {
                        core.rest(p, then);
                        self.seek(core, p, then);
                    }
                }
            }
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        if self.processors[p].due != now || core.busy.contains(p) {
            return;
        }
        core.tally.idle_iterations += 1;
        let Some(victim) = self.processors[p].victim.map(|victim| victim as usize) else {
            return self.seek(core, p, now);
        };
        let (node, cost) = self.steal(core, p, victim, now);
        let back = core.at(victim, p, core.after(p, now, cost));
        match node {
            Some(node) => {
                core.sampler.moved(Move::Steal, victim, p, now, back);
                self.take(core, p, node, back);
            }
            None => self.seek(core, p, back),
        }
    }

    fn arrived(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let due = (self.processors[p].coming.iter()).position(|&(there, _)| there <= now);
        let Some((_, node)) = due.map(|at| self.processors[p].coming.remove(at)) else {
            return;
        };
        core.tally.donated += 1;
        if core.busy.contains(p) {
            self.processors[p].queue.push_back(node)
        } else {
            self.take(core, p, node, now)
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.processors[p].queue.len()
    }

    fn can_progress(&self, p: usize, _: bool) -> bool {
        let Processor { queue, coming, .. } = &self.processors[p];
        !queue.is_empty() || !coming.is_empty()
    }
}
