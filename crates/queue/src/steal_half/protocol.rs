//! The protocol of the two variants: who changes the stealRange, and when.
//!
//! [`Bottom`] is the owner's end, [`Shared`] what everybody sees. Neither knows about slots: they
//! deal in indices, and the variants say what is behind an index and when it is copied.
//! The parent module explains the algorithm.
//!
//! # Orderings
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | B1 | owner stores `bot` | Release | T4 | a thief that extends the range up to `bot` gives away the items below it, so they must be written for it | `pushed_item_through_two_thieves` |
//! | B2 | owner, between B1 and B3 | light barrier | T3 | else the owner pops on an old range while a thief extends it with an old `bot` | `two_thieves_and_pops`, `pushed_item_through_two_thieves` |
//! | B3 | owner looks whether the range is still its own | Relaxed | - | already the weakest: equality tells it nothing new | - |
//! | B4 | owner loads the range | Acquire | T5 | not shown by loom: a thief's loads of the slots come before its T5; the owner, who overwrites the slots above the `top` it sees here, must come after; loom never lets a load see a store that is executed later | - |
//! | B5 | owner loads `steal_top` (claim-first) | Acquire | C1 | the owner overwrites a slot that a thief is still copying | `full_ring` |
//! | B6 | owner stores the promise | Release | T2 | a thief may see the promise of a CAS that fails or is still to come, and extend the range to items that no CAS has published | `pushed_item_at_a_power_of_two` |
//! | B7 | owner's CAS, success | Release | T1 | publishes the items in the range, and the promise | `half_against_pop` |
//! | B8 | owner's CAS, failure | Acquire | T5 | not shown by loom: as B4 | - |
//! | B9 | owner's CAS for the last item, success | Relaxed | - | already the weakest: the new range is empty | - |
//! | B10 | owner's CAS for the last item, failure | Acquire | T5 | not shown by loom: as B4 | - |
//! | B11 | owner stores `bot` after it lost the last item | Release | T4 | not shown by loom: nothing is below this `bot`; Release because all stores of `bot` are | - |
//! | B12 | owner stores `bot` in a push at a power of two | Release | T4 | as B1 | `pushed_item_at_a_power_of_two` |
//! | B13 | owner stores `bot` in a pop at a power of two | Release | T4 | not shown by loom: what is below this `bot` is below the limit, and B7 has published it; Release because all stores of `bot` are | - |
//! | B14 | owner, between B1 and B3, where both sides pay | SeqCst fence | T3 | not shown by loom: there the rare side pays; this is B2 with the same fence that loom puts there | as B2 |
//! | T1 | thief loads the range | Acquire | B7, T5 | the items in the range, and the promise that goes with it | `half_against_pop` |
//! | T2 | thief loads the promise | Acquire | B6 | as B6 | `pushed_item_through_two_thieves` |
//! | T3 | thief, between T1 and T4 | heavy barrier | B2 | as B2 | `pushed_item_through_two_thieves` |
//! | T4 | thief loads `bot` to extend the range | Acquire | B1, B12 | as B1 | `pushed_item_through_two_thieves` |
//! | T5 | thief's CAS, success | Release | T1, B4 | publishes the items that T2 or T4 added to the range | `pushed_item_through_two_thieves` |
//! | T6 | thief's CAS, failure | Relaxed | - | already the weakest: the value is not used | - |
//! | L1 | thief estimates the length: loads `bot` | Relaxed | - | already the weakest: a guess | - |
//! | L2 | anyone estimates the length: loads the range | Relaxed | - | already the weakest: a guess | - |
//! | L3 | anyone estimates the length: loads `bot` | Relaxed | - | already the weakest: a guess | - |
//! | C1 | claimer stores `steal_top` | Release | B5, C2 | its copies come before the owner's next use of the slots | `full_ring` |
//! | C2 | thief loads `steal_top` | Acquire | C1 | the next claimer's C1 must also cover the copies of the one before | `full_ring` |
//!
//! The light half of the barrier is a fence under loom, so that what loom checks is the promise of
//! the pair; that `membarrier` keeps it is the business of [`barrier`].
//!
//! Why T2 may see a promise of which the CAS fails or is still to come: the owner makes a promise
//! when it is true of the `bot` that it has stored, and then changes neither `bot` nor the slots
//! until a CAS has succeeded, or until it has found the deque empty, where no theft can succeed.
//! A theft that succeeds before that CAS sees at most what is true.

use crossbeam_utils::CachePadded;

use super::range::{MAX_CAPACITY, Promise, Range, ahead};
use crate::sync::barrier::{self, Payer};
use crate::sync::{AtomicU64, Ordering, fence};

/// The part of the deque that every process sees. With `CLAIMS`, a thief claims its loot before
/// it copies it, and `steal_top` trails behind until it has done so.
#[derive(Debug)]
pub(super) struct Shared<const CLAIMS: bool> {
    /// Changed by compare-and-swap only; `top` only by thieves.
    top: CachePadded<Top>,
    /// Stored by the owner only. One past the newest item.
    bot: CachePadded<AtomicU64>,
    /// A power of two, at most [`MAX_CAPACITY`]. Never changes.
    capacity: u16,
}

#[derive(Debug)]
struct Top {
    range: AtomicU64,
    /// Stored by the owner only, before it changes the range.
    promise: AtomicU64,
    /// Stored by the claimer only (claim-first). Equal to `range.top` unless a thief is copying.
    steal_top: AtomicU64,
}

impl<const CLAIMS: bool> Shared<CLAIMS> {
    /// An empty deque and its owner's end. The low 16 bits of `start` are the first index, the
    /// next 32 the first tag.
    pub(super) fn new(capacity: usize, start: u64) -> (Self, Bottom) {
        let max = usize::from(MAX_CAPACITY);
        let capacity = capacity.clamp(1, max).next_power_of_two() as u16;
        let top = start as u16;
        let range = Range::new((start >> 16) as u32, top);
        let shared = Shared {
            top: CachePadded::new(Top {
                range: AtomicU64::new(range.0),
                promise: AtomicU64::new(0),
                steal_top: AtomicU64::new(top.into()),
            }),
            bot: CachePadded::new(AtomicU64::new(top.into())),
            capacity,
        };
        let mut bottom = Bottom {
            bot: top.into(),
            low: 0,
            high: 0,
            prev: 0,
            sure: 0,
            limit: 0,
            ceiling: 0,
            payer: barrier::payer(),
        };
        bottom.rest(range);
        (shared, bottom)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.into()
    }

    /// How many items seem to be there.
    pub(super) fn len(&self) -> usize {
        let bot = self.bot.load(Ordering::Relaxed); // [L3]
        let range = Range(self.top.range.load(Ordering::Relaxed)); // [L2]
        ahead(bot as u16, range.top()).min(self.capacity).into()
    }

    /// The indices of the items, for the destructor and for tests: right when nobody is at work.
    pub(super) fn occupied(&self) -> (u16, usize) {
        (self.range().top(), self.len())
    }

    /// The stealRange, with what is in it visible to the caller.
    #[inline]
    pub(super) fn range(&self) -> Range {
        Range(self.top.range.load(Ordering::Acquire)) // [T1]
    }

    /// How many items a thief who saw `range` should take: up to half, and no more than `most`.
    #[inline]
    pub(super) fn share(&self, range: Range, most: u16) -> u16 {
        let bot = self.bot.load(Ordering::Relaxed) as u16; // [L1]
        let there = ahead(bot, range.top());
        range.len().min(there.div_ceil(2).max(1)).min(most)
    }

    /// Tries to take the `n` topmost items off a range that was seen as `seen`.
    ///
    /// The new range holds at least an eighth of the items that are left.
    #[inline]
    pub(super) fn advance(&self, seen: Range, n: u16) -> bool {
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
            return false;
        };
        let new = seen.without(n, len, exact);
        self.top
            .range
            .compare_exchange(
                seen.0,
                new.0,
                Ordering::Release, // [T5]
                Ordering::Relaxed, // [T6]
            )
            .is_ok()
    }

    /// How many items there are from `top` on, if the range is still `seen` afterwards. `None` if
    /// the barrier is not to be had just now.
    #[cold]
    #[inline(never)]
    fn left_above(&self, seen: Range, top: u16) -> Option<u16> {
        let ordered = seen.is_exact() || barrier::heavy(); // [T3]
        if !ordered {
            return None;
        }
        let bot = self.bot.load(Ordering::Acquire) as u16; // [T4]
        Some(ahead(bot, top))
    }

    /// Is a thief copying what it claimed? (claim-first)
    #[inline]
    pub(super) fn is_claimed(&self, seen: Range) -> bool {
        self.top.steal_top.load(Ordering::Acquire) as u16 != seen.top() // [C2]
    }

    /// The claimer has copied what is above `top`. (claim-first)
    #[inline]
    pub(super) fn release_claim(&self, top: u16) {
        self.top.steal_top.store(top.into(), Ordering::Release); // [C1]
    }
}

/// Who pays for the barrier between the store of `bot` and the load of the range on the fast
/// paths. Where the other one has to pay, there are no fast paths.
const FAST: Payer = Payer::Rare;

/// The owner's end of the deque, private to it.
///
/// Its indices are counted in 64 bits, of which the shared words hold the lowest 16.
#[derive(Debug)]
pub(super) struct Bottom {
    /// What `Shared::bot` holds.
    bot: u64,
    /// A pop at this index is not a fast one: `limit`, or `bot` if there are no fast ones.
    low: u64,
    /// A push that gets here is not a fast one: the nearest of `ceiling` and the end of the free
    /// slots, or `bot + 1` if there are no fast ones.
    high: u64,
    /// The paper's `prevStealRange`: the range as the owner last knew it.
    prev: u64,
    /// How many items were promised with `prev` to be left: a power of two, or 0.
    sure: u64,
    /// What was promised with `prev`: a pop at `limit` changes the range first.
    limit: u64,
    /// What was promised with `prev`: a push that gets here changes the range.
    ceiling: u64,
    payer: Payer,
}

/// The promise for a length: after a push, `sure <= length < 2 * sure`.
#[inline]
fn sure_after_push(length: u16) -> u64 {
    1 << length.ilog2()
}

/// The promise for a length: before a pop, `sure < length <= 2 * sure`.
#[inline]
fn sure_before_pop(length: u16) -> u64 {
    if length == 1 {
        0
    } else {
        1 << (length - 1).ilog2()
    }
}

impl Bottom {
    /// One past the newest item: where the next one goes.
    #[inline]
    pub(super) fn bot(&self) -> u64 {
        self.bot
    }

    /// Is the slot at [`bot`](Self::bot) free, and nothing special about it? Then
    /// [`push`](Self::push) will do; if not, [`room`](Self::room) and
    /// [`push_many`](Self::push_many).
    #[inline]
    pub(super) fn push_is_fast(&self) -> bool {
        self.bot.wrapping_add(1) != self.high
    }

    /// Is there an item above [`bot`](Self::bot), and nothing special about it? Then
    /// [`pop`](Self::pop) will do; if not, [`pop_slowly`](Self::pop_slowly).
    #[inline]
    pub(super) fn pop_is_fast(&self) -> bool {
        self.bot != self.low
    }

    /// The slot at the bottom is written: makes it part of the deque.
    #[inline]
    pub(super) fn push<const C: bool>(&mut self, shared: &Shared<C>) {
        if !self.publish(shared, self.bot.wrapping_add(1), FAST) {
            self.announce(shared);
        }
    }

    /// Takes the newest item out of the deque and gives its index. `None` if there are doubts,
    /// which [`contest`](Self::contest) will settle.
    #[inline]
    pub(super) fn pop<const C: bool>(&mut self, shared: &Shared<C>) -> Option<u64> {
        let bot = self.bot.wrapping_sub(1);
        if self.publish(shared, bot, FAST) {
            Some(bot)
        } else {
            None
        }
    }

    /// How many slots are free.
    pub(super) fn room<const C: bool>(&self, shared: &Shared<C>) -> u16 {
        shared.capacity - self.length_from(self.oldest(shared, self.current(shared)))
    }

    /// The `n` slots from the bottom on are written: makes them part of the deque.
    pub(super) fn push_many<const C: bool>(&mut self, shared: &Shared<C>, n: u16) {
        let bot = self.bot.wrapping_add(n.into());
        if n == 1 && bot == self.ceiling {
            self.push_at_ceiling(shared);
        } else if self.publish(shared, bot, self.payer) && n == 1 {
            self.open(shared, self.current(shared));
        } else {
            self.announce(shared);
        }
    }

    /// Fig. 3: if the range is still the owner's own, the length is now a power of two.
    fn push_at_ceiling<const C: bool>(&mut self, shared: &Shared<C>) {
        let sure = (2 * self.sure).max(1);
        self.bot = self.ceiling;
        shared.bot.store(self.bot, Ordering::Release); // [B12]
        let top = self.bot.wrapping_sub(sure);
        if self.try_aim(shared, Range(self.prev), top, sure).is_err() {
            self.announce(shared);
        }
    }

    /// Sets `bot`. Is the range still the owner's own?
    #[inline]
    fn publish<const C: bool>(&mut self, shared: &Shared<C>, bot: u64, payer: Payer) -> bool {
        let prev = self.prev;
        self.bot = bot;
        shared.bot.store(bot, Ordering::Release); // [B1]
        match payer {
            Payer::Rare => barrier::light(),        // [B2]
            Payer::Both => fence(Ordering::SeqCst), // [B14]
        }
        shared.top.range.load(Ordering::Relaxed) == prev // [B3]
    }

    /// Fig. 3: sets the range for the length after a push.
    #[cold]
    #[inline(never)]
    fn announce<const C: bool>(&mut self, shared: &Shared<C>) {
        let mut range = self.current(shared);
        while let length @ 1.. = self.length_from(range.top()) {
            let top = self.bot.wrapping_sub(length.into());
            match self.try_aim(shared, range, top, sure_after_push(length)) {
                Ok(()) => return,
                Err(now) => range = now,
            }
        }
        self.rest(range);
    }

    /// A pop that is not a fast one. Is there an item for the owner at the new `bot`?
    #[inline]
    pub(super) fn pop_slowly<const C: bool>(&mut self, shared: &Shared<C>) -> bool {
        if self.bot == self.limit {
            return self.sure != 0 && self.pop_at_limit(shared);
        }
        if !self.publish(shared, self.bot.wrapping_sub(1), self.payer) {
            return self.contest(shared);
        }
        self.open(shared, self.current(shared));
        true
    }

    /// Fig. 5: if the range is still the owner's own, the length is a power of two. Section 1 sets
    /// the range; section 2, for the last item only, empties it.
    #[inline]
    fn pop_at_limit<const C: bool>(&mut self, shared: &Shared<C>) -> bool {
        let top = self.bot.wrapping_sub(self.sure);
        self.bot = self.bot.wrapping_sub(1);
        shared.bot.store(self.bot, Ordering::Release); // [B13]
        let range = match self.try_aim(shared, Range(self.prev), top, self.sure / 2) {
            Ok(()) if self.bot != top => return true,
            Ok(()) => Range(self.prev),
            Err(now) => now,
        };
        self.settle(shared, range)
    }

    /// The owner has lowered `bot`, but the range is not its own any more: the item may be in the
    /// range, or come into it by a theft that is under way. Is it the owner's?
    #[cold]
    #[inline(never)]
    pub(super) fn contest<const C: bool>(&mut self, shared: &Shared<C>) -> bool {
        self.settle(shared, self.current(shared))
    }

    /// The owner has lowered `bot` to an item, and makes sure that the item is its own by setting
    /// the range for the length before the pop.
    fn settle<const C: bool>(&mut self, shared: &Shared<C>, mut range: Range) -> bool {
        let before = self.bot.wrapping_add(1);
        loop {
            let changed = match (before as u16).wrapping_sub(range.top()) {
                0 => {
                    self.bot = before;
                    shared.bot.store(before, Ordering::Release); // [B11]
                    self.rest(range);
                    return false;
                }
                1 => self.try_empty(shared, range),
                length => {
                    let top = before.wrapping_sub(length.into());
                    self.try_aim(shared, range, top, sure_before_pop(length))
                }
            };
            match changed {
                Ok(()) => return true,
                Err(now) => range = now,
            }
        }
    }

    /// How many slots there are from `index` to `bot`.
    #[inline]
    fn length_from(&self, index: u16) -> u16 {
        (self.bot as u16).wrapping_sub(index)
    }

    #[inline]
    fn current<const C: bool>(&self, shared: &Shared<C>) -> Range {
        Range(shared.top.range.load(Ordering::Acquire)) // [B4]
    }

    /// Tries to change the range from `seen`, whose top is at `top`, to half of `sure` items, and
    /// promises to leave `sure`.
    ///
    /// The promise must be true from now on until the owner's next change, also if this one
    /// fails.
    #[inline(always)]
    fn try_aim<const C: bool>(
        &mut self,
        shared: &Shared<C>,
        seen: Range,
        top: u64,
        sure: u64,
    ) -> Result<(), Range> {
        let limit = top.wrapping_add(sure);
        let ceiling = top.wrapping_add((2 * sure).min(u64::from(shared.capacity) + 1).max(2));
        let new = seen.with_len((sure / 2).max(1) as u16);
        let promise = Promise::new(limit as u16, ceiling as u16);
        shared.top.promise.store(promise.0, Ordering::Release); // [B6]
        let changed = shared.top.range.compare_exchange(
            seen.0,
            new.0,
            Ordering::Release, // [B7]
            Ordering::Acquire, // [B8]
        );
        changed.map_err(Range)?;
        (self.prev, self.sure) = (new.0, sure);
        (self.limit, self.ceiling) = (limit, ceiling);
        self.open(shared, seen);
        Ok(())
    }

    /// Tries to take the last item.
    #[inline]
    fn try_empty<const C: bool>(&mut self, shared: &Shared<C>, seen: Range) -> Result<(), Range> {
        let new = seen.with_len(0);
        let changed = shared.top.range.compare_exchange(
            seen.0,
            new.0,
            Ordering::Relaxed, // [B9]
            Ordering::Acquire, // [B10]
        );
        changed.map_err(Range)?;
        self.rest(new);
        Ok(())
    }

    /// The deque is empty: the next push changes the range, whatever happens before it.
    fn rest(&mut self, range: Range) {
        (self.prev, self.sure) = (range.0, 0);
        self.limit = self.bot;
        self.ceiling = self.bot.wrapping_add(1);
        (self.low, self.high) = (self.limit, self.ceiling);
    }

    /// Says which pushes and pops are fast ones. `range` is the current one.
    #[inline]
    fn open<const C: bool>(&mut self, shared: &Shared<C>, range: Range) {
        (self.low, self.high) = (self.limit, self.ceiling);
        if self.payer != FAST {
            (self.low, self.high) = (self.bot, self.bot.wrapping_add(1));
        } else if C {
            // Without claims the ceiling is never beyond the end of the free slots.
            // Of the last item, which the owner is about to pop, a thief may already be done.
            let used = ahead(self.bot as u16, self.oldest(shared, range));
            let free = u64::from(shared.capacity - used);
            if free < self.ceiling.wrapping_sub(self.bot) {
                self.high = self.bot.wrapping_add(free + 1);
            }
        }
    }

    /// The first index whose slot is in use.
    #[inline]
    fn oldest<const C: bool>(&self, shared: &Shared<C>, range: Range) -> u16 {
        if C {
            shared.top.steal_top.load(Ordering::Acquire) as u16 // [B5]
        } else {
            range.top()
        }
    }
}
