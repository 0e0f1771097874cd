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

use std::mem::MaybeUninit;

use super::deque;
use super::ring::Ring;
use crate::pile::{Steal, StealBatch, Thief};
use crate::sync::UnsafeCell;
use crate::word::Word;

/// The variant that claims.
#[derive(Debug)]
pub enum ClaimFirst {}

impl deque::Variant for ClaimFirst {}

impl deque::Kind for ClaimFirst {
    const CLAIMS: bool = true;
    type Slot<T: Word> = Slot<T>;
}

/// Holds an item from `steal_top` to `bot`. Written by the owner; read by the owner, or by the one
/// thief whose claim it is in.
#[doc(hidden)]
#[derive(Debug)]
pub struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

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

impl<T> deque::Slot<T> for Slot<T> {
    fn empty() -> Self {
        Slot(UnsafeCell::new(MaybeUninit::uninit()))
    }

    #[inline]
    unsafe fn put(&self, item: T) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.write(MaybeUninit::new(item)) };
    }

    #[inline]
    unsafe fn get(&self) -> T {
        // SAFETY: the item is there, is taken out once and not written, says the caller.
        unsafe { self.read().assume_init() }
    }
}

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
pub type Deque<T> = deque::Deque<T, ClaimFirst>;

/// A thief's handle of a claim-first deque.
pub type Stealer<T> = deque::Stealer<T, ClaimFirst>;

type Inner<T> = deque::Inner<T, ClaimFirst>;

impl<T: Word> Stealer<T> {
    /// Tries to take up to half of the items, and no more than `most()`. `copy` gets the slots, the
    /// index of the first item and the number of items but one; the last one is returned, with that
    /// number.
    #[inline]
    fn claim(
        &self,
        most: impl FnOnce() -> u16,
        copy: impl FnOnce(&Ring<Slot<T>>, u64, u64),
    ) -> (u16, Steal<T>) {
        let shared = &self.inner.shared;
        let range = shared.range();
        if range.len() == 0 {
            return (0, Steal::Empty);
        }
        if shared.is_claimed(range) {
            return (0, Steal::Retry);
        }
        let n = shared.share(range, most());
        if !shared.advance(range, n) {
            return (0, Steal::Retry);
        }
        let (ring, top, others) = (&self.inner.ring, range.top().into(), n - 1);
        copy(ring, top, others.into());
        let last = ring.slot(top + u64::from(others));
        // SAFETY: the item is in the range that is now ours, and nobody writes the slot before
        // the claim is released.
        let last = unsafe { last.read().assume_init() };
        shared.release_claim(range.top().wrapping_add(n));
        (others, Steal::Success(last))
    }

    /// Moves items into a deque of the caller, whose bottom is at `bot`: how many, and one more.
    fn steal_into(&self, own: &Inner<T>, bot: u64) -> (u64, Steal<T>) {
        let most = || own.shared.room(bot) + 1;
        let (others, answer) = self.claim(most, |ring, top, n| {
            // SAFETY: the items are claimed, so nobody writes their slots; the caller's deque has
            // room for all but one of them.
            ring.pairs(top, &own.ring, bot, n, |from, to| unsafe {
                to.write(from.read());
            });
        });
        if others > 0 {
            own.shared.push_many(bot, others);
        }
        (others.into(), answer)
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        self.claim(|| 1, |_, _, _| ()).1
    }

    fn len(&self) -> usize {
        self.inner.shared.len()
    }
}

impl<T: Word> StealBatch for Stealer<T> {
    type Deque = Deque<T>;

    #[inline]
    fn steal_half(&self, own: &mut Deque<T>) -> Steal<T> {
        let (others, answer) = self.steal_into(&own.inner, own.bot);
        own.bot = own.bot.wrapping_add(others);
        answer
    }
}
