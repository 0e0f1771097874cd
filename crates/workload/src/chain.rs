//! A chain that forks rarely: long serial stretches, and a little parallel work between them.
//!
//! All workers but one have almost nothing to do, and have to find that little quickly without
//! slowing down the busy one.

use crate::fork::{Fork, Task};
use crate::generator::{Steps, steps};
use crate::program::{Mismatch, Program, expect};

/// A chain of periods. An operation is a period, which has one fork.
///
/// ```
/// use locksley_workload::{Chain, Program, Serial, Task};
///
/// let mut chain = Chain::new(10, 900, 100, 7);
/// let end = chain.task().run(Serial);
/// assert_eq!(chain.check(end), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    periods: u32,
    serial: u32,
    parallel: u32,
    seed: u64,
    expected: u64,
}

impl Chain {
    /// Creates a chain of `periods` periods, each of `serial` steps in series and then `parallel`
    /// steps on either side of a fork. A step is a number of a pseudo-random generator, a few
    /// nanoseconds. Computes the expected result without forks.
    pub fn new(periods: u32, serial: u32, parallel: u32, seed: u64) -> Chain {
        let expected = (0..periods).fold(seed, |state, _| {
            let state = steps(state, serial);
            let sides = [state ^ 1, state ^ 2].map(|side| steps(side, parallel));
            sides[0].wrapping_add(sides[1].rotate_left(1))
        });
        Chain {
            periods,
            serial,
            parallel,
            seed,
            expected,
        }
    }

    /// Returns the largest speed-up over one worker that any number of workers can reach.
    ///
    /// ```
    /// let chain = locksley_workload::Chain::new(10, 80, 10, 7);
    /// assert!((chain.parallelism() - 100.0 / 90.0).abs() < 1e-9);
    /// ```
    pub fn parallelism(&self) -> f64 {
        let (serial, parallel) = (f64::from(self.serial), f64::from(self.parallel));
        if serial + parallel == 0.0 {
            return 1.0;
        }
        (serial + 2.0 * parallel) / (serial + parallel)
    }
}

impl Program for Chain {
    type Task<'p> = ChainTask;
    type Output = u64;

    fn operations(&self) -> u64 {
        u64::from(self.periods)
    }

    fn task(&mut self) -> ChainTask {
        ChainTask(*self)
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Runs all periods, one after the other.
///
/// ```
/// use locksley_workload::{Chain, ChainTask, Program, Serial, Task};
///
/// let task: ChainTask = Chain::new(0, 1, 1, 7).task();
/// assert_eq!(task.run(Serial), 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChainTask(Chain);

impl Task for ChainTask {
    type Output = u64;

    fn run<F: Fork>(self, mut fork: F) -> u64 {
        let ChainTask(chain) = self;
        let mut state = chain.seed;
        for _ in 0..chain.periods {
            state = steps(state, chain.serial);
            let side = |from| Steps(from, chain.parallel);
            let (a, b) = fork.reborrow().fork(side(state ^ 1), side(state ^ 2));
            state = a.wrapping_add(b.rotate_left(1));
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_end_is_that_without_forks() {
        for periods in [0, 1, 2, 50] {
            let mut chain = Chain::new(periods, 9, 4, 42);
            let end = chain.task().run(Serial);
            assert_eq!(chain.check(end), Ok(()));
            assert!(chain.check(end ^ 1).is_err());
        }
    }

    #[test]
    fn parallelism_lies_between_one_and_two() {
        assert_eq!(Chain::new(1, 0, 0, 0).parallelism(), 1.0);
        assert_eq!(Chain::new(1, 0, 5, 0).parallelism(), 2.0);
        assert_eq!(Chain::new(1, 5, 0, 0).parallelism(), 1.0);
    }
}
