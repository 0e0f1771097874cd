//! A merge sort over processes: each half is sorted by a task of its own, and a continuation merges
//! them.

use serde::{Deserialize, Serialize};

use super::number;
use crate::{Continuation, Program, Reduce, Task, Tasks};

/// Sorts a range of the pseudorandom numbers of a seed.
///
/// ```
/// use locksley_cluster::Local;
/// use locksley_cluster::programs::merge_sort::{self, Sort};
///
/// let pool = locksley::Pool::builder().workers(2).build()?;
/// let sort = Sort { seed: 7, from: 0, to: 10_000, grain: 1000 };
/// let (sorted, _) = Local::new(pool, &merge_sort::program()).run([sort])?;
/// assert_eq!(sorted, merge_sort::expected(7, 10_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sort {
    /// Seed of the numbers.
    pub seed: u64,
    /// Index of the first number.
    pub from: u64,
    /// Index after that of the last number.
    pub to: u64,
    /// Most numbers that one task sorts by itself.
    pub grain: u64,
}

/// Sorted numbers. Two of them are combined by merging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sorted(pub Vec<u32>);

impl Reduce for Sorted {
    fn identity() -> Sorted {
        Sorted::default()
    }

    fn combine(&mut self, other: Sorted) {
        if self.0.is_empty() {
            *self = other;
        } else if !other.0.is_empty() {
            self.0 = merge(&self.0, &other.0);
        }
    }
}

fn merge(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let first = if a <= b { left.next() } else { right.next() };
        merged.extend(first);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Merges two sorted halves.
#[derive(Debug, Serialize, Deserialize)]
struct Merge;

impl Task for Sort {
    const KIND: &'static str = "merge-sort/sort";
    type Output = Sorted;

    fn run(self, tasks: &Tasks<Sorted>) -> Sorted {
        let Sort { from, to, .. } = self;
        if to - from <= self.grain.max(1) {
            let mut some: Vec<u32> = (from..to).map(|place| number(self.seed, place)).collect();
            some.sort_unstable();
            return Sorted(some);
        }
        let middle = from + (to - from) / 2;
        let halves = [
            Sort { to: middle, ..self },
            Sort {
                from: middle,
                ..self
            },
        ];
        tasks.spawn_all(halves).then(Merge);
        Sorted::identity()
    }
}

impl Continuation for Merge {
    const KIND: &'static str = "merge-sort/merge";
    type Output = Sorted;

    fn run(self, inputs: Vec<Sorted>, _: &Tasks<Sorted>) -> Sorted {
        let mut halves = inputs.into_iter();
        let mut all = halves.next().unwrap_or_default();
        halves.for_each(|half| all.combine(half));
        all
    }
}

/// Returns the first `count` numbers, sorted.
pub fn expected(seed: u64, count: u64) -> Sorted {
    let mut all: Vec<u32> = (0..count).map(|place| number(seed, place)).collect();
    all.sort_unstable();
    Sorted(all)
}

/// Returns the program.
pub fn program() -> Program<Sorted> {
    Program::new("merge-sort")
        .with::<Sort>()
        .with_continuation::<Merge>()
}
