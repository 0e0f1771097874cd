//! Counts the primes up to a number by trial division: later pieces take longer.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Number of numbers that are tested serially.
const BLOCK: u64 = 256;

/// Counts primes. An operation is a number that is tested.
///
/// ```
/// use locksley_workload::{Primes, Program, Serial, Task};
///
/// let mut primes = Primes::new(1000);
/// assert_eq!(primes.task().run(Serial), 168);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Primes {
    n: u64,
    expected: u64,
}

impl Primes {
    /// Creates a count of the primes up to `n`. Computes the expected result by the sieve of
    /// Eratosthenes.
    pub fn new(n: u64) -> Primes {
        Primes {
            n,
            expected: sieve(n as usize),
        }
    }
}

fn sieve(n: usize) -> u64 {
    let mut composite = vec![false; n + 1];
    let mut count = 0;
    for number in 2..=n {
        if composite[number] {
            continue;
        }
        count += 1;
        for multiple in (number.saturating_mul(number)..=n).step_by(number) {
            composite[multiple] = true;
        }
    }
    count
}

fn is_prime(n: u64) -> bool {
    if n < 4 {
        return n >= 2;
    }
    let mut divisors = (3..).step_by(2).take_while(|d| d * d <= n);
    !n.is_multiple_of(2) && divisors.all(|d| !n.is_multiple_of(d))
}

impl Program for Primes {
    type Task<'p> = PrimesTask;
    type Output = u64;

    fn operations(&self) -> u64 {
        self.n + 1
    }

    fn task(&mut self) -> PrimesTask {
        PrimesTask {
            from: 0,
            to: self.n + 1,
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Tests a range of numbers.
///
/// ```
/// use locksley_workload::{Primes, PrimesTask, Program, Serial, Task};
///
/// let task: PrimesTask = Primes::new(2).task();
/// assert_eq!(task.run(Serial), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PrimesTask {
    from: u64,
    to: u64,
}

impl Task for PrimesTask {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let PrimesTask { from, to } = self;
        if to - from <= BLOCK {
            return (from..to).filter(|&n| is_prime(n)).count() as u64;
        }
        let middle = from + (to - from) / 2;
        let (a, b) = fork.fork(
            PrimesTask { from, to: middle },
            PrimesTask { from: middle, to },
        );
        a + b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn divisions_and_the_sieve_agree() {
        for n in [0, 1, 2, 3, 4, 9, 10, 255, 256, 10_000] {
            let mut primes = Primes::new(n);
            let count = primes.task().run(Serial);
            assert_eq!(primes.check(count), Ok(()), "{n}");
        }
        // The published value of pi(10^4).
        assert_eq!(sieve(10_000), 1229);
    }
}
