//! The unbalanced tree search.

use locksley_workload::{UtsNode, UtsTree};

use super::{SeriesParallel, Size, Step};

/// The unbalanced tree search (Olivier et al.), which forks like the program in
/// `locksley-workload`: a node of the tree is a node of the computation and forks its children, if
/// it has any, by repeatedly halving their number.
///
/// Of the tree, only the states of ready nodes are kept in memory. The execution of a node computes
/// a SHA-1.
///
/// ```
/// use locksley_sim::dag::{SeriesParallel, Uts};
/// use locksley_workload::UtsTree;
///
/// // The root, its three children, one fork more and two joins.
/// assert_eq!(Uts::new(UtsTree::binomial(3.0, 0.0, 0, 42)).size().work, 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Uts {
    tree: UtsTree,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// At a node of the tree.
    Visit(UtsNode),
    /// At a fork of some of a node's children.
    Children {
        /// The node.
        parent: UtsNode,
        /// Index of the first child.
        from: u32,
        /// Index behind the last child.
        to: u32,
    },
    /// At a join.
    Join,
}

impl Uts {
    /// Creates the search of a tree.
    pub fn new(tree: UtsTree) -> Uts {
        Uts { tree }
    }
}

fn fork(parent: UtsNode, from: u32, to: u32) -> Step<Task> {
    let middle = from + (to - from).div_ceil(2);
    let side = |from, to| match to - from {
        1 => Task::Visit(parent.child(from)),
        _ => Task::Children { parent, from, to },
    };
    Step::ForkJoin(side(from, middle), side(middle, to), Task::Join)
}

impl SeriesParallel for Uts {
    type Task = Task;

    const PAIRED: bool = true;

    fn root(&self) -> Task {
        Task::Visit(self.tree.root())
    }

    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Visit(node) => match self.tree.children(&node) {
                0 => Step::Done,
                1 => Step::Next(Task::Visit(node.child(0))),
                children => fork(node, 0, children),
            },
            Task::Children { parent, from, to } => fork(parent, from, to),
            Task::Join => Step::Done,
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
    fn the_work_follows_from_the_tree() {
        for seed in 0..5 {
            let tree = UtsTree::binomial(20.0, 0.2, 4, seed);
            let searched = locksley_workload::Uts::new(tree).size();
            let uts = Uts::new(tree);
            // A node with c > 1 children has c - 2 forks besides itself, and c - 1 joins.
            let joins = searched.leaves - 1;
            let inner = searched.nodes - searched.leaves;
            assert_eq!(uts.size().work, searched.nodes + 2 * joins - inner);
            assert_eq!(uts.size(), levels(&mut Strands::new(uts)));
        }
    }
}
