//! Adaptive quadrature: an interval is halved where the function is steep.
//!
//! The function is the peak 1 / (x^2 + w^2) on [-1, 1], whose integral is 2/w atan(1/w). An
//! interval is halved until the trapezoid over it and the two over its halves agree. So almost all
//! of the work is near 0, and the amount of work in each part is not known beforehand.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// The largest number of times that an interval is halved. Beyond it, its ends are neighbouring
/// numbers.
const MOST_HALVINGS: u32 = 50;

/// The width of the peak.
const WIDTH: f64 = 1.0e-3;

/// The result of an integration.
///
/// ```
/// use locksley_workload::{Integral, Integrate, Program, Serial, Task};
///
/// let Integral { area, intervals } = Integrate::new(9).task().run(Serial);
/// assert!((area - 3139.592).abs() < 0.01 && intervals > 1000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integral {
    /// The integral.
    pub area: f64,
    /// Number of intervals that the whole was cut into.
    pub intervals: u64,
}

/// Integrates a function with a sharp peak. An operation is an interval.
///
/// ```
/// use locksley_workload::{Integrate, Program, Serial, Task};
///
/// let mut integrate = Integrate::new(9);
/// let integral = integrate.task().run(Serial);
/// assert_eq!(integrate.check(integral), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Integrate {
    tolerance: f64,
    /// Expected number of intervals.
    intervals: u64,
}

impl Integrate {
    /// Creates an integration that leaves an interval as it is if halving it changes its area by at
    /// most 10^-digits; at most 20 digits. Counts the intervals once, without recursion.
    pub fn new(digits: u32) -> Integrate {
        let tolerance = 0.1_f64.powi(digits.min(20) as i32);
        let mut stack = vec![(-1.0, 1.0, MOST_HALVINGS)];
        let mut intervals = 0;
        while let Some((from, to, halvings)) = stack.pop() {
            let middle = 0.5 * (from + to);
            let [left, right] = [trapezoid(from, middle), trapezoid(middle, to)];
            let change = (left + right - trapezoid(from, to)).abs();
            if halvings == 0 || change <= tolerance {
                intervals += 1;
            } else {
                stack.push((from, middle, halvings - 1));
                stack.push((middle, to, halvings - 1));
            }
        }
        Integrate {
            tolerance,
            intervals,
        }
    }

    /// Returns the integral, by its formula.
    ///
    /// ```
    /// assert!((locksley_workload::Integrate::exact() - 3139.592).abs() < 0.001);
    /// ```
    pub fn exact() -> f64 {
        2.0 / WIDTH * (1.0 / WIDTH).atan()
    }
}

#[inline]
fn height(x: f64) -> f64 {
    1.0 / (x * x + WIDTH * WIDTH)
}

fn trapezoid(from: f64, to: f64) -> f64 {
    0.5 * (to - from) * (height(from) + height(to))
}

impl Program for Integrate {
    type Task<'p> = IntegrateTask;
    type Output = Integral;

    fn operations(&self) -> u64 {
        self.intervals
    }

    fn task(&mut self) -> IntegrateTask {
        let ends = [height(-1.0), height(1.0)];
        IntegrateTask {
            from: -1.0,
            to: 1.0,
            ends,
            area: ends[0] + ends[1],
            halvings: MOST_HALVINGS,
            tolerance: self.tolerance,
        }
    }

    /// Checks that the number of intervals is exact, and that the area is within the tolerance of
    /// all intervals and rounding.
    fn check(&self, output: Integral) -> Result<(), Mismatch> {
        let exact = Integrate::exact();
        let allowed = self.tolerance * self.intervals as f64 + 1.0e-11 * exact;
        if (output.area - exact).abs() <= allowed {
            return expect(self.intervals, output.intervals);
        }
        let expected = Integral {
            area: exact,
            intervals: self.intervals,
        };
        expect(expected, output)
    }
}

/// Integrates over an interval.
///
/// ```
/// use locksley_workload::{Integrate, IntegrateTask, Program, Serial, Task};
///
/// let task: IntegrateTask = Integrate::new(6).task();
/// assert!(task.run(Serial).intervals > 100);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IntegrateTask {
    from: f64,
    to: f64,
    /// The function at both ends.
    ends: [f64; 2],
    /// The area of the trapezoid.
    area: f64,
    halvings: u32,
    tolerance: f64,
}

impl Task for IntegrateTask {
    type Output = Integral;

    fn run<F: Fork>(self, fork: F) -> Integral {
        let middle = 0.5 * (self.from + self.to);
        let top = height(middle);
        let [left, right] = self.ends;
        let left_area = 0.5 * (middle - self.from) * (left + top);
        let right_area = 0.5 * (self.to - middle) * (top + right);
        let area = left_area + right_area;
        if self.halvings == 0 || (area - self.area).abs() <= self.tolerance {
            return Integral { area, intervals: 1 };
        }
        let halvings = self.halvings - 1;
        let (a, b) = fork.fork(
            IntegrateTask {
                to: middle,
                ends: [left, top],
                area: left_area,
                halvings,
                ..self
            },
            IntegrateTask {
                from: middle,
                ends: [top, right],
                area: right_area,
                halvings,
                ..self
            },
        );
        Integral {
            area: a.area + b.area,
            intervals: a.intervals + b.intervals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn more_digits_come_nearer_to_the_formula() {
        let mut error = f64::INFINITY;
        for digits in [3, 6, 9, 12] {
            let mut integrate = Integrate::new(digits);
            let integral = integrate.task().run(Serial);
            assert_eq!(integrate.check(integral), Ok(()), "{digits}");
            let away = (integral.area - Integrate::exact()).abs();
            assert!(away < error, "{digits}: {away}");
            error = away;
        }
    }

    #[test]
    fn a_lost_interval_is_found_out() {
        let mut integrate = Integrate::new(9);
        let integral = integrate.task().run(Serial);
        let lost = Integral {
            area: integral.area - 0.01,
            ..integral
        };
        assert!(integrate.check(lost).is_err());
        let fewer = Integral {
            intervals: integral.intervals - 1,
            ..integral
        };
        assert!(integrate.check(fewer).is_err());
    }
}
