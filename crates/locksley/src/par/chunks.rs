//! Sources whose items are parts of a slice.

use std::mem;
use std::slice;

use crate::par::split::Split;

/// Chunks of a slice: see [`ParSlice::par_chunks`](crate::par::ParSlice::par_chunks).
#[derive(Clone, Debug)]
pub struct Chunks<'s, T> {
    items: &'s [T],
    size: usize,
}

/// Chunks of a slice, all of the same length: see
/// [`ParSlice::par_chunks_exact`](crate::par::ParSlice::par_chunks_exact).
#[derive(Clone, Debug)]
pub struct ChunksExact<'s, T> {
    items: &'s [T],
    size: usize,
}

/// Mutable chunks of a slice: see
/// [`ParSlice::par_chunks_mut`](crate::par::ParSlice::par_chunks_mut).
#[derive(Debug)]
pub struct ChunksMut<'s, T> {
    items: &'s mut [T],
    size: usize,
}

/// Mutable chunks of a slice, all of the same length: see
/// [`ParSlice::par_chunks_exact_mut`](crate::par::ParSlice::par_chunks_exact_mut).
#[derive(Debug)]
pub struct ChunksExactMut<'s, T> {
    items: &'s mut [T],
    size: usize,
}

/// Runs of neighbours: see [`ParSlice::par_windows`](crate::par::ParSlice::par_windows).
#[derive(Clone, Debug)]
pub struct Windows<'s, T> {
    items: &'s [T],
    size: usize,
}

/// Returns where the chunk with number `chunk` begins, in a slice of length `len`.
fn start_of(chunk: usize, size: usize, len: usize) -> usize {
    chunk.checked_mul(size).map_or(len, |start| start.min(len))
}

/// Returns the length of a slice without the last items that do not fill a chunk.
fn whole_chunks(len: usize, size: usize) -> usize {
    len / size * size
}

impl<'s, T> Windows<'s, T> {
    pub(super) fn new(items: &'s [T], size: usize) -> Self {
        assert!(size > 0, "a window has at least one item");
        Windows { items, size }
    }
}

/// Implements a kind of chunks, given the slice's type, the methods that split it and make chunks,
/// and the number of items that are in chunks.
macro_rules! chunks {
    ($name:ident, $slice:ty, $split:ident, $adaptor:ident, $used:expr) => {
        impl<'s, T> $name<'s, T> {
            pub(super) fn new(items: $slice, size: usize) -> Self {
                assert!(size > 0, "a chunk has at least one item");
                let used = $used(items.len(), size);
                let items = items.$split(used).0;
                $name { items, size }
            }
        }

        impl<'s, T> Split for $name<'s, T> {
            type Item = <slice::$name<'s, T> as Iterator>::Item;
            type Iter<'a>
                = slice::$name<'s, T>
            where
                Self: 'a;

            #[inline]
            fn len(&self) -> usize {
                self.items.len().div_ceil(self.size)
            }

            fn split_at(self, mid: usize) -> (Self, Self) {
                let size = self.size;
                let mid = start_of(mid, size, self.items.len());
                let (left, right) = self.items.$split(mid);
                ($name { items: left, size }, $name { items: right, size })
            }

            #[inline]
            fn block(&mut self, len: usize) -> slice::$name<'s, T> {
                let mid = start_of(len, self.size, self.items.len());
                let (block, rest) = mem::take(&mut self.items).$split(mid);
                self.items = rest;
                block.$adaptor(self.size)
            }
        }
    };
}

chunks!(Chunks, &'s [T], split_at, chunks, |len, _| len);
chunks!(ChunksExact, &'s [T], split_at, chunks_exact, whole_chunks);
chunks!(
    ChunksMut,
    &'s mut [T],
    split_at_mut,
    chunks_mut,
    |len, _| len
);
chunks!(
    ChunksExactMut,
    &'s mut [T],
    split_at_mut,
    chunks_exact_mut,
    whole_chunks
);

impl<'s, T> Windows<'s, T> {
    /// Returns the slice that has the first `count` windows.
    fn first(&self, count: usize) -> &'s [T] {
        if count == 0 {
            return &[];
        }
        &self.items[..count - 1 + self.size]
    }
}

impl<'s, T> Split for Windows<'s, T> {
    type Item = &'s [T];
    type Iter<'a>
        = slice::Windows<'s, T>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        let behind_first = self.items.len().checked_sub(self.size);
        behind_first.map_or(0, |count| count + 1)
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let size = self.size;
        let left = Windows {
            items: self.first(mid),
            size,
        };
        let right = Windows {
            items: &self.items[mid..],
            size,
        };
        (left, right)
    }

    #[inline]
    fn block(&mut self, len: usize) -> slice::Windows<'s, T> {
        let block = self.first(len);
        self.items = &self.items[len..];
        block.windows(self.size)
    }
}
