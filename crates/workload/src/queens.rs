//! The number of ways to place n queens on a board so that none attacks another.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Numbers of ways for boards of size 0, 1, 2, ... (OEIS A000170).
const WAYS: [u64; 17] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
];

/// The n queens problem. An operation is a run.
///
/// ```
/// use locksley_workload::{Program, Queens, Serial, Task};
///
/// assert_eq!(Queens::new(8).task().run(Serial), 92);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Queens {
    n: u32,
}

impl Queens {
    /// Creates the problem for a board of size `n`, at most 16.
    pub fn new(n: u32) -> Queens {
        let n = n.min(WAYS.len() as u32 - 1);
        Queens { n }
    }
}

impl Program for Queens {
    type Task<'p> = QueensTask;
    type Output = u64;

    fn operations(&self) -> u64 {
        1
    }

    fn task(&mut self) -> QueensTask {
        let board = (1 << self.n) - 1;
        QueensTask {
            board,
            columns: 0,
            rising: 0,
            falling: 0,
            candidates: board,
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(WAYS[self.n as usize], output)
    }
}

/// Places a queen on each of some squares of a row in turn, and counts the ways to fill the rows
/// below. Forks between any two candidates.
///
/// ```
/// use locksley_workload::{Program, Queens, QueensTask, Serial, Task};
///
/// let task: QueensTask = Queens::new(6).task();
/// assert_eq!(task.run(Serial), 4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QueensTask {
    /// All columns of the board, one bit each.
    board: u32,
    /// Columns with a queen.
    columns: u32,
    /// Squares of this row that are attacked along one diagonal.
    rising: u32,
    /// Squares of this row that are attacked along the other.
    falling: u32,
    /// Squares of this row to try.
    candidates: u32,
}

impl QueensTask {
    /// Returns the task for the row below, with a queen on `square` of this row.
    #[inline]
    fn below(self, square: u32) -> QueensTask {
        let columns = self.columns | square;
        let rising = (self.rising | square) << 1;
        let falling = (self.falling | square) >> 1;
        QueensTask {
            columns,
            rising,
            falling,
            candidates: self.board & !(columns | rising | falling),
            ..self
        }
    }
}

impl Task for QueensTask {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        if self.columns == self.board {
            return 1;
        }
        let first = self.candidates & self.candidates.wrapping_neg();
        let others = self.candidates ^ first;
        if first == 0 {
            0
        } else if others == 0 {
            self.below(first).run(fork)
        } else {
            let rest = QueensTask {
                candidates: others,
                ..self
            };
            let (a, b) = fork.fork(self.below(first), rest);
            a + b
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_known_numbers_come_out() {
        for n in 0..10 {
            let mut queens = Queens::new(n);
            let ways = queens.task().run(Serial);
            assert_eq!(queens.check(ways), Ok(()), "{n}");
        }
    }
}
