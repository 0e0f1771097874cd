//! Stealing up to half of a deque's items with one compare-and-swap.
//!
//! The extended deque of Hendler and Shavit ("Non-Blocking Steal-Half Work Queues", PODC 2002) is a
//! bounded cyclic array whose owner pushes and pops at the bottom. At the top is the *stealRange*:
//! the items that a thief may take all at once. The owner adjusts the range only when the length
//! of the deque reaches a power of two, or after a theft. The module [`extended`] has the thief's
//! operation: it copies the items, and then takes them.
//!
//! ```text
//!             stealRange           promised            fast pops, fast pushes
//!          +-------------+-------------------------+- - - - - - - - - - - - - +
//!          | 0  1  2  3  | 4  5  6  7              | 8  9 10 11  .  .  .  .   |
//!          +-------------+-------------------------+- - - - - - - - - - - - - +
//!          top           top + len                 limit       bot            ceiling
//!                                                  = top + 8                  = top + 16
//! ```
//!
//! # Invariant
//!
//! The items are those at `top..bot`. One word holds `tag`, `top` and `len`, and is changed by
//! compare-and-swap only, with a new tag each time; so a change succeeds only if there was no
//! other change since the thread read the word.
//!
//! 1. The range is part of the deque: `len <= bot - top`.
//! 2. With every change of the range the owner makes a *promise*: until its next change,
//!    `limit <= bot < ceiling`. It sets `limit - top` to the power of two `sure`, `ceiling - top`
//!    to `2 * sure` and `len` to `sure / 2` (or to 1).
//! 3. While the range is the one that the owner wrote last (the paper's `prevStealRange`), no
//!    theft extends it beyond `limit`.
//! 4. If the range is not the one that the owner wrote last, the owner changes it before a pop
//!    keeps its item, and before a push returns.
//!
//! # Operations
//!
//! *pushBottom* writes the slot, stores `bot`, and loads the range. If the range is the owner's own
//! and `bot` is below `ceiling`, the push is done. Otherwise it sets the range for the new length.
//!
//! *popBottom* stores `bot - 1` and loads the range. If the range is the owner's own and `bot` was
//! above `limit`, the item belongs to the owner: by 3 no range contains it. Otherwise the owner
//! sets the range for the length, leaving the item out, and has the item when the compare-and-swap
//! succeeds. The last item takes two: section 1 of the paper's Fig. 5 announces the length, section
//! 2 empties the range.
//!
//! *tryToSteal* takes `n <= len` items by moving `top`, and sets how many of the rest may be stolen
//! next. As long as the number of items that are surely left (up to `limit`) is at least an eighth
//! of the number that may be left (up to `ceiling`), the promise is all it needs to know. That
//! holds for a first theft, after which the range is not the owner's own any more. A later theft
//! may have to extend the range beyond `limit`. Then it issues the heavy half of the asymmetric
//! [`barrier`](crate::barrier), whose light half is between the owner's store of `bot` and its load
//! of the range. So for any push or pop, either the thief sees the new `bot`, or the owner sees
//! that the range is not its own; and then, by 4, either the owner's change makes the theft fail,
//! or it comes later and sees the theft. So `bot` is exact, the new range is half of the rest, and
//! a flag in it (`exact`) tells later thieves that they need no barrier either.
//!
//! # Theorems
//!
//! * Theorem 3.10: one theft can take at least an eighth of the items, `8 * len >= bot - top`,
//!   whenever no operation is under way. (While one is, the bound can fail for a moment: a batch
//!   moves the thief's own `bot` before its range.)
//! * Section 2.2: after a change by a push `2 * len <= length < 4 * len`, by a pop
//!   `2 * len <= length <= 4 * len`, unless fewer than two items are left.
//! * Theorem 4.3: k pushes or k pops during which m thefts succeed take O(log k + m)
//!   compare-and-swaps of the owner. Without thefts k pushes from empty take
//!   floor(log2 k) + 1, and k pops to empty floor(log2 k) + 2.
//! * Fences: where the process has `membarrier`, pushes and pops issue none, and of consecutive
//!   thefts from an owner that does nothing at most one calls `membarrier`. Without it, every push
//!   and pop issues one fence or one compare-and-swap.
//! * Theorem 3.9, which is about whole systems of deques: if every process tries to balance often
//!   enough, no deque is expected to be longer than a constant times the average.
//!
//! # Deviations from the paper
//!
//! * The range has a length instead of `stealLast`, so that empty needs no special value. A theft
//!   of the last item makes it 0: Fig. 7's `max(1, ..)` publishes an item that is not there.
//! * Indices count modulo 2^16, not modulo the capacity, so that a full deque is not an empty
//!   one. `bot` is never reset to 0; if the last item is lost, `bot = top`.
//! * Fig. 5 checks whether the range contains the item before it checks whether the range is empty,
//!   and an empty range contains nothing: here `bot < top` is checked first.
//! * Fig. 5 keeps the item if the range that it sees after the store of `bot` does not contain it.
//!   With two thieves that is wrong: one has changed the range, which still does not contain the
//!   item; the other has seen that range and the old `bot`, and is about to extend the range over
//!   the item. Here the owner keeps the item only if the range is its own, and otherwise changes
//!   it.
//! * A push whose compare-and-swap fails tries again: otherwise no thief could take the item until
//!   the owner's next operation. A pop tries again too, instead of aborting.
//! * The paper has no promise. Its Fig. 7 computes the new range from `bot`, so that every pop
//!   needs a store-load fence, though it needs a compare-and-swap only at powers of two. No promise
//!   alone can replace `bot`: thieves must not take an item that the owner may pop without a fence,
//!   and if they took all others, there would be items but an empty range. Hence the barrier.
//! * A theft takes no more than half of the items, even if the range is longer.
//!
//! A tag is 32 bits wide: a thief that is suspended for exactly 2^32 changes of one range would
//! take the range for unchanged.

mod deque;
mod owner;
mod protocol;
mod range;
mod ring;

pub mod extended;

/// The largest capacity of a deque of this module: the distance of two 16-bit indices must have a
/// sign.
pub const MAX_CAPACITY: usize = range::MAX_CAPACITY as usize;

/// The default capacity of a deque. A guess: room for a deep recursion, in two pages.
pub const DEFAULT_CAPACITY: usize = if cfg!(loom) { 4 } else { 1024 };

/// The lengths of a deque and of its stealRange, exact when no operation is under way.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Number of items in the deque.
    pub len: usize,
    /// Number of items that one theft may take.
    pub range: usize,
}

impl Inspection {
    fn of(shared: &protocol::Shared) -> Inspection {
        let (_, len) = shared.occupied();
        Inspection {
            len,
            range: shared.range().len().into(),
        }
    }
}
