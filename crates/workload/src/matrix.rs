//! Multiplication of square matrices by recursive halving.
//!
//! A matrix is stored by quadrants, recursively, down to square tiles that are stored row by row:
//!
//! ```text
//!   +----+----+
//!   | 11 | 12 |      in memory:  11  12  21  22,  each of them laid out the same way
//!   +----+----+
//!   | 21 | 22 |
//!   +----+----+
//! ```
//!
//! So a quadrant is a slice, and the four quadrants of a product can be computed in parallel: first
//! all four C(ij) += A(i1) B(1j), then all four C(ij) += A(i2) B(2j).

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Side of a tile. Three tiles fit into a first-level cache of 32 KiB.
pub(crate) const TILE: usize = 32;

/// A square matrix, stored by quadrants. The side is 32, the side of a tile, times a power of two.
///
/// ```
/// use locksley_workload::Matrix;
///
/// let matrix = Matrix::from_fn(64, |row, column| (row * 100 + column) as f64);
/// assert_eq!(matrix.at(17, 42), 1742.0);
/// assert_eq!(matrix.at(60, 3), 6003.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    side: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix of zeros. The side is rounded up to a tile times a power of two.
    pub fn zero(side: usize) -> Matrix {
        let side = Matrix::rounded(side);
        Matrix {
            side,
            cells: vec![0.0; side * side],
        }
    }

    /// Returns the side of a matrix that is created with `side`.
    pub(crate) fn rounded(side: usize) -> usize {
        side.div_ceil(TILE).next_power_of_two() * TILE
    }

    /// Creates a matrix whose elements are a function of row and column.
    pub fn from_fn(side: usize, element: impl Fn(usize, usize) -> f64) -> Matrix {
        let mut matrix = Matrix::zero(side);
        for row in 0..matrix.side {
            for column in 0..matrix.side {
                let position = matrix.position(row, column);
                matrix.cells[position] = element(row, column);
            }
        }
        matrix
    }

    /// Returns the number of rows and of columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns an element.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[self.position(row, column)]
    }

    /// Returns the elements in the order of memory.
    pub(crate) fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// Returns the elements in the order of memory, mutably.
    pub(crate) fn cells_mut(&mut self) -> &mut [f64] {
        &mut self.cells
    }

    /// Returns the index of an element: the bits of the tile's row and column interleaved, then the
    /// position in the tile.
    fn position(&self, row: usize, column: usize) -> usize {
        let (tile_row, tile_column) = (row / TILE, column / TILE);
        let bits = (self.side / TILE).trailing_zeros();
        let tile = (0..bits).fold(0, |tile, bit| {
            let quadrant = ((tile_row >> bit) & 1) * 2 + ((tile_column >> bit) & 1);
            tile | quadrant << (2 * bit)
        });
        tile * TILE * TILE + (row % TILE) * TILE + column % TILE
    }

    /// Returns the product with a vector, computed tile by tile.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.side];
        for row in (0..self.side).step_by(TILE) {
            for column in (0..self.side).step_by(TILE) {
                let tile = &self.cells[self.position(row, column)..][..TILE * TILE];
                let x = &vector[column..column + TILE];
                for (sum, cells) in product[row..].iter_mut().zip(tile.chunks_exact(TILE)) {
                    *sum += cells.iter().zip(x).map(|(cell, x)| cell * x).sum::<f64>();
                }
            }
        }
        product
    }
}

/// Multiplies two matrices. The elements are small whole numbers, so the result is exact in any
/// order of addition. An operation is a multiplication with an addition.
///
/// ```
/// use locksley_workload::{Multiplication, Program, Serial, Task};
///
/// let mut multiplication = Multiplication::new(64);
/// multiplication.task().run(Serial);
/// assert_eq!(multiplication.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Multiplication {
    a: Matrix,
    b: Matrix,
    c: Matrix,
}

impl Multiplication {
    /// Creates the multiplication of two matrices of this side, rounded up as for [`Matrix::zero`].
    pub fn new(side: usize) -> Multiplication {
        Multiplication {
            a: whole(side, 1),
            b: whole(side, 2),
            c: Matrix::zero(side),
        }
    }

    /// Returns the product, after a run.
    pub fn product(&self) -> &Matrix {
        &self.c
    }
}

impl Program for Multiplication {
    type Task<'p> = Product<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        (self.c.side as u64).pow(3)
    }

    fn task(&mut self) -> Product<'_> {
        self.c.cells.fill(0.0);
        Product::new(&self.a.cells, &self.b.cells, &mut self.c.cells)
    }

    /// Freivalds' check, A (B x) = C x, with vectors of small whole numbers. The result of a run
    /// that left out, repeated or misplaced a tile passes with a probability below one in a
    /// million.
    fn check(&self, (): ()) -> Result<(), Mismatch> {
        product_check(&self.a, &self.b, &self.c)
    }
}

/// Returns a matrix of small whole numbers, which depend on `salt`.
pub(crate) fn whole(side: usize, salt: usize) -> Matrix {
    Matrix::from_fn(side, |row, column| {
        let mixed = (row * 31 + column * 17 + salt).wrapping_mul(0x9e37_79b9) >> 7;
        (mixed % 15) as f64 - 7.0
    })
}

/// Checks that C is the product of A and B, by Freivalds' check with three vectors.
pub(crate) fn product_check(a: &Matrix, b: &Matrix, c: &Matrix) -> Result<(), Mismatch> {
    for salt in [3, 5, 7] {
        let x: Vec<f64> = (0..c.side)
            .map(|i| ((i * salt).wrapping_mul(0x85eb_ca6b) >> 9) % 1021)
            .map(|value| value as f64)
            .collect();
        let (expected, got) = (a.times(&b.times(&x)), c.times(&x));
        let wrong = (0..c.side).find(|&row| expected[row] != got[row]);
        if let Some(row) = wrong {
            return expect((row, expected[row]), (row, got[row]));
        }
    }
    Ok(())
}

/// Adds the product of two matrices to a third one. All of them are stored by quadrants.
///
/// ```
/// use locksley_workload::{Multiplication, Product, Program, Serial, Task};
///
/// let mut multiplication = Multiplication::new(32);
/// let product: Product = multiplication.task();
/// product.run(Serial);
/// ```
#[derive(Debug)]
pub struct Product<'m> {
    pub(crate) a: &'m [f64],
    pub(crate) b: &'m [f64],
    pub(crate) c: &'m mut [f64],
    /// Adds the product of two tiles to a third one, or subtracts it.
    pub(crate) tile: TileProduct,
}

/// A function of tiles of A, B and C.
pub(crate) type TileProduct = fn(&[f64], &[f64], &mut [f64]);

impl<'m> Product<'m> {
    /// Creates the task for matrices of the same side.
    pub(crate) fn new(a: &'m [f64], b: &'m [f64], c: &'m mut [f64]) -> Product<'m> {
        let tile = multiply_tiles;
        Product { a, b, c, tile }
    }
}

impl Task for Product<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let Product { a, b, c, tile } = self;
        if c.len() == TILE * TILE {
            return tile(a, b, c);
        }
        let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quadrants(a), quadrants(b));
        for [(a1, a2), (b1, b2)] in [[(a11, a21), (b11, b12)], [(a12, a22), (b21, b22)]] {
            let (upper, lower) = c.split_at_mut(c.len() / 2);
            let half = |a, c| Row {
                a,
                b: [b1, b2],
                c,
                tile,
            };
            fork.reborrow().fork(half(a1, upper), half(a2, lower));
        }
    }
}

/// The two quadrants of a product in one row.
struct Row<'m> {
    a: &'m [f64],
    b: [&'m [f64]; 2],
    c: &'m mut [f64],
    tile: TileProduct,
}

impl Task for Row<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let (a, tile) = (self.a, self.tile);
        let (left, right) = self.c.split_at_mut(self.c.len() / 2);
        let half = |b, c| Product { a, b, c, tile };
        fork.fork(half(self.b[0], left), half(self.b[1], right));
    }
}

pub(crate) fn quadrants(cells: &[f64]) -> [&[f64]; 4] {
    let (upper, lower) = cells.split_at(cells.len() / 2);
    let ((q11, q12), (q21, q22)) = (
        upper.split_at(upper.len() / 2),
        lower.split_at(lower.len() / 2),
    );
    [q11, q12, q21, q22]
}

/// Number of rows and columns of the product that are held in registers.
const ROWS: usize = 4;
const COLUMNS: usize = 4;

/// Computes C += A B for tiles: a block of C stays in registers while the loop runs along the rows
/// of A.
fn multiply_tiles(a: &[f64], b: &[f64], c: &mut [f64]) {
    let (b_rows, _) = b.as_chunks::<TILE>();
    for (a, c) in a
        .chunks_exact(ROWS * TILE)
        .zip(c.chunks_exact_mut(ROWS * TILE))
    {
        let (a, _) = a.as_chunks::<TILE>();
        let (c, _) = c.as_chunks_mut::<TILE>();
        let (Some(a), Some(c)) = (a.first_chunk::<ROWS>(), c.first_chunk_mut::<ROWS>()) else {
            return;
        };
        for column in (0..TILE).step_by(COLUMNS) {
            multiply_block(a, b_rows, c, column);
        }
    }
}

#[inline(always)]
fn multiply_block(
    a: &[[f64; TILE]; ROWS],
    b: &[[f64; TILE]],
    c: &mut [[f64; TILE]; ROWS],
    column: usize,
) {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (k, b) in b.iter().enumerate().take(TILE) {
        for (row, sums) in a.iter().zip(&mut sums) {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += row[k] * b[column + j];
            }
        }
    }
    for (row, sums) in c.iter_mut().zip(&sums) {
        for (cell, sum) in row[column..column + COLUMNS].iter_mut().zip(sums) {
            *cell += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_product_is_the_textbooks() {
        for side in [32, 64] {
            let mut multiplication = Multiplication::new(side);
            multiplication.task().run(Serial);
            let Multiplication { a, b, c } = &multiplication;
            let textbook = Matrix::from_fn(side, |row, column| {
                (0..side).map(|k| a.at(row, k) * b.at(k, column)).sum()
            });
            assert_eq!(*c, textbook);
            assert_eq!(multiplication.check(()), Ok(()));
        }
    }

    #[test]
    fn sides_are_rounded_up() {
        assert_eq!(Matrix::zero(33).side(), 64);
        assert_eq!(Matrix::zero(1).side(), TILE);
        assert_eq!(Matrix::zero(96).side(), 128);
    }

    #[test]
    fn one_wrong_element_is_found_out() {
        let mut multiplication = Multiplication::new(64);
        multiplication.task().run(Serial);
        multiplication.c.cells[1234] += 1.0;
        assert!(multiplication.check(()).is_err());
    }
}
