//! The owner's slow paths.
//!
//! The functions take the cursor by value and return the new one, so that the address of the handle
//! escapes to no function, and the compiler can keep a local deque in registers.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

use super::cursor::{Bounds, Cursor};
use super::{Exposure, Shared, take};
use crate::ring::{Index, STRIDE, View, distance, length};
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// The owner's data for the slow paths.
pub(super) struct Slow {
    view: View,
    /// The lowest index of a null item, if there may be one in the deque.
    null: Option<Index>,
}

impl Slow {
    pub(super) fn new(view: View) -> Slow {
        Slow { view, null: None }
    }

    /// Returns the number of items that fit.
    pub(super) fn capacity(&self) -> usize {
        self.view.capacity() - 1
    }

    /// Returns the last index whose slot is free, given `top`. That slot stays free: if all items
    /// were stolen, a thief would look there for the next one.
    pub(super) fn limit(&self, top: Index) -> Index {
        self.view.limit(top).wrapping_sub(STRIDE)
    }

    /// Returns the bounds of the cursor in the round of a slot.
    #[inline]
    pub(super) fn bounds(&self, slot: Index, boundary: Index, limit: Index) -> Bounds {
        Bounds::new(&self.view, slot, boundary, limit)
    }
}

/// The owner's side of a deque, which may use the owner's fields.
pub(super) struct OwnerSide<'a, T: Word> {
    shared: &'a Shared<T>,
    /// Stays in the owner's thread.
    not_send: PhantomData<*mut ()>,
}

impl<T: Word> Shared<T> {
    /// Returns the owner's side.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and stays it as long as the result is used.
    #[inline(always)]
    pub(super) unsafe fn owner_side(&self) -> OwnerSide<'_, T> {
        OwnerSide {
            shared: self,
            not_send: PhantomData,
        }
    }
}

impl<T: Word> Clone for OwnerSide<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Word> Copy for OwnerSide<'_, T> {}

impl<T: Word> Deref for OwnerSide<'_, T> {
    type Target = Shared<T>;

    #[inline(always)]
    fn deref(&self) -> &Shared<T> {
        self.shared
    }
}

impl<T: Word> OwnerSide<'_, T> {
    /// Prepares the fast path for the round of a slot. While there are null items, the fast path is
    /// disabled, and `bottom` is published.
    fn resume(self, slot: Index, bottom: Index) -> Cursor {
        let boundary = self.own.boundary.load(Ordering::Relaxed);
        // SAFETY: this is the owner, and the borrow ends before the next one.
        let slow = unsafe { &*self.slow.get() };
        let limit = self.own.limit.load(Ordering::Relaxed); // [S16]
        let mut bounds = slow.bounds(slot, boundary, limit);
        let cursor = bounds.cursor(bottom);
        if slow.null.is_some() {
            self.own.bottom.store(bottom, Ordering::Relaxed); // [S15]
            (bounds.floor, bounds.ceiling) = (cursor, cursor);
        }
        self.own.bounds.set(bounds);
        cursor
    }

    /// Pushes a word when the cursor is at the end of the round or at the limit, or the word is
    /// null, or there are null items.
    #[cold]
    #[inline(never)]
    pub(super) fn push_slowly(self, cursor: Cursor, word: *mut ()) -> Cursor {
        let bottom = self.own.bounds.get().index(cursor);
        // SAFETY: this is the owner, and the borrow ends before the next one.
        let slow = unsafe { &mut *self.slow.get() };
        if bottom == self.own.limit.load(Ordering::Relaxed) {
            self.make_room(slow, bottom);
        }
        if word.is_null() {
            slow.null.get_or_insert(bottom);
        }
        // SAFETY: the view is current.
        unsafe { slow.view.slot(bottom) }.store(word, Ordering::Relaxed);
        self.resume(bottom, bottom.wrapping_add(STRIDE))
    }

    /// Raises the limit, which the bottom has reached: reads `top` again, and doubles the circle if
    /// it is really full.
    fn make_room(self, slow: &mut Slow, bottom: Index) {
        let top = self.top.load(Ordering::Acquire); // [S3]
        if slow.limit(top) == bottom {
            // SAFETY: this is the owner, and the items are those from `top` to `bottom`.
            unsafe { self.ring.grow(&mut slow.view, top, bottom) };
        } else {
            // The slots of the items below `top` are free.
            self.trace.expect(top.wrapping_sub(STRIDE));
        }
        let limit = slow.limit(top);
        // A thief that finds the slot of a stolen item empty must see that the item was stolen.
        fence(Ordering::Release); // [S14]
        let mut index = bottom;
        while index != limit {
            index = index.wrapping_add(STRIDE);
            // SAFETY: the view is current.
            unsafe { slow.view.slot(index) }.store(ptr::null_mut(), Ordering::Relaxed);
        }
        self.own.limit.store(limit, Ordering::Relaxed); // [S16]
    }

    /// Pops an item when the cursor is at the start of the round or at the boundary, or there are
    /// null items.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_slowly(self, cursor: Cursor) -> (Cursor, Option<T>) {
        let bottom = self.own.bounds.get().index(cursor);
        while bottom == self.own.boundary.load(Ordering::Relaxed) {
            let top = self.top.load(Ordering::Relaxed); // [S4]
            let public = length(top, bottom) as u64;
            match public {
                0 => return (self.found_empty(bottom), None),
                1 => return self.pop_last(top),
                _ => self.take_back(top.wrapping_add(public / 2 * STRIDE)),
            }
        }
        let lowered = bottom.wrapping_sub(STRIDE);
        // SAFETY: this is the owner, and the borrow ends before the next one.
        let slow = unsafe { &mut *self.slow.get() };
        // SAFETY: the view is current.
        let word = take(unsafe { slow.view.slot(lowered) });
        if slow.null == Some(lowered) {
            self.no_nulls(slow);
        }
        let cursor = self.resume(lowered, lowered);
        // SAFETY: the boundary is below `bottom`, so the item is private, and belongs to the owner.
        (cursor, Some(unsafe { T::from_word(word) }))
    }

    /// Notes that the deque has no null item: `bottom` is not published from now on.
    fn no_nulls(self, slow: &mut Slow) {
        slow.null = None;
        let top = self.top.load(Ordering::Relaxed); // [S4]
        self.own.bottom.store(top, Ordering::Relaxed); // [S15]
    }

    /// Tries to make the items from `middle` on private again.
    fn take_back(self, middle: Index) {
        let boundary = &self.own.boundary;
        let before = boundary.load(Ordering::Relaxed);
        boundary.store(middle, Ordering::Relaxed);
        fence(Ordering::SeqCst); // [S2]
        let top = self.top.load(Ordering::Relaxed);
        // A thief that takes the item at `middle` must first see `top` there, then pass its fence.
        // So if `top` is below `middle` now, that thief will see the lowered boundary.
        if distance(top, middle) <= 0 {
            boundary.store(before, Ordering::Relaxed);
        }
    }

    /// Takes the only public item, which is at `top`, by compare-and-swap, unless a thief does.
    fn pop_last(self, top: Index) -> (Cursor, Option<T>) {
        let next = top.wrapping_add(STRIDE);
        // SAFETY: this is the owner, and the view is current.
        let word = unsafe { (*self.slow.get()).view.slot(top) }.load(Ordering::Relaxed);
        self.trace.leave(top);
        let race = self
            .top
            .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed); // [S5]
        let cursor = self.found_empty(next);
        // SAFETY: raising `top` over the item made it the owner's.
        (cursor, race.ok().map(|_| unsafe { T::from_word(word) }))
    }

    /// Updates the owner's state for an empty deque with both ends at `at`. May shrink the circle.
    fn found_empty(self, at: Index) -> Cursor {
        // SAFETY: this is the owner, and the borrow ends before the next one.
        let slow = unsafe { &mut *self.slow.get() };
        if slow.null.is_some() {
            self.no_nulls(slow);
        }
        // SAFETY: as above, and the deque is empty.
        if unsafe { self.ring.found_empty(&mut slow.view, at) } {
            self.own.limit.store(slow.limit(at), Ordering::Relaxed); // [S16]
        }
        self.resume(at, at)
    }

    /// Implements [`Deque::expose`](super::Deque::expose).
    #[cold]
    #[inline(never)]
    pub(super) fn expose(self, cursor: Cursor, exposure: Exposure) -> (Cursor, usize) {
        // Cleared first, so that a request made during the exposure is kept for the next one.
        self.requested.store(false, Ordering::Relaxed); // [S12]
        let bottom = self.own.bounds.get().index(cursor);
        let boundary = self.own.boundary.load(Ordering::Relaxed);
        let private = length(boundary, bottom);
        let count = match exposure {
            Exposure::One => private.min(1),
            Exposure::Half => private.div_ceil(2),
        };
        self.raise_boundary(boundary.wrapping_add(count as u64 * STRIDE));
        (self.resume(bottom, bottom), count)
    }

    /// Makes all items public, before the owner is dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn expose_all(self, cursor: Cursor) {
        self.raise_boundary(self.own.bounds.get().index(cursor));
    }

    /// Makes the items before `boundary` public.
    fn raise_boundary(self, boundary: Index) {
        fence(Ordering::Release); // [S1]
        self.own.boundary.store(boundary, Ordering::Relaxed);
    }
}
