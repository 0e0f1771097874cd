//! The growable circular deque of Chase and Lev.
//!
//! The owner pushes and pops at the bottom, thieves take from the top, and the array of slots grows
//! and shrinks as needed.
//!
//! ```text
//!            top                      bottom
//!             v                         v
//!   ... |  -  | a | b | c | d | e | f |  -  | ...      (circular)
//!         thieves ->                <- owner
//! ```
//!
//! **Invariant.** The items are those from `top` to `bottom`. `top` only grows, by one for each
//! item taken at that end, and only by compare-and-swap; only the owner writes `bottom`.
//!
//! **Operations.** *pushBottom* writes the slot and then raises `bottom`. *popTop* reads `top`,
//! then `bottom`, then the slot, and takes the item by raising `top`. *popBottom* with two items
//! or more lowers `bottom`, passes a fence, and reads `top` again: if it is still below, no thief
//! can take this item. With one item the owner is a thief like any other and
//! raises `top` by compare-and-swap, without lowering `bottom` and without the fence.
//!
//! **Theorem** (Chase and Lev, SPAA 2005; on weak memory, Lê, Pop, Cohen and Zappa Nardelli,
//! PPoPP 2013). The deque is linearizable and lock-free: a thief gets [`Steal::Retry`] only if
//! another invocation removed the topmost item during the call. That is the relaxed semantics of
//! Arora, Blumofe and Plaxton, under which work stealing runs in expected time
//! T1/P + O(Tinf).
//!
//! **Deviations.** The student report's UnboundedDEQueue leaks its old arrays, and freeing them
//! there would be a use after free: here they are reclaimed when no thief is visiting (`ring`).
//! The owner takes a single item directly by compare-and-swap, which saves a fence. A stale `top`
//! can only make it believe that there are more items than there are, and then it uses the path
//! with the fence.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | C1 | push: raise `bottom` | Release | C8 | the thief would see the index before the item | `chase_lev::push_against_steal` |
//! | C2 | pop: fence between `bottom` and `top` | SeqCst | C7 | owner and thief would both take the item | `chase_lev::pop_against_two_thieves` |
//! | C3 | make room: read `top` | Acquire | C9 | the slot could be rewritten before the thief that succeeds has read it (shown by a trace, `sync::trace`) | `chase_lev::grow_against_steal` |
//! | C4 | pop: read `top` | Relaxed | - | checked again behind C2, or by compare-and-swap | none: nothing is weaker |
//! | C5 | pop: take the last item | Relaxed | - | the item is the owner's own; coherence of `top` decides the race | none: nothing is weaker |
//! | C6 | steal: read `top` | Relaxed | - | the fence C7 acquires too | none: nothing is weaker |
//! | C7 | steal: fence between `top` and `bottom` | SeqCst | C2, R2 | as C2 | `chase_lev::pop_against_two_thieves` |
//! | C8 | steal: read `bottom` | Acquire | C1, C11, C12 | as C1 | `chase_lev::push_against_steal` |
//! | C9 | steal: raise `top` | Release | C3, C10 | as C3. (What C10 needs the fence C7 releases too) | `chase_lev::grow_against_steal` |
//! | C10 | look: read `top` | Acquire | C9 | an old `bottom` beside a new `top` would look like an emptiness that never was | `chase_lev::never_empty` |
//! | C11 | pop: lower `bottom` | Release | C8 | not shown by loom: a thief that reads this value must see the items below it, since in C++20 a Relaxed store of the same thread ends the release sequence of C1; but loom switches threads before accesses, not before fences, so that no thief passes C7 between this store and C2, and behind C2 loom's fences synchronise by themselves | none |
//! | C12 | pop: restore `bottom` | Release | C8 | not shown by loom: all items below the restored `bottom` are taken, so a thief that reads it takes nothing; Release because all stores of `bottom` are | none |
//!
//! A push issues no fence: a Release store is a plain store on x86 and an `stlr` on ARM, where a
//! Release fence would be a full barrier.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::handle::Handle;
use crate::ring::{Index, Ring, STRIDE, View, distance, length};
use crate::sync::trace::Trace;
use crate::sync::{AtomicU64, Ordering, fence};
use crate::traits::{Full, Owner, Steal, Thief};
use crate::word::Word;

struct Shared<T: Word> {
    /// Raised by thieves and, for the last item, by the owner.
    top: CachePadded<AtomicU64>,
    /// Written by the owner, read by thieves.
    bottom: CachePadded<AtomicU64>,
    ring: Ring,
    /// Trace of the thefts, by their index.
    trace: Trace,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        // SAFETY: the words between the indices have not been taken, and no handle is left.
        self.ring
            .drain(top, bottom, |word| drop(unsafe { T::from_word(word) }));
    }
}

/// The owner's handle. Items that are left are dropped with the last handle.
///
/// ```
/// use locksley_queue::{Owner, Thief, chase_lev};
///
/// let mut deque = chase_lev::Deque::new();
/// let thief = deque.thief();
/// deque.push(Box::new("first")).unwrap();
/// deque.push(Box::new("second")).unwrap();
/// let stolen = std::thread::spawn(move || thief.steal().success()).join().unwrap();
/// assert_eq!(stolen, Some(Box::new("first")));
/// assert_eq!(deque.pop(), Some(Box::new("second")));
/// ```
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::chase_lev::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
pub struct Deque<T: Word> {
    shared: Handle<Shared<T>>,
    view: View,
    /// Copy of `shared.bottom`.
    bottom: Index,
    /// Value of `bottom` at which the circle is full, given the `top` that was read last.
    limit: Index,
}

/// A thief's handle.
pub struct Stealer<T: Word> {
    shared: Handle<Shared<T>>,
}

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
        let (ring, view) = Ring::new(capacity);
        let limit = view.limit(start);
        let shared = Handle::new(Shared {
            top: CachePadded::new(AtomicU64::new(start)),
            bottom: CachePadded::new(AtomicU64::new(start)),
            ring,
            trace: Trace::new(start),
            items: PhantomData,
        });
        Deque {
            shared,
            view,
            bottom: start,
            limit,
        }
    }

    /// Returns the number of items that fit before the deque grows.
    pub fn capacity(&self) -> usize {
        self.view.capacity()
    }

    /// Reads `top` again, and doubles the circle if it is really full.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let top = self.shared.top.load(Ordering::Acquire); // [C3]
        if self.view.limit(top) == self.bottom {
            // SAFETY: this is the owner, and the items are those from `top` to `bottom`. If a thief
            // takes some meanwhile, words are copied that no thread will use.
            unsafe { self.shared.ring.grow(&mut self.view, top, self.bottom) };
        } else {
            // The slots of the items below `top` are free.
            self.shared.trace.expect(top.wrapping_sub(STRIDE));
        }
        self.limit = self.view.limit(top);
    }

    /// Takes the item at `top`, the only one there can be.
    #[inline]
    fn pop_last(&mut self, top: Index) -> Option<T> {
        if top == self.bottom {
            return self.found_empty();
        }
        self.race_for(top).or_else(|| self.found_empty())
    }

    /// Takes the item at `top` by compare-and-swap, like a thief.
    #[inline]
    fn race_for(&self, top: Index) -> Option<T> {
        let next = top.wrapping_add(STRIDE);
        let shared = &self.shared.top;
        self.shared.trace.leave(top);
        shared
            .compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed) // [C5]
            .ok()
            // SAFETY: raising `top` over the item made it the owner's; its slot holds it.
            .map(|_| unsafe { self.take(top) })
    }

    /// Lets the ring shrink its circle. Returns `None`, the result of the pop.
    #[cold]
    fn found_empty(&mut self) -> Option<T> {
        // SAFETY: this is the owner, and `top` has met `bottom`.
        if unsafe { self.shared.ring.found_empty(&mut self.view, self.bottom) } {
            self.limit = self.view.limit(self.bottom);
        }
        None
    }

    /// Takes the item at an index.
    ///
    /// # Safety
    ///
    /// The item is in the current circle, and no other thread takes it.
    #[inline]
    unsafe fn take(&self, index: Index) -> T {
        // SAFETY: the view is current; the item is the caller's to take.
        unsafe { T::from_word(self.view.slot(index).load(Ordering::Relaxed)) }
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    /// Always has room.
    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        if self.bottom == self.limit {
            self.make_room();
        }
        // SAFETY: the view is that of this deque's ring.
        let slot = unsafe { self.view.slot(self.bottom) };
        slot.store(item.into_word(), Ordering::Relaxed);
        self.bottom = self.bottom.wrapping_add(STRIDE);
        self.shared.bottom.store(self.bottom, Ordering::Release); // [C1]
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let top = self.shared.top.load(Ordering::Relaxed); // [C4]
        if distance(top, self.bottom) <= STRIDE as i64 {
            return self.pop_last(top);
        }
        let bottom = self.bottom.wrapping_sub(STRIDE);
        self.shared.bottom.store(bottom, Ordering::Release); // [C11]
        fence(Ordering::SeqCst); // [C2]
        let top = self.shared.top.load(Ordering::Relaxed);
        if distance(top, bottom) > 0 {
            self.bottom = bottom;
            // SAFETY: a thief that takes this item would have to raise `top` to it first, then
            // pass its fence, and would see the lowered `bottom`.
            return Some(unsafe { self.take(bottom) });
        }
        // The race is decided before `bottom` is restored: a thief that has seen the deque empty
        // must not find the item afterwards.
        let last = (top == bottom).then(|| self.race_for(top)).flatten();
        self.shared.bottom.store(self.bottom, Ordering::Release); // [C12]
        last.or_else(|| self.found_empty())
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

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        if self.is_empty() {
            return Steal::Empty;
        }
        let visit = self.shared.ring.enter();
        let top = self.shared.top.load(Ordering::Relaxed); // [C6]
        fence(Ordering::SeqCst); // [C7]
        let bottom = self.shared.bottom.load(Ordering::Acquire); // [C8]
        if distance(top, bottom) <= 0 {
            return Steal::Empty;
        }
        // SAFETY: the fence above.
        let word = unsafe { visit.read(top) };
        self.shared.trace.leave(top);
        let next = top.wrapping_add(STRIDE);
        // [C9]
        match self
            .shared
            .top
            .compare_exchange(top, next, Ordering::Release, Ordering::Relaxed)
        {
            // SAFETY: the item was there until this thief raised `top` over it, so the word is
            // the item's, and no other thread gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(_) => Steal::Retry,
        }
    }

    fn len(&self) -> usize {
        let top = self.shared.top.load(Ordering::Acquire); // [C10]
        length(top, self.shared.bottom.load(Ordering::Relaxed))
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
            .field("view", &self.view)
            .finish()
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
