//! The strategy `sharing`: Rito's CFWSS ("Scheduling computations", Algorithms 6, 7, 12 and 14), in
//! which thieves steal and busy workers give work away, on semi-private deques (the open problem of
//! the thesis's chapter 7).
//!
//! ```text
//!   donor                                          donee (in its main loop, with nothing to do)
//!   forks: pushes on its deque                     cell = IDLE
//!   sees a request, and its flag is set:
//!     makes its oldest jobs public
//!     invites an idle worker ──────────────────>   steals the donor's oldest job
//! ```
//!
//! Forks use the pool's deque, without a fence and without a load of the flag: the thief that sets
//! the flag also makes a request at the worker's deque, in the one word that a fork compares with.
//! [`Sharing`] decides when to give and to whom. A job that is given away stays in the donor's
//! deque until a worker takes it, so an invitation that comes too late costs nothing else.
//!
//! Spawned jobs have entries of their own ([`locksley_queue::offer`]), so that one of them can be
//! offered, or sent to the mailbox of the worker that it prefers
//! ([`locksley_queue::mailbox`]), while its pointer is in the donor's queue: the worker that comes
//! first gets the job, the other one a ghost.
//!
//! No wake-up depends on an offer or an invitation: a worker is open to them only between two
//! searches in its main loop, and closes its cell before it goes to sleep.
//!
//! **When.** Under Tit-for-tat the flag is set by an opportunity to steal, and reset by the
//! opportunity to spread that follows: each action of a donor follows an attempt of a thief, and a
//! worker that no thief has asked has no overhead. Under Greedy the flag stays set, and so does the
//! request.
//!
//! # The job that is given
//!
//! In the thesis a donee takes the *newest* job. So it does here where waiters take any work
//! (`Waiting::TakeAny`): a fork that finds the flag set goes into an entry, like
//! a spawned job. A waiter that leapfrogs relies on the oldest job being taken first: when a join's
//! job is gone, so are all older ones, and all forked jobs in the deque descend from the root that
//! the worker entered last (`wait`, `task_stack`). So there a donee of a forked job takes the
//! oldest, as a thief does, and all other code treats the job as stolen. The donor is the job's
//! owner, is woken when it is done, and leapfrogs at the donee meanwhile.
//!
//! A spawned job that prefers its donor stays there, and is offered to no other worker; the
//! simulator does the same.
//!
//! # Theorem
//!
//! With an expected constant number of steal attempts between spreads, a computation takes an
//! expected time in `O(T1/P + Tinf/(1 - theta_r))` (section 6.1.4). Here an idle worker tries every
//! other one once in each search; each of these attempts is one of the thesis's steal attempts.
//!
//! # Deviations from the paper
//!
//! Besides those of the queue (`locksley_queue::offer`): the oldest forked job is given, as above.
//! Offers and the mailbox are checked before each search, not with probability theta_r instead of
//! it; the thesis's Algorithm 14 omits the offers. A thief that steals a ghost continues with the
//! next pointer, in the same attempt. Ghosts are counted.

mod peers;
#[cfg(test)]
#[path = "../../tests/unit/sharing.rs"]
mod tests;

use std::sync::Arc;

use locksley_policy::{
    Actor, Memory, Offer as Decision, Outcome, Random, Sharing, Source, Target, Update, View, other,
};
use locksley_queue::mailbox::{self, Mailbox};
use locksley_queue::offer::{Acquired, Entries, EntryRef, Offer};
use locksley_queue::{Consumer, Owner, Steal, chase_lev};

pub use peers::{Peer, Peers};

use crate::QueuedJob;
use crate::{DonorKind, LocalQueue, QUEUE_CAPACITY, StealHandle, StolenBatch, TransferCounts};
use crate::{Job, outcome};

/// Capacity of a worker's mailbox, in offers. Further jobs are pushed without an offer; a worker
/// with so many unread offers does not need them.
const MAILBOX_CAPACITY: usize = if cfg!(loom) { 2 } else { 256 };

/// The owner's side of a queue of the strategy `sharing`.
pub struct SharingQueue<J: Job> {
    index: usize,
    entries: Entries<J>,
    deque: chase_lev::Deque<EntryRef>,
    mailbox: Mailbox<Offer>,
    /// The shared state of this worker.
    me: Arc<Peer<J>>,
    peers: Arc<Peers<J>>,
    policy: Sharing,
    donor: DonorKind,
    /// The donee that a user's donor has selected for the next opportunity to give.
    decision: Option<usize>,
    /// The donee of the last opportunity, and whether an offer was made.
    outcome: Option<(usize, bool)>,
    random: Random,
    /// The worker that the last search has asked to share.
    asked: Option<usize>,
    transfers: TransferCounts,
}

impl<J: Job> SharingQueue<J> {
    /// Creates the queue of the worker with this index, and registers the worker.
    pub fn new(
        index: usize,
        peers: Arc<Peers<J>>,
        policy: Sharing,
        donor: DonorKind,
        seed: u64,
    ) -> SharingQueue<J> {
        let entries = Entries::new(index, QUEUE_CAPACITY);
        let deque = chase_lev::Deque::new();
        let (sender, mailbox) = mailbox::bounded(MAILBOX_CAPACITY);
        let me = Arc::new(Peer::new(
            deque.thief(),
            entries.peer(),
            sender,
            policy.heuristic.initial && donor == DonorKind::Policy,
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
            donor,
            decision: None,
            outcome: None,
            // A different stream from that of the worker's search.
            random: Random::new(!seed, index as u64),
            asked: None,
            transfers: TransferCounts::default(),
        }
    }

    /// Returns the worker's shared state, the handle for other workers.
    pub fn peer(&self) -> Arc<Peer<J>> {
        self.me.clone()
    }

    fn store(&mut self, job: J) -> Result<EntryRef, J> {
        self.entries.store(job).map_err(|full| full.into_inner())
    }

    fn enqueue(&mut self, entry: EntryRef) -> Result<(), J> {
        match Owner::push(&mut self.deque, entry) {
            Ok(()) => Ok(()),
            Err(full) => match self.entries.acquire(full.into_inner()) {
                Acquired::Item(job) => Err(job),
                _ => Ok(()),
            },
        }
    }

    /// Uses an opportunity to spread: Algorithm 7's SPREAD, with the flag set. `give` makes an
    /// offer to a worker, if that is idle, and returns `true` if it did.
    #[cold]
    #[inline(never)]
    fn spread(&mut self, give: impl FnOnce(&mut SharingQueue<J>, usize) -> bool) {
        if self.donor != DonorKind::Policy {
            return self.spread_as_decided(give);
        }
        let actor = Actor {
            me: self.index,
            memory: self.memory(),
        };
        let decision = self.policy.offer(actor, &*self.peers, &mut self.random);
        let offered = decision.target().is_some_and(|donee| give(self, donee));
        if offered {
            self.transfers.offered += 1;
        } else if !matches!(decision, Decision::Skip) {
            self.transfers.refused += 1;
        }
        let update = self.policy.heuristic.after(decision.outcome(offered));
        self.me.update(update);
    }

    /// As [`spread`](Self::spread), with the decision of a user's donor.
    fn spread_as_decided(&mut self, give: impl FnOnce(&mut SharingQueue<J>, usize) -> bool) {
        self.me.update(Update::False);
        let Some(donee) = self.decision.take() else {
            return;
        };
        let offered = give(self, donee);
        if offered {
            self.transfers.offered += 1;
        } else {
            self.transfers.refused += 1;
        }
        self.outcome = Some((donee, offered));
    }

    fn memory(&self) -> Memory {
        Memory::new(self.me.last_thief(), None)
    }

    /// Returns `true` if the job that is pushed next may be given away.
    fn is_spreading(&self) -> bool {
        self.donor == DonorKind::OwnEager || self.me.is_spreading()
    }

    /// Offers an entry to a worker, if that is idle.
    fn offer(&mut self, entry: &EntryRef, donee: usize) -> bool {
        let Some(donee) = self.peers.peer(donee).filter(|donee| donee.is_idle()) else {
            return false;
        };
        let Some(offer) = self.entries.share(entry) else {
            return false;
        };
        let offered = donee.offer(offer);
        if !offered {
            self.entries.retract(entry);
        }
        offered
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
        if sent {
            self.transfers.mailed += 1;
        } else {
            self.entries.retract(entry);
        }
        sent
    }

    /// Accepts an offer, unless another worker has taken the job.
    fn accept(&mut self, offer: Offer) -> Option<QueuedJob<J>> {
        let owner = offer.worker();
        let job = self.peers.peer(owner)?.accept(offer);
        match job {
            Some(_) => self.transfers.accepted += 1,
            None => self.transfers.late += 1,
        }
        job.map(|job| QueuedJob { job, owner })
    }

    /// Updates the flag of a random worker, after an opportunity to steal.
    fn report(&mut self, outcome: Outcome) {
        if self.skips_at_random() {
            return;
        }
        let Some(drawn) = other(self.index, self.peers.count(), &mut self.random) else {
            return;
        };
        let flag = match self.donor {
            DonorKind::Policy => self.policy.heuristic.by_thief(outcome),
            _ => Update::True,
        };
        let peer = self.peers.peer(drawn);
        if peer.is_some_and(|peer| peer.update(flag)) {
            self.asked = Some(drawn);
        }
    }

    /// Returns `true` if victims are to record their last thief.
    fn tells_victims(&self) -> bool {
        self.policy.target == Target::SpreadBack || self.donor != DonorKind::Policy
    }

    /// Returns `true` with probability theta_r.
    fn skips_at_random(&mut self) -> bool {
        let theta = self.policy.theta_r.get();
        theta > 0.0 && self.random.unit() < theta
    }

    /// Notes that the owner has stolen from `victim`.
    fn stole_from(&mut self, victim: usize) {
        if let Some(victim) = self.peers.peer(victim).filter(|_| self.tells_victims()) {
            victim.robbed_by(self.index);
        }
    }

    /// Returns `true` if an offer has arrived at the owner, which is open to them.
    fn has_offer(&self) -> bool {
        !self.me.is_idle() || self.me.is_invited()
    }

    /// Gives a public job away, if the policy decides so. Called when the owner has seen a request
    /// and has public jobs in its deque.
    fn share_public(&mut self) {
        if self.is_spreading() {
            self.spread(|queue, donee| {
                let donee = queue.peers.peer(donee);
                donee.is_some_and(|donee| donee.invite(queue.index))
            });
        }
    }

    /// Returns the worker's memory, and whether a thief has asked, if the next push is an
    /// opportunity to give for a user's donor.
    fn opportunity(&self) -> Option<(Memory, bool)> {
        self.is_spreading()
            .then(|| (self.memory(), self.me.is_spreading()))
    }

    /// Counts the outcome of an invitation.
    fn answered(&mut self, accepted: bool) {
        if accepted {
            self.transfers.accepted += 1
        } else {
            self.transfers.late += 1
        }
    }

    /// Accepts an offer of another worker, for an owner that has nothing to do.
    fn receive(&mut self) -> Option<QueuedJob<J>> {
        let offer = self.me.take_offer();
        if let Some(queued) = offer.and_then(|offer| self.accept(offer)) {
            return Some(queued);
        }
        while let Some(offer) = self.mailbox.consume() {
            let received = self.accept(offer);
            if received.is_some() {
                return received;
            }
        }
        None
    }
}

impl<J: Job> LocalQueue<J> for SharingQueue<J> {
    fn push(&mut self, job: J) -> Result<(), J> {
        let entry = self.store(job)?;
        if self.is_spreading() {
            self.spread(|queue, donee| queue.offer(&entry, donee));
        }
        self.enqueue(entry)
    }

    fn pop(&mut self) -> Option<J> {
        loop {
            match self.entries.acquire(Owner::pop(&mut self.deque)?) {
                Acquired::Item(job) => return Some(job),
                Acquired::Ghost => self.me.count_ghost(),
                Acquired::Foreign(_) => unreachable!("a worker's deque points to its own entries"),
            }
        }
    }

    fn push_near(&mut self, job: J, near: usize) -> Result<bool, J> {
        let entry = self.store(job)?;
        let sent = near != self.index && self.send(&entry, near);
        self.enqueue(entry).map(|()| sent)
    }

    fn steal_batch(&mut self, victim: &dyn StealHandle<J>) -> Option<Steal<StolenBatch<J>>> {
        let victim = victim.peer()?;
        let answer = victim.steal_one();
        self.report(outcome(&answer));
        Some(answer.map(StolenBatch::alone))
    }

    fn skips_search(&mut self) -> bool {
        let skips = self.skips_at_random();
        if skips {
            self.report(Outcome::Skipped);
        }
        skips
    }

    fn wants_attention(&self) -> bool {
        self.is_spreading()
    }

    fn transfers(&self) -> TransferCounts {
        TransferCounts {
            ghosts: self.me.ghosts(),
            ..self.transfers
        }
    }

    fn set_open(&mut self, open: bool) -> bool {
        if open {
            self.me.open();
        } else {
            self.me.close();
        }
        open
    }

    fn as_sharing(&mut self) -> Option<&mut SharingQueue<J>> {
        Some(self)
    }
}

/// The operations of this strategy alone: see [`SharingQueue`].
impl<J: Job> dyn LocalQueue<J> {
    /// Notes that the owner has stolen from `victim`.
    pub fn stole_from(&mut self, victim: usize) {
        if let Some(queue) = self.as_sharing() {
            queue.stole_from(victim);
        }
    }

    /// Returns `true` if an offer has arrived at the owner, which is open to them.
    pub fn has_offer(&mut self) -> bool {
        self.as_sharing().is_some_and(|queue| queue.has_offer())
    }

    /// Gives a public job away, if the policy decides so. Called when the owner has seen a request
    /// and has public jobs in its deque.
    pub fn share_public(&mut self) {
        if let Some(queue) = self.as_sharing() {
            queue.share_public();
        }
    }

    /// Returns the worker's memory, and whether a thief has asked, if the next push is an
    /// opportunity to give for a user's donor.
    pub fn opportunity(&mut self) -> Option<(Memory, bool)> {
        self.as_sharing()?.opportunity()
    }

    /// Sets the decision of a user's donor for the next opportunity: the donee, or `None` to keep
    /// the job.
    pub fn decide(&mut self, donee: Option<usize>) {
        if let Some(queue) = self.as_sharing() {
            queue.decision = donee;
        }
    }

    /// Takes the outcome of the last offer that a user's donor decided on: the donee, and `true` if
    /// the offer was made.
    pub fn take_outcome(&mut self) -> Option<(usize, bool)> {
        self.as_sharing()?.outcome.take()
    }

    /// Returns `true` if the next job that is pushed is offered itself.
    pub fn gives_newest(&mut self) -> bool {
        self.as_sharing().is_some_and(|queue| queue.is_spreading())
    }

    /// Takes the index of a worker that the last search has asked to share, if it has.
    pub fn asked_to_share(&mut self) -> Option<usize> {
        self.as_sharing()?.asked.take()
    }

    /// Takes the index of a worker that has invited the owner to steal from it.
    pub fn take_invitation(&mut self) -> Option<usize> {
        self.as_sharing()?.me.take_invitation()
    }

    /// Counts the outcome of an invitation.
    pub fn answered(&mut self, accepted: bool) {
        if let Some(queue) = self.as_sharing() {
            queue.answered(accepted);
        }
    }

    /// Accepts an offer of another worker, for an owner that has nothing to do.
    pub fn receive(&mut self) -> Option<QueuedJob<J>> {
        self.as_sharing()?.receive()
    }
}
