//! The shared state of the workers of a pool under `sharing`.
//!
//! All accesses to the flags are Relaxed: they are hints, and publish nothing. The entry of a job
//! publishes the job, and decides which worker gets it.

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use locksley_policy::{Update, View};
use locksley_queue::mailbox::Sender;
use locksley_queue::offer::{Acquired, EntryRef, Offer, Peer as OfferPeer, State};
use locksley_queue::{Steal, Thief, chase_lev};

use crate::Job;
use crate::StealHandle;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A worker as the others see it.
pub struct Peer<J: Job> {
    stealer: chase_lev::Stealer<EntryRef>,
    entries: OfferPeer<J>,
    /// The cell into which donors put offers.
    state: State,
    /// The donor that has invited this worker to steal from it, plus one; 0 for none. Written by
    /// donors and by this worker.
    invitation: CachePadded<AtomicUsize>,
    /// The sender of the worker's mailbox.
    sender: Sender<Offer>,
    /// Set if the worker is to give work away. Read by the worker at each push, written by it and
    /// by thieves.
    spreading: CachePadded<AtomicBool>,
    /// The last thief, plus one; 0 if there is none. Written by thieves.
    last_thief: AtomicUsize,
    /// Number of ghosts: pointers taken out of this worker's deque whose job a donee had. Written
    /// by the thread that takes one.
    ghosts: AtomicU64,
}

impl<J: Job> Peer<J> {
    pub(super) fn new(
        stealer: chase_lev::Stealer<EntryRef>,
        entries: OfferPeer<J>,
        sender: Sender<Offer>,
        spreading: bool,
    ) -> Peer<J> {
        Peer {
            stealer,
            entries,
            state: State::new(),
            invitation: CachePadded::new(AtomicUsize::new(0)),
            sender,
            spreading: CachePadded::new(AtomicBool::new(spreading)),
            last_thief: AtomicUsize::new(0),
            ghosts: AtomicU64::new(0),
        }
    }

    /// Steals the oldest job. Frees the ghosts that it finds on the way.
    pub fn steal_one(&self) -> Steal<J> {
        loop {
            let entry = match self.stealer.steal() {
                Steal::Success(entry) => entry,
                Steal::Empty => return Steal::Empty,
                Steal::Retry => return Steal::Retry,
                Steal::Private => return Steal::Private,
            };
            match self.entries.acquire(entry) {
                Acquired::Item(job) => return Steal::Success(job),
                Acquired::Ghost => self.count_ghost(),
                Acquired::Foreign(_) => unreachable!("a worker's deque points to its own entries"),
            }
        }
    }

    /// For a donee: accepts an offer of this worker.
    pub(super) fn accept(&self, offer: Offer) -> Option<J> {
        self.entries.accept(offer)
    }

    /// Returns `true` if the worker is idle, with no offer waiting. For a donor.
    pub(super) fn is_idle(&self) -> bool {
        self.state.is_idle()
    }

    /// For a donor: makes an offer, if the worker is idle.
    pub(super) fn offer(&self, offer: Offer) -> bool {
        self.state.offer(offer)
    }

    /// For a donor: invites the worker to steal from it, if the worker is idle and not invited yet.
    pub(super) fn invite(&self, donor: usize) -> bool {
        self.is_idle()
            && self
                .invitation
                .compare_exchange(0, donor + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// For the worker: takes the invitation that has come, if any.
    pub(super) fn take_invitation(&self) -> Option<usize> {
        if !self.is_invited() {
            return None;
        }
        self.invitation.swap(0, Ordering::Relaxed).checked_sub(1)
    }

    /// For the worker: returns `true` if an invitation has come.
    pub(super) fn is_invited(&self) -> bool {
        self.invitation.load(Ordering::Relaxed) != 0
    }

    /// Leaves an offer in the mailbox, if there is room. For all workers.
    pub(super) fn send(&self, offer: Offer) -> bool {
        self.sender.send(offer).is_ok()
    }

    /// For the worker: takes the offer in its cell, if any.
    pub(super) fn take_offer(&self) -> Option<Offer> {
        self.state.take()
    }

    /// For the worker, which is closed: opens it to offers.
    pub(super) fn open(&self) {
        // Clears an invitation that came too late.
        self.invitation.store(0, Ordering::Relaxed);
        self.state.set_idle();
    }

    /// For the worker: closes it to offers. An offer in its cell lapses.
    pub(super) fn close(&self) {
        self.state.set_working();
    }

    #[inline]
    pub(super) fn is_spreading(&self) -> bool {
        self.spreading.load(Ordering::Relaxed)
    }

    /// Updates the flag. It is written only if its value changes, so that the cache line stays in
    /// the worker's cache. Returns `true` if this call set the flag.
    pub(super) fn update(&self, update: Update) -> bool {
        match update.value() {
            Some(value) if self.is_spreading() != value => {
                self.spreading.store(value, Ordering::Relaxed);
                value
            }
            _ => false,
        }
    }

    pub(super) fn last_thief(&self) -> Option<usize> {
        self.last_thief.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn robbed_by(&self, thief: usize) {
        self.last_thief.store(thief + 1, Ordering::Relaxed);
    }

    #[cold]
    pub(super) fn count_ghost(&self) {
        self.ghosts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ghosts(&self) -> u64 {
        self.ghosts.load(Ordering::Relaxed)
    }
}

impl<J: Job> StealHandle<J> for Arc<Peer<J>> {
    fn steal(&self) -> Steal<J> {
        self.steal_one()
    }

    fn peer(&self) -> Option<&Peer<J>> {
        Some(self)
    }

    fn len(&self) -> usize {
        Thief::len(&self.stealer)
    }
}

/// All workers of a pool, by index. Each is registered when its index is first used.
pub struct Peers<J: Job> {
    members: Box<[OnceLock<Arc<Peer<J>>>]>,
    /// Number of registered workers.
    count: AtomicUsize,
}

impl<J: Job> Peers<J> {
    /// Creates the registry of a pool with up to `places` workers.
    pub fn new(places: usize) -> Peers<J> {
        Peers {
            members: (0..places).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
        }
    }

    /// Registers a worker. Indices are used in order.
    pub(super) fn enter(&self, index: usize, peer: Arc<Peer<J>>) {
        // Each index is registered once.
        let _ = self.members[index].set(peer);
        self.count.fetch_max(index + 1, Ordering::Release);
    }

    pub(super) fn peer(&self, index: usize) -> Option<&Peer<J>> {
        Some(self.members.get(index)?.get()?)
    }
}

impl<J: Job> View for Peers<J> {
    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// A ghost counts as a job.
    fn load(&self, processor: usize) -> usize {
        self.peer(processor).map_or(0, |peer| peer.stealer.len())
    }

    /// Returns `true` if the worker accepts offers. Spares that are put aside and workers that
    /// sleep accept none.
    fn is_idle(&self, processor: usize) -> bool {
        self.peer(processor).is_some_and(Peer::is_idle)
    }
}
