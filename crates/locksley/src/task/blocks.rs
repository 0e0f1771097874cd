//! Memory of spawned jobs: workers keep what their jobs leave behind for those that they spawn
//! next.
//!
//! A spawned job is allocated by the thread that spawns it and freed by the worker that runs it. A
//! general allocator takes longer for that than a worker takes for all the rest of a small job, and
//! longest where the two are different threads. So a worker keeps blocks of two sizes in lists that
//! no other thread touches. Full lists go to the pool's [`Depot`], from which a worker that has
//! none takes one: many blocks for one lock. So blocks come back from the workers that steal to
//! those that spawn.
//!
//! The depot cuts its blocks from chunks, of which it has some megabytes at most, and frees them
//! with the pool. What fits no block, or comes when there are no more, or from another thread than
//! a worker, is the allocator's.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// The sizes of blocks, in bytes.
const SIZES: [usize; 2] = [64, 128];

/// The size of a chunk, in bytes. Its blocks make a full list.
const CHUNK: usize = 16 << 10;

/// How many chunks for one size a depot has at most.
const MOST_CHUNKS: usize = 384;

/// The alignment of blocks.
const ALIGN: usize = 16;

/// Lists make it harder to see that freed memory is used: a build that looks for that has none.
const HAS_LISTS: bool = cfg!(not(any(loom, locksley_no_blocks)));

/// The blocks that a worker keeps, by size. The owner's alone.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    lists: [Lists; SIZES.len()],
}

/// Free blocks of one size: the list in use, and one that is full or empty, so that a worker which
/// frees and allocates in turn leaves the depot alone.
#[derive(Debug, Default)]
struct Lists {
    current: List,
    other: List,
}

/// A list of free blocks of one size, all from chunks.
#[derive(Debug)]
struct List {
    first: Cell<*mut Free>,
    len: Cell<usize>,
}

// SAFETY: the blocks are free, and belong to the list.
unsafe impl Send for List {}

/// A free block.
struct Free {
    next: *mut Free,
}

/// Where a block comes from. The last word of every block, written once.
#[derive(Clone, Copy, PartialEq)]
#[repr(usize)]
enum Origin {
    Allocator,
    Chunk,
}

/// The memory of a pool's spawned jobs, by size.
#[derive(Debug, Default)]
pub(crate) struct Depot {
    stocks: [Stock; SIZES.len()],
}

/// Chunks for one size of blocks.
#[derive(Debug)]
struct Stock {
    /// How many lists can be had, full ones and new chunks: for a look without the lock.
    available: AtomicUsize,
    lists: Mutex<StockLists>,
}

#[derive(Debug, Default)]
struct StockLists {
    full: Vec<List>,
    chunks: Vec<NonNull<u8>>,
}

// SAFETY: the chunks belong to the stock.
unsafe impl Send for StockLists {}

impl Default for Stock {
    fn default() -> Stock {
        Stock {
            available: AtomicUsize::new(MOST_CHUNKS),
            lists: Mutex::default(),
        }
    }
}

impl Default for List {
    fn default() -> List {
        List {
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
        }
    }
}

impl List {
    #[inline]
    fn take(&self) -> Option<NonNull<Free>> {
        let block = NonNull::new(self.first.get())?;
        // SAFETY: a block in the list is free, and was written by `give`.
        self.first.set(unsafe { block.as_ref() }.next);
        self.len.set(self.len.get() - 1);
        Some(block)
    }

    /// # Safety
    ///
    /// The block is free, from a chunk, and of the list's size.
    #[inline]
    unsafe fn give(&self, block: NonNull<Free>) {
        let next = self.first.replace(block.as_ptr());
        // SAFETY: the block is free, and large enough.
        unsafe { block.write(Free { next }) };
        self.len.set(self.len.get() + 1);
    }

    fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    fn swap(&self, other: &List) {
        self.first.swap(&other.first);
        self.len.swap(&other.len);
    }
}

impl Lists {
    /// Takes a block, of the size of this number.
    #[inline]
    fn take(&self, number: usize, depot: &Depot) -> Option<NonNull<Free>> {
        let block = self.current.take();
        let stock = &depot.stocks[number];
        if block.is_some() || self.other.is_empty() && stock.is_exhausted() {
            return block;
        }
        self.refill(stock, number);
        self.current.take()
    }

    /// Replaces the list in use, which is empty.
    #[cold]
    #[inline(never)]
    fn refill(&self, stock: &Stock, number: usize) {
        self.current.swap(&self.other);
        if self.current.is_empty() {
            stock.give_list(number, &self.current);
        }
    }

    /// Replaces the list in use, which is full.
    #[cold]
    #[inline(never)]
    fn make_room(&self, stock: &Stock) {
        self.current.swap(&self.other);
        if !self.current.is_empty() {
            stock.take_list(&self.current);
        }
    }
}

impl Stock {
    #[inline]
    fn is_exhausted(&self) -> bool {
        self.available.load(Ordering::Relaxed) == 0
    }

    /// Fills an empty list, if there are blocks for it. They have the size of this number.
    fn give_list(&self, number: usize, list: &List) {
        let mut stock = lock(&self.lists);
        match stock.full.pop() {
            Some(full) => list.swap(&full),
            None if stock.chunks.len() < MOST_CHUNKS => stock.chunks.push(cut(number, list)),
            None => return,
        }
        self.available.fetch_sub(1, Ordering::Relaxed);
    }

    /// Empties a full list.
    fn take_list(&self, list: &List) {
        let full = List::default();
        full.swap(list);
        lock(&self.lists).full.push(full);
        self.available.fetch_add(1, Ordering::Relaxed);
    }
}

/// Allocates a chunk, cuts it into blocks of the size of this number, and puts them into a list.
fn cut(number: usize, list: &List) -> NonNull<u8> {
    let chunk = allocate(CHUNK_LAYOUT);
    for start in (0..CHUNK).step_by(SIZES[number]).rev() {
        // SAFETY: the block lies in the chunk, and is large enough for both.
        unsafe {
            let block = chunk.add(start).cast();
            origin(block, number).write(Origin::Chunk);
            list.give(block);
        }
    }
    chunk
}

const CHUNK_LAYOUT: Layout = layout(CHUNK);

const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("sizes and alignment are small powers of two"),
    }
}

/// The word of a block, of the size of this number, that says where it comes from.
///
/// # Safety
///
/// The block is of this size.
#[inline]
unsafe fn origin(block: NonNull<Free>, number: usize) -> NonNull<Origin> {
    // SAFETY: it is the last word.
    unsafe { block.byte_add(SIZES[number] - size_of::<Origin>()) }.cast()
}

/// The number of the smallest size that a `T` fits, if it fits one.
const fn size_for<T>() -> Option<usize> {
    let layout = Layout::new::<T>();
    if !HAS_LISTS || layout.align() > ALIGN {
        return None;
    }
    let mut number = 0;
    while number < SIZES.len() {
        if layout.size() + size_of::<Origin>() <= SIZES[number] {
            return Some(number);
        }
        number += 1;
    }
    None
}

impl Blocks {
    /// Returns memory for a `T`, which is not empty. `kept` is what the calling worker has, if the
    /// calling thread is one.
    #[inline]
    pub(crate) fn allocate<T>(kept: Option<(&Blocks, &Depot)>) -> NonNull<T> {
        const { assert!(size_of::<T>() > 0) }
        let Some(number) = (const { size_for::<T>() }) else {
            return allocate(Layout::new::<T>()).cast();
        };
        let block = kept.and_then(|(blocks, depot)| blocks.lists[number].take(number, depot));
        block.unwrap_or_else(|| allocate_block(number)).cast()
    }

    /// Keeps the memory of a `T`, or gives it back to the allocator.
    ///
    /// # Safety
    ///
    /// The memory comes from [`allocate`](Blocks::allocate) for the same type, with this depot or
    /// none, and is not used any more.
    #[inline]
    pub(crate) unsafe fn free<T>(&self, memory: NonNull<T>, depot: &Depot) {
        let Some(number) = (const { size_for::<T>() }) else {
            // SAFETY: it was allocated with this layout.
            return unsafe { alloc::dealloc(memory.as_ptr().cast(), Layout::new::<T>()) };
        };
        let block = memory.cast();
        // SAFETY: it is a block of this size.
        if unsafe { origin(block, number).read() } == Origin::Allocator {
            // SAFETY: as above, from the allocator.
            return unsafe { alloc::dealloc(block.as_ptr().cast(), layout(SIZES[number])) };
        }
        let lists = &self.lists[number];
        if lists.current.len.get() >= CHUNK / SIZES[number] {
            lists.make_room(&depot.stocks[number]);
        }
        // SAFETY: it is free, of this size, and from a chunk.
        unsafe { lists.current.give(block) };
    }
}

/// Allocates a block of the size of this number by itself.
fn allocate_block(number: usize) -> NonNull<Free> {
    let block = allocate(layout(SIZES[number])).cast();
    // SAFETY: the block is of this size.
    unsafe { origin(block, number).write(Origin::Allocator) };
    block
}

#[inline]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here is empty.
    let memory = unsafe { alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| alloc::handle_alloc_error(layout))
}

/// Frees the chunks. The lists of workers that are still there are not used any more.
impl Drop for Stock {
    fn drop(&mut self) {
        for chunk in lock(&self.lists).chunks.drain(..) {
            // SAFETY: it was allocated so.
            unsafe { alloc::dealloc(chunk.as_ptr(), CHUNK_LAYOUT) };
        }
    }
}

#[cfg(all(test, not(any(loom, locksley_no_blocks))))]
mod tests {
    use super::*;

    const FULL: usize = CHUNK / SIZES[0];

    #[test]
    fn a_block_comes_back_for_another_type_of_its_size() {
        let (blocks, depot) = (Blocks::default(), Depot::default());
        let first = Blocks::allocate::<[u64; 3]>(Some((&blocks, &depot)));
        // SAFETY: it comes from `allocate`, for all of these.
        unsafe {
            blocks.free(first, &depot);
            let second = Blocks::allocate::<[u64; 7]>(Some((&blocks, &depot)));
            assert_eq!(second.addr(), first.addr());
            let larger = Blocks::allocate::<[u64; 8]>(Some((&blocks, &depot)));
            assert_ne!(larger.addr(), first.addr());
            blocks.free(second, &depot);
            blocks.free(larger, &depot);
        }
    }

    /// Allocates blocks, writes all of each, and frees them at another worker.
    fn pass_on(count: usize, from: &Blocks, to: &Blocks, depot: &Depot) -> Vec<NonNull<[u64; 7]>> {
        let all: Vec<_> = (0..count)
            .map(|_| Blocks::allocate::<[u64; 7]>(Some((from, depot))))
            .collect();
        for &memory in &all {
            // SAFETY: it comes from `allocate`.
            unsafe {
                memory.write([u64::MAX; 7]);
                to.free(memory, depot);
            }
        }
        all
    }

    fn full_lists(depot: &Depot) -> usize {
        lock(&depot.stocks[0].lists).full.len()
    }

    #[test]
    fn blocks_come_back_from_the_worker_that_freed_them() {
        let (spawner, thief) = (Blocks::default(), Blocks::default());
        let depot = Depot::default();
        let mut first = pass_on(4 * FULL, &spawner, &thief, &depot);
        first.sort();
        first.dedup();
        assert_eq!(first.len(), 4 * FULL, "no block was given twice");
        assert_eq!(full_lists(&depot), 2, "the thief keeps two lists");
        let again = pass_on(2 * FULL, &spawner, &thief, &depot);
        assert!(again.iter().all(|block| first.binary_search(block).is_ok()));
    }

    #[test]
    fn a_worker_that_frees_and_allocates_in_turn_leaves_the_depot_alone() {
        let (blocks, depot) = (Blocks::default(), Depot::default());
        pass_on(2 * FULL, &blocks, &blocks, &depot);
        for count in [1, FULL, FULL + 1, 2 * FULL] {
            pass_on(count, &blocks, &blocks, &depot);
            assert_eq!(full_lists(&depot), 0, "{count}");
        }
    }

    #[test]
    fn a_depot_has_no_more_than_its_share() {
        let (spawner, thief) = (Blocks::default(), Blocks::default());
        let depot = Depot::default();
        for _ in 0..2 {
            pass_on((MOST_CHUNKS + 2) * FULL, &spawner, &thief, &depot);
            assert_eq!(lock(&depot.stocks[0].lists).chunks.len(), MOST_CHUNKS);
            assert_eq!(full_lists(&depot), MOST_CHUNKS - 2);
        }
    }

    #[test]
    fn what_fits_no_block_is_allocated_as_it_is() {
        #[repr(align(64))]
        struct Wide(#[expect(dead_code, reason = "it has a size")] u8);
        let (blocks, depot) = (Blocks::default(), Depot::default());
        let wide = Blocks::allocate::<Wide>(Some((&blocks, &depot)));
        assert_eq!(wide.addr().get() % 64, 0);
        let large = Blocks::allocate::<[u8; 129]>(Some((&blocks, &depot)));
        // SAFETY: both come from `allocate`.
        unsafe {
            blocks.free(wide, &depot);
            blocks.free(large, &depot);
        }
        assert!(blocks.lists.iter().all(|lists| lists.current.is_empty()));
    }

    #[test]
    fn what_another_thread_allocates_goes_back_to_the_allocator() {
        let (blocks, depot) = (Blocks::default(), Depot::default());
        let outside = Blocks::allocate::<u64>(None);
        // SAFETY: it comes from `allocate`.
        unsafe { blocks.free(outside, &depot) };
        assert!(blocks.lists[0].current.is_empty());
    }
}
