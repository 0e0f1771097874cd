//! Heat on a plate whose opposite edges touch (a torus): sweeps of a stencil over tiles, from one
//! buffer into the other.
//!
//! A cell depends on itself and its four neighbours, so a tile depends on itself and the four tiles
//! around it. With barriers each sweep is a parallel loop. Without, a tile waits only for the tiles
//! that it reads, and for those that still read what it overwrites, so some tiles may be sweeps
//! ahead of others. This measures what that saves if all tiles of a sweep cost the same. Every
//! version computes a cell by the same expression, so the results are equal to the last bit. The
//! serial result is compared with a plate that is not cut into tiles.

use std::mem::swap;

use locksley::flow::{Object, flow};

use super::SERIAL;
use super::tiles::{Loop, by_halves, by_scope, cut};
use super::versions::Versions;
use crate::harness::{Workload, verify};

pub(super) const NAME: &str = "flow heat P=2";

/// Share of the difference to a neighbour that flows in a sweep.
const RATE: f64 = 0.2;

/// A tile and its position.
#[derive(Clone, Debug, PartialEq)]
struct Tile {
    i: usize,
    j: usize,
    cells: Vec<f64>,
}

/// Tiles row by row, before some sweeps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plate {
    /// Number of tiles in a row, and of rows in a tile.
    count: usize,
    side: usize,
    sweeps: usize,
    tiles: Vec<Tile>,
}

/// Returns the value of a cell at the start.
fn start(row: usize, column: usize) -> f64 {
    ((7 * row + row * column) % 17) as f64 / 17.0
}

/// Returns the value of a cell after a sweep.
fn next(own: f64, [north, south, west, east]: [f64; 4]) -> f64 {
    own + RATE * (((north + south) + (west + east)) - 4.0 * own)
}

impl Plate {
    pub(super) fn new(count: usize, side: usize, sweeps: usize) -> Plate {
        let tile = |number| {
            let (i, j) = (number / count, number % count);
            let cells = cut((i, j), side, start);
            Tile { i, j, cells }
        };
        Plate {
            count,
            side,
            sweeps,
            tiles: (0..count * count).map(tile).collect(),
        }
    }

    fn cells(&self) -> u64 {
        let size = (self.count * self.side) as u64;
        size * size * self.sweeps as u64
    }

    /// Computes the whole plate cell by cell, and cuts the result into tiles.
    pub(super) fn directly(self) -> Plate {
        let size = self.count * self.side;
        let mut plate: Vec<f64> = (0..size * size)
            .map(|place| start(place / size, place % size))
            .collect();
        for _ in 0..self.sweeps {
            let at = |row: usize, column: usize| plate[row % size * size + column % size];
            let cell = |place| {
                let (row, column) = (place / size, place % size);
                let (north, south) = (at(row + size - 1, column), at(row + 1, column));
                let (west, east) = (at(row, column + size - 1), at(row, column + 1));
                next(at(row, column), [north, south, west, east])
            };
            plate = (0..size * size).map(cell).collect();
        }
        let mut result = self;
        for tile in &mut result.tiles {
            tile.cells = cut((tile.i, tile.j), result.side, |row, column| {
                plate[row * size + column]
            });
        }
        result
    }

    /// Returns the indices of a tile and of its neighbours to the north, south, west and east.
    fn around(&self, i: usize, j: usize) -> [usize; 5] {
        let count = self.count;
        let number = |i: usize, j: usize| i % count * count + j % count;
        let (north, south) = (number(i + count - 1, j), number(i + 1, j));
        let (west, east) = (number(i, j + count - 1), number(i, j + 1));
        [number(i, j), north, south, west, east]
    }

    pub(super) fn serial(self) -> Plate {
        self.sweep_by_sweep(|work, tiles| tiles.iter_mut().for_each(work))
    }

    /// Runs each sweep in a scope.
    pub(super) fn barrier(self) -> Plate {
        self.sweep_by_sweep(by_scope)
    }

    /// Runs each sweep with joins that halve it.
    pub(super) fn fork_join(self) -> Plate {
        self.sweep_by_sweep(by_halves)
    }

    fn sweep_by_sweep(mut self, each: Loop<Tile>) -> Plate {
        let mut other = self.tiles.clone();
        for _ in 0..self.sweeps {
            let work = |new: &mut Tile| {
                let around = self.around(new.i, new.j);
                let from = around.map(|number| &self.tiles[number].cells[..]);
                relax(from, &mut new.cells, self.side);
            };
            each(&work, &mut other);
            swap(&mut self.tiles, &mut other);
        }
        self
    }

    /// Runs all sweeps as one flow, without barriers.
    pub(super) fn flow(mut self) -> Plate {
        let mut tiles = std::mem::take(&mut self.tiles);
        let mut other = tiles.clone();
        flow(|f| {
            let mut from: Vec<Cells<'_>> = tiles
                .iter_mut()
                .map(|tile| f.object(&mut tile.cells))
                .collect();
            let mut to: Vec<Cells<'_>> = other
                .iter_mut()
                .map(|tile| f.object(&mut tile.cells))
                .collect();
            for _ in 0..self.sweeps {
                for (number, new) in to.iter().enumerate() {
                    let around = self.around(number / self.count, number % self.count);
                    let [own, north, south, west, east] = around.map(|number| from[number].read());
                    let side = self.side;
                    f.fork(
                        (own, north, south, west, east, new.update()),
                        move |(own, north, south, west, east, new)| {
                            relax([own, north, south, west, east], new, side);
                        },
                    );
                }
                swap(&mut from, &mut to);
            }
        });
        let last = if self.sweeps.is_multiple_of(2) {
            tiles
        } else {
            other
        };
        Plate {
            tiles: last,
            ..self
        }
    }
}

/// The cells of a tile, in a flow.
type Cells<'f> = Object<'f, Vec<f64>>;

/// Computes a tile after a sweep from itself and its neighbours.
fn relax([own, north, south, west, east]: [&[f64]; 5], new: &mut [f64], side: usize) {
    let last = side - 1;
    for (row, new) in new.chunks_exact_mut(side).enumerate() {
        let start = row * side;
        let middle = &own[start..][..side];
        let above = match row {
            0 => &north[last * side..],
            _ => &own[start - side..][..side],
        };
        let below = if row == last {
            &south[..side]
        } else {
            &own[start + side..][..side]
        };
        let left = |column: usize| match column {
            0 => west[start + last],
            _ => middle[column - 1],
        };
        let right = |column: usize| {
            if column == last {
                east[start]
            } else {
                middle[column + 1]
            }
        };
        for (column, new) in new.iter_mut().enumerate() {
            let around = [above[column], below[column], left(column), right(column)];
            *new = next(middle[column], around);
        }
    }
}

pub(super) fn workload(quick: bool) -> Workload {
    let plate = if quick {
        Plate::new(4, 8, 3)
    } else {
        Plate::new(8, 64, 16)
    };
    let expected = plate.clone().directly();
    let same = plate.clone().serial() == expected;
    let program = Versions {
        name: NAME,
        about: "16 sweeps over 512 by 512 cells in tiles of 64 by 64; one operation is one cell of \
                one sweep",
        operations: plate.cells(),
        input: plate,
        expected,
        oracle: verify(SERIAL, "as without tiles", true, same),
        serial: Plate::serial,
        barrier: Plate::barrier,
        fork_join: Plate::fork_join,
        flow: Plate::flow,
    };
    program.workload()
}

#[cfg(test)]
mod tests {
    use super::super::tiles::CLOSE;
    use super::*;

    #[test]
    fn every_version_gives_the_same_plate_after_even_and_odd_sweeps() {
        for sweeps in [0, 1, 4, 5] {
            let plate = Plate::new(3, 5, sweeps);
            let expected = plate.clone().directly();
            assert_eq!(plate == expected, sweeps == 0);
            for heat in [Plate::serial, Plate::flow, Plate::barrier, Plate::fork_join] {
                assert_eq!(heat(plate.clone()), expected);
            }
        }
    }

    #[test]
    fn no_heat_is_lost() {
        let heat = |plate: &Plate| -> f64 {
            let cells = plate.tiles.iter().flat_map(|tile| &tile.cells);
            cells.sum()
        };
        let plate = Plate::new(3, 5, 7);
        let before = heat(&plate);
        assert!((heat(&plate.flow()) - before).abs() < CLOSE);
    }
}
