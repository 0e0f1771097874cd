//! Merge sort: the halves are sorted in parallel, and merged serially or in parallel.
//!
//! With a serial merge the span is Theta(n), since the last merge alone takes that. The parallel
//! merge (Danjean, Work stealing) takes the median of the *larger* half, finds its position in the
//! other one by bisection, and merges the parts below and above it in parallel:
//!
//! ```text
//!   larger    . . . . . . x . . . . . .         each part gets at least a quarter of all,
//!   smaller   . . . | . . . . .                 so the span of a merge is Theta(log^2 n)
//!             ------+---------------             and that of the sort Theta(log^3 n)
//!   out       below | x | above
//! ```
//!
//! Its searches run one after the other, one search per level. Along the *merge path* they are
//! independent: the output is cut into blocks, and each block finds by bisection where its numbers
//! begin in both halves (Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path"). Then the span of a
//! merge is Theta(log n), and that of the sort Theta(log^2 n).
//!
//! A span of Theta(log n) for the whole sort cannot be reached in this way. If a merge begins when
//! both halves are sorted, each of log n levels takes at least the Theta(log n) that it takes to
//! fork a strand for each block. Cole's merge sort has that span because its merges begin before
//! the merges that they depend on have ended; that is not a computation of forks and joins.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect_each};
use crate::random::split_mix;

/// Up to this length the standard library's sort is used: it uses insertion or a sorting network
/// there, compared to which a fork is cheap.
const BASE: usize = 64;

/// Up to this many numbers in total are merged serially: this takes a few microseconds, compared to
/// which a fork and two bisections are cheap.
const MERGE_BASE: usize = 2048;

/// How sorted halves are merged.
///
/// ```
/// use locksley_workload::{Merge, Program, Serial, Sort, Task};
///
/// let mut sort = Sort::with_merge(10_000, 7, Merge::Parallel);
/// sort.task().run(Serial);
/// assert_eq!(sort.check(()), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merge {
    /// By one thread, in one pass.
    #[default]
    Serial,
    /// In parallel, by splitting both halves at the median of the larger one.
    Parallel,
    /// In parallel, by splitting the output into blocks.
    Path,
}

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
    merge: Merge,
}

impl Sort {
    /// Creates a sort of `length` numbers, which depend on `seed`. Halves are merged serially.
    pub fn new(length: usize, seed: u64) -> Sort {
        Sort::with_merge(length, seed, Merge::Serial)
    }

    /// Creates a sort of `length` numbers, which depend on `seed`. Halves are merged as `merge`
    /// says.
    pub fn with_merge(length: usize, seed: u64, merge: Merge) -> Sort {
        let mut state = seed;
        let input: Vec<u64> = (0..length).map(|_| split_mix(&mut state)).collect();
        let mut expected = input.clone();
        expected.sort_unstable();
        Sort {
            values: input.clone(),
            buffer: vec![0; length],
            input,
            expected,
            merge,
        }
    }
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
            merge: self.merge,
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        expect_each(&self.expected, &self.values, |at, value| (at, *value))
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
    /// Set if the sorted numbers go into the buffer. The halves are sorted into the other slice,
    /// and merged from there.
    into_buffer: bool,
    merge: Merge,
}

impl Task for SortTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let SortTask {
            values,
            buffer,
            into_buffer,
            merge,
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
            merge,
        };
        fork.reborrow().fork(
            half(&mut *left, &mut *left_buffer),
            half(&mut *right, &mut *right_buffer),
        );
        let (left, right, out): (&[u64], &[u64], _) = if into_buffer {
            (left, right, buffer)
        } else {
            (left_buffer, right_buffer, values)
        };
        match merge {
            Merge::Serial => merge_serially(left, right, out),
            Merge::Parallel => MergeTask { left, right, out }.run(fork),
            Merge::Path => {
                let first = 0;
                PathTask {
                    left,
                    right,
                    out,
                    first,
                }
                .run(fork);
            }
        }
    }
}

/// Merges two sorted slices in parallel.
struct MergeTask<'a> {
    left: &'a [u64],
    right: &'a [u64],
    out: &'a mut [u64],
}

impl Task for MergeTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let MergeTask { left, right, out } = self;
        if out.len() <= MERGE_BASE {
            return merge_serially(left, right, out);
        }
        // Equal numbers are indistinguishable, so it does not matter which slice is which.
        let (larger, smaller) = if left.len() >= right.len() {
            (left, right)
        } else {
            (right, left)
        };
        let (below, above) = larger.split_at(larger.len() / 2);
        let place = match above {
            [median, ..] => smaller.partition_point(|value| value < median),
            [] => 0,
        };
        let (smaller_below, smaller_above) = smaller.split_at(place);
        let (out_below, out_above) = out.split_at_mut(below.len() + place);
        fork.fork(
            MergeTask {
                left: below,
                right: smaller_below,
                out: out_below,
            },
            MergeTask {
                left: above,
                right: smaller_above,
                out: out_above,
            },
        );
    }
}

/// Computes a part of the output of merging two sorted slices.
struct PathTask<'a> {
    left: &'a [u64],
    right: &'a [u64],
    out: &'a mut [u64],
    /// Position of the part in the whole output.
    first: usize,
}

impl Task for PathTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        let PathTask {
            left,
            right,
            out,
            first,
        } = self;
        if out.len() <= MERGE_BASE {
            let from_left = path(left, right, first);
            return merge_serially(&left[from_left..], &right[first - from_left..], out);
        }
        let middle = out.len() / 2;
        let (below, above) = out.split_at_mut(middle);
        let part = |out, first| PathTask {
            left,
            right,
            out,
            first,
        };
        fork.fork(part(below, first), part(above, first + middle));
    }
}

/// Returns how many of the first `count` numbers of the output come from the left slice; equal
/// numbers come from the left first.
fn path(left: &[u64], right: &[u64], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(right.len()), count.min(left.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        if left[middle] <= right[count - middle - 1] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Merges two sorted slices, as far as `out` has room. Which slice a number comes from is hard to
/// predict, so the loop selects instead of branching.
fn merge_serially(left: &[u64], right: &[u64], out: &mut [u64]) {
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
        for length in (0..300).chain([1000, 4097, 20_000]) {
            for merge in [Merge::Serial, Merge::Parallel, Merge::Path] {
                let mut sort = Sort::with_merge(length, 42, merge);
                sort.task().run(Serial);
                assert_eq!(sort.check(()), Ok(()), "{length} {merge:?}");
            }
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
    fn equal_numbers_are_merged_in_parallel() {
        let (left, right) = (
            vec![5; 10_000],
            [vec![4; 10], vec![5; 300], vec![6; 10]].concat(),
        );
        let mut out = vec![0; left.len() + right.len()];
        let (left, right, out) = (&left[..], &right[..], &mut out[..]);
        MergeTask { left, right, out }.run(Serial);
        let is_merged = |out: &[u64]| {
            out.is_sorted() && out.iter().filter(|value| **value == 5).count() == 10_300
        };
        assert!(is_merged(out));
        out.fill(0);
        PathTask {
            left,
            right,
            out,
            first: 0,
        }
        .run(Serial);
        assert!(is_merged(out));
    }

    #[test]
    fn a_path_is_where_a_merge_gets_to() {
        let (left, right) = ([1, 3, 3, 5, 8], [2, 3, 3, 9]);
        let from_left = [0, 1, 1, 2, 3, 3, 3, 4, 5, 5];
        for (count, expected) in from_left.into_iter().enumerate() {
            assert_eq!(path(&left, &right, count), expected, "{count}");
        }
        assert_eq!((path(&[], &right, 3), path(&left, &[], 3)), (0, 3));
    }

    #[test]
    fn merging_is_complete() {
        let mut out = [0; 7];
        merge_serially(&[1, 4, 9], &[2, 3, 4, 5], &mut out);
        assert_eq!(out, [1, 2, 3, 4, 4, 5, 9]);
        merge_serially(&[], &[1, 2, 3, 4, 5, 6, 7], &mut out);
        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7]);
    }
}
