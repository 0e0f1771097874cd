//! Memory of a frame: taken piece by piece from chunks, freed all at once.
//!
//! A frame lies on one thread's stack, and so do its arenas; other threads only read and write
//! their contents through pointers, during the life of the frame. A thread keeps some chunks for
//! its next frames, so a fork usually needs no call of the allocator.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

/// Bytes in a chunk, its header included: a dozen tasks.
const CHUNK: usize = 2048;

/// Largest number of chunks that a thread keeps: as many as a frame with a thousand tasks fills.
/// Freeing and allocating that much each time would cost more than the tasks, since the allocator
/// returns it to the system.
const KEPT: usize = 256;

thread_local! {
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare(Vec::new())) };
}

/// Unused chunks of the usual size.
struct Spare(Vec<NonNull<Chunk>>);

impl Drop for Spare {
    fn drop(&mut self) {
        for chunk in self.0.drain(..) {
            // SAFETY: the chunk is of the usual size, and unused.
            unsafe { dealloc(chunk.as_ptr().cast(), usual()) };
        }
    }
}

/// The header of a chunk.
#[repr(C, align(16))]
struct Chunk {
    /// The chunk that was filled before this one.
    before: *mut Chunk,
    layout: Layout,
}

fn usual() -> Layout {
    Layout::from_size_align(CHUNK, align_of::<Chunk>()).expect("a fixed size")
}

fn obtain(layout: Layout) -> NonNull<Chunk> {
    // SAFETY: the layout is not empty: it has room for the header.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives a chunk back: keeps it for this thread, or frees it.
///
/// # Safety
///
/// The chunk is unused, and was obtained with this layout.
unsafe fn give_back(chunk: NonNull<Chunk>, layout: Layout) {
    if layout == usual() {
        let keep = |spare: &RefCell<Spare>| {
            let kept = &mut spare.borrow_mut().0;
            let room = kept.len() < KEPT;
            if room {
                kept.push(chunk);
            }
            room
        };
        if SPARE.try_with(keep).unwrap_or(false) {
            return;
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { dealloc(chunk.as_ptr().cast(), layout) };
}

/// Memory that is freed all at once, without dropping its contents.
#[derive(Debug)]
pub(crate) struct Arena {
    /// The free part of the newest chunk.
    free: Cell<*mut u8>,
    left: Cell<usize>,
    newest: Cell<*mut Chunk>,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena {
            free: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
            newest: Cell::new(ptr::null_mut()),
        }
    }
}

impl Arena {
    /// Moves a value into the arena, which does not drop it.
    #[inline]
    pub(crate) fn put<T>(&self, value: T) -> NonNull<T> {
        let place = self.room_for(Layout::new::<T>()).cast::<T>();
        // SAFETY: the place is as large and as aligned as the layout says, and only the caller's.
        unsafe { place.write(value) };
        place
    }

    /// Returns uninitialized memory of this layout, valid until the arena is cleared.
    #[inline]
    pub(crate) fn room_for(&self, layout: Layout) -> NonNull<u8> {
        let free = self.free.get();
        let skip = free.align_offset(layout.align());
        match skip.checked_add(layout.size()) {
            // An arena without a chunk gets one even for a zero-sized value: the address must be
            // aligned.
            Some(size) if size <= self.left.get() && !free.is_null() => {
                self.left.set(self.left.get() - size);
                // SAFETY: the chunk has that many bytes left.
                unsafe {
                    self.free.set(free.add(size));
                    NonNull::new_unchecked(free.add(skip))
                }
            }
            _ => self.room_in_another(layout),
        }
    }

    #[cold]
    #[inline(never)]
    fn room_in_another(&self, layout: Layout) -> NonNull<u8> {
        let needed = size_of::<Chunk>() + layout.size() + layout.align();
        let whole = Layout::from_size_align(needed.max(CHUNK), align_of::<Chunk>())
            .expect("what fits into a type fits with a header");
        let kept = || SPARE.try_with(|spare| spare.borrow_mut().0.pop()).ok();
        let chunk = match whole.size() {
            CHUNK => kept().flatten().unwrap_or_else(|| obtain(whole)),
            _ => obtain(whole),
        };
        let header = Chunk {
            before: self.newest.get(),
            layout: whole,
        };
        // SAFETY: the chunk starts with room for its header, and is this arena's alone.
        unsafe {
            chunk.write(header);
            self.free.set(chunk.as_ptr().add(1).cast());
        }
        self.left.set(whole.size() - size_of::<Chunk>());
        self.newest.set(chunk.as_ptr());
        self.room_for(layout)
    }

    /// Frees everything.
    ///
    /// # Safety
    ///
    /// The contents are not used again.
    pub(crate) unsafe fn clear(&self) {
        while let Some(chunk) = NonNull::new(self.newest.get()) {
            // SAFETY: the arena's chunks start with a header.
            let (before, layout) = unsafe { (chunk.as_ref().before, chunk.as_ref().layout) };
            self.newest.set(before);
            // SAFETY: the caller guarantees that it is unused; the header has its layout.
            unsafe { give_back(chunk, layout) };
        }
        self.free.set(ptr::null_mut());
        self.left.set(0);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the owner of an arena keeps it as long as its contents are used.
        unsafe { self.clear() };
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/arena.rs"]
mod tests;
