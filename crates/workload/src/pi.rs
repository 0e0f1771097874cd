//! Pi, as the area under 4 / (1 + x^2) from 0 to 1: only arithmetic, in pieces of equal size.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Number of intervals that are added serially.
const BLOCK: u64 = 1024;

/// Allowed rounding error, beyond the error of the rule.
const ROUNDING: f64 = 1.0e-12;

/// Computes pi by the midpoint rule. An operation is an interval.
///
/// ```
/// use locksley_workload::{Pi, Program, Serial, Task};
///
/// let mut pi = Pi::new(10_000);
/// let output = pi.task().run(Serial);
/// assert!((output - std::f64::consts::PI).abs() < 1e-8);
/// assert_eq!(pi.check(output), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pi {
    intervals: u64,
}

impl Pi {
    /// Creates a program with `intervals` intervals, at least one.
    pub fn new(intervals: u64) -> Pi {
        Pi {
            intervals: intervals.max(1),
        }
    }

    /// Returns the allowed error. The error of the midpoint rule with intervals of width h is below
    /// h^2 / 24 times the greatest second derivative, which is 8.
    fn tolerance(&self) -> f64 {
        let width = 1.0 / self.intervals as f64;
        width * width / 3.0 + ROUNDING
    }
}

impl Program for Pi {
    type Task<'p> = PiTask;
    type Output = f64;

    fn operations(&self) -> u64 {
        self.intervals
    }

    fn task(&mut self) -> PiTask {
        PiTask {
            from: 0,
            to: self.intervals,
            width: 1.0 / self.intervals as f64,
        }
    }

    fn check(&self, output: f64) -> Result<(), Mismatch> {
        let away = (output - std::f64::consts::PI).abs();
        if away <= self.tolerance() {
            return Ok(());
        }
        expect(std::f64::consts::PI, output)
    }
}

/// Adds up some intervals.
///
/// ```
/// use locksley_workload::{Pi, PiTask, Program, Serial, Task};
///
/// let task: PiTask = Pi::new(1).task();
/// assert_eq!(task.run(Serial), 3.2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PiTask {
    from: u64,
    to: u64,
    width: f64,
}

impl Task for PiTask {
    type Output = f64;

    fn run<F: Fork>(self, fork: F) -> f64 {
        let PiTask { from, to, width } = self;
        if to - from <= BLOCK {
            let area = |n: u64| {
                let x = (n as f64 + 0.5) * width;
                4.0 / (1.0 + x * x)
            };
            return width * (from..to).map(area).sum::<f64>();
        }
        let middle = from + (to - from) / 2;
        let (a, b) = fork.fork(
            PiTask { to: middle, ..self },
            PiTask {
                from: middle,
                ..self
            },
        );
        a + b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_error_is_below_that_of_the_rule() {
        for intervals in [1, 2, 100, 1024, 1025, 50_000] {
            let mut pi = Pi::new(intervals);
            let output = pi.task().run(Serial);
            assert_eq!(pi.check(output), Ok(()), "{intervals}");
            assert!(pi.check(output + 3.0 * pi.tolerance()).is_err());
        }
    }
}
