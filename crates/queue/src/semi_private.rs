//! The semi-private deque: nothing that the owner does alone costs a fence.
//!
//! The topmost part of the deque is public, the rest private. The owner works on the private part
//! with plain loads and stores. A thief that finds only private work sets a flag, and the
//! owner, which polls it, moves the boundary down.
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
//! `top`. The owner alone writes `boundary` and `bottom`, and takes from the public part only when
//! the private part is empty. All three are monotone but for the owner's own pops, so the index
//! of an item that the owner has not popped tells for certain where it is: at or above
//! `boundary` it is private, below `top` it was stolen ([`Deque::whereabouts`]).
//!
//! **Operations** (the thesis's names in parentheses). [`push`](Owner::push) (push) writes the slot and
//! raises `bottom`. [`pop`](Owner::pop) (pop, and popBottom when that says RACE) lowers `bottom`; if
//! the private part is empty, it first takes half of the public part back: it lowers `boundary`,
//! passes a fence, and looks whether `top` is still below; a single public item is taken by
//! compare-and-swap. [`expose`](Deque::expose) (updateBottom) raises `boundary`.
//! [`steal`](Thief::steal) (popTop) is that of Chase and Lev, with a fourth answer,
//! [`Steal::Private`]; [`Stealer::target`] asks the owner to expose.
//!
//! **Theorem** (Rito, thesis, Theorem 6.17). With this deque work stealing runs in expected time
//! T1/P + O(Tinf), and the expected number of fences is O(P Tinf), not O(T1). Assumption:
//! the owner polls the flag between any two nodes. A task that runs for long without polling
//! hides its private work for that time; poll at every fork and join.
//!
//! **Deviations.** As printed, popBottom lowers the official bottom but not the private one, and
//! the next pop returns the same node; and the flag is cleared after the exposure, which loses a
//! request made in between. Here both are in step, and [`poll`](Deque::poll) clears first. The
//! thesis's reset of the indices to 0 is gone, so an index keeps its meaning and the array may be circular.
//! popBottom takes back half of the public part rather than one item, so that draining
//! n public items takes O(log n) fences.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | S1 | expose: fence before `boundary` is raised | Release | S8 | the thief would see the index before the item | `semi_private::expose_against_steal` |
//! | S2 | take back: fence between `boundary` and `top` | SeqCst | S7 | owner and thief would both take the item | `semi_private::take_back_against_two_thieves` |
//! | S3 | make room: read `top` | Acquire | S9 | not shown by loom: the slot could be rewritten while the thief that is about to succeed reads it; loom does not let a load see a later store | histories on hardware |
//! | S4 | pop public: read `top` | Relaxed | - | checked again behind S2, or by compare-and-swap | |
//! | S5 | pop public: take the last item | Relaxed | - | the item is the owner's own; coherence of `top` decides the race | |
//! | S6 | steal: read `top` | Relaxed | - | the fence S7 acquires too | |
//! | S7 | steal: fence between `top` and `boundary` | SeqCst | S2, R2 | as S2 | `semi_private::take_back_against_two_thieves` |
//! | S8 | steal: read `boundary` | Acquire | S1 | as S1 | `semi_private::expose_against_steal` |
//! | S9 | steal: raise `top` | Release | S3, S10, S13 | not shown by loom: as S3. (What S10 and S13 need the fence S7 releases too) | histories on hardware |
//! | S10 | look: read `top` | Acquire | S9 | an old `boundary` or `bottom` beside a new `top` would look like an emptiness that never was | `semi_private::never_empty` |
//! | S11 | look: read `boundary` | Relaxed | - | if it has not gone beyond `top`, then S10 has acquired the exposure that got it there | `semi_private::never_empty` |
//! | S12 | poll, target: the flag | Relaxed | - | a hint; the order of clearing and exposing is carried by S1 | `semi_private::request_is_not_lost` |
//! | S13 | whereabouts: read `top` | Acquire | S9 | who is told that a thief has the item may want to see what the thief did before | `semi_private::stolen_by_one_who_is_known` |
//!
//! Every store of `boundary` comes after the fence S1 of the items below it, so lowering and
//! restoring it may be Relaxed.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::handle::Handle;
use crate::pile::{Full, Owner, Steal, Thief};
use crate::ring::{self, Lap, Ring, STRIDE, View, distance, length};
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence};
use crate::word::Word;

/// What the owner writes. The thieves read the two ends.
struct Own {
    bottom: AtomicU64,
    boundary: AtomicU64,
    /// The owner's alone. Its floor is never below the boundary.
    lap: Lap,
}

/// What the owner needs off the fast path.
struct Slow {
    view: View,
    /// Where `bottom` meets the circle's end, as of the last look at `top`.
    limit: ring::Index,
}

struct Shared<T: Word> {
    own: CachePadded<Own>,
    /// The owner's alone.
    slow: UnsafeCell<Slow>,
    /// Raised by thieves and, for the last item, by the owner.
    top: CachePadded<AtomicU64>,
    /// Set by thieves, cleared by the owner. On a line of its own, which stays in the owner's
    /// cache until a thief asks.
    targeted: CachePadded<AtomicBool>,
    ring: Ring,
    /// Invariant in `T`: what one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
// What is the owner's alone is reached only through the one `Deque`.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.own.bottom.load(Ordering::Relaxed);
        // SAFETY: the words between the indices have been taken by nobody, and no handle is left.
        self.ring
            .drain(top, bottom, |word| drop(unsafe { T::from_word(word) }));
    }
}

/// What the owner does off the fast path. Called by the owner only, with its bottom, which comes
/// back as it is afterwards: as a value, so that the handle's own address is passed to nobody and a
/// deque which a function has to itself lives in registers.
impl<T: Word> Shared<T> {
    /// Enters the lap of a slot.
    fn enter_lap(&self, index: ring::Index) {
        let boundary = self.own.boundary.load(Ordering::Relaxed);
        // SAFETY: only the owner gets here.
        let slow = unsafe { &*self.slow.get() };
        let lap = Lap::new(&slow.view, index, boundary, slow.limit);
        self.own.lap.set(&lap);
    }

    /// A push has come to the lap's end or to the limit: looks at `top` again; if the circle is
    /// really full, doubles it.
    #[cold]
    #[inline(never)]
    fn make_room(&self, bottom: ring::Index) {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        if bottom == slow.limit {
            let top = self.top.load(Ordering::Acquire); // [S3]
            if slow.view.limit(top) == bottom {
                // SAFETY: this is the owner, and the items are those from `top` to `bottom`.
                unsafe { self.ring.grow(&mut slow.view, top, bottom) };
            }
            slow.limit = slow.view.limit(top);
        }
        self.enter_lap(bottom);
    }

    /// A pop has come to the lap's start or to the boundary.
    #[cold]
    #[inline(never)]
    fn pop_further(&self, bottom: ring::Index) -> (ring::Index, Option<T>) {
        while bottom == self.own.boundary.load(Ordering::Relaxed) {
            let top = self.top.load(Ordering::Relaxed); // [S4]
            let public = length(top, bottom) as u64;
            match public {
                0 => return (bottom, self.found_empty(bottom)),
                1 => return self.pop_last(top),
                _ => self.take_back(top.wrapping_add(public / 2 * STRIDE)),
            }
        }
        let lowered = bottom.wrapping_sub(STRIDE);
        self.own.bottom.store(lowered, Ordering::Relaxed);
        self.enter_lap(lowered);
        // SAFETY: the boundary is below `bottom`, so the item is private: the owner's.
        (lowered, Some(unsafe { self.take(lowered) }))
    }

    /// Tries to make the items from `middle` on private again.
    fn take_back(&self, middle: ring::Index) {
        let boundary = &self.own.boundary;
        let before = boundary.load(Ordering::Relaxed);
        boundary.store(middle, Ordering::Relaxed);
        fence(Ordering::SeqCst); // [S2]
        let top = self.top.load(Ordering::Relaxed);
        // A thief that takes the item at `middle` has to raise `top` to it first, then to pass
        // its fence; so if `top` is below it now, the thief will see the lowered boundary.
        if distance(top, middle) <= 0 {
            boundary.store(before, Ordering::Relaxed);
        }
    }

    /// Takes the one public item, the one at `top`.
    fn pop_last(&self, top: ring::Index) -> (ring::Index, Option<T>) {
        let next = top.wrapping_add(STRIDE);
        let race = self
            .top
            .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed); // [S5]
        if race.is_err() {
            return (next, self.found_empty(next));
        }
        // SAFETY: raising `top` over the item made it the owner's.
        (next, Some(unsafe { self.take(top) }))
    }

    fn found_empty(&self, bottom: ring::Index) -> Option<T> {
        // SAFETY: only the owner gets here.
        let slow = unsafe { &mut *self.slow.get() };
        // SAFETY: as above, and `top` has met `boundary`, which is `bottom`.
        if unsafe { self.ring.found_empty(&mut slow.view, bottom) } {
            slow.limit = slow.view.limit(bottom);
            self.enter_lap(bottom);
        }
        None
    }

    /// Reads the item at an index.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and alone takes the item, which is in the deque.
    unsafe fn take(&self, index: ring::Index) -> T {
        // SAFETY: the view is current; the item is the caller's to take.
        unsafe {
            let slot = (*self.slow.get()).view.slot(index);
            T::from_word(slot.load(Ordering::Relaxed))
        }
    }
}

/// How much of the private part an exposure makes public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// The topmost item, as in the thesis.
    #[default]
    One,
    /// The upper half, rounded up.
    Half,
}

/// The place of an item in a deque, good for as long as the owner has not popped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(ring::Index);

/// Where an item is that was pushed and not popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// In the private part, out of the thieves' reach.
    Private,
    /// In the public part, where a thief may take it at any moment.
    Public,
    /// A thief has it.
    Stolen,
}

/// The owner's side. What is left in it when the last handle goes is dropped then.
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
/// thief.target(); // "expose something, please"
/// assert_eq!(deque.poll(Exposure::One), 1); // the owner does, when it comes by
/// assert_eq!(thief.steal(), Steal::Success(1));
/// assert_eq!(deque.pop(), Some(2));
/// ```
///
/// What one handle puts in another takes out, so the item's type cannot be changed in between:
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
    /// What `shared.own.bottom` holds.
    bottom: ring::Index,
}

/// A thief's handle.
pub struct Stealer<T: Word> {
    shared: Handle<Shared<T>>,
}

impl<T: Word> Deque<T> {
    /// An empty deque.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty deque with room for `capacity` items before it first grows. It may shrink below
    /// that when it is found empty often.
    ///
    /// # Panics
    ///
    /// If so many slots cannot be allocated.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// A deque whose indices start at `start`, rounded down to what an index can be.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let start = start / STRIDE * STRIDE;
        let (ring, view) = Ring::new(capacity);
        let limit = view.limit(start);
        let lap = Lap::new(&view, start, start, limit);
        let shared = Handle::new(Shared {
            own: CachePadded::new(Own {
                bottom: AtomicU64::new(start),
                boundary: AtomicU64::new(start),
                lap,
            }),
            slow: UnsafeCell::new(Slow { view, limit }),
            top: CachePadded::new(AtomicU64::new(start)),
            targeted: CachePadded::new(AtomicBool::new(false)),
            ring,
            items: PhantomData,
        });
        Deque {
            shared,
            bottom: start,
        }
    }

    /// How many items fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: only the owner's methods change the view, and they take `&mut self`.
        unsafe { (*self.shared.slow.get()).view.capacity() }
    }

    /// How many items are out of the thieves' reach.
    #[inline]
    pub fn private_len(&self) -> usize {
        let boundary = self.shared.own.boundary.load(Ordering::Relaxed);
        length(boundary, self.bottom)
    }

    /// The index that the next pushed item will have.
    #[inline]
    pub fn next_index(&self) -> Index {
        Index(self.bottom)
    }

    /// Where the item of this index is, which the owner has pushed and not popped.
    #[inline]
    pub fn whereabouts(&self, index: Index) -> Whereabouts {
        if distance(self.shared.own.boundary.load(Ordering::Relaxed), index.0) >= 0 {
            return Whereabouts::Private;
        }
        let top = self.shared.top.load(Ordering::Acquire); // [S13]
        if distance(top, index.0) >= 0 {
            Whereabouts::Public
        } else {
            Whereabouts::Stolen
        }
    }

    /// Has a thief asked for work since the last [`poll`](Deque::poll) or exposure?
    #[inline]
    pub fn is_targeted(&self) -> bool {
        self.shared.targeted.load(Ordering::Relaxed) // [S12]
    }

    /// Exposes work if a thief has asked for it. Returns how many items became public.
    #[inline]
    pub fn poll(&mut self, exposure: Exposure) -> usize {
        if self.is_targeted() {
            self.expose(exposure)
        } else {
            0
        }
    }

    /// Makes the topmost private items public, and forgets requests made so far. Returns how
    /// many there were to expose.
    #[cold]
    pub fn expose(&mut self, exposure: Exposure) -> usize {
        // Cleared first: a request that comes in between is for the next exposure.
        self.shared.targeted.store(false, Ordering::Relaxed); // [S12]
        let private = self.private_len();
        let count = match exposure {
            Exposure::One => private.min(1),
            Exposure::Half => private.div_ceil(2),
        };
        let boundary = &self.shared.own.boundary;
        let raised = boundary
            .load(Ordering::Relaxed)
            .wrapping_add(count as u64 * STRIDE);
        fence(Ordering::Release); // [S1]
        boundary.store(raised, Ordering::Relaxed);
        self.shared.enter_lap(self.bottom);
        count
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    /// Always has room. The item is private.
    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let shared = &*self.shared;
        if self.bottom == shared.own.lap.ceiling.get() {
            shared.make_room(self.bottom);
        }
        // SAFETY: the index is below the lap's ceiling.
        let slot = unsafe { shared.own.lap.slot(self.bottom) };
        slot.store(item.into_word(), Ordering::Relaxed);
        self.bottom = self.bottom.wrapping_add(STRIDE);
        shared.own.bottom.store(self.bottom, Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let shared = &*self.shared;
        if self.bottom == shared.own.lap.floor.get() {
            let (bottom, item) = shared.pop_further(self.bottom);
            self.bottom = bottom;
            return item;
        }
        self.bottom = self.bottom.wrapping_sub(STRIDE);
        // SAFETY: the index is not below the floor, so it is in the lap.
        let slot = unsafe { shared.own.lap.slot(self.bottom) };
        shared.own.bottom.store(self.bottom, Ordering::Relaxed);
        // SAFETY: the floor is not below the boundary, so the item is private: the owner's.
        Some(unsafe { T::from_word(slot.load(Ordering::Relaxed)) })
    }

    fn len(&self) -> usize {
        length(self.shared.top.load(Ordering::Relaxed), self.bottom)
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            shared: self.shared.clone(),
        }
    }
}

impl<T: Word> Drop for Deque<T> {
    /// Leaves everything to the thieves.
    fn drop(&mut self) {
        fence(Ordering::Release); // [S1]
        let boundary = &self.shared.own.boundary;
        boundary.store(self.bottom, Ordering::Relaxed);
    }
}

impl<T: Word> Stealer<T> {
    /// Asks the owner to expose private work.
    ///
    /// Looks before it writes, so that many thieves who ask at once do not fight for the line.
    pub fn target(&self) {
        if !self.shared.targeted.load(Ordering::Relaxed) {
            self.shared.targeted.store(true, Ordering::Relaxed); // [S12]
        }
    }

    /// What to answer when nothing from `top` on is public.
    fn nothing_public(&self, top: ring::Index) -> Steal<T> {
        let bottom = self.shared.own.bottom.load(Ordering::Relaxed);
        if distance(top, bottom) > 0 {
            Steal::Private
        } else {
            Steal::Empty
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let top = self.shared.top.load(Ordering::Acquire); // [S10]
        let boundary = self.shared.own.boundary.load(Ordering::Relaxed); // [S11]
        if distance(top, boundary) <= 0 {
            return self.nothing_public(top);
        }
        let visit = self.shared.ring.enter();
        let top = self.shared.top.load(Ordering::Relaxed); // [S6]
        fence(Ordering::SeqCst); // [S7]
        let boundary = self.shared.own.boundary.load(Ordering::Acquire); // [S8]
        if distance(top, boundary) <= 0 {
            return self.nothing_public(top);
        }
        // SAFETY: the fence above.
        let word = unsafe { visit.read(top) };
        let next = top.wrapping_add(STRIDE);
        let race =
            self.shared
                .top
                .compare_exchange(top, next, Ordering::Release, Ordering::Relaxed); // [S9]
        match race {
            // SAFETY: the item was there until this thief raised `top` over it, so the word is
            // the item's, and nobody else gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(_) => Steal::Retry,
        }
    }

    /// Counts the private items too.
    fn len(&self) -> usize {
        let top = self.shared.top.load(Ordering::Acquire); // [S10]
        length(top, self.shared.own.bottom.load(Ordering::Relaxed))
    }
}

impl<T: Word> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            shared: self.shared.clone(),
        }
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

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_index_tells_where_its_item_is() {
        let mut deque = Deque::new();
        let thief = deque.thief();
        let first = deque.next_index();
        deque.push(1).unwrap();
        let second = deque.next_index();
        deque.push(2).unwrap();
        assert_eq!(deque.whereabouts(first), Whereabouts::Private);
        deque.expose(Exposure::One);
        assert_eq!(deque.whereabouts(first), Whereabouts::Public);
        assert_eq!(deque.whereabouts(second), Whereabouts::Private);
        assert_eq!(thief.steal(), Steal::Success(1));
        assert_eq!(deque.whereabouts(first), Whereabouts::Stolen);
        assert_eq!(deque.whereabouts(second), Whereabouts::Private);
    }

    #[test]
    fn half_of_the_private_part_is_rounded_up() {
        let mut deque = Deque::new();
        assert_eq!(deque.expose(Exposure::Half), 0);
        for (pushed, exposed) in [(1, 1), (2, 1), (3, 2), (8, 5)] {
            for item in 0..pushed {
                deque.push(item).unwrap();
            }
            let private = deque.private_len();
            assert_eq!(deque.expose(Exposure::Half), exposed);
            assert_eq!(deque.private_len(), private - exposed);
        }
    }

    #[test]
    fn taking_back_n_public_items_takes_about_log_n_fences() {
        let mut deque = Deque::new();
        for item in 0..1024 {
            deque.push(item).unwrap();
            deque.expose(Exposure::One);
        }
        let before = crate::counts::of_this_thread();
        let popped: Vec<u32> = std::iter::from_fn(|| deque.pop()).collect();
        assert!(popped.into_iter().rev().eq(0..1024));
        let spent = crate::counts::of_this_thread() - before;
        assert_eq!(spent.fences, 10, "halving 1024 items down to the last one");
        assert_eq!(spent.rmws, 1, "the last one");
    }

    #[test]
    fn dropping_the_owner_leaves_everything_to_the_thieves() {
        let mut deque = Deque::new();
        let thief = deque.thief();
        deque.push(7).unwrap();
        drop(deque);
        assert_eq!(thief.steal(), Steal::Success(7));
        assert_eq!(thief.steal(), Steal::Empty);
    }
}
