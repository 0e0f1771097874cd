//! The extended deque with the two halves of a theft exchanged: claim first, then copy.
//!
//! The [parent module](super) has the picture, the invariant, the owner's operations and the
//! theorems; here is what the thief does differently.
//!
//! ```text
//!  victim   |  a  b  c  d | e  f  g  h |        own   | x | .  .  . |
//!           top    range    rest      bot                 bot
//!
//!  1. CAS   | (a  b  c  d)| e  f | g  h |       claimed: a..d are the thief's
//!           steal_top     top
//!  2. copy                                      own   | x | a  b  c |   not in the deque yet
//!  3. release:  steal_top = top                 the owner may use the four slots again
//!  4. push                                      own   | x  a  b  c |    and d is returned
//! ```
//!
//! A thief changes the range first; then the items are its own, and it copies them at leisure.
//! Between the two the slots must not be used again: `steal_top` stays behind at the old `top`,
//! the owner counts the slots from there on as occupied, and other thieves that find
//! `steal_top != top` answer [`Steal::Retry`], so that there is one claim at a time.
//!
//! What this buys: no slot is ever read while it is written. Slots are plain memory, checked by
//! loom as such, and a failed theft copies nothing. What it costs: a thief that is interrupted
//! between claim and release keeps other thieves out, and some slots occupied, until it comes
//! back. The owner's pops, and its pushes while there are free slots, never wait; but the deque
//! as a whole is not non-blocking in the sense of Theorem 4.1.
//!
//! # Deviations from the paper
//!
//! Besides those of the parent module and of [`extended`](super::extended): the order of copy and
//! compare-and-swap, and `steal_top`, which the paper does not have.
//!
//! # Orderings
//!
//! All atomics are in the protocol: the table in the source of `steal_half/protocol.rs`.

use std::fmt;
use std::mem::MaybeUninit;

use super::Inspection;
use super::protocol::{Bottom, Shared};
use super::ring::Ring;
use crate::pile::{Full, Owner, Steal, StealBatch, Thief};
use crate::sync::{Arc, UnsafeCell};
use crate::word::Word;

/// The owner's side of a claim-first deque.
///
/// ```
/// use locksley_queue::steal_half::claim_first::Deque;
/// use locksley_queue::{Owner, Steal, StealBatch};
///
/// let (mut victim, mut own) = (Deque::new(), Deque::new());
/// for task in 1..=8_u32 {
///     victim.push(task).unwrap();
/// }
/// assert_eq!(victim.thief().steal_half(&mut own), Steal::Success(4));
/// assert_eq!((victim.len(), own.len()), (4, 3));
/// assert_eq!(own.pop(), Some(3));
/// ```
pub struct Deque<T: Word> {
    bottom: Bottom,
    ring: Ring<Slot<T>>,
    inner: Arc<Inner<T>>,
}

/// A thief's handle of a claim-first deque.
pub struct Stealer<T: Word> {
    inner: Arc<Inner<T>>,
}

/// Holds an item from `steal_top` to `bot`. Written by the owner; read by the owner, or by the one
/// thief whose claim it is in.
#[derive(Debug)]
struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: who may touch a slot is settled by the protocol; items only move between threads.
unsafe impl<T: Send> Sync for Slot<T> {}
// SAFETY: a slot holds at most a `T`.
unsafe impl<T: Send> Send for Slot<T> {}

impl<T> Slot<T> {
    /// # Safety
    ///
    /// The slot must be free and the caller the owner.
    #[inline]
    unsafe fn write(&self, item: MaybeUninit<T>) {
        // SAFETY: nobody else touches a free slot, says the caller.
        self.0.with_mut(|slot| unsafe { slot.write(item) });
    }

    /// Copies the item out.
    ///
    /// # Safety
    ///
    /// The slot must be occupied, and nobody may write it meanwhile.
    #[inline]
    unsafe fn read(&self) -> MaybeUninit<T> {
        // SAFETY: nobody writes, says the caller.
        self.0.with(|slot| unsafe { slot.read() })
    }
}

#[derive(Debug)]
struct Inner<T: Word> {
    shared: Shared<true>,
    slots: Box<[Slot<T>]>,
}

impl<T: Word> Inner<T> {
    #[inline]
    fn ring(&self) -> Ring<Slot<T>> {
        // SAFETY: whoever has the ring also has an `Arc` of this; the slots never move, and there
        // are as many as the capacity, a power of two.
        unsafe { Ring::new(&self.slots) }
    }
}

impl<T: Word> Drop for Inner<T> {
    fn drop(&mut self) {
        let (ring, (top, len)) = (self.ring(), self.shared.occupied());
        for i in 0..len as u64 {
            // SAFETY: the last handle is gone, so no claim is open and the items between top and
            // bottom are here; each is taken once.
            drop(unsafe { ring.slot(u64::from(top) + i).read().assume_init() });
        }
    }
}

impl<T: Word> Deque<T> {
    /// An empty deque of [`DEFAULT_CAPACITY`](super::DEFAULT_CAPACITY).
    pub fn new() -> Self {
        Self::with_capacity(super::DEFAULT_CAPACITY)
    }

    /// An empty deque with room for `capacity` items, rounded up to a power of two and clamped to
    /// 1..=[`MAX_CAPACITY`](super::MAX_CAPACITY).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// As [`with_capacity`](Self::with_capacity), with the first index taken from the low 16 bits
    /// of `start` and the first tag from the next 32.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let (shared, bottom) = Shared::new(capacity, start);
        let empty = || Slot(UnsafeCell::new(MaybeUninit::uninit()));
        let slots = (0..shared.capacity()).map(|_| empty()).collect();
        let inner = Arc::new(Inner { shared, slots });
        Deque {
            bottom,
            ring: inner.ring(),
            inner,
        }
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.inner.shared.capacity()
    }

    /// # Safety
    ///
    /// The slot at the bottom must be free.
    #[inline]
    unsafe fn write(&self, item: T) {
        // SAFETY: free, says the caller, and `&self` of the deque is the owner's.
        unsafe {
            self.ring
                .slot(self.bottom.bot())
                .write(MaybeUninit::new(item))
        };
    }

    #[cold]
    #[inline(never)]
    fn push_slowly(&mut self, item: T) -> Result<(), Full<T>> {
        if self.bottom.room(&self.inner.shared) == 0 {
            return Err(Full(item));
        }
        // SAFETY: there is room.
        unsafe { self.write(item) };
        self.bottom.push_many(&self.inner.shared, 1);
        Ok(())
    }

    /// # Safety
    ///
    /// The item must have been popped, and is read once.
    #[inline]
    unsafe fn read(&self, index: u64) -> T {
        // SAFETY: the owner wrote the item itself and alone has it now, says the caller.
        unsafe { self.ring.slot(index).read().assume_init() }
    }

    #[cold]
    #[inline(never)]
    fn pop_slowly(&mut self) -> Option<T> {
        // SAFETY: `pop_slowly` took the item for the owner.
        self.bottom
            .pop_slowly(&self.inner.shared)
            .then(|| unsafe { self.read(self.bottom.bot()) })
    }

    #[cold]
    #[inline(never)]
    fn pop_contested(&mut self) -> Option<T> {
        // SAFETY: `contest` took the item for the owner.
        self.bottom
            .contest(&self.inner.shared)
            .then(|| unsafe { self.read(self.bottom.bot()) })
    }

    /// The lengths that Theorem 3.10 is about.
    #[doc(hidden)]
    pub fn inspect(&self) -> Inspection {
        Inspection::of(&self.inner.shared)
    }
}

impl<T: Word> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        if !self.bottom.push_is_fast() {
            return self.push_slowly(item);
        }
        // SAFETY: a fast push has room.
        unsafe { self.write(item) };
        self.bottom.push(&self.inner.shared);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if !self.bottom.pop_is_fast() {
            return self.pop_slowly();
        }
        match self.bottom.pop(&self.inner.shared) {
            // SAFETY: `pop` took the item for the owner.
            Some(index) => Some(unsafe { self.read(index) }),
            None => self.pop_contested(),
        }
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            inner: self.inner.clone(),
        }
    }
}

impl<T: Word> Stealer<T> {
    /// Tries to take up to half of the items, and no more than `most()`. `copy` gets the slots, the
    /// index of the first item and the number of items but one; the last one is returned.
    #[inline]
    fn claim(
        &self,
        most: impl FnOnce() -> u16,
        copy: impl FnOnce(Ring<Slot<T>>, u64, u64),
    ) -> Steal<(u16, T)> {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return Steal::Empty;
        }
        if shared.is_claimed(range) {
            return Steal::Retry;
        }
        let n = shared.share(range, most());
        if !shared.advance(range, n) {
            return Steal::Retry;
        }
        let (ring, top, others) = (self.inner.ring(), range.top().into(), u64::from(n) - 1);
        copy(ring, top, others);
        let last = ring.slot(top + others);
        // SAFETY: the item is in the range that is now ours, and nobody writes the slot before
        // the claim is released.
        let last = unsafe { last.read().assume_init() };
        shared.release_claim(range.top().wrapping_add(n));
        Steal::Success((n, last))
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        self.claim(|| 1, |_, _, _| ()).map(|(_, item)| item)
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }
}

impl<T: Word> StealBatch for Stealer<T> {
    type Deque = Deque<T>;

    fn steal_half(&self, own: &mut Deque<T>) -> Steal<T> {
        let (to, bot) = (own.ring, own.bottom.bot());
        let most = || own.bottom.room(&own.inner.shared) + 1;
        let stolen = self.claim(most, |ring, top, n| {
            // SAFETY: the items are claimed, so nobody writes their slots; `own` is ours and has
            // room for all but one of them.
            ring.pairs(top, to, bot, n, |from, to| unsafe { to.write(from.read()) });
        });
        stolen.map(|(n, item)| {
            if n > 1 {
                own.bottom.push_many(&own.inner.shared, n - 1);
            }
            item
        })
    }
}

impl<T: Word> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
