//! The owner's slow paths.

use super::span::{MOST_PUBLIC, Span};
use super::{ALWAYS, Attention, Embedded, REQUESTED, Slots, TakenBack, hole, is_hole};
use crate::ring::{Index, STRIDE, distance, length};
use crate::sync::barrier;
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// Number of times that the owner checks whether all thieves have left before it grows the circle
/// instead. A visit takes some tens of nanoseconds unless the thief is preempted.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 100 };

/// Returns the later of two indices.
fn later(one: Index, other: Index) -> Index {
    if distance(one, other) > 0 { other } else { one }
}

/// The owner's operations.
///
/// # Safety
///
/// For each that is unsafe: the caller is the owner, in the sense of [`Embedded`].
impl<T: Word> Embedded<T> {
    /// Copies the address of the slots into the words of the fast path.
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

    /// Cancels a force that is under way, if any, and returns the span.
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

    /// Stores the limit, and orders the store before the caller's next load of the span. If the
    /// deque is fenced, the limit does not change, and the store of the bottom is ordered instead,
    /// which a force must see.
    #[inline(always)]
    fn store_limit(&self, limit: Index) {
        if self.slow.fenced {
            self.hot.bottom.fence_behind(self.bottom()); // [D4]
        } else {
            self.hot.limit.store(limit, Ordering::Relaxed);
            // SAFETY: the mode is `Asymmetric`, or the deque would be fenced.
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
            // Thieves may have taken items: that moves the top, not the split.
            if !again.is_forcing() && again.split(near) == split {
                return again;
            }
        }
    }

    /// Sets the limit, and returns the end of the public part; `None` if a force is under way. If
    /// the limit is not below that end, no [`sync_limit`](Self::sync_limit) is needed: a force that
    /// starts later sees this limit and this bottom.
    #[inline]
    unsafe fn set_limit(&self, limit: Index) -> Option<Index> {
        self.store_limit(limit);
        let span = Span(self.public.span.load(Ordering::Acquire)); // [D9]
        (!span.is_forcing()).then(|| span.split(limit))
    }

    /// After the bottom was lowered to `lowered`, which is below the limit: lowers mark and limit
    /// too, if the item there was the last marked one. Returns `true` if the item is certainly
    /// private; it may be a hole. If the deque is fenced, every pop comes here.
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

    /// Takes the word of the newest item out of the deque, or returns a hole if there is none. The
    /// bottom was just lowered to `lowered`, which is below the limit: so the item may be public,
    /// or a hole.
    ///
    /// Returns a word rather than an item, so that the caller need not check an `Option` again.
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
                // Relaxed: no item lies below this bottom that a force could publish.
                self.hot.bottom.store(top, Ordering::Relaxed);
                // SAFETY: the caller is the owner.
                unsafe { self.found_empty(top) };
                return false;
            }
            if distance(split, lowered) >= 0 {
                return true;
            }
            // All items above were popped, so this is the last public item. Half of the others are
            // taken back too, so that the next pops need no compare-and-swap.
            let kept = Span::new(top, span.len() / 2);
            if self.swap_span(span, kept, Ordering::Relaxed) {
                // SAFETY: the caller is the owner.
                unsafe { self.sync_limit() };
                return true;
            }
        }
    }

    /// Takes the item at `place`, to which the bottom was just lowered, out of the deque, unless a
    /// thief has it. The items on top of it stay.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_back_slowly(&self, place: Index) -> TakenBack {
        // All items on top of this one were marked. So the bottom was just above it, or at the
        // mark, or the deque is empty and the bottom was at the top.
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
            // SAFETY: the caller is the owner, and has taken the item of this slot.
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

    /// Orders the store of `bottom` before the caller's next load of the request: if a sleeper has
    /// missed the items, the owner sees its call.
    fn order_behind_bottom(&self) {
        if self.slow.fenced {
            fence(Ordering::SeqCst);
        } else {
            // SAFETY: the mode is `Asymmetric`, or the deque would be fenced.
            unsafe { barrier::light_unchecked() };
        }
    }

    /// Makes the items from `place` on private. Returns `false` if a thief has the item at `place`.
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

    /// Returns the number of items that fit before the circle grows.
    pub(super) unsafe fn capacity(&self) -> usize {
        // SAFETY: the caller is the owner, and the borrow ends here.
        unsafe { &*self.slow.view.get() }.capacity()
    }

    /// Returns the number of private items.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn private_len(&self) -> usize {
        let bottom = self.bottom();
        let span = Span(self.public.span.load(Ordering::Relaxed));
        length(span.split(bottom), bottom)
    }

    /// Makes up to `count` of the oldest private items public. Returns the number of items that
    /// became public.
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

    /// Returns the number of items that the owner has made public so far.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn exposed(&self) -> u64 {
        self.slow.exposed.get()
    }

    /// Returns the number of items that thieves have taken so far. Items that were taken back from
    /// under others count too, if thieves have passed their slots.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn stolen(&self) -> u64 {
        let span = Span(self.public.span.load(Ordering::Relaxed));
        span.top(self.bottom()).wrapping_sub(STRIDE) / STRIDE
    }

    /// Marks the items that are in the deque: a [`take_back`](Self::take_back) of one of them
    /// checks whether it is the newest.
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

    /// Makes room for another push, and clears a request. To be called after a push that asks for
    /// attention.
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

    /// As [`attend`](Self::attend), for an owner that may miss a request made during the push.
    unsafe fn attend_unordered(&self) -> Attention {
        let (bottom, room) = (self.bottom(), self.slow.room.get());
        let requested = if self.slow.fenced {
            // [D12]
            self.is_attention_requested()
                && self.hot.ceiling.swap(ALWAYS, Ordering::Acquire) == REQUESTED
        } else {
            self.hot.ceiling.swap(room, Ordering::Acquire) == REQUESTED // [D12]
        };
        let asked = self.is_requested();
        if asked {
            self.public.requested.store(false, Ordering::Relaxed);
        }
        if distance(room, bottom) >= 0 {
            // SAFETY: the caller is the owner.
            unsafe { self.make_room(bottom) };
        }
        Attention { requested, asked }
    }

    /// Returns `true` if the owner need not attend although a push asked for it: the deque is
    /// fenced, has room, and no request is pending.
    #[inline(always)]
    pub(super) unsafe fn needs_no_attention(&self, bottom: Index) -> bool {
        self.slow.fenced
            && !self.is_attention_requested()
            && distance(self.slow.room.get(), bottom) < 0
    }

    /// Attends, and answers a request by exposing half of the private items. Returns the number of
    /// items that became public.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn answer_request(&self) -> usize {
        // SAFETY: the caller is the owner. A thief whose request is missed here is answered after
        // the next push.
        unsafe {
            if self.attend_unordered().requested {
                self.expose(self.private_len().div_ceil(2))
            } else {
                0
            }
        }
    }

    /// Changes the ceiling, unless a request is pending.
    fn set_room(&self, room: Index) {
        let before = self.slow.room.replace(room);
        let ceiling = &self.hot.ceiling;
        let _ = ceiling.compare_exchange(before, room, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Raises the ceiling to the index at which the circle is full, and grows the circle if needed.
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
        // The whole circle is copied: thieves may still read slots below the top.
        let oldest = bottom.wrapping_sub(view.capacity() as u64 * STRIDE);
        // SAFETY: the caller is the owner; words of the circle that are no items do no harm.
        unsafe { self.ring.grow(view, oldest, bottom) };
        let room = view.limit(oldest);
        // SAFETY: as above.
        unsafe { self.enter_circle() };
        self.set_room(room);
    }

    /// Updates the owner's state for an empty deque with both ends at `at`. May shrink the circle.
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
