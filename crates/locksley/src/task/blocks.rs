//! Memory of spawned jobs: workers keep freed blocks for the jobs that they spawn next.
//!
//! A spawned job is allocated by the thread that spawns it and freed by the worker that runs it. A
//! general allocator takes longer for that than a worker takes for the rest of a small job, and
//! longest if the two are different threads. So a worker keeps blocks of two sizes in lists that no
//! other thread accesses. A worker gives full lists to the pool's [`Depot`], and takes one from
//! there when it has no blocks left: one lock for many blocks. That is how blocks return from the
//! workers that steal to those that spawn.
//!
//! The depot cuts its blocks from chunks, of which it has some megabytes at most, and frees them
//! with the pool. The memory of a job comes from the allocator if the job does not fit a block, if
//! no blocks are left, or if the spawning thread is not a worker.
//!
//! A task with a handle may outlive the pool, so its block comes from the allocator. Workers keep a
//! few such blocks: [`Kept`].

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::NonNull;

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// The sizes of blocks, in bytes.
const SIZES: [usize; 2] = [64, 128];

/// The size of a chunk, in bytes. Its blocks make a full list.
const CHUNK: usize = 16 << 10;

/// Maximum number of a depot's chunks for each size.
const MOST_CHUNKS: usize = 384;

const ALIGN: usize = 16;

/// Set if workers keep lists of free blocks. Lists hide uses of freed memory, so builds that look
/// for those have none.
const HAS_LISTS: bool = cfg!(not(any(loom, locksley_no_blocks)));

/// The free blocks of a worker, by size. Accessed by the owner only.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    lists: [Lists; SIZES.len()],
}

/// Free blocks of one size: the list in use, and another one that is full or empty, so that a
/// worker that frees and allocates in turn does not use the depot.
#[derive(Debug, Default)]
struct Lists {
    current: List,
    other: List,
}

/// A list of free blocks of one size, all from chunks or all from the allocator.
#[derive(Debug, Default)]
struct List {
    first: Cell<Option<NonNull<Free>>>,
    len: Cell<usize>,
}

// SAFETY: the blocks are free, and belong to the list.
unsafe impl Send for List {}

struct Free {
    next: Option<NonNull<Free>>,
}

/// The origin of a block. It is in the last word of every block, and written once.
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

/// Chunks and full lists for one size of blocks.
#[derive(Debug, Default)]
struct Stock {
    /// Number of lists that workers have: of chunks, less the full ones. Read without the lock.
    given: AtomicUsize,
    lists: Mutex<StockLists>,
}

#[derive(Debug, Default)]
struct StockLists {
    full: Vec<List>,
    chunks: Vec<NonNull<u8>>,
}

// SAFETY: the chunks belong to the stock.
unsafe impl Send for StockLists {}

impl List {
    #[inline]
    fn take(&self) -> Option<NonNull<Free>> {
        let block = self.first.get()?;
        // SAFETY: a block in the list is free, and was written by `give`.
        self.first.set(unsafe { block.as_ref() }.next);
        self.len.set(self.len.get() - 1);
        Some(block)
    }

    /// # Safety
    ///
    /// The block is free, of the list's size, and comes from where the others do.
    #[inline]
    unsafe fn give(&self, block: NonNull<Free>) {
        let next = self.first.replace(Some(block));
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
    /// Takes a block of size `SIZES[number]`.
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
        self.given.load(Ordering::Relaxed) == MOST_CHUNKS
    }

    /// Fills an empty list with blocks of size `SIZES[number]`, if there are any.
    fn give_list(&self, number: usize, list: &List) {
        let mut stock = lock(&self.lists);
        match stock.full.pop() {
            Some(full) => list.swap(&full),
            None if stock.chunks.len() < MOST_CHUNKS => stock.chunks.push(cut(number, list)),
            None => return,
        }
        self.given.fetch_add(1, Ordering::Relaxed);
    }

    /// Empties a full list.
    fn take_list(&self, list: &List) {
        let full = List::default();
        full.swap(list);
        lock(&self.lists).full.push(full);
        self.given.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Allocates a chunk, cuts it into blocks of size `SIZES[number]`, and puts them into a list.
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

/// Returns the word that holds the origin of a block of size `SIZES[number]`.
///
/// # Safety
///
/// The block is of this size.
#[inline]
unsafe fn origin(block: NonNull<Free>, number: usize) -> NonNull<Origin> {
    // SAFETY: it is the last word.
    unsafe { block.byte_add(SIZES[number] - size_of::<Origin>()) }.cast()
}

/// Returns the index of the smallest of the [`SIZES`] that a `T` fits, if it fits one.
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
    /// Returns memory for a `T`, which must not be zero-sized. `kept` is what the calling worker
    /// keeps, if the calling thread is a worker.
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

/// The size of blocks for tasks with a handle: 128 bytes with the allocator's header word, up to
/// which general allocators are fast.
const KEPT_SIZE: usize = 120;

/// Maximum number of such blocks that a worker keeps.
const MOST_KEPT: usize = 128;

/// Blocks from the allocator that a worker keeps for tasks with a handle. Accessed by the owner
/// only.
#[derive(Debug, Default)]
pub(crate) struct Kept(List);

impl Kept {
    /// Returns memory for a `T`, which must not be zero-sized. `kept` is what the calling worker
    /// keeps, if the calling thread is a worker.
    #[inline]
    pub(crate) fn allocate<T>(kept: Option<&Kept>) -> NonNull<T> {
        const { assert!(size_of::<T>() > 0) }
        let block = kept
            .filter(|_| fits_kept::<T>())
            .and_then(|kept| kept.0.take());
        block.map_or_else(|| allocate(kept_layout::<T>()).cast(), NonNull::cast)
    }

    /// Keeps the memory of a `T`, if there is room, or gives it back to the allocator.
    ///
    /// # Safety
    ///
    /// The memory comes from [`allocate`](Kept::allocate) for the same type, and is not used any
    /// more.
    #[inline]
    pub(crate) unsafe fn free<T>(kept: Option<&Kept>, memory: NonNull<T>) {
        match kept.filter(|kept| fits_kept::<T>() && kept.0.len.get() < MOST_KEPT) {
            // SAFETY: it is free, of this size, and from the allocator.
            Some(kept) => unsafe { kept.0.give(memory.cast()) },
            // SAFETY: it was allocated with this layout.
            None => unsafe { alloc::dealloc(memory.as_ptr().cast(), kept_layout::<T>()) },
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        while let Some(block) = self.0.take() {
            // SAFETY: it was allocated with this layout.
            unsafe { alloc::dealloc(block.as_ptr().cast(), layout(KEPT_SIZE)) };
        }
    }
}

/// Returns `true` if a `T` fits a block that workers keep.
const fn fits_kept<T>() -> bool {
    HAS_LISTS && size_of::<T>() <= KEPT_SIZE && align_of::<T>() <= ALIGN
}

/// Returns the layout of memory for a `T`: a whole block, if it fits one.
const fn kept_layout<T>() -> Layout {
    if fits_kept::<T>() {
        layout(KEPT_SIZE)
    } else {
        Layout::new::<T>()
    }
}

/// Allocates a single block of size `SIZES[number]`.
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

/// Frees the chunks. Lists that workers still have are not used any more.
impl Drop for Stock {
    fn drop(&mut self) {
        for chunk in lock(&self.lists).chunks.drain(..) {
            // SAFETY: it was allocated with this layout.
            unsafe { alloc::dealloc(chunk.as_ptr(), CHUNK_LAYOUT) };
        }
    }
}

#[cfg(all(test, not(any(loom, locksley_no_blocks))))]
#[path = "../../tests/unit/task/blocks.rs"]
mod tests;
