//! The thief's side.

use std::fmt;

use super::Shared;
use crate::handle::Handle;
use crate::ring::{Index, STRIDE, Visit, distance, length};
use crate::sync::{Ordering, fence};
use crate::traits::{Steal, Thief};
use crate::word::Word;

/// A thief's handle.
pub struct Stealer<T: Word> {
    shared: Handle<Shared<T>>,
}

impl<T: Word> Stealer<T> {
    pub(super) fn new(shared: Handle<Shared<T>>) -> Self {
        Stealer { shared }
    }

    /// Asks the owner to expose private work.
    ///
    /// Reads the flag before it writes, so that many thieves which ask at once do not contend for
    /// its cache line.
    pub fn request(&self) {
        if !self.shared.requested.load(Ordering::Relaxed) {
            self.shared.requested.store(true, Ordering::Relaxed); // [S12]
        }
    }

    /// Begins a visit, in which the thief may read slots, and returns the ends of the public part.
    fn look(&self) -> (Visit<'_>, Index, Index) {
        let visit = self.shared.ring.enter();
        let top = self.shared.top.load(Ordering::Relaxed); // [S6]
        fence(Ordering::SeqCst); // [S7]
        let boundary = self.shared.own.boundary.load(Ordering::Acquire); // [S8]
        (visit, top, boundary)
    }

    /// Returns the result for a thief that saw nothing public, and this word in the slot at `top`.
    fn nothing_public(&self, top: Index, word: *mut ()) -> Steal<T> {
        let bottom = self.shared.own.bottom.load(Ordering::Relaxed); // [S15]
        fence(Ordering::Acquire); // [S10]
        let now = self.shared.top.load(Ordering::Relaxed); // [S11]
        if now != top {
            // The word may be that of another item.
            Steal::Retry
        } else if !word.is_null() || distance(top, bottom) > 0 {
            Steal::Private
        } else {
            Steal::Empty
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let (visit, top, boundary) = self.look();
        // SAFETY: `look` has passed the fence.
        let word = unsafe { visit.read(top) };
        if distance(top, boundary) <= 0 {
            return self.nothing_public(top, word);
        }
        self.shared.trace.leave(top);
        let next = top.wrapping_add(STRIDE);
        let race = self.shared.top.compare_exchange(
            top,
            next,
            Ordering::Release, // [S9]
            Ordering::Relaxed,
        );
        match race {
            // SAFETY: the item was there until this thief raised `top` over it, so the word is
            // the item's, and no other thread gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(_) => Steal::Retry,
        }
    }

    /// Counts the private items too, by a binary search for the first empty slot.
    fn len(&self) -> usize {
        let (visit, top, boundary) = self.look();
        let own = &self.shared.own;
        let limit = own.limit.load(Ordering::Relaxed); // [S16]
        let first = if distance(top, boundary) > 0 {
            boundary
        } else {
            top
        };
        let (mut taken, mut free) = (0, length(first, limit));
        while taken < free {
            let middle = (taken + free) / 2;
            // SAFETY: `look` has passed the fence.
            let word = unsafe { visit.read(first.wrapping_add(middle as u64 * STRIDE)) };
            if word.is_null() {
                free = middle;
            } else {
                taken = middle + 1;
            }
        }
        let bottom = own.bottom.load(Ordering::Relaxed); // [S15]
        length(top, first) + taken.max(length(first, bottom))
    }

    fn is_empty(&self) -> bool {
        let (visit, top, boundary) = self.look();
        // SAFETY: `look` has passed the fence.
        let word = unsafe { visit.read(top) };
        distance(top, boundary) <= 0 && self.nothing_public(top, word).is_empty()
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer::new(self.shared.clone())
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
