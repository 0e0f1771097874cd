//! Ranks that send work: the load sharing of Eager, Lazowska and Zahorjan between processes
//! ("Adaptive Load Sharing in Homogeneous Distributed Systems"; Rito's thesis, section 2.4.4).
//!
//! A rank that has more than its floor sends a share to another rank, and no rank asks for work. A
//! [`Target`] decides which rank gets it: any (`random`); the first of up to L_p whose load is
//! below a threshold (`threshold`); the one of L_p with the smallest load, if that is less than the
//! sender's own (`shortest`). The sender probes one rank after the other, by messages. If all
//! probes fail it waits, longer each time, as a thief does between requests. `spread-back` is the
//! same as `random` here, since no rank steals and so none has a last thief.
//!
//! **Deviations from the paper.** A share has as many tasks as a thief would get, since a message
//! costs more than a task. Under `random` the receiver is probed too, once: a rank that its parent
//! has not greeted must not get tasks, since they may be of another build.
//!
//! **Termination.** A probe and its answer carry no work, so Safra's algorithm need not count them.
//! A rank says Bye only when no probe of its own is under way, and answers those of others until it
//! leaves.

use super::message::{Message, Store};
use super::{Out, Phase, Rank};
use crate::sharing::Target;
use crate::view::{View, other};

/// A search for a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// The rank that was probed last.
    pub(super) rank: usize,
    pub(super) since: u64,
    /// Number of further probes allowed.
    left: u32,
    /// The rank with the smallest load so far, and that load.
    best: Option<(usize, u64)>,
}

/// Returns the load of a rank: 0 if it is hungry, otherwise one for what runs plus its surplus.
fn load<S: Store>(store: &S) -> u64 {
    if store.is_hungry() {
        0
    } else {
        1 + store.surplus() as u64
    }
}

impl<V: View> Rank<V> {
    /// Returns `true` if a [`step`](Rank::step) is due as soon as there is surplus: another rank is
    /// remembered, or this one sends work.
    pub fn gives_surplus(&self) -> bool {
        let sends = self.protocol.sending.is_some() && self.probing.is_none();
        self.waiters() > 0 || sends && self.view.count() > 1
    }

    /// Starts to look for a receiver, if there is work to send.
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
            // There is no spread-back, see `Protocol::normalized`.
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

    /// Answers a probe.
    pub(super) fn answer_probe<S: Store>(&self, from: usize, store: &S, out: &mut Out<S::Work>) {
        let load = if self.phase == Phase::Working {
            load(store)
        } else {
            u64::MAX
        };
        out.push((from, Message::Load(load)));
    }

    /// Returns `true` if this rank waits for `rank` to answer a probe.
    pub(super) fn probes(&self, rank: usize) -> bool {
        self.probing.is_some_and(|probing| probing.rank == rank)
    }

    /// Handles the answer to a probe: the load of the probed rank.
    pub(super) fn receive_load<S: Store>(
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
        // `threshold` takes the first rank below it; `shortest` needs all answers.
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
