//! The source of loops over vectors by value.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::par::split::Split;

/// The items of a vector, by value: the source that [`into_par`](crate::par::IntoPar::into_par)
/// makes of a vector.
///
/// Items that the loop does not reach are dropped with the piece that they are in; the allocation
/// is freed with the last piece.
///
/// ```
/// use locksley::prelude::*;
///
/// let words = vec!["a".to_owned(), "b".to_owned()];
/// let longer: Vec<String> = words.into_par().map(|word| word + "!").collect();
/// assert_eq!(longer, ["a!", "b!"]);
/// ```
pub struct VecPiece<T> {
    /// Owns the allocation, but no item.
    buffer: Arc<Buffer<T>>,
    /// The first item of the piece, which owns its items.
    start: NonNull<T>,
    len: usize,
}

/// A vector's allocation, whose items belong to the pieces.
struct Buffer<T> {
    start: NonNull<T>,
    capacity: usize,
}

// SAFETY: a buffer owns memory and no items, and its memory is only touched to free it.
unsafe impl<T> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Buffer<T> {}

// SAFETY: a piece owns its items, and no other piece has access to them.
unsafe impl<T: Send> Send for VecPiece<T> {}

impl<T> From<Vec<T>> for VecPiece<T> {
    fn from(items: Vec<T>) -> VecPiece<T> {
        let mut items = ManuallyDrop::new(items);
        // From the vector, not from its slice, so that the pointer is valid for the whole
        // allocation.
        let start = NonNull::new(items.as_mut_ptr()).expect("a vector's pointer is not null");
        VecPiece {
            buffer: Arc::new(Buffer {
                start,
                capacity: items.capacity(),
            }),
            start,
            len: items.len(),
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: start and capacity are those of the vector that was forgotten. Every piece keeps
        // the buffer alive, so no piece and no item exists any more.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl<T> VecPiece<T> {
    /// Takes the first `len` items from the piece. The caller must drop them.
    fn take(&mut self, len: usize) -> NonNull<T> {
        assert!(len <= self.len, "a block is no longer than its piece");
        let start = self.start;
        // SAFETY: the piece has that many items, in one allocation.
        self.start = unsafe { start.add(len) };
        self.len -= len;
        start
    }
}

impl<T> Split for VecPiece<T> {
    type Item = T;
    type Iter<'a>
        = VecBlock<'a, T>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn split_at(mut self, mid: usize) -> (Self, Self) {
        let start = self.take(mid);
        let left = VecPiece {
            buffer: self.buffer.clone(),
            start,
            len: mid,
        };
        (left, self)
    }

    #[inline]
    fn block(&mut self, len: usize) -> VecBlock<'_, T> {
        VecBlock {
            start: self.take(len),
            len,
            piece: PhantomData,
        }
    }
}

impl<T> Drop for VecPiece<T> {
    fn drop(&mut self) {
        let items = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
        // SAFETY: the piece owns these items, and the buffer that they are in lives until after
        // this.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<T> fmt::Debug for VecPiece<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VecPiece").field("len", &self.len).finish()
    }
}

/// A block of a vector's items, by value. Items that were not taken are dropped with the block.
pub struct VecBlock<'p, T> {
    start: NonNull<T>,
    len: usize,
    /// The piece, which keeps the allocation alive.
    piece: PhantomData<&'p mut VecPiece<T>>,
}

impl<T> Iterator for VecBlock<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: the block owns `len` items from `start` on. This one is read once: the lines
        // below remove it from the block.
        let item = unsafe { self.start.read() };
        self.len -= 1;
        // SAFETY: at most one past the last item.
        self.start = unsafe { self.start.add(1) };
        Some(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<T> ExactSizeIterator for VecBlock<'_, T> {}

impl<T> FusedIterator for VecBlock<'_, T> {}

impl<T> Drop for VecBlock<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let items = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
        // SAFETY: the block owns the items that were not taken.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<T> fmt::Debug for VecBlock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VecBlock").field("len", &self.len).finish()
    }
}
