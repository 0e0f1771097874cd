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

/// Runs of neighbours: see [`ParSlice::par_windows`](crate::par::ParSlice::par_windows).
#[derive(Clone, Debug)]
pub struct Windows<'s, T> {
    items: &'s [T],
    size: usize,
}

/// Where the chunk of this number begins, in a slice of this length.
fn start_of(chunk: usize, size: usize, len: usize) -> usize {
    chunk.checked_mul(size).map_or(len, |start| start.min(len))
}

impl<'s, T> Chunks<'s, T> {
    pub(super) fn new(items: &'s [T], size: usize) -> Self {
        assert!(size > 0, "a chunk has at least one item");
        Chunks { items, size }
    }
}

impl<'s, T> ChunksExact<'s, T> {
    pub(super) fn new(items: &'s [T], size: usize) -> Self {
        assert!(size > 0, "a chunk has at least one item");
        let items = &items[..items.len() / size * size];
        ChunksExact { items, size }
    }
}

impl<'s, T> ChunksMut<'s, T> {
    pub(super) fn new(items: &'s mut [T], size: usize) -> Self {
        assert!(size > 0, "a chunk has at least one item");
        ChunksMut { items, size }
    }
}

impl<'s, T> Windows<'s, T> {
    pub(super) fn new(items: &'s [T], size: usize) -> Self {
        assert!(size > 0, "a window has at least one item");
        Windows { items, size }
    }
}

macro_rules! chunks {
    ($name:ident, $split:ident, $iter:ident, $adaptor:ident) => {
        impl<'s, T> Split for $name<'s, T> {
            type Item = <slice::$iter<'s, T> as Iterator>::Item;
            type Iter<'a>
                = slice::$iter<'s, T>
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
            fn block(&mut self, len: usize) -> slice::$iter<'s, T> {
                let mid = start_of(len, self.size, self.items.len());
                let (block, rest) = mem::take(&mut self.items).$split(mid);
                self.items = rest;
                block.$adaptor(self.size)
            }
        }
    };
}

chunks!(Chunks, split_at, Chunks, chunks);
chunks!(ChunksExact, split_at, ChunksExact, chunks_exact);
chunks!(ChunksMut, split_at_mut, ChunksMut, chunks_mut);

impl<'s, T> Windows<'s, T> {
    /// The slice that has the first `count` windows.
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
