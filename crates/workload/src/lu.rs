//! LU decomposition by recursive halving, without pivoting, in place.
//!
//! ```text
//!   +-----+-----+   1. decompose A11 = L11 U11
//!   | A11 | A12 |   2. solve L11 U12 = A12 and L21 U11 = A21, in parallel
//!   +-----+-----+   3. A22 -= L21 U12
//!   | A21 | A22 |   4. decompose A22
//!   +-----+-----+
//! ```
//!
//! The two solves and the update are themselves recursive and parallel. The span is of the order of
//! n log^2 n: much longer than that of a multiplication, because the second half of the diagonal
//! waits for the first.

use crate::fork::{Fork, Task};
use crate::matrix::{Matrix, Product, TILE, quadrants};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// Allowed difference of L U from A, relative to the norms: rounding gives about 1e-16 times a
/// small factor, and an update of one tile that is left out gives 1e-6 or more.
const TOLERANCE: f64 = 1.0e-13;

/// Decomposes a diagonally dominant matrix, so that no pivoting is needed. An operation is a
/// multiplication with a subtraction; there are a third of the cube of the side.
///
/// ```
/// use locksley_workload::{Lu, Program, Serial, Task};
///
/// let mut lu = Lu::new(64, 7);
/// lu.task().run(Serial);
/// assert_eq!(lu.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Lu {
    input: Matrix,
    /// L below the diagonal, where its own diagonal of ones is implied; U on and above the
    /// diagonal.
    factors: Matrix,
}

impl Lu {
    /// Creates the decomposition of a pseudo-random matrix of this side, rounded up as for
    /// [`Matrix::zero`].
    pub fn new(side: usize, seed: u64) -> Lu {
        let side = Matrix::rounded(side);
        let input = Matrix::from_fn(side, |row, column| {
            let mut state = seed ^ ((row as u64) << 32 | column as u64);
            let element = (split_mix(&mut state) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            if row == column {
                element + side as f64
            } else {
                element
            }
        });
        Lu {
            factors: input.clone(),
            input,
        }
    }

    /// Returns the largest component of L U x - A x, relative to the norms of A and x.
    fn residual(&self, x: &[f64]) -> f64 {
        let side = self.input.side();
        let at = |row, column| self.factors.at(row, column);
        let ux: Vec<f64> = (0..side)
            .map(|row| (row..side).map(|k| at(row, k) * x[k]).sum())
            .collect();
        let lux = (0..side).map(|row| ux[row] + (0..row).map(|k| at(row, k) * ux[k]).sum::<f64>());
        let ax = self.input.times(x);
        let away = lux.zip(&ax).map(|(lux, ax)| (lux - ax).abs());
        // The sum of the elements' magnitudes in a row is at most twice the diagonal. `f64::max`
        // would ignore a NaN.
        let worse = |worst: f64, away: f64| {
            if worst.is_nan() || away <= worst {
                worst
            } else {
                away
            }
        };
        away.fold(0.0, worse) / (2.0 * side as f64)
    }
}

impl Program for Lu {
    type Task<'p> = LuTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        (self.input.side() as u64).pow(3) / 3
    }

    fn task(&mut self) -> LuTask<'_> {
        let cells = self.factors.cells_mut();
        cells.copy_from_slice(self.input.cells());
        LuTask(cells)
    }

    /// Checks L (U x) = A x with vectors of pseudo-random signs, up to rounding.
    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let mut state = 42;
        for _ in 0..3 {
            let sign = |_| 1.0 - 2.0 * (split_mix(&mut state) >> 63) as f64;
            let x: Vec<f64> = (0..self.input.side()).map(sign).collect();
            let residual = self.residual(&x);
            // A NaN is wrong as well.
            if residual.is_nan() || residual > TOLERANCE {
                let wanted = format!("|LU - A| below {TOLERANCE:e} of |A|");
                return expect(wanted, format!("{residual:e}"));
            }
        }
        Ok(())
    }
}

/// Decomposes a matrix that is stored by quadrants.
///
/// ```
/// use locksley_workload::{Lu, LuTask, Program, Serial, Task};
///
/// let mut lu = Lu::new(32, 7);
/// let task: LuTask = lu.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct LuTask<'m>(&'m mut [f64]);

impl Task for LuTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let LuTask(a) = self;
        if a.len() == TILE * TILE {
            return decompose_tile(a);
        }
        let [a11, a12, a21, a22] = quadrants_mut(a);
        LuTask(a11).run(fork.reborrow());
        fork.reborrow()
            .fork(Lower { l: a11, x: a12 }, Upper { u: a11, x: a21 });
        subtraction(a21, a12, a22).run(fork.reborrow());
        LuTask(a22).run(fork);
    }
}

/// Solves L X = B for X, where L is lower triangular with ones on the diagonal. B becomes X.
struct Lower<'m> {
    l: &'m [f64],
    x: &'m mut [f64],
}

impl Task for Lower<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let Lower { l, x } = self;
        if x.len() == TILE * TILE {
            return solve_lower_tile(l, x);
        }
        let [x11, x12, x21, x22] = quadrants_mut(x);
        fork.fork(
            LowerColumn { l, x: [x11, x21] },
            LowerColumn { l, x: [x12, x22] },
        );
    }
}

/// Solves L X = B for one half of the columns: first the upper rows, then the lower ones.
struct LowerColumn<'m> {
    l: &'m [f64],
    x: [&'m mut [f64]; 2],
}

impl Task for LowerColumn<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let ([l11, _, l21, l22], [upper, lower]) = (quadrants(self.l), self.x);
        Lower { l: l11, x: upper }.run(fork.reborrow());
        subtraction(l21, upper, lower).run(fork.reborrow());
        Lower { l: l22, x: lower }.run(fork);
    }
}

/// Solves X U = B for X, where U is upper triangular. B becomes X.
struct Upper<'m> {
    u: &'m [f64],
    x: &'m mut [f64],
}

impl Task for Upper<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let Upper { u, x } = self;
        if x.len() == TILE * TILE {
            return solve_upper_tile(u, x);
        }
        let [x11, x12, x21, x22] = quadrants_mut(x);
        fork.fork(UpperRow { u, x: [x11, x12] }, UpperRow { u, x: [x21, x22] });
    }
}

/// Solves X U = B for one half of the rows: first the left columns, then the right ones.
struct UpperRow<'m> {
    u: &'m [f64],
    x: [&'m mut [f64]; 2],
}

impl Task for UpperRow<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let ([u11, u12, _, u22], [left, right]) = (quadrants(self.u), self.x);
        Upper { u: u11, x: left }.run(fork.reborrow());
        subtraction(left, u12, right).run(fork.reborrow());
        Upper { u: u22, x: right }.run(fork);
    }
}

fn quadrants_mut(cells: &mut [f64]) -> [&mut [f64]; 4] {
    let (upper, lower) = cells.split_at_mut(cells.len() / 2);
    let (q11, q12) = upper.split_at_mut(upper.len() / 2);
    let (q21, q22) = lower.split_at_mut(lower.len() / 2);
    [q11, q12, q21, q22]
}

/// Computes row -= factor * other.
#[inline(always)]
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    for (cell, other) in row.iter_mut().zip(other) {
        *cell -= factor * other;
    }
}

fn decompose_tile(a: &mut [f64]) {
    let (rows, _) = a.as_chunks_mut::<TILE>();
    for k in 0..TILE {
        let (above, below) = rows.split_at_mut(k + 1);
        let pivot = &above[k];
        for row in below {
            row[k] /= pivot[k];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &pivot[k + 1..]);
        }
    }
}

fn solve_lower_tile(l: &[f64], x: &mut [f64]) {
    let (rows, _) = x.as_chunks_mut::<TILE>();
    for (i, l) in l.chunks_exact(TILE).enumerate() {
        let (above, below) = rows.split_at_mut(i);
        for (k, row) in above.iter().enumerate() {
            subtract(&mut below[0], l[k], row);
        }
    }
}

fn solve_upper_tile(u: &[f64], x: &mut [f64]) {
    for row in x.chunks_exact_mut(TILE) {
        for (k, u) in u.chunks_exact(TILE).enumerate() {
            row[k] /= u[k];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &u[k + 1..]);
        }
    }
}

/// Returns the task that computes C -= A B.
fn subtraction<'m>(a: &'m [f64], b: &'m [f64], c: &'m mut [f64]) -> Product<'m> {
    Product {
        a,
        b,
        c,
        tile: subtract_tiles,
    }
}

fn subtract_tiles(a: &[f64], b: &[f64], c: &mut [f64]) {
    let (c, _) = c.as_chunks_mut::<TILE>();
    let (b, _) = b.as_chunks::<TILE>();
    for (c, a) in c.iter_mut().zip(a.chunks_exact(TILE)) {
        for (factor, b) in a.iter().zip(b) {
            subtract(c, *factor, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    /// Decomposes by the textbook's three loops, row by row.
    fn textbook(input: &Matrix) -> Vec<Vec<f64>> {
        let side = input.side();
        let row = |row| (0..side).map(|column| input.at(row, column)).collect();
        let mut a: Vec<Vec<f64>> = (0..side).map(row).collect();
        for k in 0..side {
            for i in k + 1..side {
                a[i][k] /= a[k][k];
                for j in k + 1..side {
                    a[i][j] -= a[i][k] * a[k][j];
                }
            }
        }
        a
    }

    #[test]
    fn the_factors_are_the_textbooks() {
        for side in [32, 64, 128] {
            let mut lu = Lu::new(side, 42);
            lu.task().run(Serial);
            assert_eq!(lu.check(()), Ok(()), "{side}");
            let want = textbook(&lu.input);
            for (row, want) in want.iter().enumerate() {
                for (column, want) in want.iter().enumerate() {
                    let away = (lu.factors.at(row, column) - want).abs();
                    assert!(away < 1e-12 * side as f64, "{side}: {row} {column} {away}");
                }
            }
        }
    }

    #[test]
    fn a_small_error_is_found_out() {
        let mut lu = Lu::new(128, 42);
        lu.task().run(Serial);
        for wrong in [1e-6, f64::NAN] {
            let mut spoilt = lu.clone();
            spoilt.factors.cells_mut()[5000] += wrong;
            assert!(spoilt.check(()).is_err());
        }
    }
}
