//! Objects that are pieces of a slice or tiles of a matrix.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use super::{Flow, Object};

impl<'f> Flow<'f, '_> {
    /// Makes an object of each piece of a slice. All pieces have `length` elements, except that the
    /// last one may be shorter.
    ///
    /// # Panics
    ///
    /// If `length` is zero.
    pub fn tiles<T: Send>(&'f self, slice: &'f mut [T], length: usize) -> Vec<Object<'f, [T]>> {
        let pieces = slice.chunks_mut(length);
        pieces.map(|piece| self.object(piece)).collect()
    }

    /// Makes an object of each tile of a matrix that lies in a slice row by row, `columns` elements
    /// each. Tiles are `height` by `width`, except that those at the lower and right edges may be
    /// smaller.
    ///
    /// # Panics
    ///
    /// If the slice is not a whole number of rows, or one of the numbers is zero.
    ///
    /// ```
    /// let mut matrix = vec![1; 5 * 4];
    /// locksley::flow(|f| {
    ///     let tiles = f.grid(&mut matrix, 4, (2, 2));
    ///     assert_eq!((tiles.rows(), tiles.columns()), (3, 2));
    ///     f.fork((tiles.at(0, 0).read(), tiles.at(2, 1).update()), |(from, to)| {
    ///         to[(0, 1)] += from[(1, 0)] + 5;
    ///     });
    /// });
    /// assert_eq!(matrix[4 * 4 + 3], 7);
    /// ```
    pub fn grid<T: Send>(
        &'f self,
        matrix: &'f mut [T],
        columns: usize,
        (height, width): (usize, usize),
    ) -> Grid<'f, T> {
        assert!(
            columns > 0 && height > 0 && width > 0 && matrix.len() % columns == 0,
            "a grid needs whole rows, and tiles that are not empty: {} elements in rows of \
             {columns}, tiles of {height} by {width}",
            matrix.len(),
        );
        let (rows, start) = (matrix.len() / columns, NonNull::from(matrix).cast::<T>());
        let mut tiles = Vec::new();
        for top in (0..rows).step_by(height) {
            for left in (0..columns).step_by(width) {
                tiles.push(self.value(Tile {
                    // SAFETY: row and column are inside the matrix.
                    first: unsafe { start.add(top * columns + left) },
                    rows: height.min(rows - top),
                    columns: width.min(columns - left),
                    stride: columns,
                    matrix: PhantomData,
                }));
            }
        }
        Grid {
            tiles,
            rows: rows.div_ceil(height),
            columns: columns.div_ceil(width),
        }
    }
}

/// The tiles of a matrix. See [`Flow::grid`].
#[derive(Debug)]
pub struct Grid<'f, T> {
    tiles: Vec<Object<'f, Tile<'f, T>>>,
    rows: usize,
    columns: usize,
}

impl<'f, T> Grid<'f, T> {
    /// Returns the number of rows of tiles.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns of tiles.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the tile in a row and a column.
    ///
    /// # Panics
    ///
    /// If there is no such tile.
    pub fn at(&self, row: usize, column: usize) -> Object<'f, Tile<'f, T>> {
        assert!(
            row < self.rows && column < self.columns,
            "there is no tile ({row}, {column}): the grid has {} by {}",
            self.rows,
            self.columns,
        );
        self.tiles[row * self.columns + column]
    }
}

/// A tile of a matrix, as a task sees it. See [`Flow::grid`].
pub struct Tile<'f, T> {
    first: NonNull<T>,
    rows: usize,
    columns: usize,
    /// Number of elements from the start of one row to the next.
    stride: usize,
    matrix: PhantomData<&'f mut [T]>,
}

// SAFETY: a tile stands for `&mut` to its elements, which no other tile has.
unsafe impl<T: Send> Send for Tile<'_, T> {}
// SAFETY: as above; a shared tile gives out only `&T`.
unsafe impl<T: Sync> Sync for Tile<'_, T> {}

impl<T> Tile<'_, T> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn place(&self, row: usize) -> NonNull<T> {
        assert!(row < self.rows, "there is no row {row} among {}", self.rows);
        // SAFETY: the row is inside the tile, and the tile inside the matrix.
        unsafe { self.first.add(row * self.stride) }
    }

    /// Returns a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> &[T] {
        // SAFETY: a row of the tile has `columns` elements; the result borrows the tile as shared.
        unsafe { NonNull::slice_from_raw_parts(self.place(row), self.columns).as_ref() }
    }

    /// Returns a row, to write.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        // SAFETY: a row of the tile has `columns` elements; the result borrows the tile as mutable.
        unsafe { NonNull::slice_from_raw_parts(self.place(row), self.columns).as_mut() }
    }

    /// Returns two different rows: one to write, one to read.
    ///
    /// # Panics
    ///
    /// If one of the rows does not exist, or they are the same.
    #[inline]
    pub fn row_pair(&mut self, write: usize, read: usize) -> (&mut [T], &[T]) {
        assert!(write != read, "row {write} cannot be written and read");
        let (write, read) = (self.place(write), self.place(read));
        // SAFETY: different rows of the tile are disjoint; both results borrow the tile as mutable.
        unsafe {
            (
                NonNull::slice_from_raw_parts(write, self.columns).as_mut(),
                NonNull::slice_from_raw_parts(read, self.columns).as_ref(),
            )
        }
    }
}

impl<T> Index<(usize, usize)> for Tile<'_, T> {
    type Output = T;

    #[inline]
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.row(row)[column]
    }
}

impl<T> IndexMut<(usize, usize)> for Tile<'_, T> {
    #[inline]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.row_mut(row)[column]
    }
}

impl<T> fmt::Debug for Tile<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tile")
            .field("rows", &self.rows)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}
