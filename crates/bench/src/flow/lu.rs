//! LU factorisation of a matrix in tiles, without pivoting: the diagonal is large enough.
//!
//! ```text
//!   for k: factor (k,k); for n > k: solve (k,n) and (n,k) by (k,k);
//!          for i, j > k: update (i,j) by (i,k) and (k,j)
//! ```
//!
//! Measures the same as [`cholesky`](super::cholesky) with about twice as many tasks between two
//! barriers, since the matrix is not symmetric: the more tasks a step has, the less the barrier
//! after it costs. All versions apply the same kernels to a tile in the same order, so the results
//! are equal to the last bit. The serial result is compared with nalgebra's.

use locksley::flow::{Object, flow};
use nalgebra::DMatrix;

use super::SERIAL;
use super::tiles::{CLOSE, Loop, Shared, Tile, by_halves, by_scope, cut};
use super::versions::Versions;
use crate::harness::{Workload, verify};

pub(super) const NAME: &str = "flow lu P=2";

/// A matrix in tiles, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    /// Number of tiles in a row, and of rows in a tile.
    count: usize,
    side: usize,
    tiles: Vec<Tile>,
}

/// Returns the elements of the matrix of a size: in each row the diagonal element is larger than
/// the sum of the others.
fn element(size: usize) -> impl Fn(usize, usize) -> f64 {
    move |row, column| {
        if row == column {
            size as f64
        } else {
            ((3 * row + 5 * column) % 11) as f64 / 11.0
        }
    }
}

impl Matrix {
    pub(super) fn new(count: usize, side: usize) -> Matrix {
        let places = (0..count * count).map(|number| (number / count, number % count));
        Matrix {
            count,
            side,
            tiles: places
                .map(|place| cut(place, side, element(count * side)))
                .collect(),
        }
    }

    /// Returns the largest difference to nalgebra's L and U, below and above the diagonal, or
    /// infinity if nalgebra has exchanged rows.
    pub(super) fn distance_from_nalgebra(&self) -> f64 {
        let (count, side) = (self.count, self.side);
        let size = count * side;
        let (pivots, lower, upper) = DMatrix::from_fn(size, size, element(size)).lu().unpack();
        if !pivots.is_empty() {
            return f64::INFINITY;
        }
        let distance = DMatrix::from_fn(size, size, |row, column| {
            let tile = &self.tiles[row / side * count + column / side];
            let theirs = if row > column { &lower } else { &upper };
            tile[row % side * side + column % side] - theirs[(row, column)]
        });
        distance.amax()
    }

    fn multiplications(&self) -> u64 {
        let size = (self.count * self.side) as u64;
        size * size * size / 3
    }

    pub(super) fn serial(mut self) -> Matrix {
        let (count, side) = (self.count, self.side);
        let number = |i, j| i * count + j;
        for k in 0..count {
            factor(&mut self.tiles[number(k, k)], side);
            for n in k + 1..count {
                let (before, own) = self.tiles.split_at_mut(number(k, n));
                solve_right(&before[number(k, k)], &mut own[0], side);
                let (before, own) = self.tiles.split_at_mut(number(n, k));
                solve_below(&before[number(k, k)], &mut own[0], side);
            }
            for i in k + 1..count {
                for j in k + 1..count {
                    let (before, own) = self.tiles.split_at_mut(number(i, j));
                    let (left, above) = (&before[number(i, k)], &before[number(k, j)]);
                    update(left, above, &mut own[0], side);
                }
            }
        }
        self
    }

    pub(super) fn flow(mut self) -> Matrix {
        let (count, side) = (self.count, self.side);
        flow(|f| {
            let tiles: Vec<Object<'_, Tile>> =
                self.tiles.iter_mut().map(|tile| f.object(tile)).collect();
            let at = |i, j| tiles[i * count + j];
            for k in 0..count {
                f.fork(at(k, k).update(), move |tile| factor(tile, side));
                for n in k + 1..count {
                    f.fork((at(k, k).read(), at(k, n).update()), move |(by, tile)| {
                        solve_right(by, tile, side);
                    });
                    f.fork((at(k, k).read(), at(n, k).update()), move |(by, tile)| {
                        solve_below(by, tile, side);
                    });
                }
                for i in k + 1..count {
                    for j in k + 1..count {
                        let accesses = (at(i, k).read(), at(k, j).read(), at(i, j).update());
                        f.fork(accesses, move |(left, above, tile)| {
                            update(left, above, tile, side);
                        });
                    }
                }
            }
        });
        self
    }

    /// Factorises with a scope for each parallel loop.
    pub(super) fn barrier(self) -> Matrix {
        self.in_phases(by_scope)
    }

    /// Factorises with joins that halve each parallel loop.
    pub(super) fn fork_join(self) -> Matrix {
        self.in_phases(by_halves)
    }

    /// Factorises in phases: for each k the factor, all solves, all updates.
    fn in_phases(self, each: Loop<(usize, usize)>) -> Matrix {
        let (count, side) = (self.count, self.side);
        let tiles = Shared::new(self.tiles);
        let read = |i, j| tiles.read(i * count + j);
        let write = |i, j| tiles.write(i * count + j);
        for k in 0..count {
            factor(&mut write(k, k), side);
            let mut solves: Vec<_> = (k + 1..count).flat_map(|n| [(k, n), (n, k)]).collect();
            let solve = |&mut (i, j): &mut (usize, usize)| {
                if i == k {
                    solve_right(&read(k, k), &mut write(i, j), side)
                } else {
                    solve_below(&read(k, k), &mut write(i, j), side)
                }
            };
            each(&solve, &mut solves);
            let rest = (k + 1..count).flat_map(|i| (k + 1..count).map(move |j| (i, j)));
            let mut rest: Vec<_> = rest.collect();
            each(
                &|&mut (i, j)| update(&read(i, k), &read(k, j), &mut write(i, j), side),
                &mut rest,
            );
        }
        Matrix {
            count,
            side,
            tiles: tiles.into_tiles(),
        }
    }
}

/// row -= by * other
fn eliminate(by: f64, other: &[f64], row: &mut [f64]) {
    for (element, other) in row.iter_mut().zip(other) {
        *element -= by * other;
    }
}

/// Factorises a tile on the diagonal: L below the diagonal, U on and above it.
fn factor(tile: &mut [f64], side: usize) {
    for k in 0..side {
        let (above, below) = tile.split_at_mut((k + 1) * side);
        let pivots = &above[k * side..];
        for row in below.chunks_exact_mut(side) {
            row[k] /= pivots[k];
            eliminate(row[k], &pivots[k + 1..], &mut row[k + 1..]);
        }
    }
}

/// Turns a tile to the right of the diagonal into one of U.
fn solve_right(by: &[f64], tile: &mut [f64], side: usize) {
    for i in 1..side {
        let (above, rest) = tile.split_at_mut(i * side);
        for (factor, above) in by[i * side..].iter().zip(above.chunks_exact(side)) {
            eliminate(*factor, above, &mut rest[..side]);
        }
    }
}

/// Turns a tile below the diagonal into one of L.
fn solve_below(by: &[f64], tile: &mut [f64], side: usize) {
    for row in tile.chunks_exact_mut(side) {
        for (k, pivots) in by.chunks_exact(side).enumerate() {
            row[k] /= pivots[k];
            eliminate(row[k], &pivots[k + 1..], &mut row[k + 1..]);
        }
    }
}

/// Subtracts a product.
fn update(left: &[f64], above: &[f64], tile: &mut [f64], side: usize) {
    for (row, left) in tile.chunks_exact_mut(side).zip(left.chunks_exact(side)) {
        for (by, above) in left.iter().zip(above.chunks_exact(side)) {
            eliminate(*by, above, row);
        }
    }
}

pub(super) fn workload(quick: bool) -> Workload {
    let (count, side) = if quick { (4, 8) } else { (12, 40) };
    let matrix = Matrix::new(count, side);
    let expected = matrix.clone().serial();
    let close = expected.distance_from_nalgebra() < CLOSE;
    let program = Versions {
        name: NAME,
        about: "a matrix of 480 by 480 in tiles of 40 by 40; one operation is one multiplication",
        operations: matrix.multiplications(),
        input: matrix,
        expected,
        oracle: verify(SERIAL, "as nalgebra's", true, close),
        serial: Matrix::serial,
        barrier: Matrix::barrier,
        fork_join: Matrix::fork_join,
        flow: Matrix::flow,
    };
    program.workload()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_gives_the_same_factors_and_nalgebra_too() {
        let matrix = Matrix::new(5, 9);
        let expected = matrix.clone().serial();
        assert!(matrix.distance_from_nalgebra() > 0.1);
        assert!(expected.distance_from_nalgebra() < CLOSE);
        for factor in [Matrix::flow, Matrix::barrier, Matrix::fork_join] {
            assert_eq!(factor(matrix.clone()), expected);
        }
    }
}
