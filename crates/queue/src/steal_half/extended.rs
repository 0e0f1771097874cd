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
//! own deque, and then changes the victim's range. If the CAS fails, another thread has changed the
//! range, the copies are ignored, and the result is [`Steal::Retry`]. If it succeeds, the range
//! did not change in between, so that no other thread took or overwrote the copied items. A theft
//! that needs the heavy barrier and is refused it changes nothing and returns [`Steal::Private`].
//!
//! Because a slot may be overwritten while a slow thief reads it, slots are atomic words. The
//! processes together make progress even if any one of them stops: the deque is non-blocking
//! (Theorem 4.1).
//!
//! # Deviations from the paper
//!
//! Besides those of the parent module: a thief does not compare the lengths of the two deques
//! (`pLen` in Fig. 7); the caller decides whether to steal, and how much
//! ([`Stealer::steal_some`]). It takes at most the range, and no more than half of the items that
//! it sees or, besides the one that it returns, than its own deque has room for.
//!
//! # Orderings
//!
//! The protocol's table is in the source of `steal_half/protocol.rs`.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | E1 | owner writes a slot | Relaxed | - | B7 and B1 publish it | none: nothing is weaker |
//! | E2 | owner, or the destructor, reads a slot | Relaxed | - | its own write; no other thread is left | none: nothing is weaker |
//! | E3, E5, E6, E8 | thief reads a slot | Relaxed | - | T1 made it visible, T5 confirms it | none: nothing is weaker |
//! | E4 | thief writes a slot of its own deque | Relaxed | - | as E1 | none: nothing is weaker |

use std::fmt;
use std::marker::PhantomData;

pub use super::deque::{Deque, Stealer};
use super::deque::{Inner, Slot};
use super::ring::Slots;
use crate::sync::Ordering;
use crate::traits::{Steal, StealBatch, Thief};
use crate::word::Word;

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return Steal::Empty;
        }
        let slot = self.inner.ring.slot(range.top().into());
        let word = slot.0.load(Ordering::Relaxed); // [E6]
        // SAFETY: on success the range did not change while the word was read, so it is the word of
        // an item, and the change of the range gave the item to this thief alone.
        let take = |()| unsafe { T::from_word(word) };
        shared.advance(range, 1).map(take)
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
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

impl<T: Word> Stealer<T> {
    /// As [`steal_half`](StealBatch::steal_half), for the number of items that `amount` returns,
    /// given the items that could be stolen at once. Returns one item, and the number of others,
    /// which go into `own`.
    ///
    /// The paper's thief decides by the lengths of the two deques (`pLen` in Fig. 7); here the
    /// caller decides. If `amount` returns 0, the result is [`Steal::Empty`].
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
    #[inline]
    pub fn steal_some(
        &self,
        own: &mut Deque<T>,
        amount: impl FnOnce(Offered<'_, T>) -> usize,
    ) -> Steal<(T, usize)> {
        // SAFETY: `own` is the owner's handle, and borrowed exclusively.
        let stolen = unsafe { self.steal_into(&own.inner, own.bot, amount) };
        stolen.map(|(item, others)| {
            own.bot = own.bot.wrapping_add(others as u64);
            (item, others)
        })
    }

    /// Steals into the deque `own`, whose bottom is at `bot`.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `own`.
    #[inline(never)]
    unsafe fn steal_into(
        &self,
        own: &Inner<T>,
        bot: u64,
        amount: impl FnOnce(Offered<'_, T>) -> usize,
    ) -> Steal<(T, usize)> {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return Steal::Empty;
        }
        let (ring, top) = (&self.inner.ring, u64::from(range.top()));
        // SAFETY: the caller is the owner.
        let owner = unsafe { own.shared.owner_side() };
        let len = usize::from(shared.share(range, owner.room(bot) + 1));
        let Some(others) = amount(Offered {
            ring,
            top,
            len,
            items: PhantomData,
        })
        .min(len)
        .checked_sub(1) else {
            return Steal::Empty;
        };
        owner.expect_thefts();
        ring.pairs(top, &own.ring, bot, others as u64, |from, to| {
            let word = from.0.load(Ordering::Relaxed); // [E3]
            to.0.store(word, Ordering::Relaxed); // [E4]
        });
        let last = ring.slot(top + others as u64);
        let last = last.0.load(Ordering::Relaxed); // [E5]
        shared.advance(range, others as u16 + 1).map(|()| {
            if others > 0 {
                owner.push_many(bot, others as u16);
            }
            // SAFETY: the range did not change while the words were read, so they are the words of
            // items, and the change of the range gave the items to this thief alone; this one was
            // not pushed to `own`.
            (unsafe { T::from_word(last) }, others)
        })
    }
}

/// The items that a thief could take at once, for [`Stealer::steal_some`].
pub struct Offered<'a, T: Word> {
    ring: &'a Slots<Slot>,
    top: u64,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Word> Offered<'_, T> {
    /// Returns the number of items, which is at least one.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the words of the items, oldest first. They must not be turned back into items: an
    /// item may have been taken, and its slot reused. In that case the theft will fail.
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
    /// let thief = victim.thief();
    /// let stolen = thief.steal_some(&mut own, |range| range.words().take_while(even).count());
    /// assert_eq!(stolen, Steal::Success((6, 2)));
    /// ```
    pub fn words(&self) -> impl Iterator<Item = *mut ()> {
        let places = (0..self.len).map(|place| self.top + place as u64);
        places.map(|index| self.ring.slot(index).0.load(Ordering::Relaxed)) // [E8]
    }
}

impl<T: Word> fmt::Debug for Offered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered").field("len", &self.len).finish()
    }
}
