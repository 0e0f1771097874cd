//! The handles: an owner that cannot be misused, and its thieves.

use std::fmt;

use super::{Embedded, Forced, PushToken, TakenBack, is_hole};
use crate::handle::Handle;
use crate::ring::{Index, STRIDE, distance};
use crate::sync::Ordering;
use crate::sync::barrier;
use crate::traits::{Full, Owner, Steal, StealBatch, Thief};
use crate::word::Word;

/// An owner's handle.
///
/// It answers a request after the push that notices it, by exposing half of what is private.
///
/// ```
/// use locksley_queue::{Owner, Steal, Thief, split};
///
/// let mut owner = split::Deque::new();
/// let thief = owner.thief();
/// owner.push(1).unwrap();
/// thief.request();
/// owner.push(2).unwrap();
/// assert_eq!(thief.steal(), Steal::Success(1));
/// assert_eq!(owner.pop(), Some(2));
/// ```
pub struct Deque<T: Word> {
    deque: Handle<Embedded<T>>,
    /// The deque's bottom, which only this handle moves. A function that has the handle to itself
    /// can keep it in a register.
    bottom: Index,
}

impl<T: Word> Deque<T> {
    /// Creates an empty deque.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates a deque with room for `capacity` items before it grows.
    ///
    /// # Panics
    ///
    /// If no allocation has so many slots.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Creates a deque whose indices start at `start`, for tests of what happens as they grow.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        // Its thieves may force from now on. A runtime that cannot wait for that has the deque
        // embedded.
        barrier::is_ready();
        let deque = Handle::new(Embedded::starting_at(capacity, start));
        Deque {
            bottom: deque.bottom(),
            deque,
        }
    }

    /// Returns how many items fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: the handle is the owner's, and the borrow keeps its other operations away.
        unsafe { self.deque.capacity() }
    }

    /// Makes up to `count` of the oldest private items public. Returns how many there were.
    pub fn expose(&mut self, count: usize) -> usize {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe { self.deque.expose(count) }
    }

    /// Answers a request, if one stands. Returns how many items it made public.
    pub fn poll(&mut self) -> usize {
        // SAFETY: as above.
        unsafe { self.deque.answer() }
    }

    /// Returns how many items are private.
    pub fn private_len(&self) -> usize {
        // SAFETY: as in `capacity`.
        unsafe { self.deque.private_len() }
    }

    /// Pushes an item, and returns what [`take_back`](Self::take_back) finds it by.
    pub fn push_for_take_back(&mut self, item: T) -> PushToken {
        let token = PushToken(self.bottom);
        self.push_item(item);
        token
    }

    /// Takes the item that was pushed with this token out of the deque, wherever it is, unless it
    /// was popped or stolen. If another item was pushed at the same position since, takes that one.
    ///
    /// If items lie on top, the position stays in use, and counts as an item, until those are gone;
    /// and a thief that comes while they are moved out of the way may be told that nothing is
    /// there.
    ///
    /// ```
    /// use locksley_queue::{Owner, split};
    ///
    /// let mut owner = split::Deque::new();
    /// let token = owner.push_for_take_back(1);
    /// owner.push(2).unwrap();
    /// assert_eq!(owner.take_back(token), Some(1));
    /// assert_eq!(owner.take_back(token), None);
    /// assert_eq!(owner.pop(), Some(2));
    /// assert_eq!(owner.pop(), None);
    /// ```
    pub fn take_back(&mut self, token: PushToken) -> Option<T> {
        let above = distance(token.0, self.bottom);
        if above <= 0 {
            return None;
        }
        // SAFETY: the handle is the owner's, and borrowed exclusively. The position is below the
        // bottom, and what lies on top of it is marked.
        let (word, taken) = unsafe {
            if above > STRIDE as i64 {
                self.deque.mark();
            }
            let word = self.deque.slot(token.0).load(Ordering::Relaxed);
            if is_hole(word) {
                return None;
            }
            (word, self.deque.take_back(token))
        };
        self.bottom = self.deque.bottom();
        if taken != TakenBack::Yes && self.deque.is_called() {
            self.poll();
        }
        // SAFETY: the item was in the deque, so the slot was that of this position; it is out of it
        // now, and its word is turned back here alone.
        (taken != TakenBack::No).then(|| unsafe { T::from_word(word) })
    }

    #[inline]
    fn push_item(&mut self, item: T) {
        // SAFETY: the handle is the owner's, and borrowed exclusively; a push that asked for
        // attention was followed by it.
        let attention = unsafe { self.deque.push_at(self.bottom, item) };
        self.bottom = self.bottom.wrapping_add(STRIDE);
        // SAFETY: as above.
        unsafe {
            if attention && !self.deque.asks_in_vain(self.bottom) {
                self.deque.answer();
            }
        }
    }

    /// Has every pop of what is inside look at what thieves do, as after a take-back.
    #[doc(hidden)]
    pub fn mark(&mut self) {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe { self.deque.mark() };
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        self.push_item(item);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let lowered = self.bottom.wrapping_sub(STRIDE);
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe {
            if !self.deque.lower_to(lowered) {
                let word = self.deque.pop_below_limit(lowered);
                self.bottom = self.deque.bottom();
                if is_hole(word) {
                    return None;
                }
                // SAFETY: the item is out of the deque, and its word turned back here alone.
                return Some(T::from_word(word));
            }
            self.bottom = lowered;
            Some(self.deque.take_private(lowered))
        }
    }

    fn len(&self) -> usize {
        self.deque.len()
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            deque: self.deque.clone(),
        }
    }
}

impl<T: Word> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque").field("len", &self.len()).finish()
    }
}

/// A thief's handle.
///
/// A steal is told to [retry](Steal::Retry) whenever the public part changed under it, which the
/// owner does too when it exposes or takes back.
pub struct Stealer<T: Word> {
    deque: Handle<Embedded<T>>,
}

impl<T: Word> Stealer<T> {
    /// [`Embedded::request`].
    pub fn request(&self) -> bool {
        self.deque.request()
    }

    /// [`Embedded::force`].
    pub fn force(&self) -> Forced {
        self.deque.force()
    }

    /// [`Embedded::steal_some`], except that it tells an empty deque from one that hides its items.
    pub fn steal_some(
        &self,
        amount: impl FnOnce(usize) -> usize,
        sink: impl FnMut(T),
    ) -> Steal<usize> {
        self.or_empty(self.deque.steal_some(amount, sink))
    }

    /// Takes up to half of the public items, hands all but the newest to `sink`, oldest first, and
    /// returns the newest.
    pub fn steal_half_into(&self, mut sink: impl FnMut(T)) -> Steal<T> {
        let mut newest = None;
        let answer = self.steal_some(
            |public| public.div_ceil(2),
            |item| {
                if let Some(older) = newest.replace(item) {
                    sink(older);
                }
            },
        );
        match (answer, newest) {
            (_, Some(item)) => Steal::Success(item),
            (Steal::Empty, None) => Steal::Empty,
            (Steal::Private, None) => Steal::Private,
            (Steal::Retry | Steal::Success(_), None) => Steal::Retry,
        }
    }

    /// [`Embedded`] spares the owner's words while a request stands, and says that there may be
    /// something. A handle looks.
    fn or_empty<R>(&self, answer: Steal<R>) -> Steal<R> {
        match answer {
            Steal::Private if self.deque.is_empty() => Steal::Empty,
            answer => answer,
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        self.or_empty(self.deque.steal())
    }

    fn len(&self) -> usize {
        self.deque.len()
    }
}

/// Takes half of the public items.
impl<T: Word> StealBatch for Stealer<T> {
    type Deque = Deque<T>;

    fn steal_half(&self, own: &mut Deque<T>) -> Steal<T> {
        self.steal_half_into(|item| own.push_item(item))
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            deque: self.deque.clone(),
        }
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
