//! Cholesky's factorisation of a matrix in tiles, A = L Lᵀ: right-looking, four kernels.
//!
//! ```text
//!   for k: factor (k,k); for i > k: solve (i,k) by (k,k);
//!          for i >= j > k: update (i,j) by (i,k) and (j,k)
//! ```
//!
//! With barriers, the solves of one k begin when the factor is done, and the updates when all
//! solves are done. A flow forks the kernels in the order of the loops, and derives the
//! dependencies from their accesses. Every version applies the same kernels to a tile in the same
//! order, so the results are equal to the last bit. The serial result is compared with nalgebra's.

use locksley::flow::{Object, flow};
use nalgebra::DMatrix;

use super::SERIAL;
use super::tiles::{CLOSE, Loop, Shared, Tile, by_halves, by_scope, cut};
use super::versions::Versions;
use crate::harness::{Workload, verify};

pub(super) const NAME: &str = "flow cholesky P=2";

/// The lower half of a matrix, in tiles, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tiled {
    /// Number of tiles in a row, and of rows in a tile.
    count: usize,
    side: usize,
    tiles: Vec<Tile>,
}

/// Returns the index of a tile of the lower half.
fn number(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl Tiled {
    /// Returns a symmetric matrix with a diagonal large enough to make it positive definite.
    pub(super) fn new(count: usize, side: usize) -> Tiled {
        let size = count * side;
        let element = |row: usize, column: usize| {
            if row == column {
                size as f64 + 1.0
            } else {
                1.0 / (1.0 + row.abs_diff(column) as f64) + ((row * column) % 7) as f64 / 7.0
            }
        };
        let tiles = (0..count).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Tiled {
            count,
            side,
            tiles: tiles.map(|place| cut(place, side, element)).collect(),
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        let tile = &self.tiles[number(row / self.side, column / self.side)];
        tile[row % self.side * self.side + column % self.side]
    }

    /// Returns the largest difference to nalgebra's factor of `matrix`.
    pub(super) fn distance_from_factor_of(&self, matrix: &Tiled) -> f64 {
        let size = self.count * self.side;
        let whole = DMatrix::from_fn(size, size, |i, j| matrix.at(i.max(j), i.min(j)));
        let factor = whole.cholesky().expect("it is positive definite").l();
        let places = (0..size).flat_map(|row| (0..=row).map(move |column| (row, column)));
        places.fold(0.0, |most, (row, column)| {
            f64::max(most, (factor[(row, column)] - self.at(row, column)).abs())
        })
    }

    fn flops(&self) -> u64 {
        let size = (self.count * self.side) as u64;
        size * size * size / 3
    }

    pub(super) fn serial(mut self) -> Tiled {
        let (count, side) = (self.count, self.side);
        for k in 0..count {
            factor(&mut self.tiles[number(k, k)], side);
            for i in k + 1..count {
                let (before, own) = self.tiles.split_at_mut(number(i, k));
                solve(&before[number(k, k)], &mut own[0], side);
            }
            for i in k + 1..count {
                for j in k + 1..=i {
                    let (before, own) = self.tiles.split_at_mut(number(i, j));
                    update(
                        &before[number(i, k)],
                        &before[number(j, k)],
                        &mut own[0],
                        side,
                    );
                }
            }
        }
        self
    }

    pub(super) fn flow(mut self) -> Tiled {
        let (count, side) = (self.count, self.side);
        flow(|f| {
            let tiles: Vec<Object<'_, Tile>> =
                self.tiles.iter_mut().map(|tile| f.object(tile)).collect();
            let at = |i, j| tiles[number(i, j)];
            for k in 0..count {
                f.fork(at(k, k).update(), move |tile| factor(tile, side));
                for i in k + 1..count {
                    f.fork((at(k, k).read(), at(i, k).update()), move |(by, tile)| {
                        solve(by, tile, side);
                    });
                }
                for i in k + 1..count {
                    for j in k + 1..=i {
                        let accesses = (at(i, k).read(), at(j, k).read(), at(i, j).update());
                        f.fork(accesses, move |(a, b, tile)| update(a, b, tile, side));
                    }
                }
            }
        });
        self
    }

    /// Factorises with a scope for each parallel loop.
    pub(super) fn barrier(self) -> Tiled {
        self.in_phases(by_scope)
    }

    /// Factorises with joins that halve each parallel loop.
    pub(super) fn fork_join(self) -> Tiled {
        self.in_phases(by_halves)
    }

    /// Factorises in phases: for each k the factor, all solves, all updates.
    fn in_phases(self, each: Loop<(usize, usize)>) -> Tiled {
        let (count, side) = (self.count, self.side);
        let tiles = Shared::new(self.tiles);
        let read = |i, j| tiles.read(number(i, j));
        let write = |i, j| tiles.write(number(i, j));
        for k in 0..count {
            factor(&mut write(k, k), side);
            let mut rows: Vec<_> = (k + 1..count).map(|i| (i, k)).collect();
            each(
                &|&mut (i, _)| solve(&read(k, k), &mut write(i, k), side),
                &mut rows,
            );
            let rest = (k + 1..count).flat_map(|i| (k + 1..=i).map(move |j| (i, j)));
            let mut rest: Vec<_> = rest.collect();
            each(
                &|&mut (i, j)| update(&read(i, k), &read(j, k), &mut write(i, j), side),
                &mut rest,
            );
        }
        Tiled {
            count,
            side,
            tiles: tiles.into_tiles(),
        }
    }
}

/// Replaces a tile on the diagonal by its factor.
fn factor(tile: &mut [f64], side: usize) {
    for column in 0..side {
        let (above, rest) = tile.split_at_mut(column * side);
        let own = &rest[..side];
        let pivot = (own[column] - dot(&own[..column], &own[..column])).sqrt();
        rest[column] = pivot;
        let (own, below) = rest.split_at_mut(side);
        for row in below.chunks_exact_mut(side) {
            row[column] = (row[column] - dot(&row[..column], &own[..column])) / pivot;
        }
        // The factor is zero to the right of the diagonal.
        for earlier in above.chunks_exact_mut(side) {
            earlier[column] = 0.0;
        }
    }
}

/// Divides a tile below the diagonal by the factor above it.
fn solve(by: &[f64], tile: &mut [f64], side: usize) {
    for row in tile.chunks_exact_mut(side) {
        for column in 0..side {
            let factor = &by[column * side..][..=column];
            row[column] = (row[column] - dot(&row[..column], &factor[..column])) / factor[column];
        }
    }
}

/// Subtracts a product.
fn update(a: &[f64], b: &[f64], tile: &mut [f64], side: usize) {
    for (row, a) in tile.chunks_exact_mut(side).zip(a.chunks_exact(side)) {
        for (element, b) in row.iter_mut().zip(b.chunks_exact(side)) {
            *element -= dot(a, b);
        }
    }
}

/// Computes a dot product in eight sums, which a processor can add at the same time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (eights, rest) = (a.chunks_exact(8), b.chunks_exact(8));
    let ends = eights.remainder().iter().zip(rest.remainder());
    for (a, b) in eights.zip(rest) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + ends.map(|(a, b)| a * b).sum::<f64>()
}

pub(super) fn workload(quick: bool) -> Workload {
    let (count, side) = if quick { (4, 8) } else { (12, 40) };
    let matrix = Tiled::new(count, side);
    let expected = matrix.clone().serial();
    let close = expected.distance_from_factor_of(&matrix) < CLOSE;
    let program = Versions {
        name: NAME,
        about: "a matrix of 480 by 480 in tiles of 40 by 40; one operation is one multiplication \
                or addition",
        operations: matrix.flops(),
        input: matrix,
        expected,
        oracle: verify(SERIAL, "as nalgebra's", true, close),
        serial: Tiled::serial,
        barrier: Tiled::barrier,
        fork_join: Tiled::fork_join,
        flow: Tiled::flow,
    };
    program.workload()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_gives_the_same_factor_and_nalgebra_too() {
        let matrix = Tiled::new(5, 9);
        let expected = matrix.clone().serial();
        assert!(expected.distance_from_factor_of(&matrix) < CLOSE);
        for factor in [Tiled::flow, Tiled::barrier, Tiled::fork_join] {
            assert_eq!(factor(matrix.clone()), expected);
        }
    }
}
