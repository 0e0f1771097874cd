//! Ranks that send: the load sharing of Eager, Lazowska and Zahorjan between processes ("Adaptive
//! Load Sharing in Homogeneous Distributed Systems"; Rito's thesis, section 2.4.4).
//!
//! A rank that has more than its floor sends its share to another one, and no rank asks for work.
//! Which one is decided by a [`Target`]: any (`random`); the first of up to L_p that has less than
//! a threshold (`threshold`); the one that has least of L_p (`shortest`), if that is less than it
//! has itself. It probes one after the other, by messages. After probes in vain it waits, longer
//! each time, as a thief does between requests.
//!
//! **Deviations from the paper.** A share has as many tasks as a thief would get, since a message
//! costs more than a task. Under `random` the receiver is probed too, once: a rank that has not
//! been greeted by its parent must not get tasks of what may be another build.
//!
//! **Termination.** A probe and its answer carry no work, so that Safra's algorithm need not count
//! them. A rank says Bye only when no probe of its own is under way, and answers those of others
//! until it leaves.

use super::message::{Message, Store};
use super::{Out, Phase, Rank};
use crate::sharing::Target;
use crate::view::{View, other};

/// Probes under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// Whom it has probed last.
    pub(super) rank: usize,
    pub(super) since: u64,
    /// How many more it may probe.
    left: u32,
    /// The one that has least so far, and how much.
    best: Option<(usize, u64)>,
}

/// What a rank has to do: nothing, or what runs and what waits.
fn load<S: Store>(store: &S) -> u64 {
    if store.is_hungry() {
        0
    } else {
        1 + store.surplus() as u64
    }
}

impl<V: View> Rank<V> {
    /// Returns `true` if a [`step`](Rank::step) is due as soon as there is surplus: a rank is
    /// remembered, or this one sends.
    pub fn gives_surplus(&self) -> bool {
        let sends = self.protocol.sending.is_some() && self.probing.is_none();
        self.remembered() > 0 || sends && self.view.count() > 1
    }

    /// Begins to look for a receiver, if there is something to send.
    pub(super) fn send<S: Store>(&mut self, now: u64, store: &S, out: &mut Out<S::Work>) {
        let Some(target) = self.protocol.sending else {
            return;
        };
        let has_share = self.protocol.share(store.surplus(), 1) > 0;
        if self.probing.is_some() || now < self.next_try || !has_share {
            return;
        }
        let probes = match target {
            Target::Threshold { probes, .. } | Target::Shortest { probes } => probes,
            Target::Random | Target::SpreadBack => 1,
        };
        self.probe(now, probes, None, out);
    }

    fn probe<W>(&mut self, now: u64, probes: u32, best: Option<(usize, u64)>, out: &mut Out<W>) {
        let Some(rank) = other(self.me, self.view.count(), &mut self.random) else {
            return;
        };
        self.probing = Some(Probing {
            rank,
            since: now,
            left: probes.saturating_sub(1),
            best,
        });
        self.counts.probes += 1;
        out.push((rank, Message::Probe));
    }

    /// Another rank wants to know how much there is to do here.
    pub(super) fn answer_probe<S: Store>(&self, from: usize, store: &S, out: &mut Out<S::Work>) {
        let load = if self.phase == Phase::Working {
            load(store)
        } else {
            u64::MAX
        };
        out.push((from, Message::Load(load)));
    }

    /// Returns `true` if an answer to a probe may come from this rank.
    pub(super) fn probes(&self, rank: usize) -> bool {
        self.probing.is_some_and(|probing| probing.rank == rank)
    }

    /// A rank that was probed has this much to do.
    pub(super) fn learn<S: Store>(
        &mut self,
        now: u64,
        found: u64,
        store: &mut S,
        out: &mut Out<S::Work>,
    ) {
        let (Some(probing), Some(target)) = (self.probing.take(), self.protocol.sending) else {
            return;
        };
        let is_less = probing.best.is_none_or(|(_, least)| found < least);
        let best = if found < u64::MAX && is_less {
            Some((probing.rank, found))
        } else {
            probing.best
        };
        let fits = |load: u64| match target {
            Target::Threshold { below, .. } => load < u64::from(below),
            Target::Shortest { .. } => load < self::load(store),
            Target::Random | Target::SpreadBack => true,
        };
        let chosen = best.filter(|&(_, load)| fits(load));
        // The first below the threshold will do; the shortest is known when all have answered.
        let waits = matches!(target, Target::Shortest { .. }) || chosen.is_none();
        if waits && probing.left > 0 && self.phase == Phase::Working {
            return self.probe(now, probing.left, best, out);
        }
        let sent = chosen.is_some_and(|(rank, _)| self.give(rank, 1, true, store, out));
        if sent {
            self.failures = 0;
        } else {
            self.back_off(now);
        }
    }
}
