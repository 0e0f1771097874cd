//! The thief's side.

use std::fmt;

use super::Shared;
use crate::handle::Handle;
use crate::pile::{Steal, Thief};
use crate::ring::{Index, STRIDE, distance, length};
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// A thief's handle.
pub struct Stealer<T: Word> {
    shared: Handle<Shared<T>>,
}

/// What a thief sees when it looks.
struct Sight {
    top: Index,
    boundary: Index,
    /// What is in the slot of `top`.
    word: *mut (),
}

impl<T: Word> Stealer<T> {
    pub(super) fn new(shared: Handle<Shared<T>>) -> Self {
        Stealer { shared }
    }

    /// Asks the owner to expose private work.
    ///
    /// Looks before it writes, so that many thieves who ask at once do not fight for the line.
    pub fn target(&self) {
        if !self.shared.targeted.load(Ordering::Relaxed) {
            self.shared.targeted.store(true, Ordering::Relaxed); // [S12]
        }
    }

    fn look(&self) -> Sight {
        let shared = &*self.shared;
        let visit = shared.ring.enter();
        let top = shared.top.load(Ordering::Relaxed); // [S6]
        fence(Ordering::SeqCst); // [S7]
        let boundary = shared.own.boundary.load(Ordering::Acquire); // [S8]
        // SAFETY: the fence above.
        let word = unsafe { visit.read(top) };
        Sight {
            top,
            boundary,
            word,
        }
    }

    /// What to answer who saw nothing public: looks whether the item at `top` is there.
    fn nothing_public(&self, seen: &Sight) -> Steal<T> {
        let bottom = self.shared.own.bottom.load(Ordering::Relaxed); // [S15]
        fence(Ordering::Acquire); // [S10]
        let now = self.shared.top.load(Ordering::Relaxed); // [S11]
        if now != seen.top {
            // The slot may have been another item's.
            Steal::Retry
        } else if !seen.word.is_null() || distance(seen.top, bottom) > 0 {
            Steal::Private
        } else {
            Steal::Empty
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let seen = self.look();
        if distance(seen.top, seen.boundary) <= 0 {
            return self.nothing_public(&seen);
        }
        let next = seen.top.wrapping_add(STRIDE);
        let race = self.shared.top.compare_exchange(
            seen.top,
            next,
            Ordering::Release, // [S9]
            Ordering::Relaxed,
        );
        match race {
            // SAFETY: the item was there until this thief raised `top` over it, so the word is
            // the item's, and nobody else gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(seen.word) }),
            Err(_) => Steal::Retry,
        }
    }

    /// The public items; 1 if there are only private ones.
    fn len(&self) -> usize {
        let seen = self.look();
        match length(seen.top, seen.boundary) {
            0 => usize::from(!self.nothing_public(&seen).is_empty()),
            public => public,
        }
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
