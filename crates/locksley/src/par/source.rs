//! Sources: ranges, slices, vectors.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::{Range, RangeInclusive};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use crate::par::split::Split;

macro_rules! ranges {
    ($($int:ty),*) => {$(
        impl Split for Range<$int> {
            type Item = $int;
            type Iter<'a> = Range<$int>;

            #[inline]
            fn len(&self) -> usize {
                if self.start >= self.end {
                    return 0;
                }
                let len = self.end.abs_diff(self.start);
                usize::try_from(len).expect("the range has at most `usize::MAX` items")
            }

            #[inline]
            fn split_at(self, mid: usize) -> (Self, Self) {
                let mid = self.start.wrapping_add(mid as $int);
                (self.start..mid, mid..self.end)
            }

            #[inline]
            fn block(&mut self, len: usize) -> Range<$int> {
                let start = self.start;
                self.start = start.wrapping_add(len as $int);
                start..self.start
            }
        }

        impl Split for RangeInclusive<$int> {
            type Item = $int;
            type Iter<'a> = RangeInclusive<$int>;

            #[inline]
            fn len(&self) -> usize {
                if self.is_empty() {
                    return 0;
                }
                let len = usize::try_from(self.end().abs_diff(*self.start()));
                let len = len.ok().and_then(|len| len.checked_add(1));
                len.expect("the range has at most `usize::MAX` items")
            }

            #[inline]
            fn split_at(mut self, mid: usize) -> (Self, Self) {
                let left = self.block(mid);
                (left, self)
            }

            #[inline]
            fn block(&mut self, len: usize) -> RangeInclusive<$int> {
                let empty = RangeInclusive::new(1, 0);
                if len == 0 {
                    return empty;
                }
                let all = mem::replace(self, empty);
                let last = all.start().wrapping_add((len - 1) as $int);
                if last < *all.end() {
                    *self = last + 1..=*all.end();
                }
                *all.start()..=last
            }
        }
    )*};
}

ranges!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

impl<'s, T> Split for &'s [T] {
    type Item = &'s T;
    type Iter<'a>
        = slice::Iter<'s, T>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, mid: usize) -> (Self, Self) {
        <[T]>::split_at(self, mid)
    }

    #[inline]
    fn block(&mut self, len: usize) -> slice::Iter<'s, T> {
        let (block, rest) = <[T]>::split_at(self, len);
        *self = rest;
        block.iter()
    }
}

impl<'s, T> Split for &'s mut [T] {
    type Item = &'s mut T;
    type Iter<'a>
        = slice::IterMut<'s, T>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, mid: usize) -> (Self, Self) {
        <[T]>::split_at_mut(self, mid)
    }

    #[inline]
    fn block(&mut self, len: usize) -> slice::IterMut<'s, T> {
        let (block, rest) = <[T]>::split_at_mut(mem::take(self), len);
        *self = rest;
        block.iter_mut()
    }
}

/// The items of a vector, by value: what [`into_par`](crate::par::IntoPar::into_par) makes of one.
///
/// Items that the loop does not reach are dropped with the piece that they are in; the allocation is
/// freed with the last piece.
///
/// ```
/// use locksley::prelude::*;
///
/// let words = vec!["a".to_owned(), "b".to_owned()];
/// let longer: Vec<String> = words.into_par().map(|word| word + "!").collect();
/// assert_eq!(longer, ["a!", "b!"]);
/// ```
pub struct VecPiece<T> {
    /// Frees the allocation, and drops no item.
    buffer: Arc<Buffer<T>>,
    /// The first of the piece's items, which are its own.
    start: NonNull<T>,
    len: usize,
}

/// A vector's allocation, whose items belong to the pieces.
struct Buffer<T> {
    start: NonNull<T>,
    capacity: usize,
}

// SAFETY: a buffer owns memory and no items, and is never accessed but to free it.
unsafe impl<T> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Buffer<T> {}

// SAFETY: a piece is the only one to reach its items, and owns them.
unsafe impl<T: Send> Send for VecPiece<T> {}

impl<T> From<Vec<T>> for VecPiece<T> {
    fn from(items: Vec<T>) -> VecPiece<T> {
        let mut items = ManuallyDrop::new(items);
        // From the vector, not from its slice: the pointer is good for the whole allocation.
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
        // SAFETY: start and capacity are those of the vector that was forgotten. Its items are gone
        // or belong to pieces; there are none of them left, because each keeps the buffer.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl<T> VecPiece<T> {
    /// Takes the first `len` items from the piece. The caller must see to their dropping.
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
        // SAFETY: the piece owns these items, and the buffer that they are in lives until after this.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<T> fmt::Debug for VecPiece<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VecPiece").field("len", &self.len).finish()
    }
}

/// A block of a vector's items, by value. Those that are not taken are dropped with it.
pub struct VecBlock<'p, T> {
    start: NonNull<T>,
    len: usize,
    /// The piece keeps the allocation.
    piece: PhantomData<&'p mut VecPiece<T>>,
}

impl<T> Iterator for VecBlock<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: the block owns `len` items from `start` on. This one is read once: the next two
        // lines take it out of the block.
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
        // SAFETY: the block owns what is left of it.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<T> fmt::Debug for VecBlock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VecBlock").field("len", &self.len).finish()
    }
}
