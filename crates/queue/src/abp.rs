//! The bounded deque of Arora, Blumofe and Plaxton (ABP), with a tagged age.
//!
//! The classic non-blocking deque: an array that does not wrap around, a `bottom` that only the
//! owner writes, and an `age` word that holds the thieves' index `top` together with a `tag`. The
//! owner needs an atomic read-modify-write only for the last item. When it sees that at most one
//! item is left, it needs no fence: the compare-and-swap on `age` decides who gets it.
//!
//! ```text
//!               age.top               bottom
//!                  |                     |
//!                  v                     v
//!   +-----+-----+-----+-----+-----+-----+-----+-----+      age = | tag | top |
//!   |  .  |  .  |  a  |  b  |  c  |  d  |     |     |             63    .    0
//!   +-----+-----+-----+-----+-----+-----+-----+-----+
//!      0     1     2     3     4     5     6     7  = capacity - 1
//!   <- stolen ->  thieves steal a     owner pops d
//!                                     owner pushes here: 6
//! ```
//!
//! # Invariant
//!
//! The items are in the slots `top..bottom`. Within one tag, `top` only rises, and only thieves
//! raise it; only the owner changes the tag, with `top := 0`, and only when the deque is empty or
//! becomes empty by that very step. `bottom = 0` is visible to every thread that sees the new tag.
//! So an `age` word never recurs, and a thief whose compare-and-swap succeeds has read the slot of
//! the item that is topmost at that moment.
//!
//! `top` has as many bits as the capacity needs, and the tag has the others. With 1024 slots that
//! is 53 bits: an owner that pushes and pops one item every 4 ns, each time with a reset, repeats
//! an age after a year. The largest capacity leaves 32 bits, or 17 seconds. A thief that is
//! suspended for exactly that long between its load of the age and its compare-and-swap could
//! succeed wrongly.
//!
//! # Operations
//!
//! - `push` (pushBottom): write the slot at `bottom`, raise `bottom`.
//! - `pop` (popBottom): with more than one item, lower `bottom`, fence, and read `age` again: if
//!   `top` is still below, the item is the owner's. With at most one, set `bottom := 0` and try to
//!   swing `age` from `(tag, top)` to `(tag + 1, 0)`: if that succeeds the last item is the
//!   owner's, if it fails a thief has it and the owner resets `age` with a plain store.
//! - `steal` (popTop): read `age`, fence, read `bottom`; if `top < bottom`, read the slot and try
//!   to swing `age` to `(tag, top + 1)`.
//!
//! ## What the capacity bounds
//!
//! The array does not wrap around, so the capacity bounds the *drift* of the indices, not the
//! number of items: each theft raises `top`, and only a reset lowers it. `push` may find no room
//! although the deque holds few items, when thieves have taken the others. The indices are reset to
//! 0 when `pop` takes the last item or finds the deque empty, and when `push` reaches the end of
//! the array and everything has been stolen.
//!
//! ```
//! use locksley_queue::{Owner, Steal, Thief, abp};
//!
//! let mut owner = abp::Deque::with_capacity(2);
//! let thief = owner.thief();
//! owner.push(1_u32).unwrap();
//! owner.push(2).unwrap();
//! assert_eq!(thief.steal(), Steal::Success(1));
//! assert_eq!(owner.push(3).unwrap_err().into_inner(), 3); // one item, but no slot above it
//! assert_eq!(owner.pop(), Some(2)); // the last item: a reset
//! owner.push(3).unwrap();
//! owner.push(4).unwrap();
//! ```
//!
//! # Theorem
//!
//! With one owner the deque is constant-time (every operation takes a constant number of steps,
//! whatever the others do) and meets the relaxed semantics: the operations are linearizable, except
//! that a steal may abort ([`Steal::Retry`]), and only if during the call another invocation
//! removed the topmost item. (Arora, Blumofe, Plaxton 2001; proved by Blumofe, Plaxton, Ray 1999;
//! section 4.4 of Rito's thesis.) Given this, the work stealer runs a computation in expected time
//! `O(T1/P + Tinf)`.
//!
//! Why the owner may skip the fence when its possibly old reading of `top` shows at most one item:
//! within one tag `top` only rises, so there *is* at most one item, and the value that the owner
//! reads decides nothing. If the item is there, the compare-and-swap decides; if it is not, no
//! thief can succeed until the tag changes, because `top = bottom`. The fence is needed only to
//! take an item *without* a compare-and-swap: then either the owner sees that `top` has reached the
//! item, or a thief that reads such a `top` sees the lowered `bottom`.
//!
//! # Deviations from the paper
//!
//! - Fences as above; the paper assumes sequential consistency. `bottom := 0` is published before
//!   the new age, or a thief could pair the new age with the old `bottom` and steal garbage.
//! - `bottom := 0` on every path that resets `age`. The student's report on deques does so only
//!   when one item is left, and hands out stolen items again after three pushes and three steals.
//! - The original aborts a steal whenever its compare-and-swap fails. A failure with a *changed
//!   tag* means that the owner has reset the deque during the call, and a deque is empty at its
//!   reset; here this steal answers [`Steal::Empty`]. (Otherwise: the last item is stolen, a thief
//!   reads `age`, the owner pops nothing and pushes two, and the thief aborts although nothing was
//!   removed.)
//! - The array's end is checked, and `push` may reset (see above).
//!
//! # Orderings
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | O1 | push: store `bottom` | Release | O9 | the thief must see the slot, and what the item points to | `owner_and_two_thieves` |
//! | O2 | pop: load `age`, to see whether one item is left | Acquire | O11 | the owner could rewrite a slot before the thief that succeeds with O11 has read it (shown by a trace, `sync::trace`) | `slots_are_used_again_after_thefts` |
//! | O3 | pop: store the lowered `bottom` | Release | O9 | a thief that reads this value must see the slots below it: a Relaxed store would cut it off from O1 | `pop_republishes_what_push_published` |
//! | O4 | pop: fence between the store of `bottom` and the load of `age` | SeqCst | O8 | or both the owner and a thief miss the other's step and take the same item | `owner_takes_two_while_a_thief_steals_two` |
//! | O5 | pop: load `age` after the fence | Acquire | O11 | as O2 | `slots_are_used_again_after_thefts` |
//! | O6 | pop, last item: compare-and-swap of `age`, success | Release | O8 | a thief that sees the new age must see `bottom = 0`. On success no Acquire: the same value was read by O2 or O5 | `reset_against_a_slow_thief` |
//! | O7 | the same, failure | Acquire | O11 | as O2 | `slots_are_used_again_after_thefts` |
//! | O8 | steal: fence between the loads of `age` and `bottom` | SeqCst | O4, O6, O10 | as O4; it also makes the Relaxed load of `age` before it an Acquire load, as O6 asks | `owner_takes_two_while_a_thief_steals_two` |
//! | O9 | steal: load `bottom` | Acquire | O1, O3 | as O1 | `owner_and_two_thieves` |
//! | O10 | reset: store `age` | Release | O8 | as O6 | `reset_after_everything_was_stolen` |
//! | O11 | steal: compare-and-swap of `age`, success | Release | O2, O5, O7, O12 | as O2. It also carries the release sequence of O6 and O10 on to later thieves, as every read-modify-write does | `slots_are_used_again_after_thefts` |
//! | O12 | push at the end of the array: load `age` | Acquire | O11 | as O2 | `push_at_the_end_after_a_theft` |
//!
//! `bottom := 0` is stored Relaxed, since O6 or O10 publishes it; a thief that reads this 0 takes
//! nothing. Slots are loaded and stored Relaxed: a late thief may read a slot that the owner
//! rewrites, and then its compare-and-swap fails.

use std::cell::Cell;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::sync::trace::Trace;
use crate::sync::{Arc, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use crate::traits::{Full, Owner, Steal, Thief};
use crate::word::Word;

/// The word that thieves and owner compete for: `tag | top`, with the top in the lowest bits.
type Age = u64;

/// Number of bits of an [`Age`] that hold the top.
#[derive(Clone, Copy, Debug)]
struct TopBits(u32);

/// The largest capacity: it leaves 32 bits for the tag.
const MAX_CAPACITY: usize = u32::MAX as usize;

impl TopBits {
    /// Returns the number of bits that `capacity`, at most [`MAX_CAPACITY`], needs.
    fn of(capacity: usize) -> TopBits {
        TopBits(usize::BITS - capacity.leading_zeros())
    }

    /// Returns the age with top 0 and the lowest bits of `tag`, as many as fit.
    fn age(self, tag: u64) -> Age {
        tag << self.0
    }

    #[inline]
    fn tag(self, age: Age) -> u64 {
        age >> self.0
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a top is at most the capacity"
    )]
    fn top(self, age: Age) -> usize {
        (age & !(u64::MAX << self.0)) as usize
    }

    /// Returns the age after a reset.
    #[inline]
    fn next_tag(self, age: Age) -> Age {
        self.age(self.tag(age).wrapping_add(1))
    }
}

/// Returns the age after a theft.
#[inline]
fn next_top(age: Age) -> Age {
    age + 1
}

struct Shared<T: Word> {
    /// Written by thieves (`top`) and by the owner (`tag`, and `top := 0`).
    age: CachePadded<AtomicU64>,
    /// Written by the owner, from its own copy (`Deque::bottom`).
    bottom: CachePadded<AtomicUsize>,
    /// Written by the owner.
    slots: Box<[AtomicPtr<()>]>,
    /// Never changes.
    bits: TopBits,
    /// Trace of the thefts, by the age that the thief saw.
    trace: Trace,
    /// Makes the type invariant in `T`: an item that one handle puts in, another takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: only atomics are shared, and the items' words. Through a shared reference an item is only
// moved out, by one thread.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let top = self.bits.top(self.age.load(Ordering::Relaxed));
        let bottom = self.bottom.load(Ordering::Relaxed);
        for slot in self.slots.get(top..bottom).unwrap_or_default() {
            // SAFETY: the slots from top to bottom hold the words of items that were not taken, and
            // no thread can take them any more: this was the last handle.
            drop(unsafe { T::from_word(slot.load(Ordering::Relaxed)) });
        }
    }
}

/// The owner's handle.
///
/// Items that are left are dropped with the last handle, the owner's or a thief's.
///
/// An item that one handle puts in, another takes out, so the handles are invariant in `T`:
///
/// ```compile_fail
/// use locksley_queue::abp::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
pub struct Deque<T: Word> {
    shared: Arc<Shared<T>>,
    /// Copy of `shared.bottom`, which the owner reads without touching a shared cache line.
    bottom: usize,
    /// The age that the owner read last.
    #[cfg(loom)]
    seen: Age,
}

impl<T: Word> Deque<T> {
    /// Creates a deque with an array of `capacity` slots, clamped to 1..=2^32 - 1.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Creates a deque whose tag starts at `start`, truncated to the bits of a tag.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let capacity = capacity.clamp(1, MAX_CAPACITY);
        let bits = TopBits::of(capacity);
        let age = bits.age(start);
        let slots = (0..capacity)
            .map(|_| AtomicPtr::new(std::ptr::null_mut()))
            .collect();
        let shared = Shared {
            age: CachePadded::new(AtomicU64::new(age)),
            bottom: CachePadded::new(AtomicUsize::new(0)),
            slots,
            bits,
            trace: Trace::new(age),
            items: PhantomData,
        };
        Deque {
            shared: Arc::new(shared),
            bottom: 0,
            #[cfg(loom)]
            seen: age,
        }
    }

    /// Returns the number of slots of the array.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// Records, for the models, the age that the owner read last and may rely on.
    #[inline(always)]
    fn note(&mut self, _age: Age) {
        #[cfg(loom)]
        {
            self.seen = _age;
        }
    }

    /// Asserts, in the models, that the thefts which led to the age that the owner read last are
    /// over. Called before the owner writes a slot.
    #[inline(always)]
    fn expect_thefts(&self) {
        #[cfg(loom)]
        if self.shared.bits.top(self.seen) > 0 {
            self.shared.trace.expect(self.seen - 1);
        }
    }

    /// Takes the item at `last`, above which there is none, unless it was stolen. Resets the
    /// indices in either case. The item is there only if the top of `age` is `last`.
    #[inline]
    fn pop_last(&mut self, last: usize, age: Age) -> Option<T> {
        self.bottom = 0;
        self.shared.bottom.store(0, Ordering::Relaxed);
        if self.shared.bits.top(age) == last {
            let word = self.shared.slots[last].load(Ordering::Relaxed);
            let won = self.shared.age.compare_exchange(
                age,
                self.shared.bits.next_tag(age),
                Ordering::Release, // [O6]
                Ordering::Acquire, // [O7]
            );
            match won {
                // SAFETY: the word was pushed to this slot in this tag, and the compare-and-swap
                // gave it to the owner: every thief that has read the old age will fail.
                Ok(_) => return Some(unsafe { T::from_word(word) }),
                Err(now) => self.note(now),
            }
        }
        self.publish_reset(age);
        None
    }

    /// Starts a new tag. All items of `age`'s tag are stolen, and `bottom` is 0.
    #[cold]
    #[inline(never)]
    fn publish_reset(&self, age: Age) {
        // No thief's compare-and-swap can come between: there was nothing left to steal in this
        // tag.
        let fresh = self.shared.bits.next_tag(age);
        self.shared.age.store(fresh, Ordering::Release); // [O10]
    }

    /// Pushes an item when the end of the array is reached: resets the indices if everything is
    /// stolen.
    #[cold]
    #[inline(never)]
    fn push_at_end(&mut self, item: T) -> Result<(), Full<T>> {
        let age = self.shared.age.load(Ordering::Acquire); // [O12]
        self.note(age);
        if self.shared.bits.top(age) < self.bottom {
            return Err(Full(item));
        }
        self.bottom = 0;
        self.shared.bottom.store(0, Ordering::Relaxed);
        self.publish_reset(age);
        self.push(item)
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let Some(slot) = self.shared.slots.get(self.bottom) else {
            return self.push_at_end(item);
        };
        self.expect_thefts();
        slot.store(item.into_word(), Ordering::Relaxed);
        self.bottom += 1;
        self.shared.bottom.store(self.bottom, Ordering::Release); // [O1]
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let last = self.bottom.checked_sub(1)?;
        let age = self.shared.age.load(Ordering::Acquire); // [O2]
        self.note(age);
        if last <= self.shared.bits.top(age) {
            return self.pop_last(last, age);
        }
        self.bottom = last;
        self.shared.bottom.store(last, Ordering::Release); // [O3]
        fence(Ordering::SeqCst); // [O4]
        let age = self.shared.age.load(Ordering::Acquire); // [O5]
        self.note(age);
        if last <= self.shared.bits.top(age) {
            return self.pop_last(last, age);
        }
        let word = self.shared.slots[last].load(Ordering::Relaxed);
        // SAFETY: the word was pushed to this slot. `top` was below it after the fence, so a thief
        // that finds `top` at this slot sees the lowered `bottom` and leaves the item.
        Some(unsafe { T::from_word(word) })
    }

    fn len(&self) -> usize {
        let age = self.shared.age.load(Ordering::Relaxed);
        self.bottom.saturating_sub(self.shared.bits.top(age))
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            shared: Arc::clone(&self.shared),
        }
    }
}

/// A thief's handle.
pub struct Stealer<T: Word> {
    shared: Arc<Shared<T>>,
}

impl<T: Word> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    #[inline]
    fn steal(&self) -> Steal<T> {
        let age = self.shared.age.load(Ordering::Relaxed);
        let bits = self.shared.bits;
        let top = bits.top(age);
        fence(Ordering::SeqCst); // [O8]
        let bottom = self.shared.bottom.load(Ordering::Acquire); // [O9]
        if bottom <= top {
            return Steal::Empty;
        }
        let word = self.shared.slots[top].load(Ordering::Relaxed);
        self.shared.trace.leave(age);
        let won = self.shared.age.compare_exchange(
            age,
            next_top(age),
            Ordering::Release, // [O11]
            Ordering::Relaxed,
        );
        match won {
            // SAFETY: the age has not changed since it was read, so this slot's item was the
            // topmost and is now this thief's alone.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(now) if bits.tag(now) == bits.tag(age) => Steal::Retry,
            Err(_) => Steal::Empty,
        }
    }

    fn len(&self) -> usize {
        let age = self.shared.age.load(Ordering::Relaxed);
        let bottom = self.shared.bottom.load(Ordering::Relaxed);
        bottom.saturating_sub(self.shared.bits.top(age))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
