//! Fibonacci numbers by their recursive definition: a program that does little but fork.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Computes the n-th Fibonacci number. An operation is a fork.
///
/// ```
/// use locksley_workload::{Fib, Program, Serial, Task};
///
/// let mut fib = Fib::new(20);
/// assert_eq!(fib.task().run(Serial), 6765);
/// assert_eq!(fib.operations(), 10_945);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fib {
    n: u64,
}

impl Fib {
    /// Creates the program for the n-th number.
    pub fn new(n: u64) -> Fib {
        Fib { n }
    }

    /// Returns the n-th Fibonacci number, by addition.
    ///
    /// ```
    /// assert_eq!(locksley_workload::Fib::number(90), 2_880_067_194_370_816_120);
    /// ```
    pub fn number(n: u64) -> u64 {
        let (mut this, mut next) = (0, 1);
        for _ in 0..n {
            (this, next) = (next, this + next);
        }
        this
    }
}

impl Program for Fib {
    type Task<'p> = FibTask;
    type Output = u64;

    /// fib(n) forks F(n+1) - 1 times.
    fn operations(&self) -> u64 {
        Fib::number(self.n + 1) - 1
    }

    fn task(&mut self) -> FibTask {
        FibTask(self.n)
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(Fib::number(self.n), output)
    }
}

/// Computes the Fibonacci number with this index.
///
/// ```
/// use locksley_workload::{FibTask, Serial, Task};
///
/// assert_eq!(FibTask(10).run(Serial), 55);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FibTask(pub u64);

impl Task for FibTask {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let FibTask(n) = self;
        if n < 2 {
            return n;
        }
        let (a, b) = fork.fork(FibTask(n - 1), FibTask(n - 2));
        a + b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn recursion_and_addition_agree() {
        for n in 0..16 {
            let mut fib = Fib::new(n);
            let number = fib.task().run(Serial);
            assert_eq!(fib.check(number), Ok(()));
        }
    }
}
