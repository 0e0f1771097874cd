//! Heat on a plate: sweeps over a grid that does not fit into a cache.
//!
//! In each sweep a cell moves towards its four neighbours: u' = u + c (sum of the neighbours - 4u);
//! the rim stays cold. A sweep reads one grid, writes another and does little arithmetic, so it is
//! limited by memory. The rows are halved down to blocks, which are the same in every sweep: a
//! worker that gets the block that it had before finds it in its cache. With [`SpawnMode::Near`] a
//! block is spawned near the same worker in every sweep.
//!
//! The plate starts as a product of two sines, p half-waves down and q across, which is an
//! eigenvector of the sweep. After k sweeps it must be the same plate times lambda^k, where
//!
//! ```text
//!   lambda = 1 - 4c (sin^2(p pi / (2 (rows+1))) + sin^2(q pi / (2 (columns+1))))
//! ```

use std::f64::consts::PI;
use std::mem;

use crate::fork::{Fork, Task};
use crate::phases::SpawnMode;
use crate::program::{Mismatch, Program, expect};

/// c: how far a cell moves. Up to 1/4 the heat does not oscillate.
const SPEED: f64 = 0.2;

/// Allowed difference of a cell from its expected value: rounding gives about 1e-16 per sweep.
const TOLERANCE: f64 = 1.0e-11;

/// Simulates the flow of heat. An operation is a cell in a sweep.
///
/// ```
/// use locksley_workload::{Heat, Program, Serial, Task};
///
/// let mut heat = Heat::new(50, 40, 10, 8);
/// heat.task().run(Serial);
/// assert_eq!(heat.check(()), Ok(()));
/// assert_eq!(heat.operations(), 50 * 40 * 10);
/// ```
#[derive(Clone, Debug)]
pub struct Heat {
    rows: usize,
    columns: usize,
    sweeps: u32,
    block: usize,
    mode: SpawnMode,
    /// p and q: half-waves down and across.
    waves: [f64; 2],
    /// The plate after the last sweep, with its rim; before a run, the start.
    plate: Vec<f64>,
    spare: Vec<f64>,
}

impl Heat {
    /// Creates a plate of `rows` rows and `columns` columns, at least one each, for `sweeps`
    /// sweeps, in blocks of `block` rows.
    pub fn new(rows: usize, columns: usize, sweeps: u32, block: usize) -> Heat {
        let (rows, columns) = (rows.max(1), columns.max(1));
        // As many half-waves as reduce the plate by about e^2 in the whole run: then a block that
        // is left out once is detected, whatever the size.
        let angle = (0.25 / SPEED / f64::from(sweeps.max(2)))
            .sqrt()
            .min(1.0)
            .asin();
        let waves = |cells: usize| {
            let waves = (angle * 2.0 * (cells + 1) as f64 / PI).round();
            waves.clamp(1.0, cells as f64)
        };
        let cells = (rows + 2) * (columns + 2);
        Heat {
            rows,
            columns,
            sweeps,
            block: block.max(1),
            mode: SpawnMode::Fork,
            waves: [waves(rows), waves(columns)],
            plate: vec![0.0; cells],
            spare: vec![0.0; cells],
        }
    }

    /// Returns the same program, with its blocks handed to the workers in this way.
    ///
    /// ```
    /// use locksley_workload::{Heat, Program, Serial, Task, SpawnMode};
    ///
    /// let mut heat = Heat::new(50, 40, 10, 8).by(SpawnMode::Near);
    /// heat.task().run(Serial);
    /// assert_eq!(heat.check(()), Ok(()));
    /// ```
    pub fn by(self, mode: SpawnMode) -> Heat {
        Heat { mode, ..self }
    }

    /// Returns lambda, the factor by which a sweep multiplies the plate.
    fn decay(&self) -> f64 {
        let [p, q] = self.waves;
        let square = |waves: f64, cells: usize| {
            let sine = (waves * PI / (2.0 * (cells + 1) as f64)).sin();
            sine * sine
        };
        1.0 - 4.0 * SPEED * (square(p, self.rows) + square(q, self.columns))
    }

    /// Returns the sines of a row or a column of the start, rim included. Whole periods are
    /// subtracted before the sine is computed, where that is exact.
    fn sines(waves: f64, cells: usize) -> Vec<f64> {
        let period = 2 * (cells + 1);
        let sine = |i: usize| {
            let halves = (i * waves as usize) % period;
            (PI * halves as f64 / (cells + 1) as f64).sin()
        };
        (0..cells + 2).map(sine).collect()
    }

    /// Returns the function that gives each cell's value at the start, the cold rim included.
    fn start(&self) -> impl Fn(usize, usize) -> f64 + use<> {
        let down = Heat::sines(self.waves[0], self.rows);
        let across = Heat::sines(self.waves[1], self.columns);
        let (rows, columns) = (self.rows, self.columns);
        move |row, column| {
            let inside = (1..=rows).contains(&row) && (1..=columns).contains(&column);
            if inside {
                down[row] * across[column]
            } else {
                0.0
            }
        }
    }
}

impl Program for Heat {
    type Task<'p> = HeatTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        (self.rows * self.columns) as u64 * u64::from(self.sweeps)
    }

    fn task(&mut self) -> HeatTask<'_> {
        let start = self.start();
        for (row, cells) in self.plate.chunks_exact_mut(self.columns + 2).enumerate() {
            for (column, cell) in cells.iter_mut().enumerate() {
                *cell = start(row, column);
            }
        }
        self.spare.fill(0.0);
        HeatTask {
            plate: &mut self.plate,
            spare: &mut self.spare,
            width: self.columns + 2,
            block: self.block,
            mode: self.mode,
            sweeps: self.sweeps,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let (start, factor) = (self.start(), self.decay().powi(self.sweeps as i32));
        for (row, cells) in self.plate.chunks_exact(self.columns + 2).enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                let expected = factor * start(row, column);
                let away = (cell - expected).abs();
                if away.is_nan() || away > TOLERANCE {
                    return expect((row, column, expected), (row, column, *cell));
                }
            }
        }
        Ok(())
    }
}

/// Runs all sweeps, one after the other.
///
/// ```
/// use locksley_workload::{Heat, HeatTask, Program, Serial, Task};
///
/// let mut heat = Heat::new(10, 10, 2, 4);
/// let task: HeatTask = heat.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct HeatTask<'p> {
    plate: &'p mut Vec<f64>,
    spare: &'p mut Vec<f64>,
    /// Length of a row, rim included.
    width: usize,
    block: usize,
    mode: SpawnMode,
    sweeps: u32,
}

impl Task for HeatTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let width = self.width;
        for _ in 0..self.sweeps {
            let inside = width..self.spare.len() - width;
            let sweep = Sweep {
                from: self.plate,
                to: &mut self.spare[inside],
                width,
                block: self.block,
            };
            match self.mode {
                SpawnMode::Fork => sweep.run(fork.reborrow()),
                mode => mode.run(fork.reborrow(), sweep.blocks()),
            }
            mem::swap(self.plate, self.spare);
        }
    }
}

/// A sweep over some of the rows.
struct Sweep<'p> {
    /// The old rows, with the row above and the row below.
    from: &'p [f64],
    to: &'p mut [f64],
    width: usize,
    block: usize,
}

impl<'p> Sweep<'p> {
    /// Splits the sweep into one for each block.
    fn blocks(self) -> Vec<Sweep<'p>> {
        let Sweep {
            from,
            to,
            width,
            block,
        } = self;
        let part = |(number, to): (usize, &'p mut [f64])| {
            let first = number * block * width;
            Sweep {
                from: &from[first..first + to.len() + 2 * width],
                to,
                width,
                block,
            }
        };
        to.chunks_mut(block * width).enumerate().map(part).collect()
    }
}

impl Task for Sweep<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let Sweep {
            from,
            to,
            width,
            block,
        } = self;
        let blocks = (to.len() / width).div_ceil(block);
        if blocks <= 1 {
            return sweep_rows(from, to, width);
        }
        let middle = blocks.div_ceil(2) * block * width;
        let (upper, lower) = to.split_at_mut(middle);
        let part = |from, to| Sweep {
            from,
            to,
            width,
            block,
        };
        fork.fork(
            part(&from[..middle + 2 * width], upper),
            part(&from[middle..], lower),
        );
    }
}

fn sweep_rows(from: &[f64], to: &mut [f64], width: usize) {
    let rows = from.windows(3 * width).step_by(width);
    for (old, new) in rows.zip(to.chunks_exact_mut(width)) {
        let (above, old) = old.split_at(width);
        let (old, below) = old.split_at(width);
        let inside = new[1..width - 1].iter_mut();
        let upright = above[1..].iter().zip(&below[1..]);
        for ((cell, flat), (above, below)) in inside.zip(old.windows(3)).zip(upright) {
            let around = above + below + flat[0] + flat[2];
            *cell = flat[1] + SPEED * (around - 4.0 * flat[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn plates_of_every_shape_cool_as_they_must() {
        for (rows, columns) in [(1, 1), (1, 9), (7, 1), (30, 17), (64, 64)] {
            for sweeps in [0, 1, 2, 25] {
                for block in [1, 3, 8, 1000] {
                    let mut heat = Heat::new(rows, columns, sweeps, block);
                    heat.task().run(Serial);
                    assert_eq!(heat.check(()), Ok(()), "{rows}x{columns} {sweeps} {block}");
                }
            }
        }
    }

    #[test]
    fn the_blocks_do_not_change_the_result() {
        let ways = [
            (1, SpawnMode::Fork),
            (5, SpawnMode::Near),
            (7, SpawnMode::Spawn),
            (64, SpawnMode::Fork),
        ];
        let plates = ways.map(|(block, mode)| {
            let mut heat = Heat::new(64, 20, 9, block).by(mode);
            heat.task().run(Serial);
            heat.plate
        });
        assert!(plates.iter().all(|plate| *plate == plates[0]));
    }

    #[test]
    fn a_block_that_is_left_out_once_is_found_out() {
        let mut heat = Heat::new(2000, 10, 10, 8);
        heat.task().run(Serial);
        let (whole, sweeps) = (heat.plate.clone(), heat.sweeps);
        heat.sweeps = sweeps - 1;
        heat.task().run(Serial);
        let rows = 8 * heat.columns..16 * heat.columns;
        let mut spoilt = whole;
        spoilt[rows.clone()].copy_from_slice(&heat.plate[rows]);
        heat.plate = spoilt;
        heat.sweeps = sweeps;
        assert!(heat.check(()).is_err());
    }
}
