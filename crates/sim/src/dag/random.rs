//! A random tree of forks and joins.

use super::{SeriesParallel, Size, Step};
use locksley_policy::mix;

/// A series-parallel computation with a given number of nodes, whose shape is drawn from a seed.
///
/// Each node forks with a given probability, if at least three nodes are left. Then the remaining
/// nodes are divided at random among the two forked strands and the strand that joins them. The
/// shape of a subtree is a function of its own seed, so nothing is stored.
///
/// ```
/// use locksley_sim::dag::{RandomTree, SeriesParallel};
///
/// let tree = RandomTree::new(10_000, 0.5, 7);
/// assert_eq!(tree.size().work, 10_000);
/// assert!(tree.size().parallelism() > 2.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RandomTree {
    nodes: u64,
    /// Probability of a fork, times 2^64.
    fork: u64,
    seed: u64,
}

/// A strand: the number of nodes of it and of all that descends from it, and its seed.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    nodes: u64,
    seed: u64,
}

impl RandomTree {
    /// Creates a tree of `nodes` nodes (at least one), each of which forks with probability `fork`.
    pub fn new(nodes: u64, fork: f64, seed: u64) -> RandomTree {
        RandomTree {
            nodes: nodes.max(1),
            fork: (fork.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            seed,
        }
    }
}

/// Maps a random word to a number from 1 to `most`.
fn cut(random: u64, most: u64) -> u64 {
    1 + ((u128::from(random) * u128::from(most)) >> 64) as u64
}

impl SeriesParallel for RandomTree {
    type Task = Task;

    const PAIRED: bool = true;

    fn root(&self) -> Task {
        Task {
            nodes: self.nodes,
            seed: self.seed,
        }
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        let Task { nodes, seed } = task;
        let draw = |number: u64| mix(seed.wrapping_mul(5).wrapping_add(number));
        let rest = nodes - 1;
        if rest == 0 {
            return Step::Done;
        }
        if rest < 3 || draw(0) > self.fork {
            return Step::Next(Task {
                nodes: rest,
                seed: draw(1),
            });
        }
        let a = cut(draw(2), rest - 2);
        let b = cut(draw(3), rest - a - 1);
        let strand = |nodes, number| Task {
            nodes,
            seed: draw(number),
        };
        Step::ForkJoin(strand(a, 1), strand(b, 4), strand(rest - a - b, 5))
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        task.nodes
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
    fn the_number_of_nodes_is_exact_and_the_span_is_that_of_the_levels() {
        for seed in 0..50 {
            for (nodes, fork) in [(1, 0.5), (2, 1.0), (4, 1.0), (100, 0.1), (999, 0.7)] {
                let tree = RandomTree::new(nodes, fork, seed);
                assert_eq!(tree.size().work, nodes);
                assert_eq!(tree.size(), levels(&mut Strands::new(tree)));
            }
        }
    }

    #[test]
    fn seeds_give_different_trees() {
        let span = |seed| RandomTree::new(1000, 0.5, seed).size().span;
        assert!((1..20).any(|seed| span(seed) != span(0)));
    }
}
