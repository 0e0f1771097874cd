//! The deque itself: what owner and thieves share, and the owner's fast path.
//!
//! The fast path is written with the owner's bottom as an argument and a result: a
//! [`Deque`](super::Deque) keeps it in its handle, where a function that has the deque to itself
//! can hold it in a register; the owner of a [`Bare`] one reads it from the deque.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::slow::Lowered;
use crate::pile::Full;
use crate::ring::{Index, Lap, Ring, STRIDE, View, length};
use crate::sync::barrier::{self, Payer};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::word::Word;

/// The bit of `age` that says that the topmost item is claimed.
pub(super) const CLAIMED: u64 = 1;

const _: () = assert!(CLAIMED < STRIDE);

/// What the owner needs off the fast path.
pub(super) struct Slow {
    pub(super) view: View,
    /// Where `bottom` meets the circle's end, as of the last look at `top`.
    pub(super) limit: Index,
    /// An unpush does not reach below it.
    pub(super) mark: Index,
}

/// A floor that sends every pop and every unpush the slow way: no index is above it.
pub(super) const ALWAYS: Index = Index::MAX;

/// What the owner writes. The thieves read the bottom.
pub(super) struct Own {
    pub(super) bottom: AtomicU64,
    /// The owner's alone. Its floor is never below the mark; where there is no membarrier it is
    /// [`ALWAYS`].
    pub(super) lap: Lap,
}

/// The deque without a handle, for a runtime that keeps it in a structure of its own, and knows
/// which thread is the owner: there is no pointer to follow and no second copy of the bottom.
///
/// The owner's operations take `&self` and are unsafe; the thieves' are not.
///
/// ```
/// use locksley_queue::Steal;
/// use locksley_queue::asymmetric::{Bare, Unpushed};
///
/// let bare = Bare::new();
/// // SAFETY: this thread is the only one that calls the owner's operations.
/// unsafe {
///     bare.push(1);
///     let place = bare.try_push(2).unwrap();
///     assert_eq!(bare.steal(), Steal::Success(1));
///     assert_eq!(bare.unpush(place), Unpushed::Back);
///     assert_eq!(bare.pop(), None);
/// }
/// ```
#[repr(C)]
pub struct Bare<T: Word> {
    pub(super) own: CachePadded<Own>,
    /// `top` and the claim. Written by thieves and, in a contested pop, by the owner.
    pub(super) age: CachePadded<AtomicU64>,
    /// The owner's alone.
    pub(super) slow: UnsafeCell<Slow>,
    pub(super) payer: Payer,
    pub(super) ring: Ring,
    /// Invariant in `T`: what one side puts in, the other takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
// What is the owner's alone is reached only through the owner's operations.
unsafe impl<T: Word + Send> Send for Bare<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Bare<T> {}

impl<T: Word> Drop for Bare<T> {
    fn drop(&mut self) {
        let top = self.age.load(Ordering::Relaxed) & !CLAIMED;
        let bottom = self.own.bottom.load(Ordering::Relaxed);
        // SAFETY: the words between the indices have been taken by nobody, and nobody is left
        // who could.
        self.ring
            .drain(top, bottom, |word| drop(unsafe { T::from_word(word) }));
    }
}

/// Where an item was pushed: [`Bare::unpush`] wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(Index);

/// What became of the item that was pushed last, when an unpush wants it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "unless it is back, somebody else runs it"]
pub enum Unpushed {
    /// It is out of the deque, and the caller's.
    Back,
    /// A thief has it, and the deque is empty.
    Stolen,
    /// It is not certain that it is the one on top; nothing was done.
    Covered,
}

impl<T: Word> Bare<T> {
    /// An empty deque.
    pub fn new() -> Self {
        Self::starting_at(0, 0)
    }

    /// A deque with room for `capacity` items whose indices start at `start`, rounded down to what an
    /// index can be.
    pub(super) fn starting_at(capacity: usize, start: u64) -> Self {
        let start = start / STRIDE * STRIDE;
        let (ring, view) = Ring::new(capacity);
        let limit = view.limit(start);
        let lap = Lap::new(&view, start, start, limit);
        let slow = Slow {
            view,
            limit,
            mark: start.wrapping_sub(STRIDE),
        };
        let bare = Bare {
            own: CachePadded::new(Own {
                bottom: AtomicU64::new(start),
                lap,
            }),
            age: CachePadded::new(AtomicU64::new(start)),
            slow: UnsafeCell::new(slow),
            payer: barrier::payer(),
            ring,
            items: PhantomData,
        };
        bare.enter_lap(start);
        bare
    }

    /// The owner's bottom.
    #[inline(always)]
    pub(super) fn bottom(&self) -> Index {
        self.own.bottom.load(Ordering::Relaxed)
    }

    /// Must a push look further?
    #[inline(always)]
    pub(super) fn at_ceiling(&self, bottom: Index) -> bool {
        bottom == self.own.lap.ceiling.get()
    }

    /// Writes an item at the bottom, which is below the ceiling. Where is the bottom now?
    #[inline(always)]
    pub(super) fn put(&self, bottom: Index, item: T) -> Index {
        // SAFETY: the index is below the lap's ceiling.
        let slot = unsafe { self.own.lap.slot(bottom) };
        slot.store(item.into_word(), Ordering::Relaxed);
        let bottom = bottom.wrapping_add(STRIDE);
        fence(Ordering::Release); // [A1]
        self.own.bottom.store(bottom, Ordering::Relaxed);
        bottom
    }

    /// Lowers the bottom to this. Is the item there certainly the owner's?
    #[inline(always)]
    fn lower_to(&self, bottom: Index) -> bool {
        self.own.bottom.store(bottom, Ordering::Relaxed);
        barrier::light(); // [A2]
        // Where the indices have wrapped round between the two, this errs to the slow side.
        bottom >= self.age.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn pop_at(&self, bottom: Index) -> (Index, Option<T>) {
        // Not only at the floor: the indices may have wrapped round to zero just above it.
        if bottom <= self.own.lap.floor.get() {
            return self.taken(self.pop_further(bottom));
        }
        let lowered = bottom - STRIDE;
        if !self.lower_to(lowered) {
            return self.taken(self.pop_contested(lowered));
        }
        // SAFETY: the index is in the lap. No thief had claimed this item when `age` was read; one
        // that claims it later passes its barrier after that and sees the lowered bottom.
        let item = unsafe {
            let slot = self.own.lap.slot(lowered);
            T::from_word(slot.load(Ordering::Relaxed))
        };
        (lowered, Some(item))
    }

    /// The item that became the owner's off the fast path, if one did.
    #[inline(always)]
    fn taken(&self, lowered: Lowered) -> (Index, Option<T>) {
        // SAFETY: the item is the owner's, and read here alone.
        let item = lowered.index().map(|index| unsafe { self.take(index) });
        (lowered.bottom, item)
    }

    /// Lowers the bottom to this, from just above it, without looking at the item.
    #[inline(always)]
    pub(super) fn unpush_to(&self, lowered: Index) -> (Index, Unpushed) {
        let further = lowered < self.own.lap.floor.get();
        if !further && self.lower_to(lowered) {
            return (lowered, Unpushed::Back);
        }
        self.unpush_slowly(lowered, further)
    }

    pub(super) fn seal_at(&self, bottom: Index) {
        self.own.lap.ceiling.set(bottom);
    }

    pub(super) fn mark_at(&self, bottom: Index) {
        // SAFETY: only the owner gets here.
        unsafe { (*self.slow.get()).mark = bottom };
        self.enter_lap(bottom);
    }

    /// How many items there are, seen by a thief.
    pub fn len(&self) -> usize {
        let top = self.age.load(Ordering::Acquire) & !CLAIMED; // [A10]
        length(top, self.own.bottom.load(Ordering::Relaxed))
    }

    /// Does nothing seem to be there?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The owner's operations. For each the same holds:
///
/// # Safety
///
/// No two of them run at the same time, and what one did is visible to the next: they are called
/// by one thread, or whatever passes them on to another one synchronises.
impl<T: Word> Bare<T> {
    /// Pushes if that takes no more than a glance; otherwise gives the item back, and
    /// [`push`](Bare::push) makes room.
    ///
    /// # Errors
    ///
    /// The item comes back if the deque has to look further, or was [sealed](Bare::seal).
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    #[inline(always)]
    pub unsafe fn try_push(&self, item: T) -> Result<Place, Full<T>> {
        let bottom = self.bottom();
        if self.at_ceiling(bottom) {
            return Err(Full(item));
        }
        self.put(bottom, item);
        Ok(Place(bottom))
    }

    /// Pushes. There is always room.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    pub unsafe fn push(&self, item: T) -> Place {
        let bottom = self.bottom();
        if self.at_ceiling(bottom) {
            self.make_room(bottom);
        }
        self.put(bottom, item);
        Place(bottom)
    }

    /// Takes the item that was pushed last.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    pub unsafe fn pop(&self) -> Option<T> {
        self.pop_at(self.bottom()).1
    }

    /// [`Deque::unpush`](super::Deque::unpush), of the item that was pushed there. The place need
    /// not be looked up, so what follows does not wait for the bottom to be loaded.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above. The place comes from a push on this deque. Its item was not
    /// popped or taken back since, or was put back with a [mark](Bare::mark) on top; and what lies on
    /// top of it, if anything, was marked. The indices have not wrapped round (after 2^61 pushes).
    #[inline(always)]
    pub unsafe fn unpush(&self, place: Place) -> Unpushed {
        self.unpush_to(place.0).1
    }

    /// [`Deque::seal`](super::Deque::seal).
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    pub unsafe fn seal(&self) {
        self.seal_at(self.bottom());
    }

    /// [`Deque::mark`](super::Deque::mark).
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    pub unsafe fn mark(&self) {
        self.mark_at(self.bottom());
    }
}

impl<T: Word> Default for Bare<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> fmt::Debug for Bare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bare").field("len", &self.len()).finish()
    }
}
