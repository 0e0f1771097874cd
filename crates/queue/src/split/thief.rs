//! The thieves' operations: steal, request, force.

use super::span::{MOST_PUBLIC, Span};
use super::{Embedded, REQUESTED, is_hole};
use crate::ring::{STRIDE, distance, length};
use crate::sync::barrier;
use crate::sync::{Ordering, fence};
use crate::traits::Steal;
use crate::word::Word;

/// Result of an attempt to force an exposure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// Items were made public, or some were public already.
    Public,
    /// There is nothing to make public.
    Empty,
    /// The owner or another thief interfered.
    Retry,
    /// The heavy barrier was refused: [request](Embedded::request) an exposure instead.
    Refused,
}

/// The thieves' operations.
impl<T: Word> Embedded<T> {
    /// Steals the oldest public item.
    pub fn steal(&self) -> Steal<T> {
        let mut stolen = None;
        let answer = self.steal_some(|_| 1, |item| stolen = Some(item));
        match (answer, stolen) {
            (Steal::Success(_), Some(item)) => Steal::Success(item),
            (Steal::Success(_), None) => Steal::Retry,
            (Steal::Empty, _) => Steal::Empty,
            (Steal::Private, _) => Steal::Private,
            (Steal::Retry, _) => Steal::Retry,
        }
    }

    /// Steals up to `amount(n)` of the `n` public items, and passes them to `sink`, oldest first.
    /// Returns the number of items stolen.
    pub fn steal_some(
        &self,
        amount: impl FnOnce(usize) -> usize,
        mut sink: impl FnMut(T),
    ) -> Steal<usize> {
        let span = Span(self.public.span.load(Ordering::Acquire)); // [D14]
        if span.len() == 0 {
            return self.nothing_public(span);
        }
        let count = (amount(span.len() as usize) as u64).min(span.len());
        if count == 0 {
            return Steal::Empty;
        }
        let visit = self.ring.enter();
        fence(Ordering::SeqCst); // [D15]
        let race = self.public.span.compare_exchange(
            span.0,
            span.without_oldest(count).0,
            Ordering::Acquire, // [D8]
            Ordering::Relaxed,
        );
        if race.is_err() {
            return Steal::Retry;
        }
        #[cfg(loom)]
        super::model::pause();
        let mut taken = 0;
        let top = span.top(0);
        for number in 0..count {
            // SAFETY: the fence lies between entering and here.
            let word = unsafe { visit.read(top.wrapping_add(number * STRIDE)) };
            if !is_hole(word) {
                taken += 1;
                // SAFETY: this thief raised the top, so no other thread gets the item.
                sink(unsafe { T::from_word(word) });
            }
        }
        match taken {
            0 => Steal::Retry,
            taken => Steal::Success(taken),
        }
    }

    /// Returns the result of a steal that found nothing public.
    fn nothing_public<R>(&self, span: Span) -> Steal<R> {
        // While a request is pending, the owner's cache lines are not touched.
        if span.is_forcing() || self.is_requested() || self.has_private(span) {
            Steal::Private
        } else {
            Steal::Empty
        }
    }

    fn has_private(&self, span: Span) -> bool {
        let bottom = self.hot.bottom.load(Ordering::Relaxed);
        distance(span.split(bottom), bottom) > 0
    }

    /// Asks the owner to expose items, unless it has been asked. Returns `true` if this call made
    /// the request.
    pub fn request(&self) -> bool {
        if self.is_requested() || self.public.requested.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.request_attention();
        true
    }

    /// Asks for the owner's attention after its next push.
    pub fn request_attention(&self) {
        self.hot.ceiling.swap(REQUESTED, Ordering::Release); // [D12]
    }

    /// Returns `true` if a request is pending.
    #[inline]
    pub fn is_attention_requested(&self) -> bool {
        self.hot.ceiling.load(Ordering::Relaxed) == REQUESTED
    }

    /// Returns `true` if a thief has asked and the owner has not answered.
    pub fn is_requested(&self) -> bool {
        self.public.requested.load(Ordering::Relaxed)
    }

    /// Makes all private items public without the owner's help. Costs a heavy barrier.
    pub fn force(&self) -> Forced {
        // [D11]
        if self.public.forcing.swap(true, Ordering::Acquire) {
            return Forced::Retry;
        }
        let forced = self.force_locked();
        self.public.forcing.store(false, Ordering::Release); // [D11]
        forced
    }

    fn force_locked(&self) -> Forced {
        let span = Span(self.public.span.load(Ordering::Relaxed));
        if span.len() > 0 {
            return Forced::Public;
        }
        let bottom = self.hot.bottom.load(Ordering::Relaxed);
        let top = span.top(bottom);
        let wanted = (length(top, bottom) as u64).min(MOST_PUBLIC);
        if wanted == 0 {
            return Forced::Empty;
        }
        let end = top.wrapping_add(wanted * STRIDE);
        let mark = Span::new(top, wanted).forced();
        if !self.replace(span, mark, Ordering::Relaxed) {
            return Forced::Retry;
        }
        self.hot.limit.fetch_max(end, Ordering::Relaxed);
        // [D5]
        if !barrier::heavy() {
            self.replace(mark, span, Ordering::Relaxed);
            return Forced::Refused;
        }
        let bottom = self.hot.bottom.load(Ordering::Acquire); // [D6]
        let limit = self.hot.limit.load(Ordering::Relaxed);
        let len = length(top, end)
            .min(length(top, bottom))
            .min(length(top, limit)) as u64;
        // [D7]
        if !self.replace(mark, Span::new(top, len), Ordering::Release) {
            Forced::Retry
        } else if len > 0 {
            Forced::Public
        } else {
            Forced::Empty
        }
    }

    fn replace(&self, from: Span, to: Span, success: Ordering) -> bool {
        self.public
            .span
            .compare_exchange(from.0, to.0, success, Ordering::Relaxed)
            .is_ok()
    }

    /// Returns the number of public items.
    pub fn public_len(&self) -> usize {
        Span(self.public.span.load(Ordering::Relaxed)).len() as usize
    }

    /// Returns an estimate of the number of items, public and private.
    pub fn len(&self) -> usize {
        let span = Span(self.public.span.load(Ordering::Acquire)); // [D14]
        let bottom = self.hot.bottom.load(Ordering::Relaxed);
        length(span.top(bottom), bottom)
    }

    /// Returns `true` if the deque seems to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
