//! Merge sort, with a serial and with parallel merges.

use std::collections::HashMap;

use super::{SeriesParallel, Size, Step};

/// Algorithm that merges sorted halves.
///
/// ```
/// use locksley_sim::dag::{Merge, SeriesParallel, Sort};
///
/// let span = |merge| Sort::new(16, merge).size().span;
/// let (even, uneven) = (Merge::Parallel { split: 0.5 }, Merge::Parallel { split: 0.75 });
/// assert!(span(even) < span(uneven) && span(uneven) < span(Merge::Serial) / 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merge {
    /// One strand merges one number after the other.
    Serial,
    /// The median of the larger half is searched for in the other half; the numbers below and above
    /// it are merged in parallel. The share of the numbers that are below it is 1/2 if the halves
    /// are alike, at worst 1/4 or 3/4.
    Parallel {
        /// The share of the numbers that are below.
        split: f64,
    },
    /// The output is cut into blocks. For each block, a strand of its own searches both halves for
    /// its start, and merges.
    Path,
}

/// Merge sort of 2^k numbers.
///
/// With a serial merge, sorting n > 1 numbers is a fork, two sorts of n/2, and n - 1 nodes that
/// merge: work n (k + 1), span 2n - 1.
///
/// With a parallel merge, merging m numbers is a search of ceil(log2 m) nodes, the last of which
/// forks the two merges, if they have more than one number each. Merging 2^k numbers that split
/// evenly has span k (k + 1) / 2. Sorting them has span k (k + 1)(k + 2) / 6, plus one for the
/// leaf, for each level of forks, and for the sink that a computation needs.
///
/// Along the merge path, merging 2^k numbers is a tree of forks whose leaves are blocks of 2^b
/// numbers, where 2^b is the largest power of two up to k. A block is a search of k nodes and 2^b
/// nodes that merge. So the span of a merge is (k - b) + k + 2^b, at most 3 k, and that of the sort
/// Theta(k^2).
///
/// ```
/// use locksley_sim::dag::{Merge, SeriesParallel, Size, Sort};
///
/// assert_eq!(Sort::new(10, Merge::Serial).size(), Size { work: 11_264, span: 2047 });
/// let parallel = Sort::new(10, Merge::Parallel { split: 0.5 });
/// assert_eq!(parallel.size().span, 10 * 11 * 12 / 6 + 10 + 2);
/// ```
#[derive(Clone, Debug)]
pub struct Sort {
    k: u32,
    base: u32,
    merge: Merge,
    /// Work of a whole sort of 2^i numbers, without the sink.
    work: Vec<u64>,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// The sort of all numbers.
    Whole,
    /// A sort of 2^k numbers.
    Sort(u32),
    /// A serial merge, or a serial sort of few numbers, with this many nodes to execute.
    Copy(u64),
    /// A tree of forks over the blocks of a merge.
    Path {
        /// Number of levels that are left.
        levels: u32,
        /// Number of nodes of each block.
        block: u64,
        /// `true` for the root of the merge that leads to the sink.
        last: bool,
    },
    /// The search at the start of a parallel merge. The last merge of all leads to the sink.
    Search {
        /// Number of numbers that are merged.
        numbers: u64,
        /// Number of nodes of the search that are left.
        rest: u32,
        /// `true` for the merge that leads to the sink.
        last: bool,
    },
    /// The sink.
    Sink,
}

impl Sort {
    /// Creates a sort of 2^k numbers; k is at most 40.
    pub fn new(k: u32, merge: Merge) -> Sort {
        Sort::with_base(k, 0, merge)
    }

    /// Like [`new`](Sort::new), but one strand sorts 2^base numbers. It has as many nodes as the
    /// serial merges that it replaces.
    ///
    /// ```
    /// use locksley_sim::dag::{Merge, SeriesParallel, Sort};
    ///
    /// let (fine, coarse) = (Sort::new(10, Merge::Serial), Sort::with_base(10, 6, Merge::Serial));
    /// assert_eq!(coarse.size().work, fine.size().work);
    /// assert_eq!(coarse.size().span, 7 * 64 + 2 * (1024 - 64));
    /// ```
    pub fn with_base(k: u32, base: u32, merge: Merge) -> Sort {
        let (k, base) = (k.min(40), base.min(k).min(40));
        let mut known = HashMap::new();
        let mut work: Vec<u64> = (0..=base).map(leaf).collect();
        for k in base + 1..=k {
            let half = work[k as usize - 1];
            work.push(1 + 2 * half + merge_size(merge, 1 << k, &mut known).work);
        }
        Sort {
            k,
            base,
            merge,
            work,
        }
    }

    fn sort(&self, k: u32) -> Task {
        if k == self.base {
            Task::Copy(leaf(k))
        } else {
            Task::Sort(k)
        }
    }

    fn merge(&self, k: u32, last: bool) -> Task {
        match self.merge {
            Merge::Serial => Task::Copy((1 << k) - 1),
            Merge::Parallel { .. } => search(1 << k, last),
            Merge::Path => {
                let (levels, block) = blocks(k);
                path(levels, block, last)
            }
        }
    }

    fn search(&self, numbers: u64, last: bool) -> Step<Task> {
        let Merge::Parallel { split } = self.merge else {
            return Step::Done;
        };
        match parts(numbers, split) {
            (0 | 1, 0 | 1) => Step::Done,
            (0 | 1, rest) | (rest, 0 | 1) => Step::Next(search(rest, last)),
            (a, b) if last => Step::ForkJoin(search(a, false), search(b, false), Task::Sink),
            (a, b) => Step::Fork(search(a, false), search(b, false)),
        }
    }
}

/// Returns the number of levels of forks in a merge of 2^k numbers along the merge path, and the
/// number of nodes of a block.
fn blocks(k: u32) -> (u32, u64) {
    let block = k.max(1).ilog2();
    (k - block, u64::from(k) + (1 << block))
}

fn path(levels: u32, block: u64, last: bool) -> Task {
    if levels == 0 {
        return Task::Copy(block);
    }
    Task::Path {
        levels,
        block,
        last,
    }
}

/// Returns the number of nodes that one strand needs to sort 2^k numbers.
fn leaf(k: u32) -> u64 {
    (u64::from(k) + 1) << k
}

fn search(numbers: u64, last: bool) -> Task {
    Task::Search {
        numbers,
        rest: steps(numbers),
        last,
    }
}

/// Returns the number of nodes of a search among n numbers: ceil(log2 n).
fn steps(numbers: u64) -> u32 {
    numbers.next_power_of_two().trailing_zeros()
}

/// Splits a merge into two parts, neither of which is empty.
fn parts(numbers: u64, split: f64) -> (u64, u64) {
    let below = (numbers as f64 * split).round() as u64;
    let below = below.clamp(1, numbers - 1);
    (below, numbers - below)
}

fn merge_size(merge: Merge, numbers: u64, known: &mut HashMap<u64, Size>) -> Size {
    let split = match merge {
        Merge::Serial => {
            return Size {
                work: numbers - 1,
                span: numbers - 1,
            };
        }
        Merge::Path => {
            let (levels, block) = blocks(numbers.trailing_zeros());
            return Size {
                work: (1 << levels) - 1 + (block << levels),
                span: u64::from(levels) + block,
            };
        }
        Merge::Parallel { split } => split,
    };
    if numbers < 2 {
        return Size::default();
    }
    if let Some(&size) = known.get(&numbers) {
        return size;
    }
    let (a, b) = parts(numbers, split);
    let (a, b) = (merge_size(merge, a, known), merge_size(merge, b, known));
    let own = u64::from(steps(numbers));
    let size = Size {
        work: own + a.work + b.work,
        span: own + a.span.max(b.span),
    };
    known.insert(numbers, size);
    size
}

impl SeriesParallel for Sort {
    type Task = Task;

    fn root(&self) -> Task {
        Task::Whole
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Copy(1) | Task::Sink => Step::Done,
            Task::Whole if self.k == self.base => self.step(self.sort(self.k)),
            Task::Whole => {
                let half = self.sort(self.k - 1);
                Step::ForkJoin(half, half, self.merge(self.k, true))
            }
            Task::Sort(k) => {
                let half = self.sort(k - 1);
                Step::ForkJoin(half, half, self.merge(k, false))
            }
            Task::Copy(rest) => Step::Next(Task::Copy(rest - 1)),
            Task::Path {
                levels,
                block,
                last,
            } => {
                let half = path(levels - 1, block, false);
                if last {
                    Step::ForkJoin(half, half, Task::Sink)
                } else {
                    Step::Fork(half, half)
                }
            }
            Task::Search {
                numbers,
                rest: 1,
                last,
            } => self.search(numbers, last),
            Task::Search {
                numbers,
                rest,
                last,
            } => Step::Next(Task::Search {
                numbers,
                rest: rest - 1,
                last,
            }),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        match task {
            Task::Sort(k) => self.work[k as usize],
            Task::Copy(rest) => rest,
            Task::Path { .. } => 1,
            Task::Search { rest, .. } => u64::from(rest),
            Task::Whole | Task::Sink => 1,
        }
    }

    fn size(&self) -> Size {
        let mut known = HashMap::new();
        let mut span = leaf(self.base);
        for k in self.base + 1..=self.k {
            span += 1 + merge_size(self.merge, 1 << k, &mut known).span;
        }
        // The strands of the last merge need a sink if there is more than one of them.
        let last = match self.merge {
            Merge::Parallel { split } if self.k > self.base => u64::from(forks(1 << self.k, split)),
            Merge::Path if self.k > self.base => u64::from(blocks(self.k).0 > 0),
            _ => 0,
        };
        Size {
            work: self.work[self.k as usize] + last,
            span: span + last,
        }
    }
}

/// Returns `true` if a parallel merge of `numbers` numbers forks.
fn forks(numbers: u64, split: f64) -> bool {
    if numbers < 2 {
        return false;
    }
    match parts(numbers, split) {
        (0 | 1, rest) | (rest, 0 | 1) => forks(rest, split),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, explore, levels};

    fn merges() -> [Merge; 5] {
        let parallel = |split| Merge::Parallel { split };
        [
            Merge::Serial,
            parallel(0.5),
            parallel(0.75),
            parallel(0.25),
            Merge::Path,
        ]
    }

    #[test]
    fn formulas_agree_with_the_graph() {
        for merge in merges() {
            for (k, base) in (0..9).flat_map(|k| [(k, 0), (k, 1), (k, 4)]) {
                let sort = Sort::with_base(k, base, merge);
                assert_eq!(sort.size(), explore(&sort), "{k} {merge:?}");
                assert_eq!(
                    sort.size(),
                    levels(&mut Strands::new(sort)),
                    "{k} {merge:?}"
                );
            }
        }
    }

    #[test]
    fn a_serial_merge_has_the_textbook_s_work_and_span() {
        for k in 0..30 {
            let n = 1 << k;
            let size = Sort::new(k, Merge::Serial).size();
            assert_eq!((size.work, size.span), (n * (u64::from(k) + 1), 2 * n - 1));
        }
    }

    #[test]
    fn a_parallel_merge_has_the_textbook_s_span() {
        let mut known = HashMap::new();
        for k in 2_u32..30 {
            let even = Merge::Parallel { split: 0.5 };
            let merge = merge_size(even, 1 << k, &mut known).span;
            let (levels_of_forks, k) = (k, u64::from(k));
            assert_eq!(merge, k * (k + 1) / 2);
            let sort = Sort::new(levels_of_forks, even).size().span;
            assert_eq!(sort, k * (k + 1) * (k + 2) / 6 + k + 2);
        }
    }

    /// The span of a merge of 2^k numbers is at most 3 k. So that of the sort is at most 3 k (k +
    /// 1) / 2, plus a fork for each level, the leaf and the sink.
    #[test]
    fn along_the_merge_path_the_span_is_quadratic_in_k() {
        for k in 1_u32..40 {
            let span = Sort::new(k, Merge::Path).size().span;
            let k = u64::from(k);
            assert!(span <= 3 * k * (k + 1) / 2 + k + 2, "{k}: {span}");
            assert!(span >= k * k, "{k}: {span}");
        }
    }
}
