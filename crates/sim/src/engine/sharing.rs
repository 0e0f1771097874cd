//! Stealing and sharing: CFWSS (thesis, Algorithms 7 and 12), with its errors corrected.
//!
//! A processor that enables two nodes keeps one and stores the other in an entry, and pushes a
//! pointer to the entry into its deque. If its flag is set, it also offers the entry to an idle
//! processor. The processor that takes ownership first executes the node: the owner or a thief
//! through the deque, or the donee through the offer. A node that a donee has taken leaves a
//! *ghost* in the deque, the pointer to its entry, which costs a thief that finds it an iteration.
//!
//! **Deviations from the paper.** An offer carries the age of the entry, so that a donee does not
//! mistake a later entry in the same slot for it. The slot is freed by the processor that takes the
//! pointer out of the deque. A donee has at most one offer at a time. Spread-back marks the entry
//! as shared before it offers it.
//!
//! **Mailboxes** (Algorithms 13 and 14), if there are any: a node that has affinity to another
//! processor is not offered. It goes into the deque like any other, and a letter with a pointer to
//! it goes into the mailbox of that processor, unless the mailbox is full. An idle processor that
//! has mail reads it in its next iteration, instead of trying to steal. *Deviations.* Letters carry
//! ages, as offers do, and none is lost or invented. In the thesis a processor reads its mail with
//! probability theta_r, which is never if theta_r is 0, and disregards offers. Here, as in the
//! runtime, it reads before each search, and looks for offers too. A processor sends no letters to
//! itself: a node that has affinity to the processor that enables it stays there, and is not
//! offered.
//!
//! A donor reads the state of a donee without delay, whatever the distance; the offer takes the
//! latency to arrive.

mod private;
mod receive;
mod user_policies;

use std::collections::VecDeque;

use locksley_policy::{Actor, Heuristic, Memory, Offer, Outcome, Sharing, Source, other};

use super::core::{Core, Scheduler};
use super::dealing::home;
use super::mail::{Mail, Pointer};
use super::sampler::Move;
use crate::dag::{Computation, Enabled};
use private::Privacy;
use user_policies::UserPolicies;

/// A node that a processor has stored.
#[derive(Clone, Copy, Debug)]
struct Entry<N> {
    node: N,
    /// Incremented whenever the slot is freed.
    age: u32,
    /// Set if it has been offered.
    shared: bool,
    /// Set if a processor owns the node.
    owned: bool,
}

/// State flag of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Working,
    Idle,
    Offered(Pointer),
}

struct Processor {
    state: State,
    /// Set if the processor is to offer nodes.
    flag: bool,
    memory: Memory,
    /// The oldest entry first.
    deque: VecDeque<u32>,
    victim: Option<u32>,
    /// Set if the processor reads its mail in this iteration.
    reads: bool,
    contended: u64,
}

/// The processors of CFWSS.
pub(crate) struct Sharers<N> {
    policy: Sharing,
    mail: Mail,
    processors: Vec<Processor>,
    entries: Vec<Entry<N>>,
    free: Vec<u32>,
    user: UserPolicies,
    /// Public part of each deque; empty if all pointers are public.
    privacy: Vec<Privacy>,
}

/// Result of an attempt to steal.
pub(super) enum SharingAttempt<N> {
    Node(N, usize),
    Nothing(Outcome),
}

impl<N> SharingAttempt<N> {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            SharingAttempt::Node(..) => Outcome::Success,
            SharingAttempt::Nothing(outcome) => *outcome,
        }
    }
}

impl<N: Copy> Sharers<N> {
    /// Creates `count` processors with mailboxes for `mailbox` letters.
    pub(crate) fn new(policy: Sharing, count: usize, mailbox: u32) -> Sharers<N> {
        let processor = |_| Processor {
            state: State::Idle,
            flag: policy.heuristic.initial,
            memory: Memory::default(),
            deque: VecDeque::new(),
            victim: None,
            reads: false,
            contended: 0,
        };
        Sharers {
            policy,
            mail: Mail::new(mailbox, count),
            processors: (0..count).map(processor).collect(),
            entries: Vec::new(),
            free: Vec::new(),
            user: UserPolicies::default(),
            privacy: Vec::new(),
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

    /// Frees the slot that a pointer from a deque refers to. Returns the node, or `None` if a donee
    /// owns it, and the cost in ticks: a compare-and-swap if the entry was shared.
    fn free_entry<C>(&mut self, core: &mut Core<C>, place: u32) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let entry = &mut self.entries[place as usize];
        entry.age = entry.age.wrapping_add(1);
        self.free.push(place);
        if !entry.shared {
            return (Some(entry.node), 0);
        }
        // The processor sees that the entry is owned, and makes no compare-and-swap, which would
        // fail.
        if entry.owned {
            return (None, 0);
        }
        core.tally.cas += 1;
        (Some(entry.node), core.costs.cas)
    }

    /// Offers an entry, if the flag of the processor is set. Returns the cost in ticks.
    fn offer<C>(&mut self, core: &mut Core<C>, p: usize, entry: u32, now: u64) -> u32
    where
        C: Computation<Node = N>,
    {
        if self.user.has_donors() {
            return self.offer_by_user(core, p, entry, now);
        }
        if !self.processors[p].flag {
            return 0;
        }
        let actor = Actor {
            me: p,
            memory: self.processors[p].memory,
        };
        let probes = std::cell::Cell::new(0);
        let offer = {
            let view = core.view(|q| {
                probes.set(probes.get() + 1);
                self.processors[q].deque.len()
            });
            self.policy.offer(actor, &view, &mut core.draw(p, now))
        };
        core.tally.probes += probes.get();
        let mut cost = core.costs.probe.saturating_mul(probes.get() as u32);
        let mut offered = false;
        if let Some(donee) = offer.target() {
            let extra;
            (offered, extra) = self.offer_to(core, p, donee, entry, now);
            cost += extra;
        } else if offer == Offer::NoTarget {
            core.tally.refused += 1;
        } else {
            core.tally.kept += 1;
        }
        let update = self.policy.heuristic.after(offer.outcome(offered));
        let processor = &mut self.processors[p];
        processor.flag = update.of(processor.flag);
        cost
    }

    /// Offers an entry to a processor. Returns `false` if that is busy or has an offer already, and
    /// the cost in ticks.
    fn offer_to<C>(
        &mut self,
        core: &mut Core<C>,
        donor: usize,
        donee: usize,
        place: u32,
        now: u64,
    ) -> (bool, u32)
    where
        C: Computation<Node = N>,
    {
        let cost = core.costs.donation;
        if self.processors[donee].state != State::Idle {
            core.tally.refused += 1;
            return (false, cost);
        }
        self.processors[donee].state =
            State::Offered(self.share_entry(core, donor, donee, place, now));
        core.tally.offered += 1;
        (true, cost + self.fence_offer(core))
    }

    /// Marks an entry as shared and creates a pointer to it, which another processor can use after
    /// the latency.
    fn share_entry<C>(
        &mut self,
        core: &Core<C>,
        donor: usize,
        donee: usize,
        place: u32,
        now: u64,
    ) -> Pointer
    where
        C: Computation<Node = N>,
    {
        let entry = &mut self.entries[place as usize];
        entry.shared = true;
        Pointer {
            entry: place,
            age: entry.age,
            donor: donor as u32,
            from: core.at(donor, donee, now),
        }
    }

    /// Sends a letter to the processor that a new entry has affinity to. Returns the cost in ticks;
    /// `None` if there is no affinity or there are no mailboxes, so that the entry may be offered.
    fn mail<C>(&mut self, core: &mut Core<C>, p: usize, place: u32, now: u64) -> Option<u32>
    where
        C: Computation<Node = N>,
    {
        let affinity = core
            .computation
            .affinity(self.entries[place as usize].node)?;
        let to = home(affinity, core.count());
        if !self.mail.is_there() {
            return None;
        }
        if to == p {
            core.tally.kept += 1;
            return Some(0);
        }
        if self.mail.is_full(to) {
            core.tally.refused += 1;
            return Some(core.costs.probe);
        }
        let letter = self.share_entry(core, p, to, place, now);
        self.mail.leave(to, letter);
        core.tally.mailed += 1;
        Some(core.costs.donation)
    }

    /// Stores a node, and offers it or sends a letter (Algorithm 14, lines 5 to 14). Returns the
    /// cost in ticks.
    pub(super) fn fork<C>(&mut self, core: &mut Core<C>, p: usize, node: N, now: u64) -> u32
    where
        C: Computation<Node = N>,
    {
        let entry = self.store(node);
        let cost = match self.mail(core, p, entry, now) {
            Some(cost) => cost,
            None => self.offer(core, p, entry, now),
        };
        self.processors[p].deque.push_back(entry);
        cost
    }

    /// Pops the newest node of a processor's own deque, skipping ghosts. Returns it, and the cost
    /// in ticks.
    pub(super) fn fetch<C>(&mut self, core: &mut Core<C>, p: usize) -> (Option<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let mut cost = 0;
        loop {
            let is_public = self.takes_public(p);
            if is_public {
                core.tally.fences += 1;
                cost += core.costs.fence;
            }
            let Some(place) = self.processors[p].deque.pop_back() else {
                return (None, cost);
            };
            if is_public && self.processors[p].deque.is_empty() {
                core.tally.cas += 1;
                cost += core.costs.cas;
            }
            let (node, more) = self.free_entry(core, place);
            cost += more;
            if let Some(node) = node {
                Self::note(core, p, node);
                return (Some(node), cost);
            }
            core.tally.ghost_pops += 1;
        }
    }

    /// Counts affinities: whether the node has one, and whether it is to processor `p`.
    fn note<C: Computation<Node = N>>(core: &mut Core<C>, p: usize, node: N) {
        if let Some(affinity) = core.computation.affinity(node) {
            core.tally.affinities += 1;
            core.tally.affinity_hits += u64::from(home(affinity, core.count()) == p);
        }
    }

    /// Starts an iteration of an idle processor. It takes effect at its end.
    pub(super) fn seek<C: Computation<Node = N>>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        now: u64,
    ) {
        let mut draw = core.draw(p, now);
        let theta = self.policy.theta_r.get();
        let reads = self.mail.is_due(p, now);
        self.processors[p].reads = reads;
        let victim = if !reads && draw.unit() >= theta {
            self.choose_victim(core, p, &mut draw)
        } else {
            None
        };
        let mut there = core.after(p, now, core.costs.steal);
        if let Some(victim) = victim {
            there = core.at(p, victim, there);
        }
        self.processors[p].victim = victim.map(|victim| victim as u32);
        core.act_at(p, there);
    }

    /// Makes an attempt to steal. Returns its result, and the cost in ticks beyond that of the
    /// iteration.
    pub(super) fn attempt<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        now: u64,
    ) -> (SharingAttempt<N>, u32)
    where
        C: Computation<Node = N>,
    {
        let Some(victim) = self.processors[p].victim.map(|victim| victim as usize) else {
            core.tally.skipped += 1;
            return (SharingAttempt::Nothing(Outcome::Skipped), 0);
        };
        core.tally.fences += 1;
        let cost = core.costs.fence;
        if now < self.processors[victim].contended {
            core.tally.aborted += 1;
            core.tally.cas += 1;
            return (
                SharingAttempt::Nothing(Outcome::Abort),
                cost + core.costs.cas,
            );
        }
        let oldest = self.gives_oldest(victim);
        let oldest = oldest.then(|| self.processors[victim].deque.pop_front());
        let Some(place) = oldest.flatten() else {
            core.tally.empty += 1;
            return (SharingAttempt::Nothing(Outcome::Empty), cost);
        };
        core.tally.cas += 1;
        self.processors[victim].contended = now + u64::from(core.costs.cas.max(1));
        let (node, more) = self.free_entry(core, place);
        let cost = cost + core.costs.cas + more;
        match node {
            Some(node) => {
                core.tally.stolen += 1;
                core.tally.items_stolen += 1;
                self.processors[victim].memory.stolen_by(p);
                Self::note(core, p, node);
                (SharingAttempt::Node(node, victim), cost)
            }
            None => {
                core.tally.ghosts += 1;
                // For the heuristic, a ghost counts as stolen (Algorithm 7, line 91).
                (SharingAttempt::Nothing(Outcome::Success), cost)
            }
        }
    }

    /// Lets a thief update the flag of a random other processor.
    pub(super) fn update<C>(&mut self, core: &Core<C>, p: usize, outcome: Outcome, now: u64)
    where
        C: Computation<Node = N>,
    {
        let mut draw = core.draw(p, !now);
        if draw.unit() < self.policy.theta_r.get() {
            return;
        }
        if let Some(q) = other(p, core.count(), &mut draw) {
            let flag = &mut self.processors[q].flag;
            *flag = self.user.has_donors() || self.policy.heuristic.by_thief(outcome).of(*flag);
        }
    }

    /// Marks a processor as busy: it accepts no offers.
    pub(super) fn works(&mut self, p: usize) {
        self.processors[p].state = State::Working;
    }

    /// Marks a processor as idle.
    pub(super) fn rests(&mut self, p: usize) {
        self.processors[p].state = State::Idle;
    }

    /// Returns `true` if a processor reads its mail in this iteration.
    pub(super) fn reads(&self, p: usize) -> bool {
        self.processors[p].reads
    }

    /// Returns the victim that a processor tries in this iteration, if it tries one.
    pub(super) fn victim(&self, p: usize) -> Option<usize> {
        self.processors[p].victim.map(|victim| victim as usize)
    }

    /// Returns the number of pointers in the deque of a processor, including ghosts.
    pub(super) fn len(&self, p: usize) -> usize {
        self.processors[p].deque.len()
    }

    /// See [`Scheduler::can_progress`]: pointers that thieves can take from `p`; and if it is not
    /// gone, offers and letters that it can accept.
    pub(super) fn can_be_used(&self, p: usize, is_gone: bool) -> bool {
        let accepts = matches!(self.processors[p].state, State::Offered(_)) || self.mail.waits(p);
        self.has_public(p) || !is_gone && accepts
    }

    /// Sets the heuristic of all processors.
    pub(super) fn set_heuristic(&mut self, heuristic: Heuristic) {
        if self.policy.heuristic != heuristic {
            self.policy.heuristic = heuristic;
            for processor in &mut self.processors {
                processor.flag = heuristic.initial;
            }
        }
    }
}

impl<C: Computation> Scheduler<C> for Sharers<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        self.works(0);
        for p in 1..core.count() {
            self.seek(core, p, 0);
        }
    }

    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        let (next, cost) = match enabled {
            Enabled::One(next) => (Some(next), 0),
            Enabled::Two(next, other) => (Some(next), self.fork(core, p, other, now)),
            Enabled::Nothing | Enabled::End => self.fetch(core, p),
        };
        let cost = cost + self.expose(core, p);
        let now = core.after(p, now, cost);
        match next {
            Some(next) => core.execute(p, next, now),
            None => {
                self.rests(p);
                core.rest(p, now);
                self.seek(core, p, now);
            }
        }
    }

    fn acted(&mut self, core: &mut Core<C>, p: usize, now: u64) {
        core.tally.idle_iterations += 1;
        let mut back = now;
        if !self.reads(p) {
            let (stolen, cost) = self.attempt(core, p, now);
            self.update(core, p, stolen.outcome(), now);
            self.tried(p, stolen.outcome());
            back = core.after(p, now, cost);
            if let Some(victim) = self.victim(p) {
                back = core.at(victim, p, back);
            }
            if let SharingAttempt::Node(node, victim) = stolen {
                self.works(p);
                core.sampler.moved(Move::Steal, victim, p, now, back);
                return core.execute(p, node, back);
            }
        }
        if !self.receive(core, p, now, back) {
            self.seek(core, p, back);
        }
    }

    fn waiting(&self, p: usize) -> usize {
        self.len(p)
    }

    fn can_progress(&self, p: usize, is_gone: bool) -> bool {
        self.can_be_used(p, is_gone)
    }
}
