//! Safe handles: one for the owner, and those of its thieves.

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
/// It answers a request after the push that notices it, by exposing half of the private items.
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
///
/// When the owner's handle is dropped, the items become public, or the oldest 2^23 - 1 if there are
/// more. Items that are left are dropped with the last handle.
///
/// An item that is taken back from under others leaves the address of a private static in its slot.
/// A `usize` or `u64` that happens to be this address is lost: do not store arbitrary addresses.
pub struct Deque<T: Word> {
    deque: Handle<Embedded<T>>,
    /// Copy of the deque's bottom, which only this handle changes. For a local deque the compiler
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
    /// If more slots are needed than an allocation can have.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Creates a deque whose indices start at `start`, for tests of what happens as they grow.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        // Registers the process, so that thieves can force at once. A runtime that cannot wait for
        // that uses `Embedded`.
        barrier::is_ready();
        let deque = Handle::new(Embedded::starting_at(capacity, start));
        Deque {
            bottom: deque.bottom(),
            deque,
        }
    }

    /// Returns how many items fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: the handle is the owner's, and the borrow excludes operations that change the
        // deque's view.
        unsafe { self.deque.capacity() }
    }

    /// Makes up to `count` of the oldest private items public. Returns the number of items that
    /// became public.
    pub fn expose(&mut self, count: usize) -> usize {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe { self.deque.expose(count) }
    }

    /// Answers a request, if one is pending. Returns the number of items that became public.
    pub fn poll(&mut self) -> usize {
        // SAFETY: as above.
        unsafe { self.deque.answer_request() }
    }

    /// Returns how many items are private.
    pub fn private_len(&self) -> usize {
        // SAFETY: as in `capacity`.
        unsafe { self.deque.private_len() }
    }

    /// Pushes an item, and returns the token by which [`take_back`](Self::take_back) finds it.
    pub fn push_for_take_back(&mut self, item: T) -> PushToken {
        let token = PushToken(self.bottom);
        self.push_item(item);
        token
    }

    /// Takes the item that was pushed with this token out of the deque, wherever it is, unless it
    /// was popped or stolen. If another item was pushed at the same position since, takes that one.
    ///
    /// If items lie on top, the position stays in use, and counts as an item, until those are gone.
    /// During the call a thief may get [`Steal::Empty`] although these items are in the deque.
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
        // bottom, and the items on top of it are marked.
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
        if taken != TakenBack::Yes && self.deque.is_attention_requested() {
            self.poll();
        }
        // SAFETY: the item was in the deque, so the slot held the word of this position; the item
        // is out of the deque now, and its word is turned back only here.
        (taken != TakenBack::No).then(|| unsafe { T::from_word(word) })
    }

    #[inline]
    fn push_item(&mut self, item: T) {
        // SAFETY: the handle is the owner's, and borrowed exclusively; after each push that asked
        // for attention the owner has attended.
        let attention = unsafe { self.deque.push_at(self.bottom, item) };
        self.bottom = self.bottom.wrapping_add(STRIDE);
        // SAFETY: as above.
        unsafe {
            if attention && !self.deque.needs_no_attention(self.bottom) {
                self.deque.answer_request();
            }
        }
    }

    /// Marks the items that are in the deque, as before a take-back, so that every pop of them
    /// takes the slow path.
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
                // SAFETY: the item is out of the deque, and its word is turned back only here.
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

impl<T: Word> Drop for Deque<T> {
    /// Makes the items public, so that thieves can take them.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe { self.deque.expose(usize::MAX) };
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
/// A steal returns [`Steal::Retry`] whenever the public part changes during the call. The owner
/// changes it too, when it exposes items or takes them back.
pub struct Stealer<T: Word> {
    deque: Handle<Embedded<T>>,
}

impl<T: Word> Stealer<T> {
    /// See [`Embedded::request`].
    pub fn request(&self) -> bool {
        self.deque.request()
    }

    /// See [`Embedded::force`].
    pub fn force(&self) -> Forced {
        self.deque.force()
    }

    /// As [`Embedded::steal_some`], but distinguishes an empty deque from one with private items
    /// only.
    pub fn steal_some(
        &self,
        amount: impl FnOnce(usize) -> usize,
        sink: impl FnMut(T),
    ) -> Steal<usize> {
        self.or_empty(self.deque.steal_some(amount, sink))
    }

    /// Steals up to half of the public items, passes all but the newest to `sink`, oldest first,
    /// and returns the newest.
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

    /// Returns `Empty` instead of `Private` if the deque is empty. While a request is pending,
    /// [`Embedded`] does not check that, to spare the owner's cache lines.
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
