//! Batches of independent pieces of work, of equal, random or skewed sizes.

use std::ops::RangeInclusive;

use crate::fib::Fib;
use crate::fork::{Fork, Spawned, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::below;

/// Independent pieces, each of which computes a Fibonacci number by recursion, without forks.
/// The batch is halved until one piece is left, or a task is spawned for each. An operation is a
/// piece.
///
/// ```
/// use locksley_workload::{Batch, Program, Serial, Task};
///
/// let mut batch = Batch::skewed(4, 10);
/// assert_eq!(batch.task().run(Serial), 55 + 55 + 1 + 1);
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    /// Index of the Fibonacci number that each piece computes.
    pieces: Vec<u64>,
    /// Results of the pieces, if they are spawned.
    results: Option<Vec<u64>>,
}

impl Batch {
    /// Creates the skewed batch of the report on work-stealing deques: the first half of the pieces
    /// computes fib(n), the second half fib(1).
    pub fn skewed(pieces: usize, n: u64) -> Batch {
        let heavy = pieces / 2;
        let pieces = (0..pieces).map(|i| if i < heavy { n } else { 1 }).collect();
        Batch {
            pieces,
            results: None,
        }
    }

    /// Creates the even batch of the report on work-stealing deques: each piece computes a
    /// Fibonacci number whose index is pseudo-random in `range` (the report's is `25..=29`). An
    /// empty range counts as its start alone.
    ///
    /// ```
    /// use locksley_workload::Batch;
    ///
    /// let batch = Batch::random(100, 25..=29, 7);
    /// assert!((25..=29).all(|n| batch.pieces().contains(&n)));
    /// ```
    pub fn random(pieces: usize, range: RangeInclusive<u64>, seed: u64) -> Batch {
        let (start, end) = range.into_inner();
        let width = end.saturating_sub(start).saturating_add(1);
        let mut state = seed;
        Batch {
            pieces: (0..pieces)
                .map(|_| start + below(width, &mut state))
                .collect(),
            results: None,
        }
    }

    /// Creates pieces of equal size: each computes fib(n).
    pub fn even(pieces: usize, n: u64) -> Batch {
        Batch {
            pieces: vec![n; pieces],
            results: None,
        }
    }

    /// Returns the same batch, with a task spawned for each piece.
    ///
    /// ```
    /// use locksley_workload::{Batch, Program, Serial, Task};
    ///
    /// let mut batch = Batch::even(3, 5).spawned();
    /// assert_eq!(batch.task().run(Serial), 15);
    /// ```
    pub fn spawned(self) -> Batch {
        Batch {
            results: Some(vec![0; self.pieces.len()]),
            ..self
        }
    }

    /// Returns the indices of the Fibonacci numbers that the pieces compute.
    pub fn pieces(&self) -> &[u64] {
        &self.pieces
    }

    /// Does one piece of work: fib(n) by recursion.
    ///
    /// ```
    /// assert_eq!(locksley_workload::Batch::piece(10), 55);
    /// ```
    #[inline(never)]
    pub fn piece(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        Batch::piece(n - 1) + Batch::piece(n - 2)
    }
}

impl Program for Batch {
    type Task<'p> = BatchTask<'p>;
    type Output = u64;

    fn operations(&self) -> u64 {
        self.pieces.len() as u64
    }

    fn task(&mut self) -> BatchTask<'_> {
        let pieces = &self.pieces;
        match &mut self.results {
            None => BatchTask::Forked(Chunk(pieces)),
            Some(results) => {
                results.fill(0);
                BatchTask::Spawned { pieces, results }
            }
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.pieces.iter().map(|&n| Fib::number(n)).sum(), output)
    }
}

/// Computes a batch's pieces, and adds up their results.
///
/// ```
/// use locksley_workload::{Batch, BatchTask, Program, Serial, Task};
///
/// let mut batch = Batch::even(3, 5);
/// let task: BatchTask = batch.task();
/// assert_eq!(task.run(Serial), 15);
/// ```
#[derive(Debug)]
pub enum BatchTask<'b> {
    /// The batch is halved recursively.
    Forked(Chunk<'b>),
    /// A task is spawned for each piece.
    Spawned {
        /// Indices of the Fibonacci numbers.
        pieces: &'b [u64],
        /// Results of the pieces.
        results: &'b mut [u64],
    },
}

impl Task for BatchTask<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let (pieces, results) = match self {
            BatchTask::Forked(chunk) => return chunk.run(fork),
            BatchTask::Spawned { pieces, results } => (pieces, results),
        };
        let pairs = pieces.iter().zip(results.iter_mut());
        fork.spawn_each(pairs.map(|(&n, result)| Spawned::anywhere(Piece { n, result })));
        results.iter().sum()
    }
}

/// A piece that stores its result.
struct Piece<'b> {
    n: u64,
    result: &'b mut u64,
}

impl Task for Piece<'_> {
    type Output = ();

    fn run<F: Fork>(self, _: F) {
        *self.result = Batch::piece(self.n);
    }
}

/// Some of a batch's pieces, halved until one is left.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'b>(&'b [u64]);

impl Task for Chunk<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        match self.0 {
            [] => 0,
            [n] => Batch::piece(*n),
            pieces => {
                let (first, second) = pieces.split_at(pieces.len().div_ceil(2));
                let (a, b) = fork.fork(Chunk(first), Chunk(second));
                a + b
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn a_skewed_batch_is_heavy_in_its_first_half() {
        assert_eq!(Batch::skewed(6, 7).pieces, [7, 7, 7, 1, 1, 1]);
        assert_eq!(Batch::skewed(3, 7).pieces, [7, 1, 1]);
    }

    #[test]
    fn all_pieces_are_done() {
        for pieces in 0..9 {
            let random = Batch::random(pieces, 3..=7, 42);
            for mut batch in [Batch::skewed(pieces, 7), Batch::even(pieces, 7), random] {
                let sum = batch.task().run(Serial);
                assert_eq!(batch.check(sum), Ok(()));
                let mut spawned = batch.spawned();
                assert_eq!(spawned.task().run(Serial), sum);
            }
        }
    }
}
