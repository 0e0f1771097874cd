//! The circular array of slots under the growable deques, and the reclamation of old ones.
//!
//! ```text
//!   index:   ... 40   48   56   64   72 ...        counts in strides of one slot (8 bytes here)
//!   circle:  [ 64 | 40 | 48 | 56 ]                 capacity 4: index & mask is a byte offset
//!
//!   grow:    [ 64 |    |    |    |    | 40 | 48 | 56 ]   each index keeps its item
//! ```
//!
//! **Indices** are monotone 64-bit counters that advance by [`STRIDE`] for each slot, so that
//! `index & mask` is a byte offset. A wrap-around of the counter is harmless: indices are compared
//! by their signed difference.
//!
//! **Invariant.** Every circle that was current at some moment after item `i` was pushed and
//! before it was removed holds item `i` in the slot of index `i`. So a thief may read the slot in
//! a circle that is not current any more: if its compare-and-swap on the top index then succeeds,
//! the item had not been removed, and the thief has read that item.
//!
//! **Reclamation.** A thief counts itself as a visitor while it may hold a pointer to a circle.
//! Having replaced the current circle, the owner frees the retired ones if it sees no visitor.
//! Either the thief's entry is visible to the owner, or the thief sees the new circle, because
//! each has a SeqCst fence between its store and its load. If there is a visitor, the owner tries
//! again the next time it replaces a circle. It never shrinks a circle while retired ones are left.
//! So at most one retired circle is larger than the current one, and the others come from a run of
//! growths: together they are smaller than three times the largest circle of the run.
//!
//! **Shrinking.** When the owner has found the deque empty [`EMPTIES_BEFORE_SHRINK`] times since
//! the last change of its size, the circle is halved.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | R1 | publish a circle | Release | R4 | the thief would read slots before they were copied | `chase_lev::grow_against_steal` |
//! | R2 | fence after publishing | SeqCst | the thief's fence after R5 | owner and thief could miss each other: use after free | `chase_lev::grow_against_steal` |
//! | R3 | owner reads visitors | Acquire | R6 | the thief's last read of a circle must come before its release | `chase_lev::grow_against_steal` |
//! | R4 | thief reads the current circle | Acquire | R1 | as R1 | `chase_lev::grow_against_steal` |
//! | R5 | visitor enters | Relaxed | R2 through fences | - | none: nothing is weaker |
//! | R6 | visitor leaves | Release | R3 | as R3 | `chase_lev::grow_against_steal` |

use std::fmt;
use std::mem;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell, fence};

/// A monotone position in a deque.
pub(crate) type Index = u64;

/// Difference of the indices of neighbouring slots.
pub(crate) const STRIDE: u64 = size_of::<usize>() as u64;

/// Capacity of the smallest circle, with which a deque starts by default.
#[cfg(not(loom))]
pub(crate) const MIN_CAPACITY: usize = 64;
#[cfg(loom)]
pub(crate) const MIN_CAPACITY: usize = 2;

/// Number of times that a deque is found empty before its circle is halved. A guess, between
/// returning memory late and allocating in vain. It costs nothing on the fast path.
#[cfg(not(loom))]
const EMPTIES_BEFORE_SHRINK: u32 = 64;
#[cfg(loom)]
const EMPTIES_BEFORE_SHRINK: u32 = 1;

/// Returns `to - from`, in units of an index: negative if `to` comes before `from`.
#[inline(always)]
pub(crate) fn distance(from: Index, to: Index) -> i64 {
    to.wrapping_sub(from) as i64
}

/// Returns the number of items between `top` and `bottom`, which may have been read at different
/// times.
#[inline]
pub(crate) fn length(top: Index, bottom: Index) -> usize {
    distance(top, bottom).max(0) as usize / STRIDE as usize
}

/// Capacity of the largest circle: its slots are one allocation, and its mask must leave room for
/// the sign of a distance.
const MAX_CAPACITY: usize = 1 << (isize::MAX as usize / size_of::<AtomicPtr<()>>()).ilog2();
const _: () = assert!((MAX_CAPACITY as u64) <= i64::MAX as u64 / STRIDE);

/// Returns the smallest capacity of a circle that is at least `wanted`.
///
/// # Panics
///
/// If that is more than [`MAX_CAPACITY`].
fn capacity_for(wanted: usize) -> usize {
    let capacity = wanted.max(MIN_CAPACITY).checked_next_power_of_two();
    capacity
        .filter(|&capacity| capacity <= MAX_CAPACITY)
        .expect("capacity overflow: no circle has so many slots")
}

/// One allocation of slots.
struct Circle {
    slots: Box<[AtomicPtr<()>]>,
    mask: u64,
    /// Read by a visit together with a slot, and written before the circle is freed, so that loom
    /// reports a visit that is not over by then. Has no effect without loom.
    alive: UnsafeCell<()>,
}

/// Returns `capacity` slots that hold null pointers.
#[cfg(not(loom))]
fn empty_slots(capacity: usize) -> Box<[AtomicPtr<()>]> {
    const { assert!(align_of::<AtomicPtr<()>>() == align_of::<usize>()) }
    const { assert!(size_of::<AtomicPtr<()>>() == size_of::<usize>()) }
    // Large zeroed allocations come from the system without a write.
    let zeros = Box::into_raw(vec![0_usize; capacity].into_boxed_slice());
    // SAFETY: an `AtomicPtr` has the size and alignment of a `usize`, and zero is a null pointer.
    unsafe { Box::from_raw(zeros as *mut [AtomicPtr<()>]) }
}

#[cfg(loom)]
fn empty_slots(capacity: usize) -> Box<[AtomicPtr<()>]> {
    let empty = || AtomicPtr::new(std::ptr::null_mut());
    std::iter::repeat_with(empty).take(capacity).collect()
}

impl Circle {
    fn allocate(capacity: usize) -> NonNull<Circle> {
        debug_assert!(capacity.is_power_of_two());
        let slots = empty_slots(capacity);
        let mask = (capacity as u64 - 1) * STRIDE;
        let alive = UnsafeCell::new(());
        NonNull::from(Box::leak(Box::new(Circle { slots, mask, alive })))
    }

    /// Frees a circle.
    ///
    /// # Safety
    ///
    /// The circle comes from [`allocate`](Circle::allocate), and is not used any more.
    unsafe fn free(circle: NonNull<Circle>) {
        // SAFETY: the circle was leaked in `allocate`, and the caller frees it once.
        let circle = unsafe { Box::from_raw(circle.as_ptr()) };
        circle.alive.with_mut(|_| ());
    }

    fn slot(&self, index: Index) -> &AtomicPtr<()> {
        &self.slots[((index & self.mask) / STRIDE) as usize]
    }
}

/// The part that the owner and the thieves share.
pub(crate) struct Ring {
    current: AtomicPtr<Circle>,
    /// Circles that wait to be freed. Accessed by the owner only, until the ring is dropped.
    retired: UnsafeCell<Vec<NonNull<Circle>>>,
    visitors: CachePadded<AtomicUsize>,
}

// SAFETY: the circles are shared through atomics; `retired` is the owner's alone, as every
// function that touches it demands.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

/// The owner's cached copy of the current circle's address and mask.
pub(crate) struct View {
    circle: NonNull<Circle>,
    base: NonNull<AtomicPtr<()>>,
    mask: u64,
    empties: u32,
}

// SAFETY: a view is a cached pointer into a ring, which is `Send` and `Sync`; that the ring
// outlives it is the obligation of `View::slot`'s caller.
unsafe impl Send for View {}
// SAFETY: as above; a shared view is only read.
unsafe impl Sync for View {}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("capacity", &self.capacity())
            .finish()
    }
}

impl View {
    /// Returns a view of a circle.
    ///
    /// # Safety
    ///
    /// The circle has not been freed.
    unsafe fn of(address: NonNull<Circle>) -> View {
        // SAFETY: the caller guarantees that the circle is alive.
        let circle = unsafe { address.as_ref() };
        View {
            circle: address,
            base: NonNull::from(&*circle.slots).cast(),
            mask: circle.mask,
            empties: 0,
        }
    }

    /// Returns the number of items that fit.
    pub(crate) fn capacity(&self) -> usize {
        (self.mask / STRIDE) as usize + 1
    }

    /// Returns `true` if the circle cannot shrink.
    pub(crate) fn is_smallest(&self) -> bool {
        self.capacity() == MIN_CAPACITY
    }

    /// Returns the index at which the circle is full, given its `top`.
    pub(crate) fn limit(&self, top: Index) -> Index {
        top.wrapping_add(self.mask).wrapping_add(STRIDE)
    }

    /// Returns the circle's first slot.
    pub(crate) fn first(&self) -> NonNull<AtomicPtr<()>> {
        self.base
    }

    /// Returns the first index of the round through the circle that contains `index`.
    pub(crate) fn round_start(&self, index: Index) -> Index {
        index & !(self.mask | (STRIDE - 1))
    }

    /// Returns the slot of an index.
    ///
    /// # Safety
    ///
    /// The view is that of a living ring's current circle.
    #[inline(always)]
    pub(crate) unsafe fn slot(&self, index: Index) -> &AtomicPtr<()> {
        // SAFETY: the offset is less than the capacity; the caller guarantees that the circle is
        // alive.
        unsafe {
            self.base
                .add(((index & self.mask) / STRIDE) as usize)
                .as_ref()
        }
    }
}

impl Ring {
    /// Creates a ring with room for at least `capacity` items, and the owner's view of it.
    ///
    /// # Panics
    ///
    /// If more slots are needed than an allocation can have.
    pub(crate) fn new(capacity: usize) -> (Ring, View) {
        let circle = Circle::allocate(capacity_for(capacity));
        let ring = Ring {
            current: AtomicPtr::new(circle.as_ptr()),
            retired: UnsafeCell::new(Vec::new()),
            visitors: CachePadded::new(AtomicUsize::new(0)),
        };
        // SAFETY: the circle was just allocated.
        (ring, unsafe { View::of(circle) })
    }

    /// Doubles the circle, which holds the items from `top` to `bottom`.
    ///
    /// # Safety
    ///
    /// The caller is the owner, `view` its view of this ring, and no item outside the range is in
    /// the deque.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn grow(&self, view: &mut View, top: Index, bottom: Index) {
        let doubled = capacity_for(view.capacity() + 1);
        // SAFETY: the obligations of `replace` are those of this function.
        unsafe { self.replace(view, doubled, top, bottom) };
    }

    /// Notes that the owner found the deque empty with both ends at `at`, and halves the circle if
    /// that has happened often enough. Returns `true` if the circle was replaced.
    ///
    /// # Safety
    ///
    /// The caller is the owner, `view` its view of this ring, and the deque is empty.
    pub(crate) unsafe fn found_empty(&self, view: &mut View, at: Index) -> bool {
        if view.capacity() == MIN_CAPACITY {
            return false;
        }
        view.empties += 1;
        if view.empties < EMPTIES_BEFORE_SHRINK {
            return false;
        }
        view.empties = 0;
        // SAFETY: the caller is the owner, and there is nothing to copy.
        unsafe { self.shrink(view, at) }
    }

    /// Halves the circle of an empty deque with both ends at `at`, unless retired circles are left.
    /// Returns `true` if the circle was replaced.
    ///
    /// # Safety
    ///
    /// As for [`found_empty`](Ring::found_empty).
    #[cold]
    unsafe fn shrink(&self, view: &mut View, at: Index) -> bool {
        // SAFETY: the caller is the owner.
        if !unsafe { self.reclaim() } {
            return false;
        }
        let halved = view.capacity() / 2;
        // SAFETY: the caller is the owner, and the range is empty.
        unsafe { self.replace(view, halved, at, at) };
        true
    }

    /// Makes a new circle of `capacity` slots the current one, with copies of the words from `top`
    /// to `bottom`.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Ring::grow); and the range fits in both circles.
    unsafe fn replace(&self, view: &mut View, capacity: usize, top: Index, bottom: Index) {
        let circle = Circle::allocate(capacity);
        // SAFETY: the circle was just allocated.
        let fresh = unsafe { View::of(circle) };
        let mut index = top;
        while index != bottom {
            // SAFETY: both views are of living circles of this ring.
            let (old, new) = unsafe { (view.slot(index), fresh.slot(index)) };
            new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
            index = index.wrapping_add(STRIDE);
        }
        self.current.store(circle.as_ptr(), Ordering::Release); // [R1]
        let old = mem::replace(view, fresh).circle;
        // SAFETY: the caller is the owner, which alone accesses the list.
        self.retired.with_mut(|list| unsafe { (*list).push(old) });
        // SAFETY: the caller is the owner.
        unsafe { self.reclaim() };
    }

    /// Frees the retired circles if there is no visitor. Returns `true` if no retired circle is
    /// left.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    unsafe fn reclaim(&self) -> bool {
        self.retired.with_mut(|list| {
            // SAFETY: the caller is the owner, which alone accesses the list.
            let list = unsafe { &mut *list };
            if list.is_empty() {
                return true;
            }
            fence(Ordering::SeqCst); // [R2]
            // [R3]
            if self.visitors.load(Ordering::Acquire) != 0 {
                return false;
            }
            for circle in list.drain(..) {
                // SAFETY: the circle was leaked in `allocate`; it is not current any more, and a
                // thief that enters from now on sees the newer one.
                unsafe { Circle::free(circle) };
            }
            true
        })
    }

    /// Returns `true` if a thief is visiting.
    pub(crate) fn has_visitors(&self) -> bool {
        self.visitors.load(Ordering::Acquire) != 0 // [R3]
    }

    /// Counts the caller as a visitor until the returned value is dropped. Before it reads a slot,
    /// it must pass a SeqCst fence (or a heavy barrier).
    #[inline]
    pub(crate) fn enter(&self) -> Visit<'_> {
        self.visitors.fetch_add(1, Ordering::Relaxed); // [R5]
        Visit { ring: self }
    }

    /// Passes the words from `top` to `bottom` to `sink`.
    pub(crate) fn drain(&mut self, top: Index, bottom: Index, mut sink: impl FnMut(*mut ())) {
        let current = self.current.load(Ordering::Relaxed);
        let mut index = top;
        while distance(index, bottom) > 0 {
            // SAFETY: the current circle is freed only in `drop`.
            sink(unsafe { &*current }.slot(index).load(Ordering::Relaxed));
            index = index.wrapping_add(STRIDE);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let current = NonNull::new(self.current.load(Ordering::Relaxed));
        // SAFETY: no other handle to the ring is left, so no pointer to a circle is; each was
        // leaked once in `allocate` and is either current or retired.
        self.retired.with_mut(|list| unsafe {
            for circle in (*list).drain(..).chain(current) {
                Circle::free(circle);
            }
        });
    }
}

/// A thief's visit to a ring: while it lasts, no circle that the thief may have seen is freed.
pub(crate) struct Visit<'a> {
    ring: &'a Ring,
}

impl Visit<'_> {
    /// Reads the slot of an index in the current circle. The value is meaningful only if the item
    /// of that index has not been removed.
    ///
    /// # Safety
    ///
    /// The caller has passed a SeqCst fence or a heavy barrier since it entered.
    #[inline]
    pub(crate) unsafe fn read(&self, index: Index) -> *mut () {
        let circle = self.ring.current.load(Ordering::Acquire); // [R4]
        // SAFETY: the circle was current after the caller's fence, so an owner that retires it
        // sees this visitor.
        let circle = unsafe { &*circle };
        circle.alive.with(|_| ());
        circle.slot(index).load(Ordering::Relaxed)
    }
}

impl Drop for Visit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.ring.visitors.fetch_sub(1, Ordering::Release); // [R6]
    }
}
