//! Prefix sums in two sweeps: the first computes the sum of each block, the second adds to each
//! block the sum of all before it.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// Number of numbers that are added serially.
const BLOCK: usize = 2048;

/// Replaces each number by the sum of all numbers up to it, modulo 2^64. An operation is a number.
///
/// ```
/// use locksley_workload::{Program, Scan, Serial, Task};
///
/// let mut scan = Scan::new(10_000, 7);
/// scan.task().run(Serial);
/// assert_eq!(scan.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Scan {
    seed: u64,
    numbers: Vec<u64>,
    sums: Vec<u64>,
}

impl Scan {
    /// Creates a scan of `n` pseudo-random numbers.
    pub fn new(n: usize, seed: u64) -> Scan {
        Scan {
            seed,
            numbers: vec![0; n],
            sums: vec![0; n.div_ceil(BLOCK)],
        }
    }

    fn input(&self) -> impl Iterator<Item = u64> + use<> {
        let mut state = self.seed;
        (0..self.numbers.len()).map(move |_| split_mix(&mut state))
    }
}

impl Program for Scan {
    type Task<'p> = ScanTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.numbers.len().max(1) as u64
    }

    fn task(&mut self) -> ScanTask<'_> {
        let input = self.input();
        for (number, value) in self.numbers.iter_mut().zip(input) {
            *number = value;
        }
        ScanTask {
            numbers: &mut self.numbers,
            sums: &mut self.sums,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let mut sum = 0_u64;
        for (at, (number, got)) in self.input().zip(&self.numbers).enumerate() {
            sum = sum.wrapping_add(number);
            expect((at, sum), (at, *got))?;
        }
        Ok(())
    }
}

/// Runs both sweeps.
///
/// ```
/// use locksley_workload::{Program, Scan, ScanTask, Serial, Task};
///
/// let mut scan = Scan::new(3, 7);
/// let task: ScanTask = scan.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct ScanTask<'p> {
    numbers: &'p mut [u64],
    /// A sum for each block.
    sums: &'p mut [u64],
}

impl Task for ScanTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let upwards = Up {
            numbers: self.numbers,
            sums: self.sums,
        };
        upwards.run(fork.reborrow());
        let mut before = 0_u64;
        for sum in self.sums.iter_mut() {
            before = before.wrapping_add(std::mem::replace(sum, before));
        }
        let downwards = Down {
            numbers: self.numbers,
            before: self.sums,
        };
        downwards.run(fork);
    }
}

/// Computes the sum of each block.
struct Up<'p> {
    numbers: &'p [u64],
    sums: &'p mut [u64],
}

impl Task for Up<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        if let [] | [_] = self.sums {
            let sum = self.numbers.iter().copied().fold(0, u64::wrapping_add);
            self.sums.fill(sum);
            return;
        }
        let half = self.sums.len() / 2;
        let (left, right) = self.sums.split_at_mut(half);
        let (first, rest) = self.numbers.split_at(half * BLOCK);
        let part = |numbers, sums| Up { numbers, sums };
        fork.fork(part(first, left), part(rest, right));
    }
}

/// Adds to each block the sum of all blocks before it, and computes its prefix sums.
struct Down<'p> {
    numbers: &'p mut [u64],
    before: &'p [u64],
}

impl Task for Down<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        if let [] | [_] = self.before {
            let mut sum = self.before.first().copied().unwrap_or(0);
            for number in self.numbers {
                sum = sum.wrapping_add(*number);
                *number = sum;
            }
            return;
        }
        let half = self.before.len() / 2;
        let (left, right) = self.before.split_at(half);
        let (first, rest) = self.numbers.split_at_mut(half * BLOCK);
        let part = |numbers, before| Down { numbers, before };
        fork.fork(part(first, left), part(rest, right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn every_length_is_scanned() {
        for n in [0, 1, 2, BLOCK, BLOCK + 1, 5 * BLOCK - 1, 17 * BLOCK + 3] {
            let mut scan = Scan::new(n, 3);
            scan.task().run(Serial);
            assert_eq!(scan.check(()), Ok(()), "{n}");
            if let Some(last) = scan.numbers.last_mut() {
                *last ^= 1;
                assert!(scan.check(()).is_err());
            }
        }
    }
}
