//! The semi-private deque: the owner pushes and pops private items without a fence.
//!
//! The topmost part of the deque is public, the rest private. The owner works on the private part
//! with plain loads and stores. A thief that finds only private work sets a flag. The owner polls
//! the flag, and answers by moving the boundary towards the bottom.
//!
//! ```text
//!          top        boundary                bottom
//!           v            v                      v
//!   ... | - | a | b | c | d | e | f | g | h | i | - | ...    (circular)
//!           '- public --' '----- private -----'
//!        thieves ->                      <- owner
//! ```
//!
//! **Invariant.** `top <= boundary <= bottom`. Thieves take below `boundary` only, by raising
//! `top`. The owner alone writes `boundary`, alone knows `bottom`, and takes from the public part
//! only when the private part is empty. All three are monotone except for the owner's own pops, so
//! the index of an item that the owner has not popped determines where it is: at or above
//! `boundary` it is private, below `top` it was stolen ([`Deque::location`]).
//!
//! Free slots are null: those from `bottom` up to and including `limit`, the last index for which
//! there is room given the `top` that the owner saw last (`bottom <= limit`). So a thief learns
//! from the slot at `top` whether the deque is empty, provided that `top` does not change
//! meanwhile, and the owner need not publish `bottom`: a push is one store, of the item, and a pop
//! is one, of the null. The thief pays for this: it passes a fence even if it finds nothing. An
//! item may be null too, such as the integer 0. While a null item is in the deque, every operation
//! of the owner takes the slow path and publishes `bottom`.
//!
//! **Operations** (the thesis's names in parentheses). [`push`](Owner::push) (push) writes the slot
//! at `bottom`. [`pop`](Owner::pop) (pop, and popBottom when that returns RACE) takes the item
//! before it; if the private part is empty, it first takes half of the public part back: it lowers
//! `boundary`, passes a fence, and checks that `top` is still below; a single public item is
//! taken by compare-and-swap. [`expose`](Deque::expose) (updateBottom) raises `boundary`.
//! [`steal`](crate::Thief::steal) (popTop) is that of Chase and Lev, with a fourth result,
//! [`Steal::Private`](crate::Steal::Private); [`Stealer::request`] asks the owner to expose items.
//!
//! **Theorem** (Rito, thesis, Theorem 6.17). With this deque work stealing runs in expected time
//! T1/P + O(Tinf), and the expected number of fences is O(P Tinf), not O(T1). Assumption:
//! the owner polls the flag between any two nodes. A task that runs for long without polling
//! hides its private work for that time; poll at every fork and join. Thieves cannot force an
//! exposure of this deque: its owner pops without reading any word that a thief writes. The pool's
//! strategy `semi-private` exposes items by the same rule, but on [`split`](crate::split), whose
//! owner does read such a word, so that its thieves can force what it does not expose.
//!
//! **Deviations.** As printed, popBottom lowers the official bottom but not the private one, and
//! the next pop returns the same node; and the flag is cleared after the exposure, which loses a
//! request made in between. Here both bottoms are lowered, and [`poll`](Deque::poll) clears the
//! flag first. The indices are not reset to 0, so that an index keeps its meaning and the array may
//! be circular. popBottom takes back half of the public part rather than one item, so that draining
//! n public items takes O(log n) fences. The thesis's popTop cannot tell an empty deque from one
//! with private work; here the null slots do.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | S1 | expose: fence before `boundary` is raised | Release | S8 | the thief would see the index before the item | `semi_private::expose_against_steal` |
//! | S2 | take back: fence between `boundary` and `top` | SeqCst | S7 | owner and thief would both take the item | `semi_private::take_back_against_two_thieves` |
//! | S3 | make room: read `top` | Acquire | S9 | the slot could be emptied and rewritten before the thief that succeeds has read it (shown by a trace, `sync::trace`) | `semi_private::slot_reuse_after_a_theft` |
//! | S4 | pop public, no more nulls: read `top` | Relaxed | - | checked again behind S2, or by compare-and-swap; a lower bound is all that is needed | none: nothing is weaker |
//! | S5 | pop public: take the last item | Relaxed | - | the item is the owner's own; coherence of `top` decides the race | none: nothing is weaker |
//! | S6 | look: read `top` | Relaxed | - | the fence S7 acquires too | none: nothing is weaker |
//! | S7 | look: fence between `top` and `boundary` | SeqCst | S2, R2; S9 through S6 | as S2; and an old slot beside a new `top` would look like an emptiness that never was | `semi_private::take_back_against_two_thieves`, `semi_private::never_empty` |
//! | S8 | look: read `boundary` | Acquire | S1 | as S1 | `semi_private::expose_against_steal` |
//! | S9 | steal: raise `top` | Release | S3, S7, S13 | as S3. (What S7 and S13 need the fence S7 releases too) | `semi_private::slot_reuse_after_a_theft` |
//! | S10 | nothing public: fence between the slot and the second look at `top` | Acquire | S14 | the slot of a stolen item, emptied since, would look like an empty deque | `semi_private::never_empty_behind_a_theft` |
//! | S11 | nothing public: second look at `top` | Relaxed | - | the fence S10 | `semi_private::never_empty_behind_a_theft` |
//! | S12 | poll, request: the flag | Relaxed | - | a hint; the order of clearing and exposing is carried by S1 | `semi_private::request_is_not_lost` |
//! | S13 | location: read `top` | Acquire | S9 | an owner that is told that a thief has the item may rely on what the thief did before | `semi_private::owner_sees_what_the_thief_did` |
//! | S14 | make room: fence before the slots of stolen items are emptied | Release | S10 | as S10 | `semi_private::never_empty_behind_a_theft` |
//! | S15 | publish `bottom` for a null item, read it | Relaxed | - | like the word in a slot: S7 and S10 order it | `semi_private::never_empty_with_null_items` |
//! | S16 | publish `limit`, read it | Relaxed | - | for a guess at the length | none: nothing is weaker |
//!
//! Every store of `boundary` comes after the fence S1 that published the items below it, so the
//! stores that lower or restore it may be Relaxed.

mod cursor;
mod slow;
mod thief;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use self::cursor::{Bounds, Cursor};
use self::slow::Slow;
pub use self::thief::Stealer;
use crate::handle::Handle;
use crate::ring::{self, Ring, STRIDE, distance, length};
use crate::sync::trace::Trace;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use crate::traits::{Full, Owner};
use crate::word::Word;

/// Words that the owner writes off its fast path, and that thieves read.
struct OwnerWords {
    boundary: AtomicU64,
    /// The bottom while a null item may be in the deque; otherwise a value that is not above `top`.
    bottom: AtomicU64,
    /// The highest `bottom` for which there is room, given the `top` that the owner read last. The
    /// slots from `bottom` up to and including this one are null.
    limit: AtomicU64,
    /// Accessed by the owner only. The floor is never below the boundary.
    bounds: Cell<Bounds>,
}

struct Shared<T: Word> {
    own: CachePadded<OwnerWords>,
    /// Accessed by the owner only.
    slow: UnsafeCell<Slow>,
    /// Raised by thieves and, for the last item, by the owner.
    top: CachePadded<AtomicU64>,
    /// Set by thieves, cleared by the owner. On a line of its own, which stays in the owner's
    /// cache until a thief asks.
    requested: CachePadded<AtomicBool>,
    ring: Ring,
    /// Trace of the thefts, by their index.
    trace: Trace,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
// The owner's fields are accessed only through the one `Deque`.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let top = self.top.load(Ordering::Relaxed);
        // The owner was dropped, and has made everything public.
        let bottom = self.own.boundary.load(Ordering::Relaxed);
        // SAFETY: the words between the indices have not been taken, and no handle is left.
        self.ring
            .drain(top, bottom, |word| drop(unsafe { T::from_word(word) }));
    }
}

/// Takes the word out of a private slot, and empties the slot.
#[inline]
fn take(slot: &AtomicPtr<()>) -> *mut () {
    let word = slot.load(Ordering::Relaxed);
    slot.store(ptr::null_mut(), Ordering::Relaxed);
    word
}

/// The amount of private work that an exposure makes public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// The topmost item, as in the thesis.
    #[default]
    One,
    /// The upper half, rounded up.
    Half,
}

/// The position of an item in a deque, valid until the owner pops the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(ring::Index);

/// The location of an item that was pushed and not popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemLocation {
    /// In the private part, where thieves cannot take it.
    Private,
    /// In the public part, where a thief may take it at any moment.
    Public,
    /// A thief has it.
    Stolen,
}

/// The owner's handle. Items that are left are dropped with the last handle.
///
/// When the owner's handle is dropped, all items become public.
///
/// ```
/// use locksley_queue::semi_private::{Deque, Exposure};
/// use locksley_queue::{Owner, Steal, Thief};
///
/// let mut deque = Deque::new();
/// let thief = deque.thief();
/// deque.push(1).unwrap();
/// deque.push(2).unwrap();
/// assert_eq!(thief.steal(), Steal::Private);
/// thief.request(); // "expose something, please"
/// assert_eq!(deque.poll(Exposure::One), 1); // the owner does, when it comes by
/// assert_eq!(thief.steal(), Steal::Success(1));
/// assert_eq!(deque.pop(), Some(2));
/// ```
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::semi_private::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
pub struct Deque<T: Word> {
    shared: Handle<Shared<T>>,
    /// The bottom. It is not published.
    cursor: Cursor,
}

// SAFETY: the cursor points into the circle of slots, which the handle keeps alive; and the handle
// is `Send` and `Sync` for such items.
unsafe impl<T: Word + Send> Send for Deque<T> {}
// SAFETY: as above; the methods that take `&Deque` only read.
unsafe impl<T: Word + Send> Sync for Deque<T> {}

impl<T: Word> Deque<T> {
    /// Creates an empty deque.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates an empty deque with room for `capacity` items before it first grows. It may shrink
    /// below that when it is often found empty.
    ///
    /// # Panics
    ///
    /// If more slots are needed than an allocation can have.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Creates a deque whose indices start at `start`, rounded down to a multiple of the stride.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let start = start / STRIDE * STRIDE;
        // One slot stays empty.
        let (ring, view) = Ring::new(capacity.saturating_add(1));
        let slow = Slow::new(view);
        let limit = slow.limit(start);
        let bounds = slow.bounds(start, start, limit);
        let cursor = bounds.cursor(start);
        let shared = Handle::new(Shared {
            own: CachePadded::new(OwnerWords {
                boundary: AtomicU64::new(start),
                bottom: AtomicU64::new(start),
                limit: AtomicU64::new(limit),
                bounds: Cell::new(bounds),
            }),
            slow: UnsafeCell::new(slow),
            top: CachePadded::new(AtomicU64::new(start)),
            requested: CachePadded::new(AtomicBool::new(false)),
            ring,
            trace: Trace::new(start),
            items: PhantomData,
        });
        Deque { shared, cursor }
    }

    #[inline]
    fn bottom(&self) -> ring::Index {
        self.shared.own.bounds.get().index(self.cursor)
    }

    /// Returns the number of items that fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: only the owner's methods change the view, and they take `&mut self`.
        unsafe { (*self.shared.slow.get()).capacity() }
    }

    /// Returns the number of private items.
    #[inline]
    pub fn private_len(&self) -> usize {
        let boundary = self.shared.own.boundary.load(Ordering::Relaxed);
        length(boundary, self.bottom())
    }

    /// Returns the index that the next pushed item will have.
    #[inline]
    pub fn next_index(&self) -> Index {
        Index(self.bottom())
    }

    /// Returns the location of the item with this index, which the owner has pushed and not popped.
    #[inline]
    pub fn location(&self, index: Index) -> ItemLocation {
        if distance(self.shared.own.boundary.load(Ordering::Relaxed), index.0) >= 0 {
            return ItemLocation::Private;
        }
        let top = self.shared.top.load(Ordering::Acquire); // [S13]
        if distance(top, index.0) >= 0 {
            ItemLocation::Public
        } else {
            ItemLocation::Stolen
        }
    }

    /// Returns `true` if a thief has asked for work since the last [`poll`](Deque::poll) or
    /// exposure.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.shared.requested.load(Ordering::Relaxed) // [S12]
    }

    /// Exposes work if a thief has asked for it. Returns the number of items that became public.
    #[inline]
    pub fn poll(&mut self, exposure: Exposure) -> usize {
        if self.is_requested() {
            self.expose(exposure)
        } else {
            0
        }
    }

    /// Makes the topmost private items public, and clears the request. Returns the number of items
    /// that became public.
    #[inline]
    pub fn expose(&mut self, exposure: Exposure) -> usize {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        let owner = unsafe { self.shared.owner_side() };
        let (cursor, count) = owner.expose(self.cursor, exposure);
        self.cursor = cursor;
        count
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    /// Always has room. The item is private.
    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let word = item.into_word();
        if self.cursor == self.shared.own.bounds.get().ceiling || word.is_null() {
            // SAFETY: the handle is the owner's, and borrowed exclusively.
            let owner = unsafe { self.shared.owner_side() };
            self.cursor = owner.push_slowly(self.cursor, word);
            return Ok(());
        }
        // SAFETY: the cursor is below the ceiling, so it points to a slot.
        unsafe { &*self.cursor }.store(word, Ordering::Relaxed);
        self.cursor = self.cursor.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.cursor == self.shared.own.bounds.get().floor {
            // SAFETY: the handle is the owner's, and borrowed exclusively.
            let owner = unsafe { self.shared.owner_side() };
            let (cursor, item) = owner.pop_slowly(self.cursor);
            self.cursor = cursor;
            return item;
        }
        self.cursor = self.cursor.wrapping_sub(1);
        // SAFETY: the cursor is not below the floor, so it points to a slot; and the floor is not
        // below the boundary, so the item is private, and belongs to the owner.
        Some(unsafe { T::from_word(take(&*self.cursor)) })
    }

    fn len(&self) -> usize {
        length(self.shared.top.load(Ordering::Relaxed), self.bottom())
    }

    fn thief(&self) -> Stealer<T> {
        Stealer::new(self.shared.clone())
    }
}

impl<T: Word> Drop for Deque<T> {
    /// Makes all items public, so that thieves can take them.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is the owner's, and borrowed exclusively.
        unsafe { self.shared.owner_side() }.expose_all(self.cursor);
    }
}

impl<T: Word> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("len", &self.len())
            .field("private", &self.private_len())
            .field("capacity", &self.capacity())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
