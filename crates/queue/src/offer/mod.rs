//! Aged entries and donation cells: a worker *offers* a task, and keeps it until it is accepted.
//!
//! The Work Stealing and Sharing algorithm (WSS) lets a busy worker, the donor, offer a task to an
//! idle one, the donee, while the same task stays in the donor's deque for the donor or a thief to
//! take. So a task is stored in an *entry* of the donor's private stack; the deque holds a pointer
//! to the entry ([`EntryRef`]), the donee's [`State`] cell may hold an [`Offer`] of it, and a
//! compare-and-swap on the entry decides which side gets the task.
//!
//! ```text
//!    donor                                                        donee
//!   +----------------------------+                              +------------------------+
//!   | deque:  r3  r4  r5         |                              | state: IDLE            |
//!   |          |   |   |         |                              |        WORKING         |
//!   |          v   v   v         |     Offer(worker, slot, age) |        Offer ----------+--.
//!   | entries: 3   4   5   ...   |                              +------------------------+  |
//!   +--------------^-------------+                                                          |
//!                  `------------------------------------------------------------------------'
//!
//!   entry = | age:62 | owned:1 | shared:1 | and, beside it, the task's word
//!
//!                                  store(task)
//!        .------------------------- by the owner ---------------------------.
//!        |                           (age + 1)                              |
//!        v                                                                  |
//!   +---------+     share     +---------+   popper wins: CAS, has task  +---------+
//!   | private |-------------->| shared  |------------------------------>|  owned, |
//!   |         |<--------------|         |                               |  free   |
//!   +---------+    retract    +---------+                               +---------+
//!        |       (CAS; before      |                                     ^     ^
//!        |        publication)     | donee wins: CAS, has task           |     |
//!        |                         v                                     |     |
//!        |                    +---------+   popper: a ghost, no task     |     |
//!        |                    |  owned, |--------------------------------'     |
//!        |                    |  ghost  |                                      |
//!        |                    +---------+                                      |
//!        `-----  popper has task, no CAS: no other knew of it  ----------------'
//! ```
//!
//! The *popper* is the thread that has taken the [`EntryRef`] out of the donor's deque: the owner
//! at the bottom or a thief at the top.
//!
//! # Invariant
//!
//! 1. For each task stored there is one `EntryRef`; it is not `Clone`. Its holder, and no other
//!    thread, frees the slot.
//! 2. The task leaves the entry once: with the change of `owned` from 0 to 1, made by the thread
//!    whose compare-and-swap succeeds, or by the popper alone if the entry was not shared.
//! 3. Within an age the task does not change and `owned` is never cleared; `store` and `retract`
//!    raise the age (62 bits: it does not recur). So a compare-and-swap by a late donee, which has
//!    read an older word, fails, and an offer that was taken back stays void.
//! 4. The memory of an entry stays an entry for as long as there is a handle: a late donee reads an
//!    entry, in whatever state it is. The task's word is one atomic word for the same reason.
//!
//! An offer carries only 30 bits of the age. That is enough, because a donee's compare-and-swap is
//! on the whole word: if after 2^30 reuses an old offer happens to match again, it matches a
//! *shared* entry, whose task the donee may have.
//!
//! # Operations
//!
//! | thesis, Alg. 7 | here |
//! |---|---|
//! | StoreNewNode, L26 | [`Entries::store`] |
//! | `shared <- TRUE`, L35 | [`Entries::share`], which gives the [`Offer`] |
//! | `donee.state = IDLE`, L37 | [`State::is_idle`] |
//! | `donee.state <- pointer`, L38 | [`State::offer`] |
//! | `shared <- FALSE`, L41 | [`Entries::retract`] |
//! | check whether the task of an offer was taken (not in the thesis) | [`Entries::is_void`] |
//! | assign by the owner and `stack.pop`, L54-55 | [`Entries::acquire`] |
//! | assign by a thief, L77 | [`Peer::acquire`] |
//! | look at one's own state, L97-98 | [`State::take`] |
//! | assign by the donee, L99 | [`Peer::accept`] |
//! | `state <- WORKING`, L96, L101 | [`State::set_working`] |
//! | `state <- IDLE`, L18, L103 | [`State::set_idle`] |
//!
//! Offers are words, so an affinity [`mailbox`](crate::mailbox) can carry them (Algorithm 14), and
//! `EntryRef`s are words, so every deque can.
//!
//! ```
//! use locksley_queue::offer::{Acquired, Entries, State};
//! use locksley_queue::{Owner, Steal, Thief, abp};
//!
//! // Worker 0 has work, worker 1 is idle.
//! let mut entries = Entries::new(0, 16);
//! let mut deque = abp::Deque::with_capacity(16);
//! let peers = [entries.peer()]; // what every worker knows of every other
//! let donee = State::new();
//! donee.set_idle();
//!
//! // Worker 0 enables a task and spreads it.
//! let entry = entries.store(Box::new("task")).unwrap();
//! if donee.is_idle() {
//!     let offer = entries.share(&entry).unwrap();
//!     if !donee.offer(offer) {
//!         entries.retract(&entry);
//!     }
//! }
//! deque.push(entry).unwrap();
//!
//! // Worker 1 accepts.
//! let offer = donee.take().unwrap();
//! assert_eq!(peers[offer.worker()].accept(offer), Some(Box::new("task")));
//! donee.set_working();
//!
//! // A thief steals the pointer and finds a ghost.
//! let Steal::Success(entry) = deque.thief().steal() else { unreachable!() };
//! assert_eq!(peers[entry.worker()].acquire(entry), Acquired::Ghost);
//! ```
//!
//! # Theorem
//!
//! Each task is assigned exactly once. Every operation takes a constant number of steps, except
//! that a thief that frees an entry repeats its compare-and-swap if another thief's came first.
//! With an expected constant number of steal attempts between spreads, WSS runs a computation in
//! expected time `O(T1/P + Tinf)` (Rito's thesis, section 6.1.4). Its Theorem 6.7 does not account
//! for the *ghosts*: pointers in the donor's deque whose task a donee has accepted have no
//! potential, and stealing one is an idle iteration without a drop of the potential.
//! [`Acquired::Ghost`] lets the scheduler count them; there are at most as many as accepted offers.
//!
//! # Deviations from the paper
//!
//! - The thesis's remedy for ABA is an age beside the entry's `owned` flag. Checking the one and
//!   then swapping the other still races. Age, `shared` and `owned` are one word here.
//! - A donee always swaps that word, after it has copied the task. (In the thesis the donee, too,
//!   takes a node without a compare-and-swap if `shared` is false, L60. That is right only for the
//!   popper.)
//! - The stack is a free list. In the thesis the stack's `bottom` counts thefts and never
//!   decreases, so the array overflows; a reset when the deque is empty would race with slow
//!   thieves.
//! - A donor's offer replaces IDLE and nothing else, by compare-and-swap. The thesis's
//!   unconditional store may overwrite WORKING or another donor's offer, or take effect much later.
//!   That would be safe too, since the pointer stays in the deque; but here the donor knows whether
//!   the offer was made, and can take `shared` back if not.
//! - The initial state, which the thesis does not give, is WORKING: no worker is offered anything
//!   before it says that it is idle.
//! - Only `share` creates an `Offer`: in the thesis's Algorithm 12 the spread-back branch offers an
//!   entry that is not marked as shared, whose task is then run twice.

mod entries;
mod state;

pub use entries::{Acquired, Entries, Peer};
pub use state::State;

use crate::word::Word;

const SLOT_BITS: u32 = 20;
const WORKER_BITS: u32 = 12;
const AGE_BITS: u32 = 30;

/// The largest number of workers with entries.
pub const MAX_WORKERS: usize = 1 << WORKER_BITS;

/// The largest number of entries of a worker.
pub const MAX_ENTRIES: usize = 1 << SLOT_BITS;

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A donor's offer of one of its tasks: `worker:12 | slot:20 | age:30 | 0:1 | 1:1`.
///
/// An offer is not the task: the task goes to the thread that is first to [`accept`](Peer::accept)
/// the offer or to acquire the entry with the pointer popped from the donor's deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer(u64);

impl Offer {
    /// Distinguishes an offer from the two other states.
    const MARK: u64 = 1;
    const AGE_SHIFT: u32 = 2;
    const SLOT_SHIFT: u32 = Self::AGE_SHIFT + AGE_BITS;
    const WORKER_SHIFT: u32 = Self::SLOT_SHIFT + SLOT_BITS;

    fn new(worker: usize, slot: usize, age: u64) -> Offer {
        Offer(
            (worker as u64) << Self::WORKER_SHIFT
                | (slot as u64) << Self::SLOT_SHIFT
                | (age & mask(AGE_BITS)) << Self::AGE_SHIFT
                | Self::MARK,
        )
    }

    /// Returns the offer in a state word, if there is one.
    #[inline]
    fn from_state(word: u64) -> Option<Offer> {
        (word & mask(Self::AGE_SHIFT) == Self::MARK).then_some(Offer(word))
    }

    /// Returns the donor: the worker from whose [`Peer`] the offer is to be accepted.
    #[inline]
    pub fn worker(self) -> usize {
        (self.0 >> Self::WORKER_SHIFT) as usize
    }

    #[inline]
    fn slot(self) -> usize {
        (self.0 >> Self::SLOT_SHIFT & mask(SLOT_BITS)) as usize
    }

    /// Returns `true` if this is an offer of an entry with this age.
    #[inline]
    fn has_age(self, age: u64) -> bool {
        (self.0 >> Self::AGE_SHIFT ^ age) & mask(AGE_BITS) == 0
    }
}

// SAFETY: [`wide`] returns the bits unchanged, and does not panic.
unsafe impl Word for Offer {
    #[inline]
    fn into_word(self) -> *mut () {
        wide::into_word(self.0)
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from `into_word` and is turned back
        // once.
        Offer(unsafe { wide::from_word(word) })
    }
}

/// The only pointer to an entry: `stack:32 | worker:12 | slot:20`. It is pushed on the owner's
/// deque.
///
/// Not `Clone`, since the thread that popped it frees the entry. `stack` distinguishes the
/// [`Entries`] of this process, so that a pointer cannot be used with entries it does not belong
/// to.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an entry whose pointer is dropped keeps its slot and its item until the entries are \
              dropped"]
pub struct EntryRef(u64);

impl EntryRef {
    const WORKER_SHIFT: u32 = SLOT_BITS;
    const STACK_SHIFT: u32 = Self::WORKER_SHIFT + WORKER_BITS;

    #[inline]
    fn new(id: EntriesId, slot: usize) -> EntryRef {
        EntryRef(id.0 | slot as u64)
    }

    /// Returns the owner of the entry: the worker from whose [`Peer`] it is to be acquired.
    #[inline]
    pub fn worker(&self) -> usize {
        (self.0 >> Self::WORKER_SHIFT & mask(WORKER_BITS)) as usize
    }

    #[inline]
    fn slot(&self) -> usize {
        (self.0 & mask(SLOT_BITS)) as usize
    }

    #[inline]
    fn is_of(&self, id: EntriesId) -> bool {
        self.0 & !mask(SLOT_BITS) == id.0
    }
}

/// The common part of all pointers to the entries of one stack: `stack:32 | worker:12 | 0:20`.
#[derive(Clone, Copy, Debug)]
struct EntriesId(u64);

impl EntriesId {
    fn new(number: u32, worker: usize) -> EntriesId {
        EntriesId(
            u64::from(number) << EntryRef::STACK_SHIFT | (worker as u64) << EntryRef::WORKER_SHIFT,
        )
    }

    fn worker(self) -> usize {
        EntryRef(self.0).worker()
    }
}

// SAFETY: [`wide`] returns the bits unchanged, and does not panic.
unsafe impl Word for EntryRef {
    #[inline]
    fn into_word(self) -> *mut () {
        wide::into_word(self.0)
    }

    #[inline]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the caller guarantees that the word comes from `into_word` and is turned back
        // once.
        EntryRef(unsafe { wide::from_word(word) })
    }
}

/// Conversion of 64 bits to a word: the bits themselves where a word has 64, else a box.
mod wide {
    #[cfg(target_pointer_width = "64")]
    #[inline]
    pub(super) fn into_word(bits: u64) -> *mut () {
        std::ptr::without_provenance_mut(bits as usize)
    }

    /// # Safety
    ///
    /// The word comes from [`into_word`], and is turned back once.
    #[cfg(target_pointer_width = "64")]
    #[inline]
    pub(super) unsafe fn from_word(word: *mut ()) -> u64 {
        word.addr() as u64
    }

    #[cfg(not(target_pointer_width = "64"))]
    use crate::word::Word;

    #[cfg(not(target_pointer_width = "64"))]
    pub(super) fn into_word(bits: u64) -> *mut () {
        Box::new(bits).into_word()
    }

    /// # Safety
    ///
    /// The word comes from [`into_word`], and is turned back once.
    #[cfg(not(target_pointer_width = "64"))]
    pub(super) unsafe fn from_word(word: *mut ()) -> u64 {
        // SAFETY: the caller's obligations are those of the box.
        *unsafe { Box::<u64>::from_word(word) }
    }
}

const _: () = assert!(Offer::WORKER_SHIFT + WORKER_BITS == u64::BITS);
const _: () = assert!(EntryRef::STACK_SHIFT + u32::BITS == u64::BITS);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_offer_keeps_its_parts_apart() {
        let offer = Offer::new(MAX_WORKERS - 1, MAX_ENTRIES - 2, (7 << AGE_BITS) + 5);
        assert_eq!(
            (offer.worker(), offer.slot()),
            (MAX_WORKERS - 1, MAX_ENTRIES - 2)
        );
        assert!(offer.has_age(5) && !offer.has_age(6));
        assert_eq!(Offer::from_state(offer.0), Some(offer));
        // SAFETY: the word comes from `into_word` of the same type.
        assert_eq!(unsafe { Offer::from_word(offer.into_word()) }, offer);
    }

    #[test]
    fn a_pointer_keeps_its_parts_apart() {
        let stack = EntriesId::new(u32::MAX, 5);
        let entry = EntryRef::new(stack, MAX_ENTRIES - 1);
        assert_eq!((entry.worker(), entry.slot()), (5, MAX_ENTRIES - 1));
        assert!(entry.is_of(stack) && !entry.is_of(EntriesId::new(1, 5)));
        // SAFETY: the word comes from `into_word` of the same type and is turned back once.
        assert!(unsafe { EntryRef::from_word(entry.into_word()) }.is_of(stack));
    }
}
