//! The cases: each is a line or two of rayon, a serial version to check against, and a size.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::inputs::{numbers, strings, work};

/// A program to measure.
pub(crate) trait Case {
    /// Returns the number of operations of a run.
    fn operations(&self) -> u64;
    /// Prepares a run.
    fn prepare(&mut self);
    /// Runs the program, timed.
    fn run(&mut self);
    /// Checks the result of the last run.
    fn check(&mut self) -> Result<(), String>;
}

/// A case that computes a value from its input.
struct Computed<I, R, F> {
    operations: u64,
    input: I,
    parallel: F,
    expected: R,
    result: Option<R>,
}

fn computed<I: 'static, R: PartialEq + Debug + 'static>(
    operations: usize,
    input: I,
    serial: impl Fn(&I) -> R,
    parallel: impl Fn(&I) -> R + 'static,
) -> Box<dyn Case> {
    Box::new(Computed {
        operations: operations as u64,
        expected: serial(&input),
        input,
        parallel,
        result: None,
    })
}

impl<I, R: PartialEq + Debug, F: Fn(&I) -> R> Case for Computed<I, R, F> {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn prepare(&mut self) {
        self.result = None;
    }

    fn run(&mut self) {
        self.result = Some((self.parallel)(&self.input));
    }

    fn check(&mut self) -> Result<(), String> {
        if self.result.as_ref() == Some(&self.expected) {
            return Ok(());
        }
        // The first few of ten million numbers are enough.
        let shown = |value: &dyn Debug| format!("{value:?}").chars().take(200).collect::<String>();
        let (expected, got) = (shown(&self.expected), shown(&self.result));
        Err(format!("expected {expected}, got {got}"))
    }
}

/// A case that sorts.
struct Sorted<T, F> {
    input: Vec<T>,
    expected: Vec<T>,
    values: Vec<T>,
    sort: F,
}

fn sorted<T: Ord + Clone + Debug + 'static>(
    input: Vec<T>,
    sort: impl Fn(&mut [T]) + 'static,
) -> Box<dyn Case> {
    let mut expected = input.clone();
    expected.sort();
    Box::new(Sorted {
        input,
        expected,
        values: Vec::new(),
        sort,
    })
}

impl<T: Ord + Clone + Debug, F: Fn(&mut [T])> Case for Sorted<T, F> {
    fn operations(&self) -> u64 {
        self.input.len() as u64
    }

    fn prepare(&mut self) {
        self.values.clone_from(&self.input);
    }

    fn run(&mut self) {
        (self.sort)(&mut self.values);
    }

    fn check(&mut self) -> Result<(), String> {
        let mut pairs = self.values.iter().zip(&self.expected);
        match pairs.position(|(got, expected)| got != expected) {
            None if self.values.len() == self.expected.len() => Ok(()),
            place => Err(format!("not sorted, first at {place:?}")),
        }
    }
}

/// Returns the case with this name, small for a quick run.
pub(crate) fn find(name: &str, quick: bool) -> Option<Box<dyn Case>> {
    let pick = |small: usize, full: usize| if quick { small } else { full };
    let many = pick(10_000, 10_000_000);
    let few = pick(10_000, 1_000_000);
    Some(match name {
        "sum" => computed(
            many,
            numbers(many),
            |v| wrapping(v.iter()),
            |v| par_wrapping(v.par_iter()),
        ),
        "map" => computed(
            many,
            numbers(many),
            |v| wrapping(v.iter().map(mixed).collect::<Vec<_>>().iter()),
            |v| v.par_iter().map(mixed).reduce(|| 0, u64::wrapping_add),
        ),
        "filter" => computed(
            many,
            numbers(many),
            |v| v.iter().filter(|x| **x % 3 == 0).count(),
            |v| v.par_iter().filter(|x| **x % 3 == 0).count(),
        ),
        "collect" => computed(
            many,
            numbers(many),
            |v| v.iter().map(mixed).collect::<Vec<_>>(),
            |v| v.par_iter().map(mixed).collect::<Vec<_>>(),
        ),
        "sort" => sorted(numbers(many), |v| v.par_sort()),
        "sort unstable" => sorted(numbers(many), |v| v.par_sort_unstable()),
        "sort strings" => sorted(strings(few), |v| v.par_sort()),
        "sort strings unstable" => sorted(strings(few), |v| v.par_sort_unstable()),
        "chunks" => computed(
            many,
            numbers(many),
            |v| {
                v.chunks(1000)
                    .map(|c| wrapping(c.iter()) % 1000)
                    .sum::<u64>()
            },
            |v| {
                v.par_chunks(1000)
                    .map(|c| wrapping(c.iter()) % 1000)
                    .sum::<u64>()
            },
        ),
        "bridge" => bridge(pick(1_000, 100_000)),
        "flat map" => flat_map(pick(100, 20_000)),
        "nested" => nested(pick(100, 10_000)),
        "tiny" => tiny(pick(100, 10_000)),
        "tiny outside" => tiny_outside(pick(100, 5_000)),
        "spawns" => spawns(pick(1_000, 100_000)),
        _ => return None,
    })
}

fn wrapping<'a>(values: impl Iterator<Item = &'a u64>) -> u64 {
    values.fold(0, |sum, value| sum.wrapping_add(*value))
}

fn par_wrapping<'a>(values: impl ParallelIterator<Item = &'a u64>) -> u64 {
    values.copied().reduce(|| 0, u64::wrapping_add)
}

fn mixed(value: &u64) -> u64 {
    (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A serial iterator under `par_bridge`, with a tenth of a microsecond of work for each item.
fn bridge(count: usize) -> Box<dyn Case> {
    let item = |i: u64| (0..8).fold(i, |sum, j| sum.wrapping_add(work(i ^ j)));
    let serial = move |n: &u64| (0..*n).map(item).fold(0, u64::wrapping_add);
    let parallel = move |n: &u64| {
        let items = (0..*n).par_bridge().map(item);
        items.reduce(|| 0, u64::wrapping_add)
    };
    computed(count, count as u64, serial, parallel)
}

/// Inner loops of 0 to 1000 items, most of them short.
fn flat_map(count: usize) -> Box<dyn Case> {
    let inner = |i: u64| {
        if i.is_multiple_of(50) {
            i % 1000
        } else {
            i % 20
        }
    };
    let total = (0..count as u64).map(inner).sum::<u64>();
    let serial = move |n: &u64| {
        let all = (0..*n).flat_map(|i| (0..inner(i)).map(move |j| work(i ^ j)));
        all.fold(0, u64::wrapping_add)
    };
    let parallel = move |n: &u64| {
        let outer = (0..*n).into_par_iter();
        let all = outer.flat_map(|i| (0..inner(i)).into_par_iter().map(move |j| work(i ^ j)));
        all.reduce(|| 0, u64::wrapping_add)
    };
    computed(total as usize, count as u64, serial, parallel)
}

/// A parallel loop around many parallel loops of 64 items each.
fn nested(outer: usize) -> Box<dyn Case> {
    const INNER: u64 = 64;
    let serial = |n: &u64| {
        let row = |i: u64| (0..INNER).fold(0, |sum: u64, j| sum.wrapping_add(mixed(&(i ^ j))));
        (0..*n).map(row).fold(0, u64::wrapping_add)
    };
    let parallel = |n: &u64| {
        let row = |i: u64| {
            let row = (0..INNER).into_par_iter().map(|j| mixed(&(i ^ j)));
            row.reduce(|| 0, u64::wrapping_add)
        };
        let rows = (0..*n).into_par_iter().map(row);
        rows.reduce(|| 0, u64::wrapping_add)
    };
    computed(outer * INNER as usize, outer as u64, serial, parallel)
}

/// Short parallel loops in sequence, inside of the pool.
fn tiny(calls: usize) -> Box<dyn Case> {
    let values = numbers(64);
    let serial = move |n: &u64| (0..*n).fold(0, |sum: u64, _| sum ^ wrapping(values.iter()));
    let values = numbers(64);
    let parallel = move |n: &u64| {
        rayon::scope(|_| (0..*n).fold(0, |sum: u64, _| sum ^ par_wrapping(values.par_iter())))
    };
    computed(calls, calls as u64, serial, parallel)
}

/// Short parallel loops in sequence, on a thread outside of the pool.
fn tiny_outside(calls: usize) -> Box<dyn Case> {
    let values = numbers(64);
    let serial = move |n: &u64| (0..*n).fold(0, |sum: u64, _| sum ^ wrapping(values.iter()));
    let values = numbers(64);
    let parallel =
        move |n: &u64| (0..*n).fold(0, |sum: u64, _| sum ^ par_wrapping(values.par_iter()));
    computed(calls, calls as u64, serial, parallel)
}

/// A scope with many tasks.
fn spawns(count: usize) -> Box<dyn Case> {
    let serial = |n: &u64| *n * (*n - 1) / 2;
    let parallel = |n: &u64| {
        let sum = AtomicU64::new(0);
        rayon::scope(|s| {
            for i in 0..*n {
                let sum = &sum;
                s.spawn(move |_| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
            }
        });
        sum.into_inner()
    };
    computed(count, count as u64, serial, parallel)
}
