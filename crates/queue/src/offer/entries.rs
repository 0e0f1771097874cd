//! The entries of one worker: its private stack, as a free list.
//!
//! ```text
//!   owner's free list: free -> 4 -> 1 -> 7      (plain: LIFO, so that a warm slot is used next)
//!   thieves' frees:    returned -> 3 -> 0       (a stack; the owner takes the whole of it at once)
//! ```
//!
//! A thief that has acquired an entry pushes the slot on `returned`. When the owner's own list is
//! empty, it takes the whole of `returned` with one swap. Single slots are not popped from
//! `returned`, so there is no ABA problem.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | E1 | store: take all of `returned` | Acquire | E7 | the owner must see the links, and may rewrite an item only after the thief has read it | `freed_slots_come_back` |
//! | E2 | share: store the word with `shared` | Release | E5 | the donee must see the item and what it points to, however the offer came to it | `an_offer_may_come_by_any_road` |
//! | E3 | acquire of a shared entry: compare-and-swap, success | Relaxed | | what the popper wrote before it is not read; the popper had the item's contents from the deque | none: nothing is weaker |
//! | E4 | the same, failure | Acquire | E6 | the slot could be rewritten before the donee that succeeds has read the item (shown by a trace, `sync::trace`) | `donee_thief_and_owner` |
//! | E5 | accept: load the word | Acquire | E2 | as E2 | `an_offer_may_come_by_any_road` |
//! | E6 | accept: compare-and-swap, success | Release | E4 | as E4 | `donee_thief_and_owner` |
//! | E7 | a thief's free: compare-and-swap of `returned`, success | Release | E1 | as E1 | `freed_slots_come_back` |
//!
//! Words and items are otherwise accessed Relaxed. Between the owner and the thief that has the
//! `EntryRef`, the deque through which it passed orders the accesses. A late donee may read any
//! value, and then its compare-and-swap fails.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use super::{EntriesId, EntryRef, MAX_ENTRIES, MAX_WORKERS, Offer};
use crate::sync::trace::Trace;
use crate::sync::{Arc, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::traits::Full;
use crate::word::Word;

/// `age:62 | owned:1 | shared:1`.
const SHARED: u64 = 1;
const OWNED: u64 = 2;
const AGE_SHIFT: u32 = 2;
const ONE_AGE: u64 = 1 << AGE_SHIFT;

/// The end of a list of slots. A link to a slot is its index + 1.
const END: usize = 0;

/// Aligned so that an entry lies in one cache line.
#[repr(align(32))]
struct Entry {
    /// Has `OWNED` set unless the entry holds an item that was not taken.
    word: AtomicU64,
    item: AtomicPtr<()>,
    /// A link of the owner's free list or of `returned`. Accessed by the thread that has freed the
    /// slot, until the owner takes the list.
    next: AtomicUsize,
    /// Trace of the donees, by the word that they saw.
    trace: Trace,
}

struct Shared<T: Word> {
    entries: Box<[Entry]>,
    id: EntriesId,
    /// The list of slots that thieves have freed. Written by thieves, emptied by the owner.
    returned: CachePadded<AtomicUsize>,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: only atomics are shared, and the items' words. Through a shared reference an item is only
// moved out, by one thread.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Shared<T> {
    /// For the popper of the entry's pointer: takes the item, unless a donee has it.
    #[inline]
    fn settle(&self, slot: usize) -> Option<T> {
        let entry = &self.entries[slot];
        let word = entry.word.load(Ordering::Relaxed);
        let item = entry.item.load(Ordering::Relaxed);
        if word & SHARED == 0 {
            entry.word.store(word | OWNED, Ordering::Relaxed);
        } else {
            let won = entry.word.compare_exchange(
                word & !OWNED,
                word | OWNED,
                Ordering::Relaxed, // [E3]
                Ordering::Acquire, // [E4]
            );
            if won.is_err() {
                // The caller frees the slot, which may then be rewritten.
                entry.trace.expect(word & !OWNED);
                return None;
            }
        }
        // SAFETY: the item was stored in this age. If the entry is not shared, no thread but the
        // holder of its one pointer may take the item; if it is, the compare-and-swap has decided.
        Some(unsafe { T::from_word(item) })
    }
}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        for entry in &self.entries {
            if entry.word.load(Ordering::Relaxed) & OWNED == 0 {
                // SAFETY: the entry holds an item that was not taken, and no thread is left to take
                // it.
                drop(unsafe { T::from_word(entry.item.load(Ordering::Relaxed)) });
            }
        }
    }
}

/// Result of an attempt to take the item of an entry whose pointer was popped.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an item that is dropped is a task that never runs"]
pub enum Acquired<T> {
    /// The item.
    Item(T),
    /// A donee has the item. (For the owner, fetchBottom has failed; for a thief, the steal has
    /// failed.)
    Ghost,
    /// The pointer is not one of these entries; nothing was changed. Use the [`Peer`] of
    /// [`EntryRef::worker`].
    Foreign(EntryRef),
}

impl<T> Acquired<T> {
    /// Returns the item, if there is one.
    pub fn item(self) -> Option<T> {
        match self {
            Acquired::Item(item) => Some(item),
            _ => None,
        }
    }
}

impl<T> From<Option<T>> for Acquired<T> {
    fn from(item: Option<T>) -> Self {
        item.map_or(Acquired::Ghost, Acquired::Item)
    }
}

/// The owner's side of a worker's entries.
///
/// When it and every [`Peer`] of it are dropped, the items that were not taken are dropped.
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::offer::Entries;
///
/// fn shorten<'a>(long: Entries<&'static u8>) -> Entries<&'a u8> {
///     long
/// }
/// ```
pub struct Entries<T: Word> {
    shared: Arc<Shared<T>>,
    free: usize,
}

impl<T: Word> Entries<T> {
    /// Creates `capacity` entries of `worker`, clamped to 1..=[`MAX_ENTRIES`].
    ///
    /// # Panics
    ///
    /// If `worker` is not less than [`MAX_WORKERS`], or if 2^32 `Entries` have been created before.
    pub fn new(worker: usize, capacity: usize) -> Self {
        Self::starting_at(worker, capacity, 0)
    }

    /// Creates entries whose ages start at `start`.
    #[doc(hidden)]
    pub fn starting_at(worker: usize, capacity: usize, start: u64) -> Self {
        assert!(
            worker < MAX_WORKERS,
            "worker {worker} of at most {MAX_WORKERS}"
        );
        let capacity = capacity.clamp(1, MAX_ENTRIES);
        let entry = |slot: usize| Entry {
            word: AtomicU64::new(start << AGE_SHIFT | OWNED),
            item: AtomicPtr::new(std::ptr::null_mut()),
            next: AtomicUsize::new(if slot + 1 < capacity { slot + 2 } else { END }),
            trace: Trace::new(start << AGE_SHIFT),
        };
        let shared = Shared {
            entries: (0..capacity).map(entry).collect(),
            id: EntriesId::new(next_number(), worker),
            returned: CachePadded::new(AtomicUsize::new(END)),
            items: PhantomData,
        };
        Entries {
            shared: Arc::new(shared),
            free: 1,
        }
    }

    /// Returns a handle for thieves and donees.
    pub fn peer(&self) -> Peer<T> {
        Peer {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns the number of entries.
    pub fn capacity(&self) -> usize {
        self.shared.entries.len()
    }

    /// Stores an item in an entry that is not shared. Returns the pointer, for the deque.
    ///
    /// # Errors
    ///
    /// If every entry is in use, returns the item in [`Full`].
    #[inline]
    pub fn store(&mut self, item: T) -> Result<EntryRef, Full<T>> {
        if self.free == END {
            self.collect_returned();
        }
        let Some(slot) = self.free.checked_sub(1) else {
            return Err(Full(item));
        };
        let entry = &self.shared.entries[slot];
        self.free = entry.next.load(Ordering::Relaxed);
        let age = (entry.word.load(Ordering::Relaxed) & !(OWNED | SHARED)).wrapping_add(ONE_AGE);
        entry.item.store(item.into_word(), Ordering::Relaxed);
        entry.word.store(age, Ordering::Relaxed);
        Ok(EntryRef::new(self.shared.id, slot))
    }

    /// Moves the slots that thieves have freed to the owner's list.
    #[cold]
    #[inline(never)]
    fn collect_returned(&mut self) {
        if self.shared.returned.load(Ordering::Relaxed) != END {
            self.free = self.shared.returned.swap(END, Ordering::Acquire); // [E1]
        }
    }

    /// Marks the entry as shared, before its pointer is pushed on the deque: from now on the popper
    /// of the pointer competes with a donee. Returns the offer for a donee's
    /// [`State`](super::State) or mailbox; the same one when called again.
    ///
    /// Returns `None` if the entry is not one of these, or if a donee already has its item.
    #[inline]
    pub fn share(&mut self, entry: &EntryRef) -> Option<Offer> {
        let word = self.own(entry)?.word.load(Ordering::Relaxed);
        if word & OWNED != 0 {
            return None;
        }
        if word & SHARED == 0 {
            self.own(entry)?
                .word
                .store(word | SHARED, Ordering::Release); // [E2]
        }
        Some(Offer::new(entry.worker(), entry.slot(), word >> AGE_SHIFT))
    }

    /// Clears `shared`, if no donee has the item yet, so that the popper of the pointer need not
    /// compete. Returns `true` if the item is private afterwards.
    ///
    /// Earlier offers of the entry are void then, and stay so if the entry is shared again, which
    /// makes a new offer.
    #[inline]
    pub fn retract(&mut self, entry: &EntryRef) -> bool {
        let Some(own) = self.own(entry) else {
            return false;
        };
        let word = own.word.load(Ordering::Relaxed);
        if word & SHARED == 0 {
            return true;
        }
        let old = word & !OWNED;
        let new = (old & !SHARED).wrapping_add(ONE_AGE);
        own.word
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Returns `true` if no donee can get the offered item any more. For the owner, for which the
    /// result is final: a void offer stays void until its entry has been used another 2^30 times.
    #[inline]
    pub fn is_void(&self, offer: Offer) -> bool {
        let Some(entry) = self.shared.entries.get(offer.slot()) else {
            return true;
        };
        let word = entry.word.load(Ordering::Relaxed);
        word & (SHARED | OWNED) != SHARED || !offer.has_age(word >> AGE_SHIFT)
    }

    /// For the owner, which has popped the pointer from its deque: takes the item, unless a donee
    /// has it, and frees the entry in either case.
    #[inline]
    pub fn acquire(&mut self, entry: EntryRef) -> Acquired<T> {
        if !entry.is_of(self.shared.id) {
            return Acquired::Foreign(entry);
        }
        let slot = entry.slot();
        let item = self.shared.settle(slot);
        self.shared.entries[slot]
            .next
            .store(self.free, Ordering::Relaxed);
        self.free = slot + 1;
        item.into()
    }

    #[inline]
    fn own(&self, entry: &EntryRef) -> Option<&Entry> {
        entry
            .is_of(self.shared.id)
            .then(|| &self.shared.entries[entry.slot()])
    }
}

/// A worker's entries as the other workers see them: as thieves and as donees.
pub struct Peer<T: Word> {
    shared: Arc<Shared<T>>,
}

impl<T: Word> Clone for Peer<T> {
    fn clone(&self) -> Self {
        Peer {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Word> Peer<T> {
    /// Returns the owner of these entries.
    pub fn worker(&self) -> usize {
        self.shared.id.worker()
    }

    /// For a thief, which has stolen the pointer from the owner's deque: takes the item, unless a
    /// donee has it, and frees the entry in either case.
    #[inline]
    pub fn acquire(&self, entry: EntryRef) -> Acquired<T> {
        if !entry.is_of(self.shared.id) {
            return Acquired::Foreign(entry);
        }
        let item = self.shared.settle(entry.slot());
        self.give_back(entry.slot());
        item.into()
    }

    /// For a donee: takes the offered item, unless another thread has it.
    ///
    /// The entry stays, as a ghost, until its pointer is popped from the donor's deque.
    #[inline]
    pub fn accept(&self, offer: Offer) -> Option<T> {
        let entry = self.shared.entries.get(offer.slot())?;
        let word = entry.word.load(Ordering::Acquire); // [E5]
        if word & (SHARED | OWNED) != SHARED || !offer.has_age(word >> AGE_SHIFT) {
            return None;
        }
        let item = entry.item.load(Ordering::Relaxed);
        entry.trace.leave(word);
        let won = entry.word.compare_exchange(
            word,
            word | OWNED,
            Ordering::Release, // [E6]
            Ordering::Relaxed,
        );
        won.ok()?;
        // SAFETY: the word, and with it the age, is still the one that was read before the item, so
        // the item is that of this age; the entry was shared and not owned, and the
        // compare-and-swap has given the item to this donee alone.
        Some(unsafe { T::from_word(item) })
    }

    /// Returns a slot to the owner.
    fn give_back(&self, slot: usize) {
        let mut head = self.shared.returned.load(Ordering::Relaxed);
        loop {
            self.shared.entries[slot]
                .next
                .store(head, Ordering::Relaxed);
            let pushed = self.shared.returned.compare_exchange(
                head,
                slot + 1,
                Ordering::Release, // [E7]
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

/// Returns a number that no other `Entries` of this process has.
fn next_number() -> u32 {
    static NEXT: Mutex<u32> = Mutex::new(0);
    let mut next = NEXT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let number = *next;
    *next = number
        .checked_add(1)
        .expect("no more than 2^32 Entries in one process");
    number
}

#[cfg(all(test, not(loom)))]
mod tests;
