//! What the owner does off the fast path.
//!
//! Each function is called by the owner only, with its cursor, which comes back as it is
//! afterwards: as a value, so that the handle's own address is passed to no function and a deque
//! which a function has to itself lives in registers.

use std::ptr;

use super::cursor::{Bounds, Cursor};
use super::{Exposure, Shared, take};
use crate::ring::{Index, STRIDE, View, distance, length};
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// What the owner needs off the fast path.
pub(super) struct Slow {
    view: View,
    /// The lowest index of a null item, if there may be one in the deque.
    null: Option<Index>,
}

impl Slow {
    pub(super) fn new(view: View) -> Slow {
        Slow { view, null: None }
    }

    /// How many items fit.
    pub(super) fn capacity(&self) -> usize {
        self.view.capacity() - 1
    }

    /// The last index whose slot is free if the top is at `top`. It stays free: if all items were
    /// stolen, a thief would look there for the next one.
    pub(super) fn limit(&self, top: Index) -> Index {
        self.view.limit(top).wrapping_sub(STRIDE)
    }

    /// How far the cursor may move in the round of a slot.
    #[inline]
    pub(super) fn bounds(&self, slot: Index, boundary: Index, limit: Index) -> Bounds {
        Bounds::new(&self.view, slot, boundary, limit)
    }
}

impl<T: Word> Shared<T> {
    /// Readies the fast path for the round of a slot. While there are null items there is none, and
    /// `bottom` is published.
    fn resume(&self, slot: Index, bottom: Index) -> Cursor {
        let boundary = self.own.boundary.load(Ordering::Relaxed);
        // SAFETY: only the owner gets here.
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

    /// A push has come to the end of the round or to the limit, or the word is null, or there are
    /// null items.
    #[cold]
    #[inline(never)]
    pub(super) fn push_slowly(&self, cursor: Cursor, word: *mut ()) -> Cursor {
        let bottom = self.own.bounds.get().index(cursor);
        // SAFETY: only the owner gets here.
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

    /// The bottom is at the limit: looks at `top` again; if the circle is really full, doubles
    /// it.
    fn make_room(&self, slow: &mut Slow, bottom: Index) {
        let top = self.top.load(Ordering::Acquire); // [S3]
        if slow.limit(top) == bottom {
            // SAFETY: this is the owner, and the items are those from `top` to `bottom`.
            unsafe { self.ring.grow(&mut slow.view, top, bottom) };
        } else {
            // Slots up to that of the item before `top` are free.
            self.trace.expect(top.wrapping_sub(STRIDE));
        }
        let limit = slow.limit(top);
        // A thief that finds a slot empty which held a stolen item must see that it was stolen.
        fence(Ordering::Release); // [S14]
        let mut index = bottom;
        while index != limit {
            index = index.wrapping_add(STRIDE);
            // SAFETY: the view is current.
            unsafe { slow.view.slot(index) }.store(ptr::null_mut(), Ordering::Relaxed);
        }
        self.own.limit.store(limit, Ordering::Relaxed); // [S16]
    }

    /// A pop has come to the start of the round or to the boundary, or there are null items.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_slowly(&self, cursor: Cursor) -> (Cursor, Option<T>) {
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
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        // SAFETY: the view is current.
        let word = take(unsafe { slow.view.slot(lowered) });
        if slow.null == Some(lowered) {
            self.no_nulls(slow);
        }
        let cursor = self.resume(lowered, lowered);
        // SAFETY: the boundary is below `bottom`, so the item is private: the owner's.
        (cursor, Some(unsafe { T::from_word(word) }))
    }

    /// There is no null item any more: from now on `bottom` is not published.
    fn no_nulls(&self, slow: &mut Slow) {
        slow.null = None;
        let top = self.top.load(Ordering::Relaxed); // [S4]
        self.own.bottom.store(top, Ordering::Relaxed); // [S15]
    }

    /// Tries to make the items from `middle` on private again.
    fn take_back(&self, middle: Index) {
        let boundary = &self.own.boundary;
        let before = boundary.load(Ordering::Relaxed);
        boundary.store(middle, Ordering::Relaxed);
        fence(Ordering::SeqCst); // [S2]
        let top = self.top.load(Ordering::Relaxed);
        // A thief that takes the item at `middle` has to raise `top` to it first, then to pass
        // its fence; so if `top` is below it now, the thief will see the lowered boundary.
        if distance(top, middle) <= 0 {
            boundary.store(before, Ordering::Relaxed);
        }
    }

    /// Takes the one public item, the one at `top`.
    fn pop_last(&self, top: Index) -> (Cursor, Option<T>) {
        let next = top.wrapping_add(STRIDE);
        // SAFETY: only the owner gets here, and the view is current.
        let word = unsafe { (*self.slow.get()).view.slot(top) }.load(Ordering::Relaxed);
        self.trace.leave(top);
        let race = self
            .top
            .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed); // [S5]
        let cursor = self.found_empty(next);
        // SAFETY: raising `top` over the item made it the owner's.
        (cursor, race.ok().map(|_| unsafe { T::from_word(word) }))
    }

    /// The deque is empty, with both ends at `at`.
    fn found_empty(&self, at: Index) -> Cursor {
        // SAFETY: only the owner gets here.
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

    /// Does what [`Deque::expose`](super::Deque::expose) says.
    #[cold]
    #[inline(never)]
    pub(super) fn expose(&self, cursor: Cursor, exposure: Exposure) -> (Cursor, usize) {
        // Cleared first: a request that comes in between is for the next exposure.
        self.targeted.store(false, Ordering::Relaxed); // [S12]
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

    /// Leaves everything to the thieves: the owner goes.
    #[cold]
    #[inline(never)]
    pub(super) fn expose_all(&self, cursor: Cursor) {
        self.raise_boundary(self.own.bounds.get().index(cursor));
    }

    /// Makes the items before `boundary` public.
    fn raise_boundary(&self, boundary: Index) {
        fence(Ordering::Release); // [S1]
        self.own.boundary.store(boundary, Ordering::Relaxed);
    }
}
