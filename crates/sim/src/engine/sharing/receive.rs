//! Actions of a donee: it reads its letters and accepts offers.

use super::{Sharers, State};
use crate::dag::Computation;
use crate::engine::core::Core;
use crate::engine::mail::Pointer;
use crate::engine::sampler::Move;

/// A node that a donee gets, the cost in ticks, and its donor.
struct Gift<N> {
    node: N,
    cost: u32,
    donor: usize,
}

impl<N: Copy> Sharers<N> {
    /// Accepts an offer, if there is one whose entry has no owner yet.
    fn accept<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> Option<Gift<N>>
    where
        C: Computation<Node = N>,
    {
        match self.processors[p].state {
            State::Offered(pointer) if pointer.from <= now => {
                self.processors[p].state = State::Idle;
                self.accept_entry(core, p, pointer, 0)
            }
            _ => None,
        }
    }

    /// Reads letters until it finds one whose entry has no owner yet.
    fn read<C>(&mut self, core: &mut Core<C>, p: usize, now: u64) -> Option<Gift<N>>
    where
        C: Computation<Node = N>,
    {
        let mut cost: u32 = 0;
        while let Some(letter) = self.mail.next(p, now) {
            core.tally.probes += 1;
            cost = cost.saturating_add(core.costs.probe);
            let gift = self.accept_entry(core, p, letter, cost);
            if gift.is_some() {
                return gift;
            }
        }
        None
    }

    /// Takes the entry that a pointer refers to, if it has no owner yet and has not been replaced.
    fn accept_entry<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        pointer: Pointer,
        cost: u32,
    ) -> Option<Gift<N>>
    where
        C: Computation<Node = N>,
    {
        let entry = &mut self.entries[pointer.entry as usize];
        if entry.age != pointer.age || entry.owned {
            return None;
        }
        entry.owned = true;
        let node = entry.node;
        core.tally.cas += 1;
        core.tally.donated += 1;
        Self::note(core, p, node);
        Some(Gift {
            node,
            cost: cost + core.costs.cas,
            donor: pointer.donor as usize,
        })
    }

    /// Ends an iteration in which a processor has stolen nothing: it reads its mail, if it is to do
    /// so in this iteration, and looks for an offer. Returns `true` if it has got a node to
    /// execute.
    pub(in crate::engine) fn receive<C>(
        &mut self,
        core: &mut Core<C>,
        p: usize,
        now: u64,
        back: u64,
    ) -> bool
    where
        C: Computation<Node = N>,
    {
        let read = if std::mem::take(&mut self.processors[p].reads) {
            self.read(core, p, now)
        } else {
            None
        };
        let Some(gift) = read.or_else(|| self.accept(core, p, back)) else {
            return false;
        };
        let back = core.after(p, back, gift.cost);
        self.works(p);
        core.sampler.moved(Move::Donation, gift.donor, p, now, back);
        core.execute(p, gift.node, back);
        true
    }
}
