//! A Chase-Lev deque whose thieves pay for everything.
//!
//! The owner pushes and pops with plain loads and stores: no store-load fence (the only expensive
//! one), and no compare-and-swap
//! unless a thief is reaching for the very item that it pops. A thief pays with an asymmetric
//! barrier ([`barrier`](crate::barrier): one `membarrier` system call). Unlike in a
//! [semi-private](crate::semi_private) deque no item is ever hidden from the thieves.
//!
//! ```text
//!           age = top, claimed?         bottom
//!             v                           v
//!   ... |  -  | a | b | c | d | e | f | g | -  | ...      (circular)
//!         thief claims a,               <- owner
//!         barrier, takes a
//! ```
//!
//! **Invariant.** The items are those from `top` to `bottom`. `age` holds `top`, which never
//! falls, and in its lowest bit whether a thief has claimed the topmost item. Only the thief that
//! claimed it, or the owner when it gets down to that item, ends a claim.
//!
//! | bits of `age` | meaning |
//! |---|---|
//! | 63..1 | `top`, an index (a multiple of a slot's size) |
//! | 0 | the item at `top` is claimed |
//!
//! **Operations.** *popTop* looks whether there seems to be an item; claims it by setting the bit;
//! passes the heavy barrier; reads `bottom`; if the item is still below it, reads the slot and
//! raises `top`, clearing the bit. *popBottom* lowers `bottom`, passes the light
//! barrier, and reads `age`. If it is not above the lowered `bottom`, the item is the owner's: this one
//! comparison covers both that no thief has got so far, and that for the last item there
//! is no claim on it. Otherwise the deque is empty, or the last item is claimed and a
//! compare-and-swap on `age` decides.
//!
//! *Why the owner may skip the compare-and-swap on the last item.* Suppose that the owner lowers
//! `bottom` to `i` and then reads `top = i` without a claim. A thief that claims `i` later passes its
//! barrier after the claim; since the owner's read missed the claim, the owner's store came before
//! that barrier, and the thief sees it and lets go.
//!
//! **Progress.** The owner never waits and never retries more than once per claim. A thief never
//! waits, but while another thief's claim stands (for about the time of a barrier) it is answered
//! [`Retry`](crate::Steal::Retry), also when that claim comes to nothing: the relaxed semantics of Arora,
//! Blumofe and Plaxton hold but for this one weakening, that a steal may abort while another is
//! under way. A thief that is suspended within its claim keeps the others from this deque until
//! it runs again or the owner gets down to the item.
//!
//! **Theorem** (after Rito, thesis, Theorem 6.17). The owner's operations issue no expensive
//! synchronisation; every membarrier is a steal attempt on a deque that seemed to have work, so there
//! are O(P Tinf) of them in expectation.
//!
//! **Two forms.** [`Deque`] is an owner's handle like that of the other queues. [`Bare`] is the same deque
//! without a handle, to be embedded in something that knows who its owner is.
//!
//! **One barrier for many.** [`steal_each`] claims at several victims, passes one barrier, and
//! then takes what it can.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | A1 | push: fence before `bottom` is raised | Release | A7 | the thief would see the index before the item | `asymmetric::push_against_steal` |
//! | A2 | pop: light barrier between `bottom` and `age` | SeqCst fence for the compiler | A6 | owner and thief would both take the item | `asymmetric::last_item_against_two_thieves` |
//! | A3 | pop, contested: take the claimed item | Relaxed | - | the item is the owner's own; coherence of `age` decides the race | |
//! | A4 | make room: read `age` | Acquire | A8 | not shown by loom: the slot could be rewritten while the thief that is about to succeed reads it; loom does not let a load see a later store | histories on hardware |
//! | A5 | steal: claim | Relaxed | - | the barrier A6 orders it before the read of `bottom` | |
//! | A6 | steal: heavy barrier between claim and `bottom` | membarrier | A2, R2 | as A2 | `asymmetric::last_item_against_two_thieves` |
//! | A7 | steal: read `bottom` | Acquire | A1 | as A1 | `asymmetric::push_against_steal` |
//! | A8 | steal: raise `top`, ending the claim | Release | A4, A10 | not shown by loom: as A4. (What A10 needs the barrier A6 releases too) | histories on hardware |
//! | A9 | steal: let go of a claim | Relaxed | - | nothing was taken | |
//! | A10 | look: read `age` | Acquire | A8 | an old `bottom` beside a new `top` would look like an emptiness that never was | `asymmetric::never_empty` |
//! | A11 | pop where both sides pay: fence between `bottom` and `age` | SeqCst | A6 | not shown by loom: there the rare side pays; this is A2 with the same fence that loom puts there | as A2 |
//!
//! Every store of `bottom` comes after the fence A1 of the items below it, so lowering and
//! restoring it may be Relaxed.
//!
//! Under loom both barriers are SeqCst fences. What that leaves unchecked is the kernel's promise
//! that a membarrier is as good as a fence in the owner; histories recorded on hardware
//! check it.

mod bare;
mod slow;
mod thief;

use std::fmt;

use crate::handle::Handle;
use crate::pile::{Full, Owner};
use crate::ring::{Index, STRIDE, length};
use crate::sync::Ordering;
use crate::word::Word;

use self::bare::CLAIMED;
pub use self::bare::{Bare, Place, Unpushed};
pub use self::thief::{Stealer, steal_each};

/// The owner's side. What is left in it when the last handle goes is dropped then.
///
/// A refused barrier makes a steal answer [`Retry`](crate::Steal::Retry). A process that forbids
/// itself `membarrier` after its first deque was made (by a seccomp filter, say) is not robbed any more.
///
/// ```
/// use locksley_queue::{Owner, Steal, Thief, asymmetric};
///
/// let mut deque = asymmetric::Deque::new();
/// let thief = deque.thief();
/// deque.push(1).unwrap();
/// deque.push(2).unwrap();
/// assert_eq!(thief.steal(), Steal::Success(1));
/// assert_eq!(deque.pop(), Some(2));
/// assert_eq!(thief.steal(), Steal::Empty);
/// ```
///
/// What one handle puts in another takes out, so the item's type cannot be changed in between:
///
/// ```compile_fail
/// use locksley_queue::asymmetric::Deque;
///
/// fn shorten<'a>(long: Deque<&'static u8>) -> Deque<&'a u8> {
///     long
/// }
/// ```
pub struct Deque<T: Word> {
    bare: Handle<Bare<T>>,
    /// What `bare.own.bottom` holds.
    bottom: Index,
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
        let bare = Handle::new(Bare::starting_at(capacity, start));
        let bottom = bare.bottom();
        Deque { bare, bottom }
    }

    /// Takes the item that was pushed last out again, without looking at it: the caller has
    /// it by other means, and the deque forgets its word. This is what a fork-join runtime does at
    /// a join, where the item is a reference to the caller's own frame.
    ///
    /// ```
    /// use locksley_queue::asymmetric::{Deque, Unpushed};
    /// use locksley_queue::{Owner, Thief};
    ///
    /// let mut deque = Deque::new();
    /// deque.push(1).unwrap();
    /// assert_eq!(deque.unpush(), Unpushed::Back);
    /// deque.push(2).unwrap();
    /// assert!(deque.thief().steal().is_success());
    /// assert_eq!(deque.unpush(), Unpushed::Stolen);
    /// deque.push(3).unwrap();
    /// deque.mark(); // "somebody else pushed that"
    /// assert_eq!(deque.unpush(), Unpushed::Covered);
    /// assert_eq!(deque.pop(), Some(3));
    /// ```
    #[inline]
    pub fn unpush(&mut self) -> Unpushed {
        let (bottom, unpushed) = self.bare.unpush_to(self.bottom.wrapping_sub(STRIDE));
        self.bottom = bottom;
        unpushed
    }

    /// Pushes if that takes no more than a glance; otherwise gives the item back, and
    /// [`push`](Owner::push) makes room.
    ///
    /// # Errors
    ///
    /// The item comes back if the deque has to look further, or was [sealed](Deque::seal).
    #[inline]
    pub fn try_push(&mut self, item: T) -> Result<(), Full<T>> {
        if self.bare.at_ceiling(self.bottom) {
            return Err(Full(item));
        }
        self.bottom = self.bare.put(self.bottom, item);
        Ok(())
    }

    /// Makes every [`try_push`](Deque::try_push) refuse, until the next push, pop or unpush.
    pub fn seal(&mut self) {
        self.bare.seal_at(self.bottom);
    }

    /// Tells [`unpush`](Deque::unpush) that what is in the deque now was not pushed by those who
    /// will call it: it answers [`Unpushed::Covered`] from here on down, and the
    /// caller pops instead.
    pub fn mark(&mut self) {
        self.bare.mark_at(self.bottom);
    }

    /// How many items fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: only the owner's methods change the view, and they take `&mut self`.
        unsafe { (*self.bare.slow.get()).view.capacity() }
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    /// Always has room.
    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        if self.bare.at_ceiling(self.bottom) {
            self.bare.make_room(self.bottom);
        }
        self.bottom = self.bare.put(self.bottom, item);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let (bottom, item) = self.bare.pop_at(self.bottom);
        self.bottom = bottom;
        item
    }

    fn len(&self) -> usize {
        let top = self.bare.age.load(Ordering::Relaxed) & !CLAIMED;
        length(top, self.bottom)
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            bare: self.bare.clone(),
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
        f.debug_struct("Deque")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("payer", &self.bare.payer)
            .finish()
    }
}
