//! Work that is generated in phases, as in the analysis of work dealing.

use super::{SeriesParallel, Size, Step};
use locksley_policy::mix;

/// An (n, C)-phased generation pattern (Hendler and Shavit, "Work Dealing", section 4.3): while the
/// C items of one phase are processed, the C items of the next are generated.
///
/// A tree of forks generates the items of phase 0. The first node of an item generates an item of
/// the next phase, if there is one. The rest of the item is a strand whose length is drawn
/// uniformly from `shortest` to `longest`. All items join in the sink. Item i of a phase has
/// affinity i, because its successors in later phases work on the same data.
///
/// ```
/// use locksley_sim::dag::{Phased, SeriesParallel};
///
/// // 4 phases of 100 items, of 10 to 30 nodes each, and their first.
/// let phased = Phased::new(4, 100, 10, 30, 7);
/// let items = 400.0 * 21.0;
/// assert!((phased.size().work as f64 / items - 1.0).abs() < 0.1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Phased {
    phases: u32,
    items: u32,
    shortest: u32,
    longest: u32,
    seed: u64,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// The tree that generates the items of phase 0, from the first number up to but not including
    /// the second.
    Tree(u32, u32),
    /// The first node of an item: its number and phase.
    Item(u32, u32),
    /// In an item, with this many nodes to execute.
    Body(u32),
    /// The sink.
    Sink,
}

impl Phased {
    /// Creates `phases` phases of `items` items each. `items` is at least two, every other number
    /// at least one.
    pub fn new(phases: u32, items: u32, shortest: u32, longest: u32, seed: u64) -> Phased {
        let shortest = shortest.max(1);
        Phased {
            phases: phases.max(1),
            items: items.max(2),
            shortest,
            longest: longest.max(shortest),
            seed,
        }
    }

    /// Returns the length of the strand of an item.
    fn length(&self, item: u32, phase: u32) -> u32 {
        let random = mix(self.seed ^ (u64::from(item) << 32 | u64::from(phase)));
        let lengths = u64::from(self.longest - self.shortest) + 1;
        self.shortest + ((u128::from(random) * u128::from(lengths)) >> 64) as u32
    }

    fn tree(from: u32, to: u32) -> Task {
        match to - from {
            1 => Task::Item(from, 0),
            _ => Task::Tree(from, to),
        }
    }
}

impl SeriesParallel for Phased {
    type Task = Task;

    fn root(&self) -> Task {
        Task::Tree(0, self.items)
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Tree(from, to) => {
                let middle = from + (to - from) / 2;
                let (a, b) = (Phased::tree(from, middle), Phased::tree(middle, to));
                if to - from == self.items {
                    Step::ForkJoin(a, b, Task::Sink)
                } else {
                    Step::Fork(a, b)
                }
            }
            Task::Item(item, phase) => {
                let body = Task::Body(self.length(item, phase));
                if phase + 1 < self.phases {
                    Step::Fork(body, Task::Item(item, phase + 1))
                } else {
                    Step::Next(body)
                }
            }
            Task::Body(1) | Task::Sink => Step::Done,
            Task::Body(rest) => Step::Next(Task::Body(rest - 1)),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        match task {
            Task::Body(rest) => u64::from(rest),
            _ => 1,
        }
    }

    #[inline]
    fn affinity(&self, task: Task) -> Option<u64> {
        match task {
            Task::Item(item, _) => Some(u64::from(item)),
            _ => None,
        }
    }

    fn size(&self) -> Size {
        super::explore(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, levels};

    #[test]
    fn exploring_agrees_with_the_levels() {
        for (phases, items) in [(1, 2), (3, 7), (5, 16)] {
            let phased = Phased::new(phases, items, 2, 9, 42);
            assert_eq!(phased.size(), levels(&mut Strands::new(phased)));
        }
    }

    #[test]
    fn lengths_are_uniform() {
        let phased = Phased::new(1, 2, 3, 6, 1);
        let mut counts = [0; 7];
        for item in 0..4000 {
            counts[phased.length(item, 0) as usize] += 1;
        }
        // Each of four lengths 1000 times; six standard deviations of the binomial are 164.
        assert_eq!(counts[..3], [0, 0, 0]);
        assert!(
            counts[3..].iter().all(|count| (836..1164).contains(count)),
            "{counts:?}"
        );
    }
}
