//! Memory of spawned jobs: a worker keeps what its jobs leave behind for those that it spawns next.
//!
//! A spawned job is allocated by the thread that spawns it and freed by the worker that runs it. A
//! general allocator takes longer for that than a worker takes for all the rest of a small job. So
//! a worker keeps blocks of two sizes in lists of its own, which no other thread touches; what does
//! not fit a block, or a full list, goes to the allocator.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The sizes of blocks.
const SIZES: [usize; 2] = [64, 128];

/// How much memory a list may keep, in bytes.
const KEPT: usize = 32 << 10;

/// The alignment of blocks: that of the allocator's own.
const ALIGN: usize = 16;

/// Lists make it harder to see that freed memory is used: a build that looks for that has none.
const HAS_LISTS: bool = cfg!(not(any(loom, locksley_no_blocks)));

/// The blocks that a worker keeps. The owner's alone.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    lists: [List; SIZES.len()],
}

/// Free blocks of one size.
#[derive(Debug)]
struct List {
    first: Cell<*mut Free>,
    len: Cell<usize>,
}

/// A free block.
struct Free {
    next: *mut Free,
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
    /// The block is free, and of the list's size.
    #[inline]
    unsafe fn give(&self, block: NonNull<Free>) {
        let next = self.first.replace(block.as_ptr());
        // SAFETY: the block is free, and large enough.
        unsafe { block.write(Free { next }) };
        self.len.set(self.len.get() + 1);
    }
}

/// The number of the smallest size that a `T` fits, if it fits one.
const fn size_for<T>() -> Option<usize> {
    let layout = Layout::new::<T>();
    if !HAS_LISTS || layout.align() > ALIGN {
        return None;
    }
    let mut number = 0;
    while number < SIZES.len() {
        if layout.size() <= SIZES[number] {
            return Some(number);
        }
        number += 1;
    }
    None
}

/// The memory that a `T` gets.
const fn layout_for<T>() -> Layout {
    match size_for::<T>() {
        Some(number) => layout_of(number),
        None => Layout::new::<T>(),
    }
}

/// The layout of the blocks of this size.
const fn layout_of(number: usize) -> Layout {
    match Layout::from_size_align(SIZES[number], ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("sizes and alignment are small powers of two"),
    }
}

impl Blocks {
    /// Returns memory for a `T`, which is not empty: a block if there is one.
    #[inline]
    pub(crate) fn allocate<T>(blocks: Option<&Blocks>) -> NonNull<T> {
        const { assert!(size_of::<T>() > 0) }
        let kept = const { size_for::<T>() }.and_then(|number| blocks?.lists[number].take());
        match kept {
            Some(block) => block.cast(),
            None => allocate(const { layout_for::<T>() }).cast(),
        }
    }

    /// Keeps the memory of a `T`, or gives it back to the allocator.
    ///
    /// # Safety
    ///
    /// The memory comes from [`allocate`](Blocks::allocate) for the same type, with any worker's
    /// blocks or none, and is not used any more.
    #[inline]
    pub(crate) unsafe fn free<T>(&self, memory: NonNull<T>) {
        if let Some(number) = const { size_for::<T>() } {
            let list = &self.lists[number];
            if list.len.get() < KEPT / SIZES[number] {
                // SAFETY: it was allocated with the layout of this size, and is free.
                return unsafe { list.give(memory.cast()) };
            }
        }
        // SAFETY: it was allocated with this layout, whether it has been in a list or not.
        unsafe { alloc::dealloc(memory.as_ptr().cast(), const { layout_for::<T>() }) };
    }
}

#[inline]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here is empty.
    let memory = unsafe { alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| alloc::handle_alloc_error(layout))
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (number, list) in self.lists.iter().enumerate() {
            while let Some(block) = list.take() {
                // SAFETY: blocks of this list have this layout.
                unsafe { alloc::dealloc(block.as_ptr().cast(), layout_of(number)) };
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_for_another_type_of_its_size() {
        let blocks = Blocks::default();
        let first = Blocks::allocate::<[u64; 3]>(Some(&blocks));
        // SAFETY: it comes from `allocate`, for all of these.
        unsafe {
            blocks.free(first);
            let second = Blocks::allocate::<[u64; 8]>(Some(&blocks));
            assert_eq!(second.addr(), first.addr());
            let larger = Blocks::allocate::<[u64; 9]>(Some(&blocks));
            assert_ne!(larger.addr(), first.addr());
            blocks.free(second);
            blocks.free(larger);
        }
    }

    #[test]
    fn a_list_keeps_no_more_than_its_share() {
        let blocks = Blocks::default();
        let all: Vec<_> = (0..2 * KEPT / 64)
            .map(|_| Blocks::allocate::<u64>(Some(&blocks)))
            .collect();
        for memory in all {
            // SAFETY: it comes from `allocate`.
            unsafe { blocks.free(memory) };
        }
        assert_eq!(blocks.lists[0].len.get(), KEPT / 64);
    }

    #[test]
    fn what_fits_no_block_is_allocated_as_it_is() {
        #[repr(align(64))]
        struct Wide(#[expect(dead_code, reason = "it has a size")] u8);
        let blocks = Blocks::default();
        let wide = Blocks::allocate::<Wide>(Some(&blocks));
        assert_eq!(wide.addr().get() % 64, 0);
        let large = Blocks::allocate::<[u8; 129]>(Some(&blocks));
        // SAFETY: both come from `allocate`.
        unsafe {
            blocks.free(wide);
            blocks.free(large);
        }
        assert!(blocks.lists.iter().all(|list| list.len.get() == 0));
    }
}
