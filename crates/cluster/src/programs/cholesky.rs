//! A tiled Cholesky factorisation over processes: A = L Lᵀ for a symmetric, positive definite A.
//!
//! ```text
//!   Factor ── factors the first diagonal tile ──> Solve, Solve, ...  the tiles below it
//!                                                    │ all of them
//!                                                    v
//!   Next <── all of them ── Multiply, Multiply, ... <── Update        the tiles to the right
//!     '── the same with what is left, until nothing is
//! ```
//!
//! Each step waits for the one before: the results of tasks are the inputs of the next ones. The
//! tiles of L are results of the job, and are combined by union.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number;
use crate::{Continuation, Program, Reduce, Task, Tasks};

/// A square matrix, row by row.
type Tile = Vec<f64>;

/// Tiles of a matrix by row and column.
///
/// ```
/// use locksley_cluster::Reduce;
/// use locksley_cluster::programs::cholesky::Tiles;
///
/// let mut tiles = Tiles::identity();
/// tiles.combine(Tiles([((0, 0), vec![2.0])].into()));
/// assert_eq!(tiles.0.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tiles(pub BTreeMap<(u32, u32), Vec<f64>>);

impl Reduce for Tiles {
    fn identity() -> Tiles {
        Tiles::default()
    }

    fn combine(&mut self, other: Tiles) {
        self.0.extend(other.0);
    }
}

impl Tiles {
    fn one(place: (u32, u32), tile: Tile) -> Tiles {
        Tiles([(place, tile)].into())
    }

    fn take(&mut self, place: (u32, u32)) -> Tile {
        self.0.remove(&place).unwrap_or_default()
    }
}

/// A matrix that is generated from a seed, and its division into tiles.
///
/// ```
/// use locksley_cluster::Local;
/// use locksley_cluster::programs::cholesky::{self, Factor};
///
/// let pool = locksley::Pool::builder().workers(2).build()?;
/// let matrix = Factor { tiles: 4, size: 8, seed: 7 };
/// let (factor, _) = Local::new(pool, &cholesky::program()).run([matrix])?;
/// assert_eq!(factor, matrix.expected());
/// assert!(matrix.residual(&factor) < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Factor {
    /// Number of rows of tiles.
    pub tiles: u32,
    /// Number of rows of a tile.
    pub size: u32,
    /// Seed of the entries.
    pub seed: u64,
}

impl Factor {
    /// Returns an entry of the matrix. The diagonal outweighs the rest of its row.
    fn entry(&self, row: u32, column: u32) -> f64 {
        let (low, high) = (row.min(column), row.max(column));
        let side = u64::from(self.tiles * self.size);
        let place = u64::from(high) * side + u64::from(low);
        let chance = f64::from(number(self.seed, place)) / f64::from(u32::MAX);
        if row == column {
            chance + side as f64
        } else {
            chance
        }
    }

    /// Returns the tiles of the lower triangle.
    fn matrix(&self) -> Tiles {
        let size = self.size;
        let tile = |(i, j): (u32, u32)| {
            let rows = i * size..(i + 1) * size;
            let entry = |row| (j * size..(j + 1) * size).map(move |column| self.entry(row, column));
            ((i, j), rows.flat_map(entry).collect())
        };
        let places = (0..self.tiles).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Tiles(places.map(tile).collect())
    }

    /// Returns the factor that a sequential loop over the same operations computes, which is equal
    /// in every bit.
    pub fn expected(&self) -> Tiles {
        let (mut left, mut found, n) = (self.matrix(), Tiles::default(), self.tiles);
        for k in 0..n {
            let diagonal = factor(left.take((k, k)));
            for i in k + 1..n {
                let solved = solve(&diagonal, left.take((i, k)));
                found.0.insert((i, k), solved);
            }
            found.0.insert((k, k), diagonal);
            for i in k + 1..n {
                for j in k + 1..=i {
                    let tile = left.take((i, j));
                    let tile = multiply(tile, &found.0[&(i, k)], &found.0[&(j, k)]);
                    left.0.insert((i, j), tile);
                }
            }
        }
        found
    }

    /// Returns the largest difference between an entry of the matrix and of the product of the
    /// factor with its transpose, relative to the largest entry.
    pub fn residual(&self, found: &Tiles) -> f64 {
        let (size, side) = (self.size, self.tiles * self.size);
        let entry = |row: u32, column: u32| {
            let tile = found.0.get(&(row / size, column / size));
            let place = (row % size) * size + column % size;
            tile.and_then(|tile| tile.get(place as usize)).copied()
        };
        let mut worst: f64 = 0.0;
        for row in 0..side {
            for column in 0..=row {
                let products = (0..=column).map(|k| Some(entry(row, k)? * entry(column, k)?));
                let product = products.sum::<Option<f64>>().unwrap_or(f64::INFINITY);
                worst = worst.max((product - self.entry(row, column)).abs());
            }
        }
        worst / f64::from(side + 1)
    }
}

fn side(tile: &Tile) -> usize {
    tile.len().isqrt()
}

/// Returns the Cholesky factor of a tile.
fn factor(mut tile: Tile) -> Tile {
    let n = side(&tile);
    for k in 0..n {
        tile[k * n + k] = tile[k * n + k].sqrt();
        for i in k + 1..n {
            tile[i * n + k] /= tile[k * n + k];
        }
        for j in k + 1..n {
            for i in j..n {
                tile[i * n + j] -= tile[i * n + k] * tile[j * n + k];
            }
        }
        tile[k * n + k + 1..(k + 1) * n].fill(0.0);
    }
    tile
}

/// Returns the X with X Lᵀ = `tile`, for the factor L of a diagonal tile.
fn solve(diagonal: &Tile, mut tile: Tile) -> Tile {
    let n = side(diagonal);
    for row in tile.chunks_mut(n.max(1)) {
        for j in 0..n {
            let known: f64 = (0..j).map(|k| row[k] * diagonal[j * n + k]).sum();
            row[j] = (row[j] - known) / diagonal[j * n + j];
        }
    }
    tile
}

/// Returns `tile` - `left` `right`ᵀ.
fn multiply(mut tile: Tile, left: &Tile, right: &Tile) -> Tile {
    let n = side(&tile);
    for i in 0..n {
        for j in 0..n {
            let product: f64 = (0..n).map(|k| left[i * n + k] * right[j * n + k]).sum();
            tile[i * n + j] -= product;
        }
    }
    tile
}

/// Factors the diagonal tile of column `k`, and spawns the tasks that depend on it.
fn step(k: u32, tiles: u32, mut left: Tiles, tasks: &Tasks<Tiles>) -> Tiles {
    let diagonal = factor(left.take((k, k)));
    let solve = |i| Solve {
        place: (i, k),
        tile: left.take((i, k)),
        diagonal: diagonal.clone(),
    };
    let column: Vec<Solve> = (k + 1..tiles).map(solve).collect();
    if !column.is_empty() {
        tasks.spawn_all(column).then(Update { k, tiles, left });
    }
    Tiles::one((k, k), diagonal)
}

impl Task for Factor {
    const KIND: &'static str = "cholesky/factor";
    type Output = Tiles;

    fn run(self, tasks: &Tasks<Tiles>) -> Tiles {
        if self.tiles == 0 {
            return Tiles::identity();
        }
        step(0, self.tiles, self.matrix(), tasks)
    }
}

/// Computes a tile of the factor below the diagonal.
#[derive(Serialize, Deserialize)]
struct Solve {
    place: (u32, u32),
    tile: Tile,
    diagonal: Tile,
}

impl Task for Solve {
    const KIND: &'static str = "cholesky/solve";
    type Output = Tiles;

    fn run(self, _: &Tasks<Tiles>) -> Tiles {
        Tiles::one(self.place, solve(&self.diagonal, self.tile))
    }
}

/// Subtracts from a tile the contribution of a column.
#[derive(Serialize, Deserialize)]
struct Multiply {
    place: (u32, u32),
    tile: Tile,
    left: Tile,
    right: Tile,
}

impl Task for Multiply {
    const KIND: &'static str = "cholesky/multiply";
    type Output = Tiles;

    fn run(self, _: &Tasks<Tiles>) -> Tiles {
        Tiles::one(self.place, multiply(self.tile, &self.left, &self.right))
    }
}

/// Updates all tiles to the right of a column of the factor.
#[derive(Serialize, Deserialize)]
struct Update {
    k: u32,
    tiles: u32,
    left: Tiles,
}

impl Continuation for Update {
    const KIND: &'static str = "cholesky/update";
    type Output = Tiles;

    fn run(self, inputs: Vec<Tiles>, tasks: &Tasks<Tiles>) -> Tiles {
        let Update { k, tiles, mut left } = self;
        let mut column = Tiles::identity();
        inputs.into_iter().for_each(|input| column.combine(input));
        let places = (k + 1..tiles).flat_map(|i| (k + 1..=i).map(move |j| (i, j)));
        let multiply = |(i, j)| Multiply {
            place: (i, j),
            tile: left.take((i, j)),
            left: column.0[&(i, k)].clone(),
            right: column.0[&(j, k)].clone(),
        };
        let products: Vec<Multiply> = places.map(multiply).collect();
        tasks.spawn_all(products).then(Next { k: k + 1, tiles });
        column
    }
}

/// Begins the next column.
#[derive(Serialize, Deserialize)]
struct Next {
    k: u32,
    tiles: u32,
}

impl Continuation for Next {
    const KIND: &'static str = "cholesky/next";
    type Output = Tiles;

    fn run(self, inputs: Vec<Tiles>, tasks: &Tasks<Tiles>) -> Tiles {
        let mut left = Tiles::identity();
        inputs.into_iter().for_each(|input| left.combine(input));
        step(self.k, self.tiles, left, tasks)
    }
}

/// Returns the program.
pub fn program() -> Program<Tiles> {
    Program::new("cholesky")
        .with::<Factor>()
        .with::<Solve>()
        .with::<Multiply>()
        .with_continuation::<Update>()
        .with_continuation::<Next>()
}
