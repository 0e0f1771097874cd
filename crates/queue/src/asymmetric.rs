//! A Chase-Lev deque whose thieves pay for everything.
//!
//! The owner pushes and pops with plain loads and stores: no fence, and no compare-and-swap
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
//! [`Steal::Retry`], also when that claim comes to nothing: the relaxed semantics of Arora,
//! Blumofe and Plaxton hold but for this one weakening, that a steal may abort while another is
//! under way. A thief that is suspended within its claim keeps the others from this deque until
//! it runs again or the owner gets down to the item.
//!
//! **Theorem** (after Rito, thesis, Theorem 6.17). The owner's operations issue no expensive
//! synchronisation; every membarrier is a steal attempt on a deque that seemed to have work, so there
//! are O(P Tinf) of them in expectation.
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
//! | A8 | steal: raise `top`, ending the claim | Release | A4 | as A4 | histories on hardware |
//! | A9 | steal: let go of a claim | Relaxed | - | nothing was taken | |
//! | A10 | look: read `age` | Acquire | A8 | not shown by loom: keeps the look at `bottom` behind it; an old `bottom` beside a new `top` could look like an emptiness that never was | histories on hardware |
//!
//! Every store of `bottom` comes after the fence A1 of the items below it, so lowering and
//! restoring it may be Relaxed.
//!
//! Under loom both barriers are SeqCst fences. What that leaves unchecked is the kernel's promise
//! that a membarrier is as good as a fence in the owner; histories recorded on hardware
//! check it.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::handle::Handle;
use crate::pile::{Full, Owner, Steal, Thief};
use crate::ring::{self, Index, Lap, Ring, STRIDE, View, Visit, distance, length};
use crate::sync::barrier::{self, Payer};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::word::Word;

/// The bit of `age` that says that the topmost item is claimed.
const CLAIMED: u64 = 1;

const _: () = assert!(CLAIMED < STRIDE);

/// How many victims share a barrier in [`steal_each`]: enough to make its price small beside that of
/// the compare-and-swaps, few enough to keep on the stack.
const VICTIMS_PER_BARRIER: usize = 16;

/// The owner's part of the shared block. It lives there, and not in the handle, so that the fast
/// path needs one pointer.
struct Own {
    /// Written by the owner, read by thieves.
    bottom: AtomicU64,
    /// The owner's alone. Where there is no membarrier its floor is [`ALWAYS`].
    lap: Lap,
    /// The owner's alone: where `bottom` meets the circle's end, as of the last look at `top`.
    limit: Cell<Index>,
    /// The owner's alone.
    view: UnsafeCell<View>,
    payer: Payer,
}

/// A floor that sends every pop the slow way: no index is above it.
const ALWAYS: Index = Index::MAX;

struct Shared<T: Word> {
    own: CachePadded<Own>,
    /// `top` and the claim. Written by thieves and, in a contested pop, by the owner.
    age: CachePadded<AtomicU64>,
    ring: Ring,
    items: PhantomData<T>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
// What is the owner's alone is reached only through the one `Deque`.
unsafe impl<T: Word + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Shared<T> {}

impl<T: Word> Drop for Shared<T> {
    fn drop(&mut self) {
        let top = self.age.load(Ordering::Relaxed) & !CLAIMED;
        let bottom = self.own.bottom.load(Ordering::Relaxed);
        // SAFETY: the words between the indices have been taken by nobody, and no handle is left.
        self.ring
            .drain(top, bottom, |word| drop(unsafe { T::from_word(word) }));
    }
}

/// What the owner does off the fast path. Called by the owner only.
impl<T: Word> Shared<T> {
    /// Enters the lap of a slot.
    fn enter_lap(&self, index: Index) {
        // SAFETY: only the owner gets here.
        let view = unsafe { &*self.own.view.get() };
        // Every lap's start is a good floor: one that no index comes before.
        let lowest = index.wrapping_sub(view.capacity() as u64 * STRIDE);
        self.own
            .lap
            .enter(view, index, lowest, self.own.limit.get());
        if self.own.payer == Payer::Both {
            self.own.lap.floor.set(ALWAYS);
        }
    }

    /// A push has come to the lap's end or to the limit: looks at `top` again; if the circle is
    /// really full, doubles it.
    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        let bottom = self.own.bottom.load(Ordering::Relaxed);
        if bottom == self.own.limit.get() {
            let top = self.age.load(Ordering::Acquire) & !CLAIMED; // [A4]
            // SAFETY: only the owner gets here, and the items are those from `top` to `bottom`.
            let view = unsafe { &mut *self.own.view.get() };
            if view.limit(top) == bottom {
                // SAFETY: as above.
                unsafe { self.ring.grow(view, top, bottom) };
            }
            self.own.limit.set(view.limit(top));
        }
        self.enter_lap(bottom);
    }

    /// A pop has come to the lap's start, or there is no membarrier.
    #[cold]
    #[inline(never)]
    fn pop_further(&self) -> Option<T> {
        let bottom = self.own.bottom.load(Ordering::Relaxed).wrapping_sub(STRIDE);
        self.own.bottom.store(bottom, Ordering::Relaxed);
        match self.own.payer {
            Payer::Rare => barrier::light(),        // [A2]
            Payer::Both => fence(Ordering::SeqCst), // [A2]
        }
        if distance(self.age.load(Ordering::Relaxed), bottom) < 0 {
            return self.pop_contested();
        }
        self.enter_lap(bottom);
        // SAFETY: as in `Deque::pop`.
        Some(unsafe { self.take(bottom) })
    }

    /// `age`, read after `bottom` was lowered, was above it: nothing is there, or a thief has a
    /// claim.
    #[cold]
    #[inline(never)]
    fn pop_contested(&self) -> Option<T> {
        let bottom = self.own.bottom.load(Ordering::Relaxed);
        let before = bottom.wrapping_add(STRIDE);
        // Read again, it is at least as new.
        let mut age = self.age.load(Ordering::Relaxed);
        loop {
            let top = age & !CLAIMED;
            let ahead = distance(top, bottom);
            if ahead > 0 || age == bottom {
                // The claim is on another item, or was let go.
                // SAFETY: as in `Deque::pop`.
                return Some(unsafe { self.take(bottom) });
            }
            if ahead < 0 {
                self.own.bottom.store(before, Ordering::Relaxed);
                return self.found_empty(before);
            }
            let race = self
                .age
                .compare_exchange(age, before, Ordering::Relaxed, Ordering::Relaxed); // [A3]
            match race {
                Ok(_) => {
                    self.own.bottom.store(before, Ordering::Relaxed);
                    // SAFETY: raising `top` over the item took it from the claimant.
                    return Some(unsafe { self.take(bottom) });
                }
                Err(newer) => age = newer,
            }
        }
    }

    fn found_empty(&self, bottom: Index) -> Option<T> {
        // SAFETY: only the owner gets here, and `top` has met `bottom`.
        let view = unsafe { &mut *self.own.view.get() };
        // SAFETY: as above.
        if unsafe { self.ring.found_empty(view, bottom) } {
            self.own.limit.set(view.limit(bottom));
            self.enter_lap(bottom);
        }
        None
    }

    /// Reads the item at an index.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and alone takes the item, which is in the deque.
    unsafe fn take(&self, index: Index) -> T {
        // SAFETY: the view is current; the item is the caller's to take.
        unsafe {
            let slot = (*self.own.view.get()).slot(index);
            T::from_word(slot.load(Ordering::Relaxed))
        }
    }
}

/// The owner's side. What is left in it when the last handle goes is dropped then.
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
pub struct Deque<T: Word> {
    shared: Handle<Shared<T>>,
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

    /// An empty deque with room for `capacity` items before it first grows.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// A deque whose indices start at `start`, rounded down to what an index can be.
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        let start = start / STRIDE * STRIDE;
        let (ring, view) = Ring::new(capacity);
        let shared = Shared {
            own: CachePadded::new(Own {
                bottom: AtomicU64::new(start),
                lap: Lap::unset(),
                limit: Cell::new(view.limit(start)),
                view: UnsafeCell::new(view),
                payer: barrier::payer(),
            }),
            age: CachePadded::new(AtomicU64::new(start)),
            ring,
            items: PhantomData,
        };
        shared.enter_lap(start);
        Deque {
            shared: Handle::new(shared),
        }
    }

    /// How many items fit before the deque grows.
    pub fn capacity(&self) -> usize {
        // SAFETY: only the owner's methods change the view, and they take `&mut self`.
        unsafe { (*self.shared.own.view.get()).capacity() }
    }
}

impl<T: Word> Owner for Deque<T> {
    type Item = T;
    type Thief = Stealer<T>;

    /// Always has room.
    #[inline]
    fn push(&mut self, item: T) -> Result<(), Full<T>> {
        let shared = &*self.shared;
        let bottom = shared.own.bottom.load(Ordering::Relaxed);
        if bottom == shared.own.lap.ceiling.get() {
            shared.make_room();
        }
        // SAFETY: the index is below the lap's ceiling.
        let slot = unsafe { shared.own.lap.slot(bottom) };
        slot.store(item.into_word(), Ordering::Relaxed);
        fence(Ordering::Release); // [A1]
        ring::raise(&shared.own.bottom);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let shared = &*self.shared;
        let bottom = shared.own.bottom.load(Ordering::Relaxed);
        // Not only at the floor: the indices may have wrapped round to zero just below it.
        if bottom <= shared.own.lap.floor.get() {
            return shared.pop_further();
        }
        let bottom = bottom - STRIDE;
        shared.own.bottom.store(bottom, Ordering::Relaxed);
        barrier::light(); // [A2]
        // Where the indices have wrapped round between the two, this errs to the slow side.
        if bottom < shared.age.load(Ordering::Relaxed) {
            return shared.pop_contested();
        }
        // SAFETY: the index is in the lap. No thief had claimed this item when `age` was read; one
        // that claims it later passes its barrier after that and sees the lowered `bottom`.
        unsafe {
            let slot = shared.own.lap.slot(bottom);
            Some(T::from_word(slot.load(Ordering::Relaxed)))
        }
    }

    fn len(&self) -> usize {
        let top = self.shared.age.load(Ordering::Relaxed) & !CLAIMED;
        length(top, self.shared.own.bottom.load(Ordering::Relaxed))
    }

    fn thief(&self) -> Stealer<T> {
        Stealer {
            shared: self.shared.clone(),
        }
    }
}

/// A claim that stands, and the visit that makes reading the slot safe.
struct Claim<'a, T: Word> {
    shared: &'a Shared<T>,
    top: Index,
    visit: Visit<'a>,
}

impl<T: Word> Stealer<T> {
    /// Claims the topmost item, if there seems to be one that nobody has claimed.
    fn claim(&self) -> Result<Claim<'_, T>, Steal<T>> {
        let shared = &*self.shared;
        let age = shared.age.load(Ordering::Acquire); // [A10]
        let top = age & !CLAIMED;
        if distance(top, shared.own.bottom.load(Ordering::Relaxed)) <= 0 {
            return Err(Steal::Empty);
        }
        if age != top {
            return Err(Steal::Retry);
        }
        let visit = shared.ring.enter();
        let race =
            shared
                .age
                .compare_exchange(top, top | CLAIMED, Ordering::Relaxed, Ordering::Relaxed); // [A5]
        match race {
            Ok(_) => Ok(Claim { shared, top, visit }),
            Err(_) => Err(Steal::Retry),
        }
    }
}

impl<T: Word> Claim<'_, T> {
    /// Takes the item if it is still there. The caller has passed the heavy barrier.
    fn take(self) -> Steal<T> {
        let bottom = self.shared.own.bottom.load(Ordering::Acquire); // [A7]
        if distance(self.top, bottom) <= 0 {
            self.let_go();
            return Steal::Empty;
        }
        // SAFETY: the barrier lies between entering and here.
        let word = unsafe { self.visit.read(self.top) };
        let next = self.top.wrapping_add(STRIDE);
        let race = self.shared.age.compare_exchange(
            self.top | CLAIMED,
            next,
            Ordering::Release, // [A8]
            Ordering::Relaxed,
        );
        match race {
            // SAFETY: the claim stood until now, so the item was there when the slot was read,
            // and nobody else gets it.
            Ok(_) => Steal::Success(unsafe { T::from_word(word) }),
            Err(_) => Steal::Retry,
        }
    }

    /// Ends the claim without taking anything. The owner may have ended it already.
    fn let_go(&self) {
        let _ = self.shared.age.compare_exchange(
            self.top | CLAIMED,
            self.top,
            Ordering::Relaxed, // [A9]
            Ordering::Relaxed,
        );
    }
}

impl<T: Word> Thief for Stealer<T> {
    type Item = T;

    fn steal(&self) -> Steal<T> {
        let claim = match self.claim() {
            Ok(claim) => claim,
            Err(answer) => return answer,
        };
        // [A6]
        if barrier::heavy() {
            claim.take()
        } else {
            claim.let_go();
            Steal::Retry
        }
    }

    fn len(&self) -> usize {
        let top = self.shared.age.load(Ordering::Acquire) & !CLAIMED; // [A10]
        length(top, self.shared.own.bottom.load(Ordering::Relaxed))
    }
}

/// Steals one item from each victim that has any, with one barrier for up to 16 of them, and
/// passes each to `sink`. Returns how many there were.
///
/// ```
/// use locksley_queue::{Owner, asymmetric};
///
/// let mut deques = [const { () }; 3].map(|()| asymmetric::Deque::new());
/// for (item, deque) in deques.iter_mut().enumerate() {
///     deque.push(item).unwrap();
/// }
/// let victims = deques.each_ref().map(Owner::thief);
/// let mut loot = Vec::new();
/// assert_eq!(asymmetric::steal_each(&victims, |item| loot.push(item)), 3);
/// assert_eq!(loot, [0, 1, 2]);
/// ```
pub fn steal_each<T: Word>(victims: &[Stealer<T>], mut sink: impl FnMut(T)) -> usize {
    let mut count = 0;
    for group in victims.chunks(VICTIMS_PER_BARRIER) {
        let mut claims = [const { None }; VICTIMS_PER_BARRIER];
        let mut claimed = 0;
        for claim in group.iter().filter_map(|victim| victim.claim().ok()) {
            claims[claimed] = Some(claim);
            claimed += 1;
        }
        if claimed == 0 {
            continue;
        }
        let ordered = barrier::heavy(); // [A6]
        for claim in claims.into_iter().flatten() {
            if !ordered {
                claim.let_go();
            } else if let Steal::Success(item) = claim.take() {
                count += 1;
                sink(item);
            }
        }
    }
    count
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
            .field("capacity", &self.capacity())
            .field("payer", &self.shared.own.payer)
            .finish()
    }
}

impl<T: Word> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
