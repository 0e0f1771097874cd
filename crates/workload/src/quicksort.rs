//! Quicksort: the partition is serial, and the sizes of the two sides depend on the pivot.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect_each};
use crate::random::split_mix;

/// Up to this length the standard library's sort is used.
const BASE: usize = 64;

/// Sorts pseudo-random numbers in place. An operation is a number.
///
/// ```
/// use locksley_workload::{Program, Quicksort, Serial, Task};
///
/// let mut sort = Quicksort::new(1000, 7);
/// sort.task().run(Serial);
/// assert_eq!(sort.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Quicksort {
    input: Vec<u64>,
    values: Vec<u64>,
    expected: Vec<u64>,
}

impl Quicksort {
    /// Creates a sort of `length` numbers, which depend on `seed`.
    pub fn new(length: usize, seed: u64) -> Quicksort {
        let mut state = seed;
        Quicksort::of((0..length).map(|_| split_mix(&mut state)).collect())
    }

    /// Creates a sort of these numbers.
    ///
    /// ```
    /// use locksley_workload::{Program, Quicksort, Serial, Task};
    ///
    /// let mut sort = Quicksort::of(vec![3, 1, 2]);
    /// sort.task().run(Serial);
    /// assert_eq!(sort.values(), [1, 2, 3]);
    /// ```
    pub fn of(input: Vec<u64>) -> Quicksort {
        let mut expected = input.clone();
        expected.sort_unstable();
        Quicksort {
            values: input.clone(),
            input,
            expected,
        }
    }

    /// Returns the numbers, which are sorted after a run.
    pub fn values(&self) -> &[u64] {
        &self.values
    }
}

impl Program for Quicksort {
    type Task<'p> = QuicksortTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.input.len() as u64
    }

    fn task(&mut self) -> QuicksortTask<'_> {
        self.values.copy_from_slice(&self.input);
        let length = self.values.len();
        QuicksortTask {
            values: &mut self.values,
            // Twice the depth if every partition halves, as in Musser's introspective sort.
            patience: 2 * length.max(1).ilog2(),
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        expect_each(&self.expected, &self.values, |at, value| (at, *value))
    }
}

/// Sorts a slice in place.
///
/// ```
/// use locksley_workload::{Program, Quicksort, QuicksortTask, Serial, Task};
///
/// let mut sort = Quicksort::new(10, 7);
/// let task: QuicksortTask = sort.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct QuicksortTask<'a> {
    values: &'a mut [u64],
    /// Number of further partitions allowed on the way down; at 0 the pivots were too bad, and the
    /// standard library's sort is used.
    patience: u32,
}

impl Task for QuicksortTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let QuicksortTask { values, patience } = self;
        if values.len() <= BASE || patience == 0 {
            values.sort_unstable();
            return;
        }
        let middle = partition(values);
        let (left, right) = values.split_at_mut(middle);
        let side = |values| QuicksortTask {
            values,
            patience: patience - 1,
        };
        fork.fork(side(left), side(right));
    }
}

/// Partitions as Hoare does: values before the returned index are at most the pivot, values from
/// there on at least. The pivot is a median of three values, so it is not the only greatest one,
/// and neither part is empty.
fn partition(values: &mut [u64]) -> usize {
    let pivot = pivot(values);
    let (mut i, mut j) = (0, values.len() - 1);
    loop {
        while values[i] < pivot {
            i += 1;
        }
        while values[j] > pivot {
            j -= 1;
        }
        if i >= j {
            return j + 1;
        }
        values.swap(i, j);
        i += 1;
        j -= 1;
    }
}

/// Returns the median of the medians of three times three values.
fn pivot(values: &[u64]) -> u64 {
    let (step, last) = (values.len() / 9, values.len() - 1);
    let places = [
        [0, step, 2 * step],
        [3 * step, values.len() / 2, 5 * step],
        [6 * step, 7 * step, last],
    ];
    median(places.map(|three| median(three.map(|at| values[at]))))
}

fn median([a, b, c]: [u64; 3]) -> u64 {
    a.min(b).max(a.max(b).min(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    fn sorts(input: Vec<u64>) {
        let mut sort = Quicksort::of(input);
        sort.task().run(Serial);
        assert_eq!(sort.check(()), Ok(()));
    }

    #[test]
    fn every_length_is_sorted() {
        for length in (0..300).chain([1000, 4097, 50_000]) {
            let mut sort = Quicksort::new(length, 42);
            sort.task().run(Serial);
            assert_eq!(sort.check(()), Ok(()), "{length}");
        }
    }

    #[test]
    fn orders_that_are_bad_for_quicksort_are_sorted() {
        sorts((0..5000).collect());
        sorts((0..5000).rev().collect());
        sorts(vec![7; 5000]);
        sorts((0..5000).map(|i| i % 2).collect());
        sorts((0..5000).map(|i| (2500_u64).abs_diff(i)).collect());
    }

    #[test]
    fn both_parts_of_a_partition_have_something() {
        let mut state = 1;
        for length in 65..400 {
            for distinct in [1, 2, 3, 1000] {
                let mut values: Vec<u64> = (0..length)
                    .map(|_| split_mix(&mut state) % distinct)
                    .collect();
                let middle = partition(&mut values);
                assert!(0 < middle && middle < values.len());
                let least = values[middle..].iter().min();
                assert!(values[..middle].iter().max() <= least);
            }
        }
    }

    #[test]
    fn what_is_unsorted_is_found_out() {
        let mut sort = Quicksort::new(1000, 42);
        assert!(sort.check(()).is_err());
        sort.task().run(Serial);
        sort.values.swap(10, 20);
        assert!(sort.check(()).is_err());
    }
}
