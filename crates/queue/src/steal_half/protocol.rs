//! The protocol: the words that owner and thieves share, and the thieves' operations on them. The
//! owner's operations are in [`owner`](super::owner).
//!
//! The protocol deals with indices only, not with slots. The parent module explains the algorithm.
//!
//! # Orderings
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | B1 | owner stores `bot` | Release | T4 | a thief that extends the range up to `bot` publishes the items below it, so it must see them written | `pushed_item_through_two_thieves` |
//! | B2 | owner, between B1 and B3 | light barrier | T3 | else the owner pops on an old range while a thief extends it with an old `bot` | `two_thieves_and_pops`, `pushed_item_through_two_thieves` |
//! | B3 | owner checks whether the range is still its own | Relaxed | - | equality tells the owner nothing new | none: nothing is weaker |
//! | B4 | owner loads the range | Acquire | T5 | a thief's loads of the slots come before its T5; the owner, which overwrites the slots above the `top` it sees here, must come after (shown by a trace, `sync::trace`) | `full_ring` |
//! | B6 | owner stores the promise | Release | T2 | a thief may see the promise of a CAS that fails or is still to come, and extend the range to items that no CAS has published | `pushed_item_at_a_power_of_two` |
//! | B7 | owner's CAS, success | Release | T1 | publishes the items in the range, and the promise | `half_against_pop` |
//! | B8 | owner's CAS, failure | Acquire | T5 | as B4 | `slots_are_used_again_after_thefts` |
//! | B9 | owner's CAS for the last item, success | Relaxed | - | the new range is empty | none: nothing is weaker |
//! | B10 | owner's CAS for the last item, failure | Relaxed | - | the deque is empty, so the next push is not a fast one and looks for room with B4 | none: nothing is weaker |
//! | B11 | owner stores `bot` after it lost the last item | Release | T4 | not shown by loom: nothing is below this `bot`; Release because all stores of `bot` are | none |
//! | B12 | owner stores `bot` in a push at a power of two | Release | T4 | as B1 | `pushed_item_at_a_power_of_two` |
//! | B13 | owner stores `bot` in a pop at a power of two | Release | T4 | not shown by loom: what is below this `bot` is below the limit, and B7 has published it; Release because all stores of `bot` are | none |
//! | B14 | owner, between B1 and B3, if both sides use fences | SeqCst fence | T3 | as B2 | `both_pay` |
//! | T1 | thief loads the range | Acquire | B7, T5 | the items in the range, and the promise that goes with it | `half_against_pop` |
//! | T2 | thief loads the promise | Acquire | B6 | as B6 | `pushed_item_through_two_thieves` |
//! | T3 | thief, between T1 and T4 | heavy barrier | B2 | as B2 | `pushed_item_through_two_thieves` |
//! | T4 | thief loads `bot` to extend the range | Acquire | B1, B12 | as B1 | `pushed_item_through_two_thieves` |
//! | T5 | thief's CAS, success | Release | T1, B4 | publishes the items that T2 or T4 added to the range | `pushed_item_through_two_thieves` |
//! | T6 | thief's CAS, failure | Relaxed | - | the value is not used | none: nothing is weaker |
//! | L2 | any thread estimates the length: loads the range | Relaxed | - | a guess | none: nothing is weaker |
//! | L3 | any thread estimates the length: loads `bot` | Relaxed | - | a guess | none: nothing is weaker |
//!
//! loom checks the guarantee of the light and heavy halves, which is weaker than two fences; the
//! module [`barrier`] explains why `membarrier` provides it.
//!
//! T2 may see a promise whose CAS fails or is still to come, because the owner makes a promise when
//! it is true of the `bot` that it has stored, and then changes neither `bot` nor the slots until a
//! CAS has succeeded, or until it has found the deque empty, where no theft can succeed. So a theft
//! that succeeds before that CAS relies on a promise that holds.

use crossbeam_utils::CachePadded;

use super::owner::{OwnerSide, OwnerState};
use super::range::{MAX_CAPACITY, Promise, Range, ahead};
use crate::sync::barrier;
use crate::sync::trace::Trace;
use crate::sync::{AtomicU64, Ordering};
use crate::traits::Steal;

/// The part of the deque that does not depend on the items.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) top: CachePadded<Top>,
    pub(super) own: CachePadded<OwnerState>,
    /// A power of two, at most [`MAX_CAPACITY`]. Never changes.
    pub(super) capacity: u16,
    /// Trace of the thefts, which copy first, by the tag that the thief saw.
    trace: Trace,
    /// The last theft that the owner knows of. Accessed by the owner only.
    #[cfg(loom)]
    theft: std::cell::Cell<Option<u64>>,
}

#[derive(Debug)]
pub(super) struct Top {
    /// Changed by compare-and-swap only; `top` only by thieves.
    pub(super) range: AtomicU64,
    /// Stored by the owner only, before it changes the range.
    pub(super) promise: AtomicU64,
}

impl Shared {
    /// Creates an empty deque. The low 16 bits of `start` are the first index, the next 32 the
    /// first tag.
    pub(super) fn new(capacity: usize, start: u64) -> Self {
        let max = usize::from(MAX_CAPACITY);
        let capacity = capacity.clamp(1, max).next_power_of_two() as u16;
        let top = start as u16;
        let range = Range::new((start >> 16) as u32, top);
        Shared {
            top: CachePadded::new(Top {
                range: AtomicU64::new(range.0),
                promise: AtomicU64::new(0),
            }),
            own: CachePadded::new(OwnerState::new(top.into(), range)),
            capacity,
            trace: Trace::new(range.tag()),
            #[cfg(loom)]
            theft: std::cell::Cell::new(None),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.into()
    }

    /// Returns `bot`: exact for the owner, an estimate for others.
    pub(super) fn bot(&self) -> u64 {
        self.own.bot.load(Ordering::Relaxed) // [L3]
    }

    /// Returns an estimate of the number of items.
    pub(super) fn len(&self) -> usize {
        let bot = self.bot();
        let range = Range(self.top.range.load(Ordering::Relaxed)); // [L2]
        ahead(bot as u16, range.top()).min(self.capacity).into()
    }

    /// Returns the index of the oldest item and the number of items, for the destructor and for
    /// tests. Exact when no operation is under way.
    pub(super) fn occupied(&self) -> (u16, usize) {
        (self.range().top(), self.len())
    }

    /// Returns the stealRange, and makes the items in it visible to the caller.
    #[inline]
    pub(super) fn range(&self) -> Range {
        Range(self.top.range.load(Ordering::Acquire)) // [T1]
    }

    /// Returns the number of items that a thief which saw `range` should take: up to half, and at
    /// most `most`.
    #[inline]
    pub(super) fn share(&self, range: Range, most: u16) -> u16 {
        let bot = self.bot() as u16;
        let there = ahead(bot, range.top());
        range.len().min(there.div_ceil(2).max(1)).min(most)
    }

    /// Tries to take the `n` topmost items off the range, which the thief read as `seen`. Returns
    /// [`Steal::Retry`] if the range has changed, and [`Steal::Private`] if the kernel refused the
    /// barrier.
    ///
    /// The new range holds at least an eighth of the items that are left.
    #[inline]
    pub(super) fn advance(&self, seen: Range, n: u16) -> Steal<()> {
        let top = seen.top().wrapping_add(n);
        let promise = Promise(self.top.promise.load(Ordering::Acquire)); // [T2]
        let surely = ahead(promise.limit(), top);
        let perhaps = ahead(promise.ceiling().wrapping_sub(1), top);
        let eighth = perhaps.div_ceil(8);
        let (len, exact) = if !seen.is_exact() && eighth <= surely {
            (eighth.max(surely / 2), false)
        } else if let Some(left) = self.left_above(seen, top) {
            (left.div_ceil(2), true)
        } else {
            return Steal::Private;
        };
        let new = seen.without(n, len, exact);
        self.trace.leave(seen.tag());
        let race = self.top.range.compare_exchange(
            seen.0,
            new.0,
            Ordering::Release, // [T5]
            Ordering::Relaxed, // [T6]
        );
        race.map_or(Steal::Retry, |_| Steal::Success(()))
    }

    /// Returns the number of items from `top` on, which is exact if the range is still `seen`
    /// afterwards. `None` if the barrier was refused.
    #[cold]
    #[inline(never)]
    fn left_above(&self, seen: Range, top: u16) -> Option<u16> {
        let ordered = seen.is_exact() || barrier::heavy(); // [T3]
        if !ordered {
            return None;
        }
        let bot = self.own.bot.load(Ordering::Acquire) as u16; // [T4]
        Some(ahead(bot, top))
    }
}

impl OwnerSide<'_> {
    /// Records, for the models, the range that the owner has read: if it is not the owner's own, a
    /// thief has written it.
    #[inline(always)]
    pub(super) fn learn(self, _range: Range) {
        #[cfg(loom)]
        if _range.0 != self.own.prev() {
            let before = _range.tag().wrapping_sub(1 << 32);
            self.theft.set(Some(before));
        }
    }

    /// Asserts, in the models, that the thefts which the owner knows of are over. Called before the
    /// owner writes a slot.
    #[inline(always)]
    pub(super) fn expect_thefts(self) {
        #[cfg(loom)]
        if let Some(theft) = self.theft.get() {
            self.trace.expect(theft);
        }
    }
}
