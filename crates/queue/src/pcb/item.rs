//! Items, the buffer they form, and the memory they live in.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// The paper's `ITEM`. Padded: neighbours in memory are dealt to different processes.
pub(super) type Item = CachePadded<Record>;

/// The contents of an item.
pub(super) struct Record {
    /// In a buffer: the next younger item, or null at the tail; stored by the producer, loaded by
    /// the consumer. In an item list: the next item; both by the list's one owner.
    pub(super) next: AtomicPtr<Item>,
    /// Written by the producer before it links the item, read once by the consumer.
    value: UnsafeCell<*mut ()>,
    /// In the pool, if this is the first item of its list: the name of the list below. Stale
    /// poppers may load it at any time.
    pub(super) below: AtomicU64,
    /// The item's position in the [`Arena`], counted from one. Never changes.
    pub(super) name: u32,
}

/// Puts `word` into `item` and links that behind `tail`: the paper's `produce`.
///
/// # Safety
///
/// `tail` is the last item of a buffer whose only producer is the caller; `item` belongs to the
/// caller and is in no list or buffer; both are items of a living arena.
#[inline]
pub(super) unsafe fn link(tail: *mut Item, item: *mut Item, word: *mut ()) {
    // SAFETY: both are items of a living arena.
    let (last, new) = unsafe { (&*tail, &*item) };
    // SAFETY: the item belongs to the caller alone until it is linked below.
    new.value.with_mut(|value| unsafe { *value = word });
    new.next.store(ptr::null_mut(), Ordering::Relaxed);
    last.next.store(item, Ordering::Release); // [O1]
}

/// Returns the item behind the dummy `head`, which is to be the next dummy, and its word.
///
/// # Safety
///
/// `head` is the dummy of a buffer whose only consumer is the caller, in a living arena. If the
/// caller takes the word, and does not just look at it, it makes the returned item its dummy.
#[inline]
pub(super) unsafe fn unlink(head: *mut Item) -> Option<(*mut Item, *mut ())> {
    // SAFETY: an item of a living arena.
    let next = unsafe { &*head }.next.load(Ordering::Acquire); // [O2]
    if next.is_null() {
        return None;
    }
    // SAFETY: a linked item is one of the same arena; its producer wrote the value before it
    // linked the item, and does not write it again until the consumer has given the item up.
    let word = unsafe { &*next }.value.with(|value| unsafe { *value });
    Some((next, word))
}

/// Number of doubling segments of the table of chunks: enough for all chunks that [`Record::name`]
/// can tell apart.
#[cfg(not(loom))]
const SEGMENTS: usize = 32;
#[cfg(loom)]
const SEGMENTS: usize = 4;

/// The memory of the items: chunks of `granularity` items, found by number, freed together.
///
/// Chunk `c` is in segment `s = floor(log2(c + 1))` of the table, which has `2^s` entries. So the
/// table grows without moving, and an item stays valid until the arena is dropped.
pub(super) struct Arena {
    granularity: usize,
    segments: Box<[AtomicPtr<AtomicPtr<Item>>]>,
    /// Number of chunks that have a number. Some of these may not exist yet, or never will, if
    /// there was no memory for them.
    numbers: AtomicU64,
    /// Number of chunks that exist.
    chunks: AtomicU64,
}

impl Arena {
    pub(super) fn new(granularity: usize) -> Self {
        let granularity = granularity.clamp(1, super::MAX_GRANULARITY);
        let segments = (0..SEGMENTS)
            .map(|_| AtomicPtr::new(ptr::null_mut()))
            .collect();
        Self {
            granularity,
            segments,
            numbers: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
        }
    }

    pub(super) fn granularity(&self) -> usize {
        self.granularity
    }

    /// Returns the number of allocated items, in use or not.
    pub(super) fn allocated(&self) -> usize {
        self.chunks.load(Ordering::Relaxed) as usize * self.granularity
    }

    /// Allocates a list of `granularity` items. They belong to the caller.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&self) -> *mut Item {
        self.fill(self.number())
    }

    /// Returns a number that no other chunk has.
    fn number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed) as usize
    }

    /// Allocates the chunk with this number.
    fn fill(&self, chunk: usize) -> *mut Item {
        let first = chunk.saturating_mul(self.granularity);
        let (segment, slot) = locate(chunk);
        if first > u32::MAX as usize - self.granularity || segment >= SEGMENTS {
            // Names are used up at half a terabyte of items: out of memory, as for any `Box`.
            handle_alloc_error(Layout::new::<Item>());
        }
        let entries = self.segment(segment);
        let items: Box<[Item]> = (1..=self.granularity)
            .map(|nth| blank((first + nth) as u32))
            .collect();
        let items = Box::into_raw(items).cast::<Item>();
        for nth in 1..self.granularity {
            // SAFETY: both are among the `granularity` items of the chunk, which no other thread
            // has seen.
            let (item, next) = unsafe { (&*items.add(nth - 1), items.add(nth)) };
            item.next.store(next, Ordering::Relaxed);
        }
        // SAFETY: `slot < 2^segment`, the length of the segment.
        unsafe { &*entries.add(slot) }.store(items, Ordering::Relaxed);
        self.chunks.fetch_add(1, Ordering::Relaxed);
        items
    }

    /// Returns a segment, which is allocated if it does not exist.
    fn segment(&self, segment: usize) -> *mut AtomicPtr<Item> {
        let there = self.segments[segment].load(Ordering::Acquire); // [O3]
        if !there.is_null() {
            return there;
        }
        let length = 1 << segment;
        let new: Box<[AtomicPtr<Item>]> = (0..length)
            .map(|_| AtomicPtr::new(ptr::null_mut()))
            .collect();
        let new = Box::into_raw(new).cast::<AtomicPtr<Item>>();
        match self.segments[segment].compare_exchange(
            ptr::null_mut(),
            new,
            Ordering::Release, // [O4]
            Ordering::Acquire, // [O5]
        ) {
            Ok(_) => new,
            Err(faster) => {
                // SAFETY: `new` comes from a boxed slice of this length and no other thread has
                // seen it.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(new, length)) });
                faster
            }
        }
    }

    /// Returns the item with this name.
    ///
    /// # Safety
    ///
    /// The allocation of the item happened before this call.
    pub(super) unsafe fn item(&self, name: u32) -> *mut Item {
        let index = name as usize - 1;
        let (segment, slot) = locate(index / self.granularity);
        // Relaxed: the caller guarantees that the stores of `grow` for this chunk happened before.
        let segment = self.segments[segment].load(Ordering::Relaxed);
        // SAFETY: the segment exists because the chunk does, and `slot < 2^segment`.
        let items = unsafe { &*segment.add(slot) }.load(Ordering::Relaxed);
        // SAFETY: the chunk has `granularity` items.
        unsafe { items.add(index % self.granularity) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (nth, segment) in self.segments.iter().enumerate() {
            let entries = segment.load(Ordering::Relaxed);
            if entries.is_null() {
                continue;
            }
            let entries = ptr::slice_from_raw_parts_mut(entries, 1 << nth);
            // SAFETY: a boxed slice of this length, which only this destructor frees.
            let entries = unsafe { Box::from_raw(entries) };
            for items in &entries {
                let items = items.load(Ordering::Relaxed);
                // A chunk that could not be allocated has a number, but does not exist.
                if !items.is_null() {
                    let items = ptr::slice_from_raw_parts_mut(items, self.granularity);
                    // SAFETY: `fill` left a boxed slice of this length, which is freed once.
                    drop(unsafe { Box::from_raw(items) });
                }
            }
        }
    }
}

fn blank(name: u32) -> Item {
    CachePadded::new(Record {
        next: AtomicPtr::new(ptr::null_mut()),
        value: UnsafeCell::new(ptr::null_mut()),
        below: AtomicU64::new(0),
        name,
    })
}

/// Returns the segment of a chunk, and its position in the segment.
fn locate(chunk: usize) -> (usize, usize) {
    let nth = chunk.saturating_add(1);
    let segment = nth.ilog2() as usize;
    (segment, nth - (1 << segment))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn segments_follow_each_other_without_gaps() {
        let places: Vec<_> = (0..7).map(locate).collect();
        assert_eq!(
            places,
            [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]
        );
    }

    #[test]
    fn every_item_is_found_by_its_name() {
        let arena = Arena::new(3);
        for chunk in 0..20 {
            let mut item = arena.grow();
            for nth in 1..=3 {
                // SAFETY: the arena is alive.
                let record = unsafe { &*item };
                assert_eq!(record.name, chunk * 3 + nth);
                // SAFETY: this thread allocated the item.
                assert_eq!(unsafe { arena.item(record.name) }, item);
                item = record.next.load(Ordering::Relaxed);
            }
            assert!(item.is_null());
        }
        assert_eq!(arena.allocated(), 60);
    }

    /// An allocation that unwinds leaves a number without a chunk.
    #[test]
    fn a_chunk_that_never_came_into_being_is_neither_counted_nor_freed() {
        let arena = Arena::new(3);
        for missing in [0, 2, 3, 4] {
            while arena.numbers.load(Ordering::Relaxed) < missing {
                arena.grow();
            }
            assert_eq!(arena.number() as u64, missing);
        }
        assert_eq!(arena.allocated(), 3);
        let item = arena.grow();
        // SAFETY: this thread allocated the item.
        assert_eq!(unsafe { arena.item((&*item).name) }, item);
        drop(arena);
    }

    #[test]
    fn granularity_is_clamped() {
        assert_eq!(Arena::new(0).granularity(), 1);
        assert_eq!(
            Arena::new(usize::MAX).granularity(),
            super::super::MAX_GRANULARITY
        );
    }
}
