//! A balanced tree of forks and joins.

use super::{SeriesParallel, Size, Step};

/// A full binary tree of forks, leaves that are strands of `grain` nodes, and the mirrored tree of
/// joins.
///
/// Work 2^d (grain + 2) - 2, span 2d + grain.
///
/// ```
/// use locksley_sim::dag::{Balanced, SeriesParallel, Size};
///
/// assert_eq!(Balanced::new(3, 100).size(), Size { work: 814, span: 106 });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Balanced {
    depth: u32,
    grain: u32,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// At a fork, this many levels above the leaves.
    Tree(u32),
    /// In a leaf, with this many nodes to execute.
    Leaf(u32),
    /// At a join.
    Join,
}

impl Balanced {
    /// Creates a tree with `depth` levels of forks (at most 30) and leaves of `grain` nodes (at
    /// least 1).
    pub fn new(depth: u32, grain: u32) -> Balanced {
        Balanced {
            depth: depth.min(30),
            grain: grain.max(1),
        }
    }

    fn work(&self, depth: u32) -> u64 {
        ((u64::from(self.grain) + 2) << depth) - 2
    }

    fn tree(&self, depth: u32) -> Task {
        match depth {
            0 => Task::Leaf(self.grain),
            _ => Task::Tree(depth),
        }
    }
}

impl SeriesParallel for Balanced {
    type Task = Task;

    const PAIRED: bool = true;

    fn root(&self) -> Task {
        self.tree(self.depth)
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Tree(depth) => {
                let half = self.tree(depth - 1);
                Step::ForkJoin(half, half, Task::Join)
            }
            Task::Leaf(1) | Task::Join => Step::Done,
            Task::Leaf(rest) => Step::Next(Task::Leaf(rest - 1)),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        match task {
            Task::Tree(depth) => self.work(depth),
            Task::Leaf(rest) => u64::from(rest),
            Task::Join => 1,
        }
    }

    fn size(&self) -> Size {
        Size {
            work: self.work(self.depth),
            span: 2 * u64::from(self.depth) + u64::from(self.grain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, explore, levels};

    #[test]
    fn formulas_agree_with_the_graph() {
        for depth in 0..8 {
            for grain in [1, 2, 9] {
                let tree = Balanced::new(depth, grain);
                assert_eq!(tree.size(), explore(&tree));
                assert_eq!(tree.size(), levels(&mut Strands::new(tree)));
            }
        }
    }
}
