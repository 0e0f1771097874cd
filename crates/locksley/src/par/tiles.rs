//! Loops in two dimensions: tiles of an index space, and mutable tiles of a slice that has rows.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use crate::par::iter::Par;
use crate::par::split::Split;

/// A rectangle of an index space: see [`tiles`].
///
/// ```
/// use locksley::par::{TileRange, tiles};
///
/// let first = tiles(3, 5, (2, 4)).find_first(|_| true);
/// assert_eq!(first, Some(TileRange { rows: 0..2, columns: 0..4 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileRange {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub columns: Range<usize>,
}

/// The grid of both kinds of tiles. Tiles are numbered row by row.
#[derive(Clone, Copy, Debug)]
struct TileLayout {
    /// Number of rows and columns of the whole.
    whole: (usize, usize),
    /// Number of rows and columns of a tile.
    tile: (usize, usize),
}

impl TileLayout {
    fn new(whole: (usize, usize), tile: (usize, usize)) -> TileLayout {
        assert!(tile.0 > 0 && tile.1 > 0, "a tile has at least one item");
        TileLayout { whole, tile }
    }

    fn across(&self) -> usize {
        self.whole.1.div_ceil(self.tile.1)
    }

    fn tiles(&self) -> usize {
        let tiles = self
            .across()
            .checked_mul(self.whole.0.div_ceil(self.tile.0));
        tiles.expect("there are at most `usize::MAX` tiles")
    }

    fn get(&self, number: usize) -> TileRange {
        let part = |number: usize, size: usize, whole: usize| {
            let start = number * size;
            start..whole.min(start.saturating_add(size))
        };
        TileRange {
            rows: part(number / self.across(), self.tile.0, self.whole.0),
            columns: part(number % self.across(), self.tile.1, self.whole.1),
        }
    }
}

/// Begins a loop over the tiles of `rows` times `columns` indices, row by row. A tile has
/// `tile.0` rows and `tile.1` columns, or fewer at the edges.
///
/// ```
/// use locksley::par::tiles;
///
/// let areas: Vec<usize> = tiles(3, 5, (2, 4))
///     .map(|tile| tile.rows.len() * tile.columns.len())
///     .collect();
/// assert_eq!(areas, [8, 2, 4, 1]);
/// ```
///
/// # Panics
///
/// If a tile would have no rows or no columns, or if there are more than `usize::MAX` tiles.
pub fn tiles(rows: usize, columns: usize, tile: (usize, usize)) -> Par<Tiles> {
    let grid = TileLayout::new((rows, columns), tile);
    Par::new(Tiles {
        grid,
        numbers: 0..grid.tiles(),
    })
}

/// The tiles of an index space: see [`tiles`].
#[derive(Clone, Debug)]
pub struct Tiles {
    grid: TileLayout,
    numbers: Range<usize>,
}

impl Split for Tiles {
    type Item = TileRange;
    type Iter<'a> = TileIter;

    #[inline]
    fn len(&self) -> usize {
        Split::len(&self.numbers)
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let grid = self.grid;
        let (left, right) = self.numbers.split_at(mid);
        let part = |numbers| Tiles { grid, numbers };
        (part(left), part(right))
    }

    #[inline]
    fn block(&mut self, len: usize) -> TileIter {
        TileIter {
            grid: self.grid,
            numbers: self.numbers.block(len),
        }
    }
}

/// A block of [`Tiles`].
#[derive(Clone, Debug)]
pub struct TileIter {
    grid: TileLayout,
    numbers: Range<usize>,
}

impl Iterator for TileIter {
    type Item = TileRange;

    #[inline]
    fn next(&mut self) -> Option<TileRange> {
        self.numbers.next().map(|number| self.grid.get(number))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

/// The mutable tiles of a slice that has rows: see
/// [`ParSlice::par_tiles_mut`](crate::par::ParSlice::par_tiles_mut).
pub struct TilesMut<'s, T> {
    tiles: Tiles,
    start: *mut T,
    items: PhantomData<&'s mut [T]>,
}

// SAFETY: `TilesMut` stands for the mutable borrow of its tiles, which can be sent if the items
// can.
unsafe impl<T: Send> Send for TilesMut<'_, T> {}

impl<'s, T> TilesMut<'s, T> {
    pub(super) fn new(items: &'s mut [T], columns: usize, tile: (usize, usize)) -> Self {
        assert!(columns > 0, "a row has at least one item");
        assert!(
            items.len() % columns == 0,
            "the slice consists of whole rows"
        );
        let grid = TileLayout::new((items.len() / columns, columns), tile);
        TilesMut {
            tiles: Tiles {
                grid,
                numbers: 0..grid.tiles(),
            },
            start: items.as_mut_ptr(),
            items: PhantomData,
        }
    }
}

impl<'s, T> Split for TilesMut<'s, T> {
    type Item = TileMut<'s, T>;
    type Iter<'a>
        = TileMutIter<'s, T>
    where
        Self: 'a;

    #[inline]
    fn len(&self) -> usize {
        self.tiles.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        assert!(mid <= self.len(), "the middle is no further than the end");
        let (left, right) = self.tiles.split_at(mid);
        let part = |tiles| TilesMut {
            tiles,
            start: self.start,
            items: PhantomData,
        };
        (part(left), part(right))
    }

    #[inline]
    fn block(&mut self, len: usize) -> TileMutIter<'s, T> {
        assert!(len <= self.len(), "a block is no longer than its piece");
        TileMutIter {
            tiles: self.tiles.block(len),
            start: self.start,
            items: PhantomData,
        }
    }
}

/// A block of [`TilesMut`].
pub struct TileMutIter<'s, T> {
    tiles: TileIter,
    start: *mut T,
    items: PhantomData<&'s mut [T]>,
}

impl<'s, T> Iterator for TileMutIter<'s, T> {
    type Item = TileMut<'s, T>;

    #[inline]
    fn next(&mut self) -> Option<TileMut<'s, T>> {
        Some(TileMut {
            stride: self.tiles.grid.whole.1,
            tile: self.tiles.next()?,
            start: self.start,
            items: PhantomData,
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.tiles.size_hint()
    }
}

/// A rectangle of a slice that has rows, borrowed mutably: see
/// [`ParSlice::par_tiles_mut`](crate::par::ParSlice::par_tiles_mut).
pub struct TileMut<'s, T> {
    tile: TileRange,
    /// Number of items in a row of the slice.
    stride: usize,
    /// The first item of the slice.
    start: *mut T,
    items: PhantomData<&'s mut [T]>,
}

// SAFETY: a tile is a mutable borrow of its items, which can be sent if they can.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: a shared tile gives access only to its position.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<T> TileMut<'_, T> {
    /// Returns the rows and columns of the tile.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut items = [0; 6];
    /// items.par_tiles_mut(3, (1, 3)).for_each(|tile| assert_eq!(tile.tile().columns, 0..3));
    /// ```
    pub fn tile(&self) -> &TileRange {
        &self.tile
    }

    /// Returns the tile's part of each of its rows, from top to bottom, with the row's number.
    ///
    /// ```
    /// use locksley::prelude::*;
    ///
    /// let mut items = [0; 6];
    /// items.par_tiles_mut(3, (2, 2)).for_each(|mut tile| {
    ///     tile.rows_mut().for_each(|(row, part)| part.fill(row));
    /// });
    /// assert_eq!(items, [0, 0, 0, 1, 1, 1]);
    /// ```
    pub fn rows_mut(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        let TileRange { rows, columns } = self.tile.clone();
        let (start, stride) = (self.start, self.stride);
        rows.map(move |row| {
            // SAFETY: the number of the tile is below that of tiles, so row and columns are in the
            // slice.
            let first = unsafe { start.add(row * stride + columns.start) };
            // SAFETY: tiles are disjoint, and every tile is given out once: pieces and blocks take
            // only their own numbers. A mutable borrow of the tile gives out each of its rows once,
            // and the slice is borrowed for as long as the tiles.
            (row, unsafe {
                slice::from_raw_parts_mut(first, columns.end - columns.start)
            })
        })
    }
}

macro_rules! debug_as_tile {
    ($($name:ident: $field:ident),*) => {$(
        impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.$field).finish()
            }
        }
    )*};
}

debug_as_tile!(TilesMut: tiles, TileMutIter: tiles, TileMut: tile);
