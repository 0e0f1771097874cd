//! Stealing and sharing: CFWSS (thesis, Algorithms 7 and 12), with its errors mended.
//!
//! A processor that enables two nodes keeps one and stores the other in an entry, a pointer to
//! which goes into its deque; if its flag is set, it offers the entry to somebody idle as well.
//! Whoever takes ownership first executes it: the owner or a thief through the deque, or the donee
//! through the offer. What a donee has taken leaves a *ghost* in the deque, which costs whoever
//! finds it an iteration.
//!
//! **Deviations from the paper.** An offer carries the age of the entry, so that a later entry in
//! the same place is not taken for it. The place is given back by whoever takes the pointer out of
//! the deque. An offer lands only where there is none. Spread-back marks the entry as shared before
//! it offers it.
//!
//! A donor reads the state of a donee at once, however far it is; the offer takes the latency.

use std::collections::VecDeque;

use locksley_policy::{Memory, Offer, Outcome, Seeker, Sharing, Source, other};

use super::core::{Core, Scheduler};
use super::watch::Move;
use crate::dag::{Computation, Enabled};

/// What a processor has stored.
#[derive(Clone, Copy, Debug)]
struct Entry<N> {
    node: N,
    /// Grows whenever the place is given back.
    age: u32,
    /// Has it been offered to somebody?
    shared: bool,
    /// Does somebody own the node?
    owned: bool,
}

/// A processor's state flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Working,
    Idle,
    /// An entry of a donor, of that age, has been offered, and is there from a time on.
    Offered {
        entry: u32,
        age: u32,
        donor: u32,
        from: u64,
    },
}

struct Processor {
    state: State,
    spreading: bool,
    memory: Memory,
    /// The oldest entry first.
    deque: VecDeque<u32>,
    victim: Option<u32>,
    contended: u64,
}

/// The processors of CFWSS.
pub(crate) struct Sharers<N> {
    policy: Sharing,
    processors: Vec<Processor>,
    entries: Vec<Entry<N>>,
    free: Vec<u32>,
}

/// What came of an attempt to steal.
enum Loot<N> {
    Node(N, usize),
    Nothing(Outcome),
}

impl<N: Copy> Sharers<N> {
    pub(crate) fn new(policy: Sharing, count: usize) -> Sharers<N> {
        let processor = |_| Processor {
            state: State::Idle,
            spreading: policy.heuristic.initial,
            memory: Memory::default(),
            deque: VecDeque::new(),
            victim: None,
            contended: 0,
        };
        Sharers {
            policy,
            processors: (0..count).map(processor).collect(),
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    fn store(&mut self, node: N) -> u32 {
        let mut entry = Entry {
            node,
            age: 0,
            shared: false,
            owned: false,
        };
        if let Some(place) = self.free.pop() {
            entry.age = self.entries[place as usize].age;
            self.entries[place as usize] = entry;
            return place;
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Whoever has taken a pointer out of a deque takes what it points to, if nobody owns it, and
    /// gives the place back. The ticks that it costs are those of a compare-and-swap if it was
    /// shared.
    fn redeem<C>(&mut self, core: &mut Core<C>, place: u32) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let entry = &mut self.entries[place as usize];
        entry.age = entry.age.wrapping_add(1);
        self.free.push(place);
        if !entry.shared {
            return (Some(entry.node), 0);
        }
        // Seen to be owned, it is left alone: a compare-and-swap would be in vain.
        if entry.owned {
            return (None, 0);
        }
        core.tally.cas += 1;
        (Some(entry.node), core.costs.cas)
    }

    /// Offers an entry, if the flag says so; the ticks that it costs.
    fn spread<C>(&mut self, core: &mut Core<C>, p: usize, entry: u32, now: u64) -> u32
    where
        C: Computation<Node = N>,
    {
        if !self.processors[p].spreading {
            return 0;
        }
        let seeker = Seeker {
            me: p,
            memory: self.processors[p].memory,
        };
        let probes = std::cell::Cell::new(0);
        let offer = {
            let view = core.view(|q| {
                probes.set(probes.get() + 1);
                self.processors[q].deque.len()
            });
            self.policy.offer(seeker, &view, &mut core.draw(p, now))
        };
        core.tally.probes += probes.get();
        let mut cost = core.costs.probe.saturating_mul(probes.get() as u32);
        let mut offered = false;
        if let Some(donee) = offer.target() {
            cost += core.costs.donation;
            offered = self.offer(core, p, donee, entry, now);
            match offered {
                true => core.tally.offered += 1,
                false => core.tally.refused += 1,
            }
        } else if offer == Offer::Nobody {
            core.tally.refused += 1;
        } else {
            core.tally.kept += 1;
        }
        let update = self.policy.heuristic.after(offer.outcome(offered));
        let processor = &mut self.processors[p];
        processor.spreading = update.of(processor.spreading);
        cost
    }

    /// Offers an entry to a processor: was that idle?
    fn offer<C>(&mut self, core: &Core<C>, donor: usize, donee: usize, place: u32, now: u64) -> bool
    where
        C: Computation<Node = N>,
    {
        if self.processors[donee].state != State::Idle {
            return false;
        }
        let entry = &mut self.entries[place as usize];
        entry.shared = true;
        self.processors[donee].state = State::Offered {
            entry: place,
            age: entry.age,
            donor: donor as u32,
            from: core.at(donor, donee, now),
        };
        true
    }

    /// Takes the newest node of the own deque, over all ghosts, and the ticks that it costs.
    fn fetch<C: Computation<Node = N>>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
    ) -> (Option<N>, u32) {
        let mut cost = 0;
        loop {
            core.tally.fences += 1;
            cost += core.costs.fence;
            let Some(place) = self.processors[p].deque.pop_back() else {
                return (None, cost);
            };
            if self.processors[p].deque.is_empty() {
                core.tally.cas += 1;
                cost += core.costs.cas;
            }
            let (node, more) = self.redeem(core, place);
            cost += more;
            if node.is_some() {
                return (node, cost);
            }
            core.tally.ghost_pops += 1;
        }
    }

    /// An idle processor begins an iteration, whose effect is at its end.
    fn seek<C: Computation<Node = N>>(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        let mut draw = core.draw(p, now);
        let theta = self.policy.theta_r.get();
        let victim = match draw.unit() >= theta {
            true => other(p, core.count(), &mut draw),
            false => None,
        };
        let mut there = core.after(p, now, core.costs.steal);
        if let Some(victim) = victim {
            there = core.at(p, victim, there);
        }
        self.processors[p].victim = victim.map(|victim| victim as u32);
        core.act_at(p, there);
    }

    /// An attempt to steal, and the ticks that it costs besides.
    fn attempt<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> (Loot<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let Some(victim) = self.processors[p].victim.map(|victim| victim as usize) else {
            core.tally.skipped += 1;
            return (Loot::Nothing(Outcome::Skipped), 0);
        };
        core.tally.fences += 1;
        let cost = core.costs.fence;
        if now < self.processors[victim].contended {
            core.tally.aborted += 1;
            core.tally.cas += 1;
            return (Loot::Nothing(Outcome::Abort), cost + core.costs.cas);
        }
        let Some(place) = self.processors[victim].deque.pop_front() else {
            core.tally.empty += 1;
            return (Loot::Nothing(Outcome::Empty), cost);
        };
        core.tally.cas += 1;
        self.processors[victim].contended = now + u64::from(core.costs.cas.max(1));
        let (node, more) = self.redeem(core, place);
        let cost = cost + core.costs.cas + more;
        match node {
            Some(node) => {
                core.tally.stolen += 1;
                core.tally.items_stolen += 1;
                self.processors[victim].memory.robbed_by(p);
                (Loot::Node(node, victim), cost)
            }
            None => {
                core.tally.ghosts += 1;
                // For the heuristic, something was stolen (Algorithm 7, line 91).
                (Loot::Nothing(Outcome::Success), cost)
            }
        }
    }

    /// A thief may change the flag of somebody.
    fn update<C>(&mut self, core: &Core<C>, p: usize, outcome: Outcome, now: u64)
    where
        C: Computation<Node = N>,
    {
        let mut draw = core.draw(p, !now);
        if draw.unit() < self.policy.theta_r.get() {
            return;
        }
        if let Some(q) = other(p, core.count(), &mut draw) {
            let flag = &mut self.processors[q].spreading;
            *flag = self.policy.heuristic.by_thief(outcome).of(*flag);
        }
    }

    /// Accepts an offer, if there is one that is still good; the ticks that it costs, and who made
    /// it.
    fn accept<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> Option<(N, u32, usize)>
    where
        C: Computation<Node = N>,
    {
        let State::Offered {
            entry,
            age,
            donor,
            from,
        } = self.processors[p].state
        else {
            return None;
        };
        if now < from {
            return None;
        }
        self.processors[p].state = State::Idle;
        let entry = &mut self.entries[entry as usize];
        if entry.age != age || entry.owned {
            return None;
        }
        entry.owned = true;
        core.tally.cas += 1;
        core.tally.donated += 1;
        Some((entry.node, core.costs.cas, donor as usize))
    }
}

impl<C: Computation> Scheduler<C> for Sharers<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        self.processors[0].state = State::Working;
        for p in 1..core.count() {
            self.seek(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        let (next, cost) = match enabled {
            Enabled::One(next) => (Some(next), 0),
            Enabled::Two(next, other) => {
                let entry = self.store(other);
                let cost = self.spread(core, p, entry, now);
                self.processors[p].deque.push_back(entry);
                (Some(next), cost)
            }
            Enabled::Nothing | Enabled::End => self.fetch(core, p),
        };
        let now = core.after(p, now, cost);
        match next {
            Some(next) => core.execute(p, next, now),
            None => {
                self.processors[p].state = State::Idle;
                core.rest(p, now);
                self.seek(core, p, now);
            }
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        core.tally.idle_iterations += 1;
        let (loot, cost) = self.attempt(core, p, now);
        let outcome = match loot {
            Loot::Node(..) => Outcome::Success,
            Loot::Nothing(outcome) => outcome,
        };
        self.update(core, p, outcome, now);
        let mut back = core.after(p, now, cost);
        if let Some(victim) = self.processors[p].victim {
            back = core.at(victim as usize, p, back);
        }
        if let Loot::Node(node, victim) = loot {
            self.processors[p].state = State::Working;
            core.watch.moved(Move::Steal, victim, p, now, back);
            return core.execute(p, node, back);
        }
        match self.accept(core, p, back) {
            Some((node, cost, donor)) => {
                let back = core.after(p, back, cost);
                self.processors[p].state = State::Working;
                core.watch.moved(Move::Donation, donor, p, now, back);
                core.execute(p, node, back);
            }
            None => self.seek(core, p, back),
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.processors[p].deque.len()
    }
}
