//! The owner's part of the protocol: when to change the stealRange, and to what.
//!
//! The functions take by value the `bot` that the owner keeps in its handle, so that the handle's
//! address escapes to no function. The orderings are in the table of [`protocol`](super::protocol).

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

use super::protocol::Shared;
use super::range::{Promise, Range};
use crate::sync::barrier::{self, FenceMode};
use crate::sync::{AtomicU64, Ordering};

/// The mode that has fast paths: no fence is needed between the store of `bot` and the load of the
/// range.
const FAST: FenceMode = FenceMode::Asymmetric;

/// The owner's end of the deque. All fields but `bot` are accessed by the owner only.
///
/// Indices are counted in 64 bits, of which the other shared words hold the lowest 16.
#[derive(Debug)]
pub(super) struct OwnerState {
    /// Stored by the owner only. One past the newest item.
    pub(super) bot: AtomicU64,
    /// A pop at this `bot` takes the slow path: `limit`, or `bot` if there is no fast path.
    low: Cell<u64>,
    /// A push at this `bot` takes the slow path: the lower of `ceiling - 1` and the end of the free
    /// slots, or `bot` if there is no fast path.
    high: Cell<u64>,
    /// The paper's `prevStealRange`: the range as the owner last knew it.
    prev: Cell<u64>,
    /// Number of items that were promised with `prev` to stay: a power of two, or 0.
    sure: Cell<u64>,
    /// Promised with `prev`: a pop at this index changes the range first.
    limit: Cell<u64>,
    /// Promised with `prev`: a push that reaches this index changes the range.
    ceiling: Cell<u64>,
    mode: FenceMode,
}

// SAFETY: the cells are accessed through `OwnerSide` only, of which none is used but by the owner.
unsafe impl Sync for OwnerState {}

impl OwnerState {
    /// Creates the owner's end of an empty deque with this range.
    pub(super) fn new(bot: u64, range: Range) -> OwnerState {
        // Registers the process, so that thieves can use the barrier from the start.
        barrier::is_ready();
        let own = OwnerState {
            bot: AtomicU64::new(bot),
            low: Cell::new(0),
            high: Cell::new(0),
            prev: Cell::new(0),
            sure: Cell::new(0),
            limit: Cell::new(0),
            ceiling: Cell::new(0),
            mode: barrier::fence_mode(),
        };
        own.reset_empty(bot, range);
        own
    }

    /// Returns the paper's `prevStealRange`.
    #[cfg(loom)]
    pub(super) fn prev(&self) -> u64 {
        self.prev.get()
    }

    /// Sets the state for an empty deque: the next push changes the range.
    fn reset_empty(&self, bot: u64, range: Range) {
        self.prev.set(range.0);
        self.sure.set(0);
        self.limit.set(bot);
        self.ceiling.set(bot.wrapping_add(1));
        self.low.set(bot);
        self.high.set(bot);
    }
}

/// Returns the promise for a length after a push: `sure <= length < 2 * sure`.
#[inline]
fn sure_after_push(length: u16) -> u64 {
    1 << length.ilog2()
}

/// Returns the promise for a length before a pop: `sure < length <= 2 * sure`.
#[inline]
fn sure_before_pop(length: u16) -> u64 {
    if length == 1 {
        0
    } else {
        1 << (length - 1).ilog2()
    }
}

/// Returns the number of slots from `index` to `bot`.
#[inline]
fn length_from(index: u16, bot: u64) -> u16 {
    (bot as u16).wrapping_sub(index)
}

/// The owner's side of the protocol, which may use the owner's fields.
#[derive(Clone, Copy)]
pub(super) struct OwnerSide<'a> {
    shared: &'a Shared,
    /// Stays in the owner's thread.
    not_send: PhantomData<*mut ()>,
}

impl Shared {
    /// Returns the owner's side.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and stays it as long as the result is used.
    #[inline(always)]
    pub(super) unsafe fn owner_side(&self) -> OwnerSide<'_> {
        OwnerSide {
            shared: self,
            not_send: PhantomData,
        }
    }
}

impl Deref for OwnerSide<'_> {
    type Target = Shared;

    #[inline(always)]
    fn deref(&self) -> &Shared {
        self.shared
    }
}

impl OwnerSide<'_> {
    /// Returns `true` if the slot at `bot` is free and below the ceiling, so that the owner can
    /// call [`push`](Self::push). Otherwise it must call [`room`](Self::room) and
    /// [`push_many`](Self::push_many).
    #[inline]
    pub(super) fn push_is_fast(self, bot: u64) -> bool {
        bot != self.own.high.get()
    }

    /// Makes the slot at `bot`, which is written, part of the deque.
    #[inline]
    pub(super) fn push(self, bot: u64) {
        let bot = bot.wrapping_add(1);
        if !self.publish(bot, FAST) {
            self.announce(bot);
        }
    }

    /// Takes the item before `bot`. Returns `false` if there is none.
    #[inline]
    pub(super) fn pop(self, bot: u64) -> bool {
        if bot == self.own.low.get() {
            return self.pop_slowly(bot);
        }
        let bot = bot.wrapping_sub(1);
        self.publish(bot, FAST) || self.pop_contested(bot)
    }

    /// Returns the number of free slots.
    pub(super) fn room(self, bot: u64) -> u16 {
        self.capacity - length_from(self.current().top(), bot)
    }

    /// Makes the `n` slots from `bot` on, which are written, part of the deque.
    pub(super) fn push_many(self, bot: u64, n: u16) {
        let bot = bot.wrapping_add(n.into());
        if n == 1 && bot == self.own.ceiling.get() {
            self.push_at_ceiling(bot);
        } else if self.publish(bot, self.own.mode) && n == 1 {
            self.set_fast_bounds(bot);
        } else {
            self.announce(bot);
        }
    }

    /// Fig. 3: sets the range after a push to the ceiling. If the range is still the owner's own,
    /// the length is a power of two.
    fn push_at_ceiling(self, bot: u64) {
        let sure = (2 * self.own.sure.get()).max(1);
        self.own.bot.store(bot, Ordering::Release); // [B12]
        let (seen, top) = (Range(self.own.prev.get()), bot.wrapping_sub(sure));
        if self.try_aim(bot, seen, top, sure).is_err() {
            self.announce(bot);
        }
    }

    /// Sets `bot`. Returns `true` if the range is still the owner's own.
    #[inline]
    fn publish(self, bot: u64, mode: FenceMode) -> bool {
        self.own.bot.store(bot, Ordering::Release); // [B1]
        match mode {
            // SAFETY: the caller passes the result of `fence_mode`, or `FAST`; but there are fast
            // paths only if the two are the same.
            FenceMode::Asymmetric => unsafe { barrier::light_unchecked() }, // [B2]
            FenceMode::Symmetric => self.own.bot.fence_behind(bot),         // [B14]
        }
        self.top.range.load(Ordering::Relaxed) == self.own.prev.get() // [B3]
    }

    /// Fig. 3: sets the range for the length after a push.
    #[cold]
    #[inline(never)]
    fn announce(self, bot: u64) {
        let mut range = self.current();
        while let length @ 1.. = length_from(range.top(), bot) {
            let top = bot.wrapping_sub(length.into());
            match self.try_aim(bot, range, top, sure_after_push(length)) {
                Ok(()) => return,
                Err(now) => range = now,
            }
        }
        self.own.reset_empty(bot, range);
    }

    /// The slow path of a pop. Returns `true` if the owner has taken an item.
    #[cold]
    #[inline(never)]
    fn pop_slowly(self, bot: u64) -> bool {
        if bot == self.own.limit.get() {
            return self.own.sure.get() != 0 && self.pop_at_limit(bot);
        }
        let bot = bot.wrapping_sub(1);
        if !self.publish(bot, self.own.mode) {
            return self.pop_contested(bot);
        }
        self.set_fast_bounds(bot);
        true
    }

    /// Fig. 5: a pop at the limit. If the range is still the owner's own, the length is a power of
    /// two. Section 1 sets the range; section 2, for the last item only, empties it.
    #[inline]
    fn pop_at_limit(self, bot: u64) -> bool {
        let sure = self.own.sure.get();
        let (top, bot) = (bot.wrapping_sub(sure), bot.wrapping_sub(1));
        self.own.bot.store(bot, Ordering::Release); // [B13]
        let prev = Range(self.own.prev.get());
        let range = match self.try_aim(bot, prev, top, sure / 2) {
            Ok(()) if bot != top => return true,
            Ok(()) => Range(self.own.prev.get()),
            Err(now) => now,
        };
        self.pop_changing_range(bot, range)
    }

    /// Takes the item at `bot`, which the owner has lowered, when the range is not its own any
    /// more: the item may be in the range, or a theft that is under way may add it. Returns `true`
    /// if the owner gets the item.
    #[cold]
    #[inline(never)]
    fn pop_contested(self, bot: u64) -> bool {
        self.pop_changing_range(bot, self.current())
    }

    /// Takes the item at `bot`, which the owner has lowered, by setting the range for the length
    /// before the pop. Returns `false`, and restores `bot`, if there is no item left.
    fn pop_changing_range(self, bot: u64, mut range: Range) -> bool {
        let before = bot.wrapping_add(1);
        loop {
            let changed = match length_from(range.top(), before) {
                0 => {
                    self.own.bot.store(before, Ordering::Release); // [B11]
                    self.own.reset_empty(before, range);
                    return false;
                }
                1 => self.try_empty(bot, range),
                length => {
                    let top = before.wrapping_sub(length.into());
                    self.try_aim(bot, range, top, sure_before_pop(length))
                }
            };
            match changed {
                Ok(()) => return true,
                Err(now) => range = now,
            }
        }
    }

    #[inline]
    fn current(self) -> Range {
        let range = Range(self.top.range.load(Ordering::Acquire)); // [B4]
        self.learn(range);
        range
    }

    /// Returns the range that made a change fail.
    #[inline]
    fn lost(self, now: u64) -> Range {
        self.learn(Range(now));
        Range(now)
    }

    /// Tries to change the range from `seen`, whose top is at `top`, to half of `sure` items, and
    /// promises to leave `sure` items.
    ///
    /// The promise must hold from this call until the owner's next change, even if this change
    /// fails.
    #[inline(always)]
    fn try_aim(self, bot: u64, seen: Range, top: u64, sure: u64) -> Result<(), Range> {
        let limit = top.wrapping_add(sure);
        let ceiling = top.wrapping_add((2 * sure).min(u64::from(self.capacity) + 1).max(2));
        let new = seen.with_len((sure / 2).max(1) as u16);
        let promise = Promise::new(limit as u16, ceiling as u16);
        self.top.promise.store(promise.0, Ordering::Release); // [B6]
        let changed = self.top.range.compare_exchange(
            seen.0,
            new.0,
            Ordering::Release, // [B7]
            Ordering::Acquire, // [B8]
        );
        changed.map_err(|now| self.lost(now))?;
        self.own.prev.set(new.0);
        self.own.sure.set(sure);
        self.own.limit.set(limit);
        self.own.ceiling.set(ceiling);
        self.set_fast_bounds(bot);
        Ok(())
    }

    /// Tries to take the last item, which is at `bot`.
    #[inline]
    fn try_empty(self, bot: u64, seen: Range) -> Result<(), Range> {
        let new = seen.with_len(0);
        let changed = self.top.range.compare_exchange(
            seen.0,
            new.0,
            Ordering::Relaxed, // [B9]
            Ordering::Relaxed, // [B10]
        );
        changed.map_err(|now| self.lost(now))?;
        self.own.reset_empty(bot, new);
        Ok(())
    }

    /// Sets the bounds of the fast paths. The ceiling is never beyond the end of the free slots.
    #[inline]
    fn set_fast_bounds(self, bot: u64) {
        let own = &self.own;
        let (mut low, mut high) = (own.limit.get(), own.ceiling.get().wrapping_sub(1));
        if own.mode != FAST {
            (low, high) = (bot, bot);
        }
        own.low.set(low);
        own.high.set(high);
    }
}
