//! The sum over a binary tree of boxed nodes: little arithmetic, many memory accesses.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// The order in which the nodes are allocated, which is about the order in which they lie in
/// memory.
///
/// ```
/// use locksley_workload::{Layout, Program, Serial, Task, Tree};
///
/// let [mut a, mut b] = [Layout::Preorder, Layout::Postorder].map(|layout| Tree::new(5, layout));
/// assert_eq!(a.task().run(Serial), b.task().run(Serial));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A node before its subtrees: the order in which the sum visits them.
    Preorder,
    /// A node after its subtrees.
    Postorder,
}

/// A node of the tree.
#[derive(Debug)]
struct Node {
    value: u64,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

impl Node {
    fn preorder(layers: u32) -> Box<Node> {
        let mut node = Box::new(Node {
            value: u64::from(layers),
            left: None,
            right: None,
        });
        if layers > 1 {
            node.left = Some(Node::preorder(layers - 1));
            node.right = Some(Node::preorder(layers - 1));
        }
        node
    }

    fn postorder(layers: u32) -> Box<Node> {
        let subtree = || (layers > 1).then(|| Node::postorder(layers - 1));
        let (left, right) = (subtree(), subtree());
        Box::new(Node {
            value: u64::from(layers),
            left,
            right,
        })
    }
}

/// Adds up the values of a complete binary tree. A node's value is the height of its subtree. An
/// operation is a node.
///
/// ```
/// use locksley_workload::{Layout, Program, Serial, Task, Tree};
///
/// let mut tree = Tree::new(3, Layout::Postorder);
/// assert_eq!(tree.task().run(Serial), 3 + 2 * 2 + 4 * 1);
/// ```
#[derive(Debug)]
pub struct Tree {
    root: Box<Node>,
    layers: u32,
}

impl Tree {
    /// Creates a tree of `layers` layers, at least one, which has 2^layers - 1 nodes.
    pub fn new(layers: u32, layout: Layout) -> Tree {
        let layers = layers.max(1);
        let root = match layout {
            Layout::Preorder => Node::preorder(layers),
            Layout::Postorder => Node::postorder(layers),
        };
        Tree { root, layers }
    }
}

impl Program for Tree {
    type Task<'p> = Sum<'p>;
    type Output = u64;

    fn operations(&self) -> u64 {
        (1 << self.layers) - 1
    }

    fn task(&mut self) -> Sum<'_> {
        Sum(&self.root)
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        let sum = (0..self.layers)
            .map(|depth| u64::from(self.layers - depth) << depth)
            .sum();
        expect(sum, output)
    }
}

/// Adds up the values of a node and its subtrees. Forks at every node with two subtrees.
///
/// ```
/// use locksley_workload::{Layout, Program, Serial, Sum, Task, Tree};
///
/// let mut tree = Tree::new(1, Layout::Preorder);
/// let sum: Sum = tree.task();
/// assert_eq!(sum.run(Serial), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sum<'t>(&'t Node);

impl Task for Sum<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let Sum(node) = self;
        match (&node.left, &node.right) {
            (Some(left), Some(right)) => {
                let (left, right) = fork.fork(Sum(left), Sum(right));
                node.value + left + right
            }
            (Some(child), None) | (None, Some(child)) => node.value + Sum(child).run(fork),
            (None, None) => node.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn operations_are_nodes() {
        fn count(node: &Node) -> u64 {
            let children = [&node.left, &node.right].into_iter().flatten();
            1 + children.map(|child| count(child)).sum::<u64>()
        }
        for layers in 0..10 {
            for layout in [Layout::Preorder, Layout::Postorder] {
                let tree = Tree::new(layers, layout);
                assert_eq!(tree.operations(), count(&tree.root), "{layers} {layout:?}");
            }
        }
    }

    #[test]
    fn both_layouts_have_the_same_sum() {
        for layers in 1..10 {
            for layout in [Layout::Preorder, Layout::Postorder] {
                let mut tree = Tree::new(layers, layout);
                let sum = tree.task().run(Serial);
                assert_eq!(tree.check(sum), Ok(()));
                // The sum of the heights of a complete tree is 2^(n+1) - n - 2.
                assert_eq!(sum, (2 << layers) - u64::from(layers) - 2);
                assert!(tree.check(sum + 1).is_err());
            }
        }
    }
}
