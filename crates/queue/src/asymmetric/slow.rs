//! What the owner does off the fast path.
//!
//! Called by the owner only, with its bottom, which comes back as it is afterwards: as a value, so
//! that the handle's own address is passed to nobody and a deque which a function has to itself
//! lives in registers.

use super::bare::{ALWAYS, Bare, CLAIMED, Unpushed};
use crate::ring::{Index, Lap, STRIDE, distance};
use crate::sync::barrier::{self, Payer};
use crate::sync::{Ordering, fence};
use crate::word::Word;

/// What came of lowering the bottom. Two words, which a call returns in registers; an `Option` of an
/// index would make it three, returned in memory, on the fast path too.
#[derive(Clone, Copy)]
pub(super) struct Lowered {
    /// Where the bottom is now.
    pub(super) bottom: Index,
    /// Which item became the owner's, or `NONE`.
    index: Index,
}

/// No index: it is no multiple of the stride.
const NONE: Index = 1;

const _: () = assert!(NONE < STRIDE);

impl Lowered {
    fn to(bottom: Index, index: Index) -> Lowered {
        Lowered { bottom, index }
    }

    /// The item that became the owner's.
    #[inline(always)]
    pub(super) fn index(self) -> Option<Index> {
        (self.index != NONE).then_some(self.index)
    }
}

impl<T: Word> Bare<T> {
    /// Enters the lap of a slot.
    pub(super) fn enter_lap(&self, index: Index) {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &*self.slow.get() };
        let lap = Lap::new(&slow.view, index, slow.mark, slow.limit);
        self.own.lap.set(&lap);
        if self.payer == Payer::Both {
            self.own.lap.floor.set(ALWAYS);
        }
    }

    /// A push has come to the lap's end or to the limit: looks at `top` again; if the circle is
    /// really full, doubles it.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&self, bottom: Index) {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        if bottom == slow.limit {
            let top = self.age.load(Ordering::Acquire) & !CLAIMED; // [A4]
            if slow.view.limit(top) == bottom {
                // SAFETY: this is the owner, and the items are those from `top` to `bottom`.
                unsafe { self.ring.grow(&mut slow.view, top, bottom) };
            }
            slow.limit = slow.view.limit(top);
            // Nothing is below `top`, so neither need the mark be. One lower than that, so that an
            // empty deque is not taken for a marked one.
            let lowest = top.wrapping_sub(STRIDE);
            if distance(slow.mark, lowest) > 0 {
                slow.mark = lowest;
            }
        }
        self.enter_lap(bottom);
    }

    /// A pop has come to the lap's start or to the mark, or there is no membarrier.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_further(&self, bottom: Index) -> Lowered {
        self.lower_further(bottom)
    }

    /// A pop found `age` above the lowered bottom.
    #[cold]
    #[inline(never)]
    pub(super) fn pop_contested(&self, bottom: Index) -> Lowered {
        self.lower_contested(bottom)
    }

    /// An unpush to this has come to the lap's start or to the mark, or there is no membarrier; or,
    /// with the bottom lowered, it found `age` above it.
    #[cold]
    #[inline(never)]
    pub(super) fn unpush_slowly(&self, lowered: Index, further: bool) -> (Index, Unpushed) {
        let bottom = lowered.wrapping_add(STRIDE);
        // SAFETY: only the owner gets here.
        let mark = unsafe { (*self.slow.get()).mark };
        let lowered = if !further {
            self.lower_contested(lowered)
        } else if distance(bottom, mark) < 0 {
            self.lower_further(bottom)
        } else {
            return (bottom, Unpushed::Covered);
        };
        match lowered.index() {
            Some(_) => (lowered.bottom, Unpushed::Back),
            None => (lowered.bottom, Unpushed::Stolen),
        }
    }

    /// Lowers `bottom` by one item, as the fast path does.
    fn lower_further(&self, bottom: Index) -> Lowered {
        let bottom = bottom.wrapping_sub(STRIDE);
        self.own.bottom.store(bottom, Ordering::Relaxed);
        match self.payer {
            Payer::Rare => barrier::light(),        // [A2]
            Payer::Both => fence(Ordering::SeqCst), // [A11]
        }
        if distance(self.age.load(Ordering::Relaxed), bottom) < 0 {
            return self.lower_contested(bottom);
        }
        self.settle_at(bottom);
        Lowered::to(bottom, bottom)
    }

    /// `age`, read after `bottom` was lowered to this, was above it: nothing is there, or a thief
    /// has a claim.
    fn lower_contested(&self, bottom: Index) -> Lowered {
        let before = bottom.wrapping_add(STRIDE);
        // Read again, it is at least as new.
        let mut age = self.age.load(Ordering::Relaxed);
        loop {
            let ahead = distance(age & !CLAIMED, bottom);
            if ahead > 0 || age == bottom {
                // The claim is on another item, or was let go.
                self.settle_at(bottom);
                return Lowered::to(bottom, bottom);
            }
            if ahead < 0 {
                // Not one up from here: an unpush may come from below where the bottom was left
                // when the owner won an item at the top.
                let top = age & !CLAIMED;
                self.own.bottom.store(top, Ordering::Relaxed);
                self.found_empty(top);
                return Lowered::to(top, NONE);
            }
            let race = self
                .age
                .compare_exchange(age, before, Ordering::Relaxed, Ordering::Relaxed); // [A3]
            match race {
                Ok(_) => {
                    // The item left at the top; the bottom stays where it was.
                    self.own.bottom.store(before, Ordering::Relaxed);
                    return Lowered::to(before, bottom);
                }
                Err(newer) => age = newer,
            }
        }
    }

    /// The deque now ends at `bottom`. A mark that was above it comes down with it: of the item
    /// below nothing more is known than of the one that was popped.
    fn settle_at(&self, bottom: Index) {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        if distance(bottom, slow.mark) > 0 {
            slow.mark = bottom;
        }
        self.enter_lap(bottom);
    }

    fn found_empty(&self, bottom: Index) {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        // SAFETY: as above, and `top` has met `bottom`.
        if unsafe { self.ring.found_empty(&mut slow.view, bottom) } {
            slow.limit = slow.view.limit(bottom);
            self.enter_lap(bottom);
        }
    }

    /// Reads the item that became the owner's.
    ///
    /// # Safety
    ///
    /// The caller is the owner; the index comes from what lowered the bottom just now, and is read once.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take(&self, index: Index) -> T {
        // SAFETY: the view is current, and the item the caller's own.
        unsafe {
            let slot = (*self.slow.get()).view.slot(index);
            T::from_word(slot.load(Ordering::Relaxed))
        }
    }
}
