//! The pile of the strategy `sharing`: Rito's CFWSS ("Scheduling computations", Algorithms 6, 7, 12 and
//! 14), in which thieves steal and busy workers give.
//!
//! ```text
//!   donor                                          donee (in its main loop, with nothing to do)
//!   stores the job in an entry                     cell = IDLE
//!   spreading?  ── offers the entry ────────────>  cell = offer ──> accepts: swaps `owned` of the entry
//!   pushes the entry's pointer on its deque                         runs the job
//!      └─ whoever pops it, owner or thief, finds the job, or a ghost if the donee has it
//! ```
//!
//! The entries, the cells and the mailboxes are those of [`locksley_queue::offer`] and
//! [`locksley_queue::mailbox`]; what to offer, when and to whom is decided by [`Sharing`]. The job's
//! pointer is in the donor's deque in any case. So nobody waits for anybody: an offer that
//! nobody takes up costs nothing but itself, and a worker that sleeps or works does not
//! answer. For the same reason no wake-up depends on an offer: a worker is open to offers only
//! between two searches in its main loop. It closes its cell before it lies down, and what was offered
//! meanwhile is in sight in the donor's deque, whose push has called for the sleepers as any push does.
//!
//! **When.** A push looks at the worker's own flag, a plain load, and spreads if it is set. Under
//! Tit-for-tat the flag is set by an opportunity to steal, and reset by the opportunity to spread that
//! follows: the donors' work is paid for by thieves, one by one.
//!
//! # What may be offered
//!
//! A waiter that leapfrogs steals from whoever executes what it waits for. It relies on thieves taking
//! the oldest job first: when a join's job is gone, so are all older ones, and whatever forked jobs
//! are in the pile descend from the root that the worker entered last (`wait`, `frames`). In the thesis
//! a donee takes the *newest* job. Then the donor, waiting for it, could execute a descendant of it
//! while older forks still lay in its pile; and whoever waits for that descendant would steal one of those,
//! which does not descend from it. So:
//!
//! - A join's job is offered only if nothing but ghosts lies below it. It is the oldest then, and stays
//!   so; for everybody else the donee has stolen it. There is at most one such offer open: the
//!   next fork is offered when the last offer has been taken up.
//! - A spawned job is offered wherever it lies. Nothing follows from the place of a spawned job; a
//!   leapfrogging thief checks which scope it belongs to.
//!
//! A fork that is not offered is an unmade attempt for the heuristic. Little is lost: where older jobs
//! lie below, thieves have something to steal. Sharing is for the other case.
//!
//! **Who is woken.** A job that is accepted is executed at once, by a worker that is in no other job;
//! it never enters the donee's pile. So the donor is its owner, and is woken when it is done; the
//! donee's frames show the job's family as they show that of a stolen one, and the donor
//! leapfrogs there.
//!
//! # Theorem
//!
//! With an expected constant number of steal attempts between spreads, a computation takes an expected
//! time in `O(T1/P + Tinf/(1 - theta_r))` (section 6.1.4). An idle worker here tries everybody once
//! in each search; each of its attempts is one of the thesis's.
//!
//! # Deviations from the paper
//!
//! Beside those of the queue (`locksley_queue::offer`): what may be offered, as above. Offers and the mailbox are
//! looked at before each search, not with probability theta_r instead of it; in the thesis's
//! Algorithm 14 offers are forgotten. A thief that pops a ghost goes on to the next pointer: the
//! attempt is not over. Ghosts are counted.

mod peers;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use locksley_policy::{
    Memory, Offer as Decision, Outcome, Random, Seeker, Sharing, Source, Spread, Target, View,
    other,
};
use locksley_queue::mailbox::{self, Mailbox};
use locksley_queue::offer::{Acquired, Entries, EntryRef, Offer};
use locksley_queue::{Consumer, Owner, Steal, chase_lev};

pub(crate) use peers::{Peer, Peers};

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::victim_order::outcome;
use crate::strategy::local_queue::{BOUNDED, LocalQueue, StealHandle, StolenBatch, TransferCounts};
use crate::task::job::JobRef;

/// How many letters fit in a worker's mailbox. What is beyond is pushed without a letter; a worker that
/// is so far behind will not miss them.
const LETTERS: usize = if cfg!(loom) { 2 } else { 256 };

/// The owner's side.
pub(crate) struct SharingQueue {
    index: usize,
    entries: Entries<JobRef>,
    deque: chase_lev::Deque<EntryRef>,
    mailbox: Mailbox<Offer>,
    /// What the others see of this worker.
    me: Arc<Peer>,
    peers: Arc<Peers>,
    policy: Sharing,
    random: Random,
    /// The newest join's job that was offered, while its pointer is in the deque.
    last: Option<Offer>,
    /// How many pointers the owner has pushed since, that one included, and not popped. Thieves take from
    /// the other end: before they have made this number wrong for long, a pop finds the deque empty.
    above: usize,
    transfers: TransferCounts,
}

impl SharingQueue {
    /// The pile of the worker with this index, which joins the circle.
    pub(crate) fn new(index: usize, peers: Arc<Peers>, policy: Sharing, seed: u64) -> SharingQueue {
        let entries = Entries::new(index, BOUNDED);
        let deque = chase_lev::Deque::new();
        let (post, mailbox) = mailbox::bounded(LETTERS);
        let me = Arc::new(Peer::new(
            deque.thief(),
            entries.peer(),
            post,
            policy.heuristic.initial,
        ));
        peers.enter(index, me.clone());
        SharingQueue {
            index,
            entries,
            deque,
            mailbox,
            me,
            peers,
            policy,
            // Another stream than that of the worker's search.
            random: Random::new(!seed, index as u64),
            last: None,
            above: 0,
            transfers: TransferCounts::default(),
        }
    }

    /// The other side.
    pub(crate) fn peer(&self) -> Arc<Peer> {
        self.me.clone()
    }

    fn store(&mut self, job: JobRef) -> Result<EntryRef, JobRef> {
        self.entries.store(job).map_err(|full| full.into_inner())
    }

    fn enqueue(&mut self, entry: EntryRef) -> Result<(), JobRef> {
        self.above += 1;
        match Owner::push(&mut self.deque, entry) {
            Ok(()) => Ok(()),
            Err(full) => match self.entries.acquire(full.into_inner()) {
                Acquired::Item(job) => Err(job),
                _ => Ok(()),
            },
        }
    }

    /// An opportunity to spread: Algorithm 7's SPREAD, with the flag set.
    #[cold]
    #[inline(never)]
    fn spread(&mut self, entry: &EntryRef, spawned: bool) {
        let outcome = match spawned || self.only_ghosts() {
            true => self.try_to_spread(entry, spawned),
            false => Spread::Unmade,
        };
        let update = self.policy.heuristic.after(outcome);
        self.me.update(update);
    }

    /// Is there nothing in the deque but pointers to jobs that donees have accepted?
    fn only_ghosts(&self) -> bool {
        // Below an offered join's job there was nothing else when it was offered.
        let taken_up = || self.last.is_some_and(|offer| self.entries.is_void(offer));
        Owner::is_empty(&self.deque) || self.above == 1 && taken_up()
    }

    fn try_to_spread(&mut self, entry: &EntryRef, spawned: bool) -> Spread {
        let seeker = Seeker {
            me: self.index,
            memory: Memory::new(self.me.last_thief(), None),
        };
        let decision = self.policy.offer(seeker, &*self.peers, &mut self.random);
        let offered = match decision.target() {
            Some(donee) => self.offer(entry, donee, spawned),
            None => false,
        };
        if !offered && !matches!(decision, Decision::Skip) {
            self.transfers.refused += 1;
        }
        decision.outcome(offered)
    }

    /// Offers an entry to a worker, if that is idle.
    fn offer(&mut self, entry: &EntryRef, donee: usize, spawned: bool) -> bool {
        let Some(donee) = self.peers.peer(donee).filter(|donee| donee.is_idle()) else {
            return false;
        };
        let Some(offer) = self.entries.share(entry) else {
            return false;
        };
        if !donee.offer(offer) {
            self.entries.retract(entry);
            return false;
        }
        if !spawned {
            self.last = Some(offer);
            // The push is to come.
            self.above = 0;
        }
        self.transfers.offered += 1;
        true
    }

    /// Sends an entry to a worker's mailbox: Algorithm 14.
    fn send(&mut self, entry: &EntryRef, near: usize) -> bool {
        let Some(near) = self.peers.peer(near) else {
            return false;
        };
        let Some(offer) = self.entries.share(entry) else {
            return false;
        };
        let sent = near.send(offer);
        match sent {
            true => self.transfers.mailed += 1,
            false => drop(self.entries.retract(entry)),
        }
        sent
    }

    /// Takes up an offer, unless somebody was quicker.
    fn accept(&mut self, offer: Offer) -> Option<QueuedJob> {
        let owner = offer.worker();
        let job = self.peers.peer(owner)?.accept(offer);
        match job {
            Some(_) => self.transfers.accepted += 1,
            None => self.transfers.late += 1,
        }
        job.map(|job| QueuedJob { job, owner })
    }

    /// After an opportunity to steal: changes the flag of somebody drawn at random.
    fn report(&mut self, outcome: Outcome) {
        if self.is_left_out() {
            return;
        }
        if let Some(drawn) = other(self.index, self.peers.count(), &mut self.random)
            && let Some(drawn) = self.peers.peer(drawn)
        {
            drawn.update(self.policy.heuristic.by_thief(outcome));
        }
    }

    /// With probability theta_r.
    fn is_left_out(&mut self) -> bool {
        let theta = self.policy.theta_r.get();
        theta > 0.0 && self.random.unit() < theta
    }
}

impl LocalQueue for SharingQueue {
    fn push(&mut self, job: JobRef) -> Result<(), JobRef> {
        let entry = self.store(job)?;
        if self.me.is_spreading() {
            self.spread(&entry, job.is_spawned());
        }
        self.enqueue(entry)
    }

    fn pop(&mut self) -> Option<JobRef> {
        loop {
            let Some(entry) = Owner::pop(&mut self.deque) else {
                self.last = None;
                return None;
            };
            self.above = self.above.saturating_sub(1);
            if self.above == 0 {
                self.last = None;
            }
            match self.entries.acquire(entry) {
                Acquired::Item(job) => return Some(job),
                Acquired::Ghost => self.me.count_ghost(),
                Acquired::Foreign(_) => unreachable!("a worker's deque points to its own entries"),
            }
        }
    }

    fn push_near(&mut self, job: JobRef, near: usize) -> Result<bool, JobRef> {
        let entry = self.store(job)?;
        let sent = near != self.index && self.send(&entry, near);
        self.enqueue(entry).map(|()| sent)
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle) -> Option<Steal<StolenBatch>> {
        let victim = victim.peer()?;
        let answer = victim.rob();
        if answer.is_success() && self.policy.target == Target::SpreadBack {
            victim.robbed_by(self.index);
        }
        self.report(outcome(&answer));
        Some(answer.map(StolenBatch::alone))
    }

    fn skips_search(&mut self) -> bool {
        let skips = self.is_left_out();
        if skips {
            self.report(Outcome::Skipped);
        }
        skips
    }

    fn open_to_offers(&mut self) -> bool {
        self.me.open();
        true
    }

    fn has_offer(&self) -> bool {
        !self.me.is_idle()
    }

    fn close_to_offers(&mut self) {
        self.me.close();
    }

    fn receive(&mut self) -> Option<QueuedJob> {
        let offer = self.me.take_offer();
        if let Some(injected) = offer.and_then(|offer| self.accept(offer)) {
            return Some(injected);
        }
        while let Some(offer) = self.mailbox.consume() {
            let received = self.accept(offer);
            if received.is_some() {
                return received;
            }
        }
        None
    }

    fn transfers(&self) -> TransferCounts {
        TransferCounts {
            ghosts: self.me.ghosts(),
            ..self.transfers
        }
    }
}
