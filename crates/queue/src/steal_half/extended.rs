//! The extended deque of Hendler and Shavit: copy first, then steal with one compare-and-swap.
//!
//! The [parent module](super) has the picture, the invariant, the owner's operations and the
//! theorems; here is the thief's operation, tryToSteal.
//!
//! ```text
//!  victim   |  a  b  c  d | e  f  g  h |        own   | x | .  .  . |
//!           top    range    rest      bot                 bot
//!
//!  1. copy                                      own   | x | a  b  c |   not in the deque yet
//!  2. CAS   |  .  .  .  . | e  f | g  h |       a..d are the thief's
//!  3. push                                      own   | x  a  b  c |    and d is returned
//! ```
//!
//! A thief reads the range, copies items from its top to the free slots behind the bottom of its
//! own deque, and then changes the victim's range. If the CAS fails somebody else changed the
//! range, the copies mean nothing and the answer is [`Steal::Retry`]. If it succeeds, the range
//! did not change in between, so that nobody else took or overwrote what was copied.
//!
//! Because a slot may be overwritten while a slow thief reads it, slots are atomic words. All
//! processes together make progress whatever becomes of any one of them: the deque is
//! non-blocking (Theorem 4.1).
//!
//! # Deviations from the paper
//!
//! Besides those of the parent module: a thief does not compare the lengths of the two deques
//! (`pLen` in Fig. 7); whether to steal is the caller's decision, and how much
//! ([`Stealer::steal_some`]). It takes at most the range, cut down to half of the items that it sees
//! and to the room that its own deque has.
//!
//! # Orderings
//!
//! The protocol's table is in the source of `steal_half/protocol.rs`.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | E1 | owner writes a slot | Relaxed | - | already the weakest: B7 and B1 publish it | - |
//! | E2 | owner reads a slot | Relaxed | - | already the weakest: its own write | - |
//! | E3, E5, E6, E8 | thief reads a slot | Relaxed | - | already the weakest: T1 made it visible, T5 confirms it | - |
//! | E7 | the destructor reads a slot | Relaxed | - | already the weakest: nobody else is left | - |
//! | E4 | thief writes a slot of its own deque | Relaxed | - | as E1 | - |

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use super::Inspection;
use super::protocol::{Bottom, Shared};
use super::ring::Ring;
use crate::pile::{Full, Owner, Steal, StealBatch, Thief};
use crate::sync::{Arc, AtomicPtr, Ordering};
use crate::word::Word;

/// The owner's side of an extended deque.
///
/// ```
/// use locksley_queue::steal_half::extended::Deque;
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
///
/// What one handle puts in another takes out, so the item's type cannot be changed in between:
///
/// ```compile_fail
/// use locksley_queue::steal_half::extended::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
pub struct Deque<T: Word> {
    bottom: Bottom,
    ring: Ring<AtomicPtr<()>>,
    inner: Arc<Inner<T>>,
}

/// A thief's handle of an extended deque.
pub struct Stealer<T: Word> {
    inner: Arc<Inner<T>>,
}

struct Inner<T: Word> {
    shared: Shared<false>,
    slots: Box<[AtomicPtr<()>]>,
    /// Invariant in `T`: what one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: the slots are atomic words, and an item leaves through exactly one thread, so that
// sharing the deque moves items between threads but never shares them.
unsafe impl<T: Word + Send> Send for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Inner<T> {}

impl<T: Word> Inner<T> {
    #[inline]
    fn ring(&self) -> Ring<AtomicPtr<()>> {
        // SAFETY: whoever has the ring also has an `Arc` of this; the slots never move, and there
        // are as many as the capacity, a power of two.
        unsafe { Ring::new(&self.slots) }
    }
}

impl<T: Word> Drop for Inner<T> {
    fn drop(&mut self) {
        let (ring, (top, len)) = (self.ring(), self.shared.occupied());
        for i in 0..len as u64 {
            let word = ring.slot(u64::from(top) + i).load(Ordering::Relaxed); // [E7]
            // SAFETY: the last handle is gone, so the items between top and bottom are here, and
            // each is taken once.
            drop(unsafe { T::from_word(word) });
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
        let slots = (0..shared.capacity())
            .map(|_| AtomicPtr::new(std::ptr::null_mut()))
            .collect();
        let inner = Arc::new(Inner {
            shared,
            slots,
            items: PhantomData,
        });
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

    #[inline]
    fn write(&self, item: T) {
        self.ring
            .slot(self.bottom.bot())
            .store(item.into_word(), Ordering::Relaxed); // [E1]
    }

    #[cold]
    #[inline(never)]
    fn push_slowly(&mut self, item: T) -> Result<(), Full<T>> {
        if self.bottom.room(&self.inner.shared) == 0 {
            return Err(Full(item));
        }
        self.write(item);
        self.bottom.push_many(&self.inner.shared, 1);
        Ok(())
    }

    /// # Safety
    ///
    /// The item must have been popped, and is read once.
    #[inline]
    unsafe fn read(&self, index: u64) -> T {
        let word = self.ring.slot(index).load(Ordering::Relaxed); // [E2]
        // SAFETY: the word was pushed, and the caller alone has the item.
        unsafe { T::from_word(word) }
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
        self.write(item);
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

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return Steal::Empty;
        }
        let word = self
            .inner
            .ring()
            .slot(range.top().into())
            .load(Ordering::Relaxed); // [E6]
        if !shared.advance(range, 1) {
            return Steal::Retry;
        }
        // SAFETY: the range did not change while the word was read, so it is a pushed one, and
        // the change of the range made it ours alone.
        Steal::Success(unsafe { T::from_word(word) })
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }
}

impl<T: Word> Stealer<T> {
    /// [`steal_half`](StealBatch::steal_half) of as many items as `amount` says, which is shown what
    /// could be stolen at once. Gives one, and how many others went into `own`.
    ///
    /// The paper's thief decides by the lengths of the two deques (`pLen` in Fig. 7): here its
    /// caller does. If `amount` says 0, that is [`Steal::Empty`].
    ///
    /// ```
    /// use locksley_queue::steal_half::extended::Deque;
    /// use locksley_queue::{Owner, Steal};
    ///
    /// let (mut victim, mut own) = (Deque::new(), Deque::new());
    /// for task in 1..=8_u32 {
    ///     victim.push(task).unwrap();
    /// }
    /// let thief = victim.thief();
    /// assert_eq!(thief.steal_some(&mut own, |range| range.len() - 1), Steal::Success((3, 2)));
    /// assert_eq!((victim.len(), own.len()), (5, 2));
    /// assert_eq!(thief.steal_some(&mut own, |_| 0), Steal::Empty);
    /// ```
    pub fn steal_some(
        &self,
        own: &mut Deque<T>,
        amount: impl FnOnce(Offered<'_, T>) -> usize,
    ) -> Steal<(T, usize)> {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return Steal::Empty;
        }
        let most = shared.share(range, own.bottom.room(&own.inner.shared) + 1);
        let (ring, top) = (self.inner.ring(), u64::from(range.top()));
        let offered = Offered {
            thief: self,
            top,
            len: most.into(),
        };
        let n = amount(offered).min(most.into()) as u16;
        if n == 0 {
            return Steal::Empty;
        }
        ring.pairs(
            top,
            own.ring,
            own.bottom.bot(),
            u64::from(n) - 1,
            |from, to| {
                let word = from.load(Ordering::Relaxed); // [E3]
                to.store(word, Ordering::Relaxed); // [E4]
            },
        );
        let last = ring.slot(top + u64::from(n) - 1).load(Ordering::Relaxed); // [E5]
        if !shared.advance(range, n) {
            return Steal::Retry;
        }
        if n > 1 {
            own.bottom.push_many(&own.inner.shared, n - 1);
        }
        // SAFETY: the range did not change while the words were read, so they are pushed ones,
        // and the change of the range made them ours alone; this one was not put in `own`.
        Steal::Success((unsafe { T::from_word(last) }, usize::from(n) - 1))
    }
}

/// What a thief could take at once, for [`Stealer::steal_some`].
pub struct Offered<'a, T: Word> {
    thief: &'a Stealer<T>,
    top: u64,
    len: usize,
}

impl<T: Word> Offered<'_, T> {
    /// How many items that are; at least one.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The words of the items, the oldest first. Only the bits mean anything: an item may be gone, and
    /// its slot have another one. If so, the theft will fail.
    ///
    /// ```
    /// use locksley_queue::steal_half::extended::Deque;
    /// use locksley_queue::{Owner, Steal};
    ///
    /// let (mut victim, mut own) = (Deque::new(), Deque::new());
    /// for task in [2, 4, 6, 7, 8, 10, 12, 14_usize] {
    ///     victim.push(task).unwrap();
    /// }
    /// // Only even ones, please.
    /// let even = |word: &*mut ()| word.addr() % 2 == 0;
    /// let stolen = victim.thief().steal_some(&mut own, |range| range.words().take_while(even).count());
    /// assert_eq!(stolen, Steal::Success((6, 2)));
    /// ```
    pub fn words(&self) -> impl Iterator<Item = *mut ()> {
        let (ring, top) = (self.thief.inner.ring(), self.top);
        let places = (0..self.len).map(move |place| top + place as u64);
        places.map(move |index| ring.slot(index).load(Ordering::Relaxed)) // [E8]
    }
}

impl<T: Word> fmt::Debug for Offered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered").field("len", &self.len).finish()
    }
}

impl<T: Word> StealBatch for Stealer<T> {
    type Deque = Deque<T>;

    #[inline]
    fn steal_half(&self, own: &mut Deque<T>) -> Steal<T> {
        self.steal_some(own, |range| range.len())
            .map(|(item, _)| item)
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
