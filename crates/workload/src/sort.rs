//! Merge sort: halving in parallel, merging in series.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Up to this length the standard library's sort takes over: it uses insertion or a sorting
/// network there, and a fork costs a small part of it.
const BASE: usize = 64;

/// Sorts pseudo-random numbers. An operation is a number.
///
/// ```
/// use locksley_workload::{Program, Serial, Sort, Task};
///
/// let mut sort = Sort::new(1000, 7);
/// sort.task().run(Serial);
/// assert_eq!(sort.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Sort {
    input: Vec<u64>,
    values: Vec<u64>,
    buffer: Vec<u64>,
    expected: Vec<u64>,
}

impl Sort {
    /// That many numbers; the seed says which.
    pub fn new(length: usize, seed: u64) -> Sort {
        let mut state = seed;
        let input: Vec<u64> = (0..length).map(|_| split_mix(&mut state)).collect();
        let mut expected = input.clone();
        expected.sort_unstable();
        Sort {
            values: input.clone(),
            buffer: vec![0; length],
            input,
            expected,
        }
    }
}

/// The next number of the generator SplitMix64 (Steele, Lea and Flood).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Program for Sort {
    type Task<'p> = SortTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.input.len() as u64
    }

    fn task(&mut self) -> SortTask<'_> {
        self.values.copy_from_slice(&self.input);
        SortTask {
            values: &mut self.values,
            buffer: &mut self.buffer,
            into_buffer: false,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let wrong = (self.values.iter().zip(&self.expected)).position(|(got, want)| got != want);
        let at = |position: usize| (position, self.values[position]);
        match wrong {
            None => Ok(()),
            Some(position) => expect((position, self.expected[position]), at(position)),
        }
    }
}

/// Sorts a slice, in place or into a buffer of the same length.
///
/// ```
/// use locksley_workload::{Program, Serial, Sort, SortTask, Task};
///
/// let mut sort = Sort::new(10, 7);
/// let task: SortTask = sort.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct SortTask<'a> {
    values: &'a mut [u64],
    buffer: &'a mut [u64],
    /// Where the sorted numbers go. The halves go to the other place, and are merged from there.
    into_buffer: bool,
}

impl Task for SortTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let SortTask {
            values,
            buffer,
            into_buffer,
        } = self;
        if values.len() <= BASE {
            values.sort_unstable();
            if into_buffer {
                buffer.copy_from_slice(values);
            }
            return;
        }
        let middle = values.len() / 2;
        let (left, right) = values.split_at_mut(middle);
        let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
        let half = |values, buffer| SortTask {
            values,
            buffer,
            into_buffer: !into_buffer,
        };
        fork.fork(
            half(&mut *left, &mut *left_buffer),
            half(&mut *right, &mut *right_buffer),
        );
        if into_buffer {
            merge(left, right, buffer);
        } else {
            merge(left_buffer, right_buffer, values);
        }
    }
}

/// Merges two sorted slices. Which side a number comes from is hard to predict, so the loop
/// selects instead of branching.
fn merge(left: &[u64], right: &[u64], out: &mut [u64]) {
    let (mut i, mut j) = (0, 0);
    let mut places = out.iter_mut();
    while i < left.len() && j < right.len() {
        let Some(place) = places.next() else { return };
        let (a, b) = (left[i], right[j]);
        let from_left = a <= b;
        *place = if from_left { a } else { b };
        i += usize::from(from_left);
        j += usize::from(!from_left);
    }
    let rest = left[i..].iter().chain(&right[j..]);
    for (place, value) in places.zip(rest) {
        *place = *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn every_length_is_sorted() {
        for length in (0..300).chain([1000, 4097]) {
            let mut sort = Sort::new(length, 42);
            sort.task().run(Serial);
            assert_eq!(sort.check(()), Ok(()), "{length}");
        }
    }

    #[test]
    fn what_is_unsorted_is_found_out() {
        let mut sort = Sort::new(1000, 42);
        assert!(sort.check(()).is_err());
        sort.task().run(Serial);
        sort.values.swap(10, 20);
        assert!(sort.check(()).is_err());
    }

    #[test]
    fn merging_is_complete() {
        let mut out = [0; 7];
        merge(&[1, 4, 9], &[2, 3, 4, 5], &mut out);
        assert_eq!(out, [1, 2, 3, 4, 4, 5, 9]);
        merge(&[], &[1, 2, 3, 4, 5, 6, 7], &mut out);
        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7]);
    }
}
