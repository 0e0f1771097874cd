//! The simulated machine of all schedulers for which every node is an event.

use locksley_policy::NestedGroups;

use super::bits::Bits;
use super::sampler::Sampler;
use super::stuck::StuckCheck;
use super::topology::Seen;
use super::wheel::Wheel;
use super::{Costs, Finish, Tally};
use crate::dag::{Computation, Enabled};
use crate::{CounterRng, Setup, Speeds, Topology};

/// Marks arrivals. They come after all completions of a tick.
const ARRIVAL: u32 = 1 << 30;

/// Marks actions of idle processors. They come last in a tick.
const IDLE: u32 = 1 << 31;

/// A scheduler: the reactions of processors to events.
pub(crate) trait Scheduler<C: Computation> {
    /// Called when processor `p` has completed a node, with the nodes that it enabled; not called
    /// for the sink.
    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64);

    /// Called when an action of an idle processor, such as an attempt to steal, takes effect.
    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64);

    /// Called when something that was sent to processor `p` arrives.
    fn arrived(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let _ = (core, p, now);
    }

    /// Called after all events of a tick.
    fn tick_ended(&mut self, core: &mut Core<C>, now: u64) {
        let _ = (core, now);
    }

    /// Returns the number of nodes in the queue of a processor.
    fn waiting(&self, p: usize) -> usize;

    /// Returns `true` if the state of processor `p` may still lead to the execution of a node: if
    /// `p` is gone, by others that take nodes from it; otherwise by `p`, which is idle. Asked only
    /// while no processor that is not gone is busy.
    fn can_progress(&self, p: usize, is_gone: bool) -> bool {
        let _ = is_gone;
        self.waiting(p) > 0
    }

    /// Called before the first tick. All processors but 0 are idle.
    fn begin(&mut self, core: &mut Core<C>);
}

/// The simulated machine and the computation that it executes.
pub(crate) struct Core<'a, C: Computation> {
    pub(crate) computation: &'a mut C,
    pub(crate) costs: Costs,
    pub(crate) speeds: &'a Speeds,
    pub(crate) topology: &'a Topology,
    pub(crate) nest: NestedGroups,
    pub(crate) seed: u64,
    /// For each busy processor, the node that it executes.
    nodes: Vec<C::Node>,
    pub(crate) busy: Bits,
    wheel: Wheel,
    /// For each processor, ticks of interruption that have not been added to its next event.
    delays: Vec<u32>,
    stuck_check: StuckCheck,
    pub(crate) tally: Tally,
    pub(crate) sampler: Sampler,
}

impl<'a, C: Computation> Core<'a, C> {
    pub(crate) fn new(computation: &'a mut C, setup: &'a Setup) -> Core<'a, C> {
        let root = computation.start();
        Core {
            computation,
            costs: setup.costs,
            speeds: &setup.speeds,
            topology: &setup.topology,
            nest: setup.topology.nest(),
            seed: setup.seed,
            nodes: vec![root; setup.processors],
            busy: Bits::new(setup.processors),
            wheel: Wheel::new(),
            delays: vec![0; setup.processors],
            stuck_check: StuckCheck::new(&setup.speeds, setup.processors),
            tally: Tally::default(),
            sampler: Sampler::new(setup),
        }
    }

    /// Returns the number of processors.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the random numbers of a processor at a time.
    #[inline]
    pub(crate) fn draw(&self, p: usize, now: u64) -> CounterRng {
        CounterRng::at(self.seed, p, now)
    }

    /// Returns the view that policies get, given the number of nodes in each queue.
    pub(crate) fn view(
        &self,
        waiting: impl Fn(usize) -> usize,
    ) -> Seen<'_, impl Fn(usize) -> (usize, bool)> {
        Seen {
            count: self.count(),
            nest: &self.nest,
            look: move |p| (waiting(p), !self.busy.contains(p)),
        }
    }

    /// Returns the time at which an operation of `cost` ticks ends if the processor starts it at
    /// `now`.
    #[inline]
    pub(crate) fn after(&self, p: usize, now: u64, cost: u32) -> u64 {
        self.speeds.after(p, now, u64::from(cost))
    }

    /// Returns the time at which a message that is sent at `now` arrives.
    #[inline]
    pub(crate) fn at(&self, from: usize, to: usize, now: u64) -> u64 {
        now.saturating_add(u64::from(self.topology.latency(from, to)))
    }

    /// Starts the execution of a node.
    #[inline]
    pub(crate) fn execute(&mut self, p: usize, node: C::Node, from: u64) {
        self.nodes[p] = node;
        if !self.busy.contains(p) {
            self.busy.insert(p);
            self.sampler.busy(p, from);
        }
        let cost = self
            .costs
            .of_node(self.computation, node, p, self.nodes.len());
        let end = self.after(p, from, cost);
        self.wheel.push(end, p as u32);
    }

    /// Marks a processor as idle.
    pub(crate) fn rest(&mut self, p: usize, from: u64) {
        self.busy.remove(p);
        self.sampler.idle(p, from);
    }

    /// Schedules a call of [`Scheduler::acted`].
    pub(crate) fn act_at(&mut self, p: usize, time: u64) {
        self.wheel.push(time, p as u32 | IDLE);
    }

    /// Schedules a call of [`Scheduler::arrived`].
    pub(crate) fn arrive_at(&mut self, p: usize, time: u64) {
        self.wheel.push(time, p as u32 | ARRIVAL);
    }

    /// Interrupts a processor: its current operation takes longer.
    pub(crate) fn interrupt(&mut self, p: usize) {
        self.tally.interrupts += 1;
        self.delays[p] = self.delays[p].saturating_add(self.costs.interrupt);
    }

    /// Returns `true` if the processor of an event was interrupted before it. The event is then
    /// scheduled again for later.
    #[inline]
    fn delay_if_interrupted(&mut self, key: u32, now: u64) -> bool {
        let p = (key & !IDLE) as usize;
        if self.delays[p] == 0 {
            return false;
        }
        let delay = std::mem::take(&mut self.delays[p]);
        let later = self.after(p, now, delay);
        self.wheel.push(later, key);
        true
    }

    /// Returns `true` if no node will be executed any more.
    fn is_stuck(&self, scheduler: &impl Scheduler<C>, now: u64) -> bool {
        (0..self.count()).all(|p| {
            let is_gone = self.speeds.is_gone(p, now);
            (is_gone || !self.busy.contains(p)) && !scheduler.can_progress(p, is_gone)
        })
    }

    /// Runs until the sink is executed. Returns `None` if that cannot happen.
    pub(crate) fn run(mut self, mut scheduler: impl Scheduler<C>) -> Option<Finish> {
        let root = self.nodes[0];
        self.execute(0, root, 0);
        scheduler.begin(&mut self);
        scheduler.tick_ended(&mut self, 0);
        let mut keys = Vec::new();
        while let Some(now) = self.wheel.next(&mut keys) {
            while self.sampler.next_sample() < now {
                self.sample(&scheduler);
            }
            let arrivals = keys.partition_point(|&key| key < ARRIVAL);
            let acts = keys.partition_point(|&key| key < IDLE);
            for &key in &keys[..arrivals] {
                if self.delay_if_interrupted(key, now) {
                    continue;
                }
                if self.complete(key as usize, &mut scheduler, now) {
                    self.sampler.idle(key as usize, now);
                    return Some(Finish::new(now, self.tally, self.sampler));
                }
            }
            for &key in &keys[arrivals..acts] {
                scheduler.arrived(&mut self, (key & !ARRIVAL) as usize, now);
            }
            // In cyclic order from a drawn position, so that no processor is always first.
            let first = super::first_to_act(self.seed, now, keys.len() - acts);
            for &key in keys[acts + first..].iter().chain(&keys[acts..acts + first]) {
                if !self.delay_if_interrupted(key, now) {
                    scheduler.acted(&mut self, (key & !IDLE) as usize, now);
                }
            }
            scheduler.tick_ended(&mut self, now);
            if self.stuck_check.is_due(keys.len() - acts) && self.is_stuck(&scheduler, now) {
                break;
            }
        }
        None
    }

    /// Completes a processor's node. Returns `true` if it was the sink.
    fn complete(&mut self, p: usize, scheduler: &mut impl Scheduler<C>, now: u64) -> bool {
        self.tally.executed += 1;
        match self.computation.execute(self.nodes[p]) {
            Enabled::End => true,
            enabled => {
                scheduler.completed(self, p, enabled, now);
                false
            }
        }
    }

    fn sample(&mut self, scheduler: &impl Scheduler<C>) {
        let busy = &self.busy;
        let load = |p: usize| {
            let is_busy = busy.contains(p);
            (scheduler.waiting(p) + usize::from(is_busy), is_busy)
        };
        self.sampler.sample(self.nodes.len(), load);
    }
}
