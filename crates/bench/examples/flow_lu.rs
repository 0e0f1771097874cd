//! Factorises A = L U in tiles, without pivoting: the diagonal of the matrix is large enough. The
//! result is compared with nalgebra's.
//!
//!     cargo run --release -p locksley-bench --example flow_lu

use locksley::flow::{Tile, flow};
use nalgebra::DMatrix;

const SIZE: usize = 300;
const SIDE: usize = 40;

/// Factorises a tile on the diagonal: L below the diagonal, U on and above it.
fn factor(tile: &mut Tile<'_, f64>) {
    for k in 0..tile.rows() {
        for i in k + 1..tile.rows() {
            let (row, pivots) = tile.row_pair(i, k);
            row[k] /= pivots[k];
            eliminate(row[k], &pivots[k + 1..], &mut row[k + 1..]);
        }
    }
}

/// row -= by * other
fn eliminate(by: f64, other: &[f64], row: &mut [f64]) {
    for (element, other) in row.iter_mut().zip(other) {
        *element -= by * other;
    }
}

/// Turns a tile to the right of the diagonal into one of U.
fn solve_right(diagonal: &Tile<'_, f64>, tile: &mut Tile<'_, f64>) {
    for i in 1..tile.rows() {
        for k in 0..i {
            let (row, above) = tile.row_pair(i, k);
            eliminate(diagonal[(i, k)], above, row);
        }
    }
}

/// Turns a tile below the diagonal into one of L.
fn solve_below(diagonal: &Tile<'_, f64>, tile: &mut Tile<'_, f64>) {
    for i in 0..tile.rows() {
        let row = tile.row_mut(i);
        for k in 0..diagonal.rows() {
            row[k] /= diagonal[(k, k)];
            let by = row[k];
            eliminate(by, &diagonal.row(k)[k + 1..], &mut row[k + 1..]);
        }
    }
}

/// tile -= left * above
fn update(left: &Tile<'_, f64>, above: &Tile<'_, f64>, tile: &mut Tile<'_, f64>) {
    for i in 0..tile.rows() {
        for k in 0..left.columns() {
            eliminate(left[(i, k)], above.row(k), tile.row_mut(i));
        }
    }
}

fn main() {
    let element = |i: usize, j: usize| {
        if i == j {
            SIZE as f64
        } else {
            ((3 * i + 5 * j) % 11) as f64 / 11.0
        }
    };
    let mut matrix: Vec<f64> = (0..SIZE * SIZE)
        .map(|place| element(place / SIZE, place % SIZE))
        .collect();
    let original = DMatrix::from_row_slice(SIZE, SIZE, &matrix);
    flow(|f| {
        let tiles = f.grid(&mut matrix, SIZE, (SIDE, SIDE));
        let count = tiles.rows();
        for k in 0..count {
            let diagonal = tiles.at(k, k);
            f.fork(diagonal.update(), factor);
            for n in k + 1..count {
                let accesses = (diagonal.read(), tiles.at(k, n).update());
                f.fork(accesses, |(diagonal, tile)| solve_right(diagonal, tile));
                let accesses = (diagonal.read(), tiles.at(n, k).update());
                f.fork(accesses, |(diagonal, tile)| solve_below(diagonal, tile));
            }
            for i in k + 1..count {
                for j in k + 1..count {
                    let (left, above) = (tiles.at(i, k).read(), tiles.at(k, j).read());
                    f.fork(
                        (left, above, tiles.at(i, j).update()),
                        |(left, above, tile)| {
                            update(left, above, tile);
                        },
                    );
                }
            }
        }
    });
    let ours = DMatrix::from_row_slice(SIZE, SIZE, &matrix);
    let (permutation, lower, upper) = original.clone().lu().unpack();
    assert_eq!(permutation.len(), 0, "nalgebra has needed no pivots either");
    let theirs = DMatrix::from_fn(SIZE, SIZE, |i, j| {
        if i > j { lower[(i, j)] } else { upper[(i, j)] }
    });
    let distance = (ours - theirs).amax();
    assert!(distance < 1e-9, "{distance} from nalgebra's");
    println!("L and U of {SIZE} by {SIZE} are within {distance:.1e} of nalgebra's");
}
