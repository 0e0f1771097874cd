//! Work stealing as events: LFWS (thesis, Algorithm 1), CFLFWS (Algorithms 2, 10 and 11) and WSSPD
//! (Algorithm 8).
//!
//! A busy processor completes one node after another, an idle one makes one attempt after another.
//! Both are events, but most events of busy processors are not simulated at their time:
//!
//! **Lemma.** In a nested computation, a busy processor whose queue holds nodes x1 .. xk, and from
//! which no thief steals, interacts with no other processor before it has completed its own node
//! and all that x1 .. xk lead to. *Proof.* Nodes are stolen from the top. So the joins that the
//! processor shares with its thieves lie above all nodes in its queue (the structural lemma, thesis
//! 4.3), and the processor reaches them, or runs out of work, only when the queue is empty.
//!
//! [`Computation::at_least`] is a lower bound on the number of nodes that a node leads to. A
//! processor needs no event before it has executed the sum of these bounds over its nodes. Until
//! then it is not advanced; when a thief tries to steal from it, or the time is up, it catches up
//! in one loop over its own data. The outcome is the same, bit for bit, as if every node were an
//! event ([`Pacing::Eager`]); a test checks this.
//!
//! Events of one tick happen in this order: completions, in the order of the processors' numbers;
//! then attempts, in cyclic order of the thieves' numbers from a position that is drawn for each
//! tick, so that no thief is always first.

use locksley_policy::{Actor, Balancer, Memory, Mixed, NestedGroups, Outcome, Victims};

use super::bits::Bits;
use super::queue::{LocalQueue, Stolen};
use super::sampler::{Move, Sampler};
use super::stuck::StuckCheck;
use super::topology::Seen;
use super::wheel::{NEVER, Wheel};
use super::{Costs, Finish, Setup, Tally};
use crate::dag::{Computation, Enabled};
use crate::{CounterRng, Speeds, Topology};

/// Marks the events of thieves, so that they come after those of busy processors.
const THIEF: u32 = 1 << 31;

/// The victim of a thief that makes no attempt.
const NONE: u32 = u32::MAX;

/// Times at which a busy processor is advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// Whenever it completes a node.
    Eager,
    /// When it may interact with another processor.
    Lazy,
}

/// A processor. It fits into a cache line if a node is a word.
#[repr(align(64))]
struct Processor<N, P> {
    /// The node that it executes, if it is busy.
    node: N,
    /// Time at which that node is completed.
    clock: u64,
    /// Time at which it is to be advanced; events of other times are void.
    due: u64,
    /// Time until which attempts of thieves fail because another thief has just stolen from it.
    contended: u64,
    queue: P,
}

/// State of a processor after it has been advanced.
enum Run {
    /// It is busy.
    On,
    /// It is idle from this time on.
    Idle(u64),
    /// It has executed the sink at this time.
    End(u64),
}

/// A run of a work-stealing scheduler.
pub(crate) struct Stealing<'a, C: Computation, P> {
    computation: &'a mut C,
    pacing: Pacing,
    costs: Costs,
    speeds: &'a Speeds,
    topology: Option<&'a Topology>,
    nest: NestedGroups,
    victims: Victims,
    /// User-defined balancers, which replace `victims`; empty if there are none.
    user_balancers: Vec<Mixed<Box<dyn Balancer + Send>>>,
    seed: u64,
    processors: Vec<Processor<C::Node, P>>,
    busy: Bits,
    /// Processors whose queue may not be empty. Thieves need not look at the others. A processor
    /// whose queue a thief has just emptied stays in the set until the tick is over: other thieves
    /// that try it are aborted.
    nonempty: Bits,
    just_emptied: Vec<u32>,
    /// For each thief, the victim of its current attempt.
    trying: Vec<u32>,
    /// Memory of each thief, if its policy uses it.
    memories: Vec<Memory>,
    wheel: Wheel,
    stuck_check: StuckCheck,
    tally: Tally,
    sampler: Sampler,
}

impl<'a, C: Computation, P: LocalQueue<C::Node>> Stealing<'a, C, P> {
    pub(crate) fn new(
        computation: &'a mut C,
        setup: &'a Setup,
        victims: Victims,
        pacing: Pacing,
    ) -> Self {
        let count = setup.processors;
        let root = computation.start();
        let processor = || Processor {
            node: root,
            clock: NEVER,
            due: NEVER,
            contended: 0,
            queue: P::default(),
        };
        let user = setup.balancer.as_ref();
        let user_balancers = user.map_or(Vec::new(), |user| user.make(count));
        let remembers = matches!(victims, Victims::StealBack { .. } | Victims::Sticky { .. });
        let remembers = remembers || !user_balancers.is_empty();
        // User-defined balancers may look at the loads.
        let lazy = C::NESTED && !victims.looks_at_loads() && user_balancers.is_empty();
        Stealing {
            computation,
            pacing: if lazy { pacing } else { Pacing::Eager },
            costs: setup.costs,
            speeds: &setup.speeds,
            topology: (!setup.topology.is_instant()).then_some(&setup.topology),
            nest: setup.topology.nest(),
            victims,
            user_balancers,
            seed: setup.seed,
            processors: (0..count).map(|_| processor()).collect(),
            busy: Bits::new(count),
            nonempty: Bits::new(count),
            just_emptied: Vec::new(),
            trying: vec![NONE; count],
            memories: vec![Memory::default(); if remembers { count } else { 0 }],
            wheel: Wheel::new(),
            stuck_check: StuckCheck::new(&setup.speeds, count),
            tally: Tally::default(),
            sampler: Sampler::new(setup),
        }
    }

    /// Runs until the sink is executed. Returns `None` if that cannot happen.
    pub(crate) fn run(mut self) -> Option<Finish> {
        let root = self.processors[0].node;
        self.assign(0, root, 0);
        for thief in 1..self.processors.len() {
            self.seek(thief, 0);
        }
        let mut keys = Vec::new();
        while let Some(now) = self.wheel.next(&mut keys) {
            while self.sampler.next_sample() < now {
                self.sample();
            }
            let thieves = keys.partition_point(|&key| key < THIEF);
            for &key in &keys[..thieves] {
                if let Some(makespan) = self.advance(key as usize, now) {
                    return Some(Finish::new(makespan, self.tally, self.sampler));
                }
            }
            let thieves = &keys[thieves..];
            let first = super::first_to_act(self.seed, now, thieves.len());
            for &key in thieves[first..].iter().chain(&thieves[..first]) {
                self.attempt((key & !THIEF) as usize, now);
            }
            self.forget_just_emptied();
            if self.stuck_check.is_due(thieves.len()) && self.is_stuck(now) {
                break;
            }
        }
        None
    }

    /// Returns `true` if no node will be executed any more.
    fn is_stuck(&mut self, now: u64) -> bool {
        let count = self.processors.len();
        if (0..count).any(|p| self.busy.contains(p) && !self.speeds.is_gone(p, now)) {
            return false;
        }
        self.catch_up(now);
        !self.processors.iter().any(|one| one.queue.can_be_stolen())
    }

    /// Advances a busy processor whose event is due. Returns the makespan if it has executed the
    /// sink.
    #[inline]
    fn advance(&mut self, p: usize, now: u64) -> Option<u64> {
        if self.processors[p].due != now {
            return None;
        }
        match self.run_until(p, now) {
            Run::On => {
                self.schedule(p);
                None
            }
            Run::Idle(from) => {
                self.processors[p].due = NEVER;
                self.processors[p].clock = NEVER;
                self.busy.remove(p);
                self.nonempty.remove(p);
                self.sampler.idle(p, from);
                self.seek(p, from);
                None
            }
            Run::End(at) => {
                self.sampler.idle(p, at);
                Some(at)
            }
        }
    }

    /// Lets a processor complete all nodes that end at `until` or before.
    #[inline]
    fn run_until(&mut self, p: usize, until: u64) -> Run {
        let count = self.processors.len();
        let Processor {
            node, clock, queue, ..
        } = &mut self.processors[p];
        let (costs, tally) = (&self.costs, &mut self.tally);
        let (mut at, mut now, mut executed) = (*node, *clock, 0);
        let run = loop {
            if now > until {
                break Run::On;
            }
            executed += 1;
            let mut cost = 0;
            match self.computation.execute(at) {
                Enabled::One(next) => at = next,
                Enabled::Two(next, other) => {
                    queue.push(other);
                    at = next;
                }
                Enabled::Nothing => {
                    let (next, more) = queue.pop(costs, tally);
                    let Some(next) = next else {
                        break Run::Idle(self.speeds.after(p, now, u64::from(more)));
                    };
                    cost += more;
                    at = next;
                }
                Enabled::End => break Run::End(now),
            }
            cost += queue.before(costs, tally);
            cost += costs.of_node(self.computation, at, p, count);
            now = self.speeds.after(p, now, u64::from(cost));
        };
        (*node, *clock) = (at, now);
        tally.executed += executed;
        run
    }

    /// Returns the time at which a busy processor must be advanced next if no thief steals from it.
    fn next_event(&self, p: usize) -> u64 {
        let Processor {
            node, clock, queue, ..
        } = &self.processors[p];
        if self.pacing == Pacing::Eager {
            return *clock;
        }
        // This processor forked the nodes in its queue, so it executes their joins too, where they
        // are paired.
        let waiting = queue
            .nodes()
            .iter()
            .map(|&node| self.computation.at_least(node) + u64::from(C::PAIRED));
        let nodes = self.computation.at_least(*node) - 1 + waiting.sum::<u64>();
        self.speeds
            .after(p, *clock, nodes.saturating_mul(u64::from(self.costs.node)))
    }

    /// Schedules the next event of a busy processor.
    #[inline]
    fn schedule(&mut self, p: usize) {
        let due = self.next_event(p);
        self.processors[p].due = due;
        self.wheel.push(due, p as u32);
        self.nonempty.set(p, self.may_be_nonempty(p));
    }

    /// Returns `true` if a busy processor may have nodes to steal before its next event.
    #[inline]
    fn may_be_nonempty(&self, p: usize) -> bool {
        let Processor {
            clock, due, queue, ..
        } = &self.processors[p];
        due > clock || !queue.nodes().is_empty()
    }

    /// Assigns a node to an idle processor, which executes it from a time on.
    fn assign(&mut self, p: usize, node: C::Node, from: u64) {
        let count = self.processors.len();
        let cost = self.costs.of_node(self.computation, node, p, count);
        let clock = self.speeds.after(p, from, u64::from(cost));
        let processor = &mut self.processors[p];
        processor.node = node;
        processor.clock = clock;
        self.busy.insert(p);
        self.sampler.busy(p, from);
        self.schedule(p);
    }

    /// Starts an attempt of an idle processor. It takes effect at its end.
    #[inline]
    fn seek(&mut self, thief: usize, from: u64) {
        let victim = self.choose(thief, from);
        let mut at = self.speeds.after(thief, from, u64::from(self.costs.steal));
        if let (Some(topology), Some(victim)) = (self.topology, victim) {
            at = at.saturating_add(u64::from(topology.latency(thief, victim)));
        }
        self.trying[thief] = victim.map_or(NONE, |victim| victim as u32);
        self.wheel.push(at, thief as u32 | THIEF);
    }

    #[inline]
    fn choose(&mut self, thief: usize, now: u64) -> Option<usize> {
        let mut draw = CounterRng::at(self.seed, thief, now);
        let actor = Actor {
            me: thief,
            memory: self.memories.get(thief).copied().unwrap_or_default(),
        };
        let look = |p: usize| {
            let load = self.processors[p].queue.nodes().len();
            (load, !self.busy.contains(p))
        };
        let view = Seen {
            count: self.processors.len(),
            nest: &self.nest,
            look,
        };
        match self.user_balancers.get_mut(thief) {
            Some(balancer) => balancer.choose(actor, &view, &mut draw),
            None => self.victims.choose(actor, &view, &mut draw),
        }
    }

    /// Performs the attempt of a thief.
    #[inline]
    fn attempt(&mut self, thief: usize, now: u64) {
        self.tally.idle_iterations += 1;
        let victim = self.trying[thief] as usize;
        if victim == NONE as usize {
            self.tally.skipped += 1;
            return self.seek(thief, now);
        }
        self.tally.fences += 1;
        if !self.nonempty.contains(victim) {
            self.tally.empty += 1;
            return self.failed(thief, victim, Outcome::Empty, now, 0);
        }
        self.attempt_nonempty(thief, victim, now);
    }

    fn attempt_nonempty(&mut self, thief: usize, victim: usize, now: u64) {
        if self.processors[victim].clock <= now {
            self.run_until(victim, now);
        }
        let Processor {
            contended, queue, ..
        } = &self.processors[victim];
        let just_robbed = *contended == now + u64::from(self.costs.cas.max(1));
        if just_robbed || now < *contended && !queue.nodes().is_empty() {
            self.tally.aborted += 1;
            self.tally.cas += 1;
            return self.failed(thief, victim, Outcome::Abort, now, self.costs.cas);
        }
        match self.processors[victim].queue.steal() {
            Stolen::Node(node) => self.succeeded(thief, victim, node, now),
            Stolen::Empty => {
                self.tally.empty += 1;
                self.failed(thief, victim, Outcome::Empty, now, 0);
            }
            Stolen::Private => {
                self.tally.found_private += 1;
                self.failed(thief, victim, Outcome::Empty, now, 0);
            }
        }
    }

    fn succeeded(&mut self, thief: usize, victim: usize, node: C::Node, now: u64) {
        self.tally.stolen += 1;
        self.tally.items_stolen += 1;
        self.tally.cas += 1;
        self.processors[victim].contended = now + u64::from(self.costs.cas.max(1));
        if !self.memories.is_empty() {
            self.memories[victim].stolen_by(thief);
            self.tried(thief, victim, Outcome::Success);
        }
        if self.processors[victim].queue.nodes().is_empty() {
            self.just_emptied.push(victim as u32);
        }
        let due = self.next_event(victim);
        if due < self.processors[victim].due {
            self.processors[victim].due = due;
            self.wheel.push(due, victim as u32);
        }
        let cost = u64::from(self.costs.fence) + u64::from(self.costs.cas);
        let back = self.back(thief, victim, self.speeds.after(thief, now, cost));
        self.sampler.moved(Move::Steal, victim, thief, now, back);
        self.assign(thief, node, back);
    }

    /// Tells the policy the outcome of an attempt.
    fn tried(&mut self, thief: usize, victim: usize, outcome: Outcome) {
        self.memories[thief].tried(victim, outcome);
        if let Some(balancer) = self.user_balancers.get_mut(thief) {
            balancer.tried(victim, outcome);
        }
    }

    /// Starts the next attempt after one that failed.
    #[inline]
    fn failed(&mut self, thief: usize, victim: usize, outcome: Outcome, now: u64, cas: u32) {
        if !self.memories.is_empty() {
            self.tried(thief, victim, outcome);
        }
        let cost = u64::from(self.costs.fence) + u64::from(cas);
        let back = self.back(thief, victim, self.speeds.after(thief, now, cost));
        self.seek(thief, back);
    }

    /// Returns the time at which an answer of the victim reaches the thief.
    #[inline]
    fn back(&self, thief: usize, victim: usize, from: u64) -> u64 {
        let latency = self
            .topology
            .map_or(0, |topology| topology.latency(victim, thief));
        from.saturating_add(u64::from(latency))
    }

    /// Removes processors that were emptied in this tick from `nonempty`, at the end of the tick.
    fn forget_just_emptied(&mut self) {
        while let Some(victim) = self.just_emptied.pop() {
            let victim = victim as usize;
            self.nonempty.set(victim, self.may_be_nonempty(victim));
        }
    }

    /// Lets all busy processors complete the nodes that end at `until` or before.
    fn catch_up(&mut self, until: u64) {
        for p in 0..self.processors.len() {
            if self.busy.contains(p) && self.processors[p].clock <= until {
                self.run_until(p, until);
            }
        }
    }

    /// Samples the loads of all processors.
    fn sample(&mut self) {
        self.catch_up(self.sampler.next_sample());
        let load = |p: usize| {
            let busy = self.busy.contains(p);
            (
                self.processors[p].queue.nodes().len() + usize::from(busy),
                busy,
            )
        };
        self.sampler.sample(self.processors.len(), load);
    }
}
