//! The split deque on which the pool's workers fork: the owner pays for synchronization only when a
//! thief asks for work.
//!
//! ```text
//!            top          split             bottom
//!             v             v                 v
//!   ... |  -  | a | b | c | d | e | f | g | h |  -  | ...      (circular)
//!             |   public    |    private      |
//!      thieves ->                          <- owner
//! ```
//!
//! The owner pushes and pops private items with plain loads and stores: no fence, no
//! compare-and-swap. Thieves take from the public part, one item or many with one compare-and-swap.
//! A thief that finds nothing public sets the owner's *request*; the owner notices it after its
//! next push, and exposes items. An owner that runs a long task does not push, so a thief whose
//! request is not answered *forces* the exposure of all private items at once, with an asymmetric
//! barrier ([`barrier`]).
//!
//! # State
//!
//! | word | writers | meaning |
//! |---|---|---|
//! | `bottom` | the owner | one past the newest item |
//! | `span` | both, by compare-and-swap | `top`, the length of the public part, and whether a force is under way |
//! | `limit` | the owner; a forcing thief raises it | an item at or above it is certainly private |
//! | `ceiling` | the owner; a request sets it to 0 | a push that reaches it takes the slow path |
//!
//! **Invariant.** The items are those from `top` to `bottom`; `split` = `top` + length is at most
//! `bottom`. Thieves take below `split` only; the owner takes items from `split` on without a
//! compare-and-swap. `limit` is at least `split`, except while the owner is inside a slow
//! operation, or a force passes its barrier (below). It is also at least the owner's *mark*, below
//! which items may have been taken out of the middle and left holes: a pop at or above it need not
//! check for one. Indices are 64 bits wide and do not wrap around (2^61 pushes); the 40 bits of
//! `top` in `span` do.
//!
//! # Operations
//!
//! - *push*: writes the slot, raises `bottom`, passes the light barrier, compares `bottom` with
//!   `ceiling`. At or above it the owner *attends*: it makes room, and checks for a request.
//! - *expose*: the owner raises the length by compare-and-swap.
//! - *pop*: lowers `bottom`, passes the light barrier, compares it with `limit`. Below it the owner
//!   looks at `span`: it cancels a force that is under way, and takes public items back, half of
//!   the public part at once, by lowering the length.
//! - *steal*: raises `top` by compare-and-swap, and then reads the slots. No other thread takes
//!   these items, and the owner does not write to their slots: before it reuses a slot it checks
//!   that no thief is visiting (see `ring`).
//! - *force*, only while nothing is public: the thief takes the lock of forcers; marks `span` with
//!   the length that is to become public; raises `limit` to the end `s` of that part; passes the
//!   heavy barrier; reads `bottom` and `limit` again; and makes public, by compare-and-swap, the
//!   items below all three (`s`, `bottom`, `limit`).
//!
//! **Why a force is safe.** Suppose that the owner pops item `i` without looking at `span`, because
//! it read `limit <= i` after it had stored `bottom = i`. The heavy barrier falls before or after
//! that read. If after, the thief sees `bottom <= i` (or a newer item at `i`, which was pushed
//! since), and exposes nothing from `i` on. If before, the read came after the thief had raised
//! `limit` above `i`, so the owner has lowered it since. If the owner lowered it before the
//! barrier, the thief reads the lowered `limit`, and exposes nothing above it. If the owner lowered
//! it after the barrier: whenever the owner stores to `limit`, it passes the light barrier and
//! reads `span` again; that read comes after the heavy barrier, sees the mark or a later value, and
//! makes the owner start over. So either the owner has cancelled the force, and the thief's
//! compare-and-swap fails, or `limit` is above `i` again. The lock keeps a second force from making
//! the same mark, so a late compare-and-swap of a cancelled force always fails; its late raise of
//! `limit` costs the owner one slow pop.
//!
//! **No wake-up is lost** if the sleeper has made a request: a push is followed by the light
//! barrier and the load of `ceiling`; a sleeper sets the request, passes the heavy barrier, and
//! loads `bottom`. At least one of the two sees the other's store.
//!
//! **Without `membarrier`** ([`FenceMode::Symmetric`](crate::barrier::FenceMode)) the deque is
//! *fenced*, and both halves of the barrier are fences. The fast paths have no fence, so they are
//! never taken: the ceiling is 1, or 0 while a request is pending, so that the owner attends after
//! every push; and `limit` is above all indices, so that every pop passes a fence (D4) and loads
//! `span`. Either that load sees the mark of a force, or the force sees the lowered `bottom`. So a
//! push costs no fence (one for a runtime whose workers sleep, D2) and a pop costs one, as in a
//! Chase-Lev deque, and thieves can reach every item.
//!
//! If the barrier is first refused later, [`force`](Embedded::force) returns [`Forced::Refused`],
//! and the thief has to wait for the owner's next push.
//!
//! **Theorem** (Rito, thesis, Theorem 6.17, for semi-private deques). The owner issues a
//! compare-and-swap only to answer a request or to take back exposed items; thieves ask only
//! after a failed attempt, so there are O(P Tinf) expensive operations in expectation. A force
//! replaces an exposure, so the bound holds with forces too.
//!
//! **Deviations from the thesis** (Algorithms 8 and 9). The public part is one word instead of an
//! age and a separate bottom, so the owner takes items back without a fence. Indices are monotone.
//! The request is cleared before the exposure. The thesis has no force.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | D1 | push and pop: store of `bottom` | Release | D6 | a force would publish slots that it has not seen written | `force_against_pop_and_push` |
//! | D2 | push, and restoring the items on top of one that is taken back: light barrier between `bottom` and `ceiling`; if fenced, a fence, for a push in `attend` | compiler | the sleeper's heavy one | a request would be missed by both | `sleeper_against_push`, `sleeper_against_take_back` |
//! | D3 | pop: light barrier between `bottom` and `limit` | compiler | D5 | owner and thief would both take the item | `force_against_pops` |
//! | D4 | store of `limit`: light barrier before the look at `span`; if fenced, no store but a fence | compiler | D5 | a raise that was overwritten would be missed by both; if fenced, as D3 | `force_against_marks`; `fenced::force_against_pops` |
//! | D5 | force: heavy barrier; if fenced, a fence | membarrier | D3, D4 | as those | as those |
//! | D6 | force: load of `bottom` | Acquire | D1 | as D1, for a thief that steals what another forced. not shown by loom: whose fences also acquire what other threads have read, here D15 of the stealing thief | |
//! | D7 | expose, force: compare-and-swap of `span` | Release | D8 | the thief would read slots before they were written | `same_index_again_against_steal`, `forced_for_another_thief` |
//! | D8 | steal: compare-and-swap of `span` | Acquire | D7 | as D7; it releases too, by the fence D15 before it | `same_index_again_against_steal` |
//! | D9 | make room, pop: load of `span` | Acquire | D15 | a thief that is about to read a slot must be seen as a visitor before the slot is reused, or the circle left | `slot_reuse_behind_a_claim`, `shrink_behind_a_claim` |
//! | D10 | make room: load of the visitors (R3) | Acquire | R6 | the slot would be written before the thief has read it | `slot_reuse_behind_a_claim` |
//! | D11 | the lock of forcers | Acquire, Release | itself | not shown by loom: the compare-and-swap of a cancelled force, delayed past the unlocking, could find the next force's mark and publish it before that one's barrier; loom delays no compare-and-swap, and without the lock a run takes five preemptions | |
//! | D12 | request: swap of `ceiling`; attend: swap | Release; Acquire | each other | the owner that clears a request must see what the requester did before it: it may be a sleeper that must be woken | `request_brings_its_reason` |
//! | D13 | load of `span` before a store of `limit` | Acquire | D7 of a force | not shown by loom: the force could read a limit that follows from its own outcome; loom lets no load see a later store | |
//! | D14 | steal, len: load of `span` | Acquire | D15 of another thief | a bottom from before that theft would make a deque look empty that never was | `never_empty` |
//! | D15 | steal: fence between entering the ring and reading a slot | SeqCst | R2, D9, D14 | the circle would be freed under the thief; and as D9 | `grow_behind_a_claim`, `slot_reuse_behind_a_claim` |
//!
//! The tests are in `tests/loom/split`. All stores to `span` after the first are compare-and-swaps,
//! so a load that reads a later one also acquires from an earlier Release: cancelling, marking and
//! taking back need no ordering of their own.

mod deque;
mod owner;
mod span;
mod thief;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use crate::ring::{Index, Ring, STRIDE, View};
use crate::sync::barrier::{self, FenceMode};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use crate::word::Word;

pub use deque::{Deque, Stealer};
use span::Span;
pub use thief::Forced;

/// The ceiling while a request is pending: every push reaches it.
const REQUESTED: Index = 0;

/// The ceiling of a fenced deque without a pending request: every push reaches it too.
const ALWAYS: Index = 1;
const _: () = assert!(ALWAYS < STRIDE, "the first index is one stride");

/// The limit of a fenced deque: above all indices, so that no pop takes the fast path.
const UNLIMITED: Index = i64::MAX as u64;

/// The words that the owner accesses in every operation.
struct Hot {
    bottom: AtomicU64,
    limit: AtomicU64,
    ceiling: AtomicU64,
    /// Accessed by the owner only.
    slots: Cell<Slots>,
}

/// Address and size of the slots of the current circle.
#[derive(Clone, Copy)]
struct Slots {
    first: NonNull<AtomicPtr<()>>,
    /// The bits of an index that are its offset in the circle.
    mask: u64,
}

// SAFETY: it is the address of a slot, which is an atomic; the caller of `slot` guarantees that the
// circle is alive.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    fn of(view: &View) -> Slots {
        Slots {
            first: view.first(),
            mask: (view.capacity() as u64 - 1) * STRIDE,
        }
    }

    /// Returns the slot of an index.
    ///
    /// # Safety
    ///
    /// The circle is the current one, and the caller is the owner, which alone replaces it.
    #[inline(always)]
    unsafe fn slot<'a>(self, index: Index) -> &'a AtomicPtr<()> {
        let offset = index & self.mask;
        #[cfg(not(loom))]
        {
            const { assert!(size_of::<AtomicPtr<()>>() as u64 == STRIDE) }
            // SAFETY: the offset is inside the circle, which is alive.
            unsafe { self.first.byte_add(offset as usize).as_ref() }
        }
        #[cfg(loom)]
        {
            // SAFETY: as above; loom's atomics are larger than a word.
            unsafe { self.first.add((offset / STRIDE) as usize).as_ref() }
        }
    }
}

/// The words that thieves access in every attempt. The owner writes to them only in slow
/// operations.
struct Public {
    span: AtomicU64,
    /// Set while a thief's request for work is unanswered.
    requested: AtomicBool,
    /// The lock of forcers.
    forcing: AtomicBool,
}

/// The data of the owner's slow paths. Accessed by the owner only.
struct Slow {
    view: UnsafeCell<View>,
    /// Value of `bottom` at which the circle is full: the ceiling without a request.
    room: Cell<Index>,
    /// Bottom at the last [`mark`](Embedded::mark), lowered by pops. A slot below it may be a hole.
    mark: Cell<Index>,
    /// Number of items that the owner has made public.
    exposed: Cell<u64>,
    /// Set if both sides use fences. Never changes.
    fenced: bool,
}

/// The deque without handles, for a runtime that embeds it in a structure of its own and knows
/// which thread is the owner.
///
/// The owner's operations take `&self` and are unsafe; the thieves' operations are safe.
///
/// ```
/// use locksley_queue::Steal;
/// use locksley_queue::split::{Embedded, TakenBack};
///
/// let deque = Embedded::new();
/// // SAFETY: this thread is the only one that calls the owner's operations.
/// unsafe {
///     deque.push(1);
///     let (place, _) = deque.push(2);
///     assert_eq!(deque.steal(), Steal::Private);
///     deque.expose(1);
///     assert_eq!(deque.steal(), Steal::Success(1));
///     assert_eq!(deque.take_back(place), TakenBack::Yes);
///     assert_eq!(deque.pop(), None);
/// }
/// ```
#[repr(C)]
pub struct Embedded<T: Word> {
    hot: CachePadded<Hot>,
    public: CachePadded<Public>,
    slow: Slow,
    ring: Ring,
    /// Makes the type invariant in `T`: an item that one side puts in, the other takes out.
    items: PhantomData<Cell<T>>,
}

// SAFETY: items pass from thread to thread, whole and once; references to them are not shared.
// The owner's fields are accessed only through the owner's operations.
unsafe impl<T: Word + Send> Send for Embedded<T> {}
// SAFETY: as above.
unsafe impl<T: Word + Send> Sync for Embedded<T> {}

/// Position of a pushed item, for [`Embedded::take_back`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushToken(Index);

/// Result of [`Embedded::take_back`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "unless it is back, a thief has it"]
pub enum TakenBack {
    /// The item is out of the deque, and belongs to the caller.
    Yes,
    /// As `Yes`, and other items lie on top of it. Thieves and sleepers could not see these for a
    /// moment, so the caller must check
    /// [`is_attention_requested`](Embedded::is_attention_requested).
    FromUnder,
    /// A thief has the item. If other items lie on top, the caller must check as for `FromUnder`.
    No,
}

/// Result of [`Embedded::attend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Set if a request was pending. It is cleared.
    pub requested: bool,
    /// Set if a thief that looks for work has made the request, or one of several.
    pub asked: bool,
}

impl<T: Word> Embedded<T> {
    /// Creates an empty deque.
    pub fn new() -> Self {
        Self::starting_at(0, 0)
    }

    /// Creates a deque with room for `capacity` items whose indices start at `start`.
    fn starting_at(capacity: usize, start: u64) -> Self {
        // At least one stride, so that the index below the first does not wrap around.
        let start = (start / STRIDE * STRIDE).max(STRIDE);
        let (ring, view) = Ring::new(capacity);
        let (room, slots) = (view.limit(start), Slots::of(&view));
        let fenced = barrier::fence_mode() == FenceMode::Symmetric;
        Embedded {
            hot: CachePadded::new(Hot {
                bottom: AtomicU64::new(start),
                limit: AtomicU64::new(if fenced { UNLIMITED } else { start }),
                ceiling: AtomicU64::new(if fenced { ALWAYS } else { room }),
                slots: Cell::new(slots),
            }),
            public: CachePadded::new(Public {
                span: AtomicU64::new(Span::new(start, 0).0),
                requested: AtomicBool::new(false),
                forcing: AtomicBool::new(false),
            }),
            slow: Slow {
                view: UnsafeCell::new(view),
                room: Cell::new(room),
                mark: Cell::new(start),
                exposed: Cell::new(0),
                fenced,
            },
            ring,
            items: PhantomData,
        }
    }

    #[inline(always)]
    fn bottom(&self) -> Index {
        self.hot.bottom.load(Ordering::Relaxed)
    }

    /// Returns the slot of an index in the current circle.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline(always)]
    unsafe fn slot(&self, index: Index) -> &AtomicPtr<()> {
        // SAFETY: the caller is the owner.
        unsafe { self.hot.slots.get().slot(index) }
    }
}

/// The owner's operations.
///
/// # Safety
///
/// For each of them: the caller is the owner. No two of them run at the same time, and the effects
/// of one are visible to the next. So they are called by one thread, or a synchronizing operation
/// passes the ownership to another one.
impl<T: Word> Embedded<T> {
    /// Pushes an item. If the second result is `true`, the owner must [`attend`](Self::attend)
    /// before it pushes again.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above. If an earlier push returned `true`, the owner has
    /// attended since: otherwise the slot may hold another item.
    #[inline(always)]
    pub unsafe fn push(&self, item: T) -> (PushToken, bool) {
        let bottom = self.bottom();
        // SAFETY: the caller is the owner, and this is the bottom.
        let attention = unsafe { self.push_at(bottom, item) };
        (PushToken(bottom), attention)
    }

    /// Pushes an item at the bottom. Returns `true` if the owner must attend.
    ///
    /// The caller passes the bottom: [`Deque`] keeps it in its handle, which may live in registers.
    #[inline(always)]
    unsafe fn push_at(&self, bottom: Index, item: T) -> bool {
        // SAFETY: the caller is the owner. The slot is free: otherwise the push before would have
        // asked for attention, and the owner would have made room.
        let slot = unsafe { self.slot(bottom) };
        slot.store(item.into_word(), Ordering::Relaxed);
        let next = bottom.wrapping_add(STRIDE);
        self.hot.bottom.store(next, Ordering::Release); // [D1]
        // SAFETY: without membarrier this is not relied on: the deque is fenced, and the caller
        // attends after every push, and passes a fence.
        unsafe { barrier::light_unchecked() }; // [D2]
        next >= self.hot.ceiling.load(Ordering::Relaxed)
    }

    /// Pops the item that was pushed last.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above.
    #[inline]
    pub unsafe fn pop(&self) -> Option<T> {
        let lowered = self.bottom().wrapping_sub(STRIDE);
        // SAFETY: the caller is the owner, for all of these.
        unsafe {
            if self.lower_to(lowered) {
                return Some(self.take_private(lowered));
            }
            if self.lower_mark_to(lowered) {
                let word = self.slot(lowered).load(Ordering::Relaxed);
                if !is_hole(word) {
                    return Some(T::from_word(word));
                }
            }
            let word = self.pop_below_limit(lowered);
            // SAFETY: the item is out of the deque, and its word is turned back only here.
            (!is_hole(word)).then(|| T::from_word(word))
        }
    }

    /// Takes the item at `lowered`, which is at or above the limit, and so not a hole.
    #[inline(always)]
    unsafe fn take_private(&self, lowered: Index) -> T {
        // SAFETY: the caller is the owner. The item is out of the deque, and only taken here.
        unsafe {
            let word = self.slot(lowered).load(Ordering::Relaxed);
            debug_assert!(!is_hole(word), "holes lie below the mark");
            T::from_word(word)
        }
    }

    /// Takes back the item that was pushed at `place`.
    ///
    /// # Safety
    ///
    /// The caller is the owner, see above. The place comes from a push on this deque, its item was
    /// not popped since, and all items on top of it were [marked](Self::mark).
    #[inline(always)]
    pub unsafe fn take_back(&self, place: PushToken) -> TakenBack {
        // SAFETY: the caller is the owner, for both.
        unsafe {
            if self.lower_to(place.0) {
                return TakenBack::Yes;
            }
            self.take_back_slowly(place.0)
        }
    }

    /// Lowers the bottom to `lowered`. Returns `true` if the item there is certainly private.
    #[inline(always)]
    unsafe fn lower_to(&self, lowered: Index) -> bool {
        self.hot.bottom.store(lowered, Ordering::Release); // [D1]
        // SAFETY: without membarrier this is not relied on: the limit is above all indices, and the
        // caller goes on to D4.
        unsafe { barrier::light_unchecked() }; // [D3]
        lowered >= self.hot.limit.load(Ordering::Relaxed)
    }
}

/// The word of a slot whose item was taken out of the middle is the address of this static, which
/// no other object has. An item that is an integer can have it: see [`Deque`].
static HOLE: u8 = 0;

fn hole() -> *mut () {
    (&raw const HOLE).cast_mut().cast()
}

fn is_hole(word: *mut ()) -> bool {
    ptr::eq(word, hole())
}

impl<T: Word> Default for Embedded<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Drop for Embedded<T> {
    fn drop(&mut self) {
        let bottom = self.bottom();
        let top = Span(self.public.span.load(Ordering::Relaxed)).top(bottom);
        self.ring.drain(top, bottom, |word| {
            if !is_hole(word) {
                // SAFETY: the words between the indices were not taken, and no other thread is left
                // to take them.
                drop(unsafe { T::from_word(word) });
            }
        });
    }
}

impl<T: Word> fmt::Debug for Embedded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("len", &self.len())
            .finish()
    }
}

/// Settings for the models of this deque.
#[cfg(loom)]
#[doc(hidden)]
pub mod model {
    use std::cell::Cell;

    thread_local! {
        /// loom runs the threads of a model in the thread of its test.
        static PAUSES: Cell<bool> = const { Cell::new(false) };
    }

    /// Makes thieves yield to the owner between claiming items and reading their slots. loom finds
    /// such executions only by accesses to the same atomic, and the owner's load of the top, which
    /// a claim changes, comes long before it reuses a slot or a circle.
    pub fn thieves_pause() {
        PAUSES.set(true);
    }

    pub(super) fn pause() {
        if PAUSES.get() {
            loom::thread::yield_now();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
