//! The owner's operations off the fast path.

use super::span::{MOST_PUBLIC, Span};
use super::{ALWAYS, Attention, Embedded, REQUESTED, Slots, TakenBack, hole, is_hole};
use crate::ring::{Index, STRIDE, distance, length};
use crate::sync::barrier;
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// How often the owner looks for thieves to leave before it grows the circle instead. A visit takes
/// some tens of nanoseconds unless the thief is preempted.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 100 };

/// The later of two indices.
fn later(one: Index, other: Index) -> Index {
    if distance(one, other) > 0 { other } else { one }
}

/// The owner's operations. For each: the caller is the owner, as `Embedded` says.
impl<T: Word> Embedded<T> {
    /// Copies where the slots are to where the fast path looks.
    unsafe fn enter_circle(&self) {
        // SAFETY: the caller is the owner, and the borrow ends here.
        let view = unsafe { &*self.slow.view.get() };
        self.hot.slots.set(Slots::of(view));
    }

    fn swap_span(&self, from: Span, to: Span, success: Ordering) -> bool {
        self.public
            .span
            .compare_exchange(from.0, to.0, success, Ordering::Relaxed)
            .is_ok()
    }

    /// The span, after a force that was under way has been cancelled.
    fn settled_span(&self) -> Span {
        loop {
            let span = Span(self.public.span.load(Ordering::Acquire)); // [D13]
            if !span.is_forcing() {
                return span;
            }
            let cancelled = Span::new(span.top(self.bottom()), 0);
            if self.swap_span(span, cancelled, Ordering::Relaxed) {
                return cancelled;
            }
        }
    }

    /// Stores the limit before a look at the span. If the deque is fenced, the limit stays as it
    /// is, and the bottom is what a force must see.
    #[inline(always)]
    fn store_limit(&self, limit: Index) {
        if self.slow.fenced {
            self.hot.bottom.fence_behind(self.bottom()); // [D4]
        } else {
            self.hot.limit.store(limit, Ordering::Relaxed);
            // SAFETY: the rare side pays, or the deque would be fenced.
            unsafe { barrier::light_unchecked() }; // [D4]
        }
    }

    /// Sets the limit to the end of the public part, or to the mark if that is higher, and returns
    /// the span that it belongs to.
    unsafe fn sync_limit(&self) -> Span {
        let near = self.bottom();
        loop {
            let span = self.settled_span();
            let split = span.split(near);
            let limit = later(split, self.slow.mark.get());
            self.store_limit(limit);
            let again = Span(self.public.span.load(Ordering::Acquire)); // [D9]
            // Thieves may have taken some: that moves the top, not the split.
            if !again.is_forcing() && again.split(near) == split {
                return again;
            }
        }
    }

    /// Sets the limit, and returns the end of the public part; `None` if a force is under way. If
    /// the limit is not below that end, it is as [`sync_limit`](Self::sync_limit) would have it: a
    /// force that starts later sees this limit and this bottom.
    #[inline]
    unsafe fn set_limit(&self, limit: Index) -> Option<Index> {
        self.store_limit(limit);
        let span = Span(self.public.span.load(Ordering::Acquire)); // [D9]
        (!span.is_forcing()).then(|| span.split(limit))
    }

    /// After the bottom was lowered to `lowered`, which is below the limit: lowers mark and limit
    /// with it, if the item there was the last marked one. Returns `true` if it is certainly
    /// private; it may be a hole. If the deque is fenced, this is the way of every pop.
    #[inline]
    pub(super) unsafe fn lower_mark_to(&self, lowered: Index) -> bool {
        let mark = &self.slow.mark;
        if distance(lowered, mark.get()) > 0 {
            mark.set(lowered);
        } else if !self.slow.fenced {
            return false;
        }
        // SAFETY: the caller is the owner.
        unsafe { self.set_limit(lowered) }.is_some_and(|split| distance(split, lowered) >= 0)
    }

    /// Takes the word of the newest item out of the deque; a hole if there is none. The bottom was
    /// just lowered to `lowered`, which is below the limit: so the item may be public, or a hole.
    ///
    /// A word rather than an item, so that the compiler need not look at an `Option` twice.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn pop_below_limit(&self, mut lowered: Index) -> *mut () {
        // SAFETY: the caller is the owner, for all of these.
        unsafe {
            while self.pop_slowly(lowered) {
                let word = self.slot(lowered).load(Ordering::Relaxed);
                if !is_hole(word) {
                    return word;
                }
                lowered = lowered.wrapping_sub(STRIDE);
                self.lower_to(lowered);
            }
        }
        hole()
    }

    /// Takes the item at `lowered`, to which the bottom was just lowered, or finds that there is
    /// none and raises the bottom again. Returns `true` if the item is the owner's.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn pop_slowly(&self, lowered: Index) -> bool {
        // SAFETY: the caller is the owner.
        if unsafe { self.lower_mark_to(lowered) } {
            return true;
        }
        loop {
            // SAFETY: the caller is the owner.
            let span = unsafe { self.sync_limit() };
            let (top, split) = (span.top(lowered), span.split(lowered));
            if distance(top, lowered) < 0 {
                // Relaxed: nothing lies below it that a force could publish.
                self.hot.bottom.store(top, Ordering::Relaxed);
                // SAFETY: the caller is the owner.
                unsafe { self.found_empty(top) };
                return false;
            }
            if distance(split, lowered) >= 0 {
                return true;
            }
            // Everything above was popped, so this is the last public item.
            // Half of the others stay public, so that the owner need not come again soon.
            let kept = Span::new(top, span.len() / 2);
            if self.swap_span(span, kept, Ordering::Relaxed) {
                // SAFETY: the caller is the owner.
                unsafe { self.sync_limit() };
                return true;
            }
        }
    }

    /// Takes the item at `place`, to which the bottom was just lowered, out of the deque, unless a
    /// thief has it. What lies on top of it stays.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_back_slowly(&self, place: Index) -> TakenBack {
        // All that lies on top of the item was marked. So the bottom was just above it, or at the
        // mark, or the deque is empty and it was at the top.
        let mark = self.slow.mark.get();
        if distance(place, mark) <= STRIDE as i64 {
            // SAFETY: the caller is the owner.
            return if unsafe { self.pop_slowly(place) } {
                TakenBack::Yes
            } else {
                TakenBack::No
            };
        }
        // The bottom stays low until the slot is changed, so that no force reaches it.
        // SAFETY: the caller is the owner.
        let private = unsafe { self.make_private_from(place) };
        if private {
            // SAFETY: the caller is the owner. What is in the slot is the caller's.
            unsafe { self.slot(place) }.store(hole(), Ordering::Relaxed);
        }
        let top = Span(self.public.span.load(Ordering::Relaxed)).top(mark);
        self.hot.bottom.store(later(mark, top), Ordering::Release); // [D1]
        self.order_behind_bottom(); // [D2]
        if private {
            TakenBack::FromUnder
        } else {
            TakenBack::No
        }
    }

    /// Orders what was stored to `bottom` before a look at the request: a sleeper that has missed
    /// the items has called by then.
    fn order_behind_bottom(&self) {
        if self.slow.fenced {
            fence(Ordering::SeqCst);
        } else {
            // SAFETY: the rare side pays, or the deque would be fenced.
            unsafe { barrier::light_unchecked() };
        }
    }

    /// Makes the items from `place` on private. Returns `false` if a thief has the one there.
    unsafe fn make_private_from(&self, place: Index) -> bool {
        loop {
            // SAFETY: the caller is the owner.
            let span = unsafe { self.sync_limit() };
            let (top, split) = (span.top(place), span.split(place));
            if distance(top, place) < 0 {
                return false;
            }
            if distance(split, place) >= 0 {
                return true;
            }
            let kept = Span::new(top, length(top, place) as u64);
            self.swap_span(span, kept, Ordering::Relaxed);
        }
    }

    /// How many items fit before the circle grows.
    pub(super) unsafe fn capacity(&self) -> usize {
        // SAFETY: the caller is the owner, and the borrow ends here.
        unsafe { &*self.slow.view.get() }.capacity()
    }

    /// How many items are private.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn private_len(&self) -> usize {
        let bottom = self.bottom();
        let span = Span(self.public.span.load(Ordering::Relaxed));
        length(span.split(bottom), bottom)
    }

    /// Makes up to `count` of the oldest private items public. Returns how many there were.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn expose(&self, count: usize) -> usize {
        let bottom = self.bottom();
        loop {
            let span = self.settled_span();
            let private = length(span.split(bottom), bottom) as u64;
            let more = private.min(count as u64).min(MOST_PUBLIC - span.len());
            let longer = Span::new(span.top(bottom), span.len() + more);
            // [D7]
            if more == 0 || self.swap_span(span, longer, Ordering::Release) {
                // SAFETY: the caller is the owner.
                unsafe { self.sync_limit() };
                self.slow.exposed.set(self.slow.exposed.get() + more);
                return more as usize;
            }
        }
    }

    /// How many items the owner has made public so far.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn exposed(&self) -> u64 {
        self.slow.exposed.get()
    }

    /// How many items thieves have taken so far, modulo a large number.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn stolen(&self) -> u64 {
        let span = Span(self.public.span.load(Ordering::Relaxed));
        span.top(self.bottom()) / STRIDE
    }

    /// Marks the items that are there: a [`take_back`](Self::take_back) of one of them makes sure
    /// that it is the newest.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn mark(&self) {
        let bottom = self.bottom();
        self.slow.mark.set(bottom);
        if self.slow.fenced {
            return;
        }
        // The public part never ends above the bottom.
        // SAFETY: the caller is the owner, for both.
        unsafe {
            if self.set_limit(bottom).is_none() {
                self.sync_limit();
            }
        }
    }

    /// Makes room for another push, and clears a request. After a push that asks for it.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    #[inline(never)]
    pub unsafe fn attend(&self) -> Attention {
        if self.slow.fenced {
            fence(Ordering::SeqCst); // [D2]
        }
        // SAFETY: the caller is the owner.
        unsafe { self.attend_unordered() }
    }

    /// The same for an owner that may miss a request which comes with the push.
    unsafe fn attend_unordered(&self) -> Attention {
        let (bottom, room) = (self.bottom(), self.slow.room.get());
        let requested = if self.slow.fenced {
            // [D12]
            self.is_called() && self.hot.ceiling.swap(ALWAYS, Ordering::Acquire) == REQUESTED
        } else {
            self.hot.ceiling.swap(room, Ordering::Acquire) == REQUESTED // [D12]
        };
        let asked = self.is_asked();
        if asked {
            self.public.asked.store(false, Ordering::Relaxed);
        }
        if distance(room, bottom) >= 0 {
            // SAFETY: the caller is the owner.
            unsafe { self.make_room(bottom) };
        }
        Attention { requested, asked }
    }

    /// Returns `true` if a push that asks for attention has nothing to attend to: the deque is
    /// fenced, has room, and no request stands.
    #[inline(always)]
    pub(super) unsafe fn asks_in_vain(&self, bottom: Index) -> bool {
        self.slow.fenced && !self.is_called() && distance(self.slow.room.get(), bottom) < 0
    }

    /// Attends, and answers a request by exposing half of what is private. Returns how many items
    /// it made public.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn answer(&self) -> usize {
        // SAFETY: the caller is the owner. A thief that asks and is not seen is answered after the
        // next push.
        unsafe {
            if self.attend_unordered().requested {
                self.expose(self.private_len().div_ceil(2))
            } else {
                0
            }
        }
    }

    /// Changes the ceiling, unless a request stands.
    fn set_room(&self, room: Index) {
        let before = self.slow.room.replace(room);
        let ceiling = &self.hot.ceiling;
        let _ = ceiling.compare_exchange(before, room, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Raises the ceiling: to where the circle is full now, or by growing it.
    unsafe fn make_room(&self, bottom: Index) {
        let span = Span(self.public.span.load(Ordering::Acquire)); // [D9]
        // SAFETY: the caller is the owner, and the borrow ends here.
        let view = unsafe { &mut *self.slow.view.get() };
        let room = view.limit(span.top(bottom));
        // [D10] A thief that has raised the top may not have read its slots yet.
        let free = distance(bottom, room) > 0 && (0..PATIENCE).any(|_| !self.ring.has_visitors());
        if free {
            return self.set_room(room);
        }
        // Copied whole: slots below the top may still be read.
        let oldest = bottom.wrapping_sub(view.capacity() as u64 * STRIDE);
        // SAFETY: the caller is the owner; what else the circle holds does no harm.
        unsafe { self.ring.grow(view, oldest, bottom) };
        let room = view.limit(oldest);
        // SAFETY: as above.
        unsafe { self.enter_circle() };
        self.set_room(room);
    }

    /// The owner found the deque empty, with both ends at `at`: gives memory back now and then.
    unsafe fn found_empty(&self, at: Index) {
        self.slow.mark.set(at);
        // SAFETY: the caller is the owner, and the borrow ends here.
        let view = unsafe { &mut *self.slow.view.get() };
        // A thief that has raised the top may not have read its slots yet.
        if view.is_smallest() || self.ring.has_visitors() {
            return;
        }
        // SAFETY: the caller is the owner, and there is nothing in the deque.
        if unsafe { self.ring.found_empty(view, at) } {
            let room = view.limit(at);
            // SAFETY: as above.
            unsafe { self.enter_circle() };
            self.set_room(room);
        }
    }
}
