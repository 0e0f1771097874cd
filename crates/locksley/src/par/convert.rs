//! The traits that begin a loop, with `par`, `par_mut` and `into_par`.

use std::ops::{Range, RangeInclusive};

use crate::par::chunks::{Chunks, ChunksExact, ChunksExactMut, ChunksMut, Windows};
use crate::par::iter::Par;
use crate::par::pipe::Same;
use crate::par::split::Split;
use crate::par::tiles::TilesMut;
use crate::par::vec::VecPiece;

/// Types that can be looped over by value: vectors, ranges, slices, every [`Split`], and loops
/// themselves.
///
/// ```
/// use locksley::prelude::*;
///
/// let words = vec!["one".to_owned(), "two".to_owned()];
/// assert_eq!(words.into_par().map(|word| word.len()).sum::<usize>(), 6);
/// assert_eq!((0..10_u8).into_par().max(), Some(9));
/// ```
pub trait IntoPar: Sized {
    /// The source of the loop.
    type Source: Split;

    /// The stages that the loop already has.
    type Pipe;

    /// Begins a loop.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!(vec![1, 2, 3].into_par().map(|n| n * n).sum::<i32>(), 14);
    /// ```
    fn into_par(self) -> Par<Self::Source, Self::Pipe>;
}

impl<S: Split> IntoPar for S {
    type Source = S;
    type Pipe = Same;

    fn into_par(self) -> Par<S> {
        Par::new(self)
    }
}

impl<T> IntoPar for Vec<T> {
    type Source = VecPiece<T>;
    type Pipe = Same;

    fn into_par(self) -> Par<VecPiece<T>> {
        Par::new(self.into())
    }
}

impl<'s, T> IntoPar for &'s Vec<T> {
    type Source = &'s [T];
    type Pipe = Same;

    fn into_par(self) -> Par<&'s [T]> {
        Par::new(self)
    }
}

impl<'s, T> IntoPar for &'s mut Vec<T> {
    type Source = &'s mut [T];
    type Pipe = Same;

    fn into_par(self) -> Par<&'s mut [T]> {
        Par::new(self)
    }
}

/// Types that can be looped over by reference: slices, types that dereference to one, and ranges.
///
/// ```
/// use locksley::prelude::*;
///
/// let numbers = vec![1, 2, 3];
/// assert_eq!(numbers.par().sum::<i32>(), 6);
/// assert_eq!((1..4).par().sum::<i32>(), 6);
/// ```
pub trait AsPar {
    /// The source of the loop.
    type Source<'a>: Split
    where
        Self: 'a;

    /// Begins a loop over references.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!(["a", "bc"].par().map(|word| word.len()).max(), Some(2));
    /// ```
    fn par(&self) -> Par<Self::Source<'_>>;
}

impl<T> AsPar for [T] {
    type Source<'a>
        = &'a [T]
    where
        Self: 'a;

    fn par(&self) -> Par<&[T]> {
        Par::new(self)
    }
}

impl<N> AsPar for Range<N>
where
    Range<N>: Split + Clone,
{
    type Source<'a>
        = Range<N>
    where
        Self: 'a;

    fn par(&self) -> Par<Range<N>> {
        Par::new(self.clone())
    }
}

impl<N> AsPar for RangeInclusive<N>
where
    RangeInclusive<N>: Split + Clone,
{
    type Source<'a>
        = RangeInclusive<N>
    where
        Self: 'a;

    fn par(&self) -> Par<RangeInclusive<N>> {
        Par::new(self.clone())
    }
}

/// Loops over parts of a slice.
///
/// ```
/// use locksley::prelude::*;
///
/// let sums: Vec<i32> = [1, 2, 3, 4].par_chunks(2).map(|pair| pair[0] + pair[1]).collect();
/// assert_eq!(sums, [3, 7]);
/// ```
pub trait ParSlice {
    /// The type of the items.
    type Item;

    /// Begins a loop over mutable references.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = vec![1, 2, 3];
    /// numbers.par_mut().for_each(|number| *number *= 2);
    /// assert_eq!(numbers, [2, 4, 6]);
    /// ```
    fn par_mut(&mut self) -> Par<&mut [Self::Item]>;

    /// Begins a loop over chunks of `size` items; the last one may be shorter.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let sums: Vec<i32> = [1, 2, 3, 4, 5].par_chunks(2).map(|c| c.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks(&self, size: usize) -> Par<Chunks<'_, Self::Item>>;

    /// Begins a loop over chunks of exactly `size` items. Remaining items are left out.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// assert_eq!([1, 2, 3, 4, 5].par_chunks_exact(2).count(), 2);
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks_exact(&self, size: usize) -> Par<ChunksExact<'_, Self::Item>>;

    /// Begins a loop over mutable chunks of `size` items; the last one may be shorter.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_chunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [2, 1, 4, 3, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks_mut(&mut self, size: usize) -> Par<ChunksMut<'_, Self::Item>>;

    /// Begins a loop over mutable chunks of exactly `size` items. Remaining items are left out.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    /// assert_eq!(numbers, [2, 1, 4, 3, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_chunks_exact_mut(&mut self, size: usize) -> Par<ChunksExactMut<'_, Self::Item>>;

    /// Begins a loop over mutable tiles of a slice that has rows of `columns` items. A tile has
    /// `tile.0` rows and `tile.1` columns, or fewer at the edges.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut picture = vec![0; 4 * 6];
    /// picture.par_tiles_mut(6, (2, 4)).for_each(|mut tile| {
    ///     let left = tile.tile().columns.start;
    ///     tile.rows_mut().for_each(|(row, pixels)| pixels.fill(10 * row + left));
    /// });
    /// assert_eq!(picture[..6], [0, 0, 0, 0, 4, 4]);
    /// assert_eq!(picture[18..], [30, 30, 30, 30, 34, 34]);
    /// ```
    ///
    /// # Panics
    ///
    /// If a tile would have no rows or no columns, or the slice does not consist of whole rows.
    fn par_tiles_mut(
        &mut self,
        columns: usize,
        tile: (usize, usize),
    ) -> Par<TilesMut<'_, Self::Item>>;

    /// Begins a loop over all overlapping runs of `size` neighbours.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let steps: Vec<i32> = [1, 4, 9].par_windows(2).map(|w| w[1] - w[0]).collect();
    /// assert_eq!(steps, [3, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn par_windows(&self, size: usize) -> Par<Windows<'_, Self::Item>>;
}

impl<T> ParSlice for [T] {
    type Item = T;

    fn par_mut(&mut self) -> Par<&mut [T]> {
        Par::new(self)
    }

    fn par_chunks(&self, size: usize) -> Par<Chunks<'_, T>> {
        Par::new(Chunks::new(self, size))
    }

    fn par_chunks_exact(&self, size: usize) -> Par<ChunksExact<'_, T>> {
        Par::new(ChunksExact::new(self, size))
    }

    fn par_chunks_mut(&mut self, size: usize) -> Par<ChunksMut<'_, T>> {
        Par::new(ChunksMut::new(self, size))
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> Par<ChunksExactMut<'_, T>> {
        Par::new(ChunksExactMut::new(self, size))
    }

    fn par_tiles_mut(&mut self, columns: usize, tile: (usize, usize)) -> Par<TilesMut<'_, T>> {
        Par::new(TilesMut::new(self, columns, tile))
    }

    fn par_windows(&self, size: usize) -> Par<Windows<'_, T>> {
        Par::new(Windows::new(self, size))
    }
}
