//! The unbalanced tree search (Olivier et al., 2006): a tree that is not known before it is
//! searched.
//!
//! A node is a SHA-1 state and its depth. Its random value, taken from the state, determines how
//! many children it has, and child i's state is the SHA-1 of the parent's state and i. So a node
//! costs about 80 ns, and the size of its subtree cannot be predicted.

use sha1::{Digest, Sha1};

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// The largest number of children of a node, except for the root of a binomial tree.
const MOST_CHILDREN: f64 = 100.0;

/// How the branching factor of a geometric tree depends on the depth.
///
/// ```
/// use locksley_workload::{Shape, Uts, UtsTree};
///
/// let tree = UtsTree::geometric(Shape::Linear, 5, 2.0, 42);
/// assert!(Uts::new(tree).size().depth <= 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Shape {
    /// It falls linearly to zero at the depth limit.
    Linear,
    /// It falls as a power of the depth.
    Exponential,
    /// It rises and falls, up to five times the depth limit.
    Cyclic,
    /// It is constant, up to the depth limit.
    Fixed,
}

const T1: UtsTree = UtsTree::geometric(Shape::Fixed, 10, 4.0, 19);
const T2: UtsTree = UtsTree::geometric(Shape::Cyclic, 16, 6.0, 502);
const T3: UtsTree = UtsTree::binomial(2000.0, 0.124_875, 8, 42);
const T4: UtsTree = UtsTree::hybrid(Shape::Linear, 16, 6.0, 0.234_375, 4, 1);
const T5: UtsTree = UtsTree::geometric(Shape::Linear, 20, 4.0, 34);
const T1L: UtsTree = UtsTree::geometric(Shape::Fixed, 13, 4.0, 29);
const T2L: UtsTree = UtsTree::geometric(Shape::Cyclic, 23, 7.0, 220);
const T3L: UtsTree = UtsTree::binomial(2000.0, 0.200_014, 5, 7);
const T1XL: UtsTree = UtsTree::geometric(Shape::Fixed, 15, 4.0, 29);

/// The parameters of a tree.
///
/// ```
/// use locksley_workload::{Shape, UtsTree};
///
/// assert_eq!(UtsTree::published("T1"), Some(UtsTree::geometric(Shape::Fixed, 10, 4.0, 19)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UtsTree {
    kind: TreeKind,
    /// b: the branching factor at the root.
    branching: f64,
    /// d: the depth limit of a geometric tree.
    depth: u32,
    shape: Shape,
    /// q: the probability that a node of a binomial tree has children.
    q: f64,
    /// m: the number of its children then.
    m: u32,
    /// r: the seed.
    seed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum TreeKind {
    Binomial,
    Geometric,
    Hybrid,
}

impl UtsTree {
    /// A tree that has only a root, and its size.
    pub(crate) const SMALLEST: (UtsTree, Size) = (
        UtsTree::binomial(0.0, 0.0, 0, 0),
        Size {
            nodes: 1,
            depth: 0,
            leaves: 1,
        },
    );

    /// Creates a tree whose root has b children; every other node has m children with probability
    /// q, otherwise none.
    pub const fn binomial(branching: f64, q: f64, m: u32, seed: u32) -> UtsTree {
        UtsTree {
            kind: TreeKind::Binomial,
            branching,
            depth: 0,
            shape: Shape::Fixed,
            q,
            m,
            seed,
        }
    }

    /// Creates a tree whose numbers of children are distributed geometrically. The mean is b at the
    /// root; elsewhere the shape and the depth limit determine it.
    pub const fn geometric(shape: Shape, depth: u32, branching: f64, seed: u32) -> UtsTree {
        UtsTree {
            kind: TreeKind::Geometric,
            branching,
            depth,
            shape,
            q: 0.0,
            m: 0,
            seed,
        }
    }

    /// Creates a geometric tree down to half of the depth limit, with binomial trees below.
    pub const fn hybrid(
        shape: Shape,
        depth: u32,
        branching: f64,
        q: f64,
        m: u32,
        seed: u32,
    ) -> UtsTree {
        UtsTree {
            kind: TreeKind::Hybrid,
            branching,
            depth,
            shape,
            q,
            m,
            seed,
        }
    }

    /// Returns a tree of the literature: T1, T2, T3, T4, T5, T1L, T2L, T3L or T1XL.
    pub fn published(name: &str) -> Option<UtsTree> {
        UtsTree::published_with_size(name).map(|(tree, _)| tree)
    }

    /// Returns a tree of the literature, and its size as published with the benchmark.
    ///
    /// ```
    /// use locksley_workload::UtsTree;
    ///
    /// let (_, size) = UtsTree::published_with_size("T1XL").unwrap();
    /// assert_eq!(size.nodes, 1_635_119_272);
    /// ```
    pub fn published_with_size(name: &str) -> Option<(UtsTree, Size)> {
        let (tree, nodes, depth, leaves) = match name {
            "T1" => (T1, 4_130_071, 10, 3_305_118),
            "T2" => (T2, 4_117_769, 81, 2_342_762),
            "T3" => (T3, 4_112_897, 1572, 3_599_034),
            "T4" => (T4, 4_132_453, 134, 3_108_986),
            "T5" => (T5, 4_147_582, 20, 2_181_318),
            "T1L" => (T1L, 102_181_082, 13, 81_746_377),
            "T2L" => (T2L, 96_793_510, 67, 53_791_152),
            "T3L" => (T3L, 111_345_631, 17_844, 89_076_904),
            "T1XL" => (T1XL, 1_635_119_272, 15, 1_308_100_063),
            _ => return None,
        };
        let size = Size {
            nodes,
            depth,
            leaves,
        };
        Some((tree, size))
    }

    /// Returns the root.
    ///
    /// ```
    /// use locksley_workload::UtsTree;
    ///
    /// let tree = UtsTree::binomial(3.0, 0.0, 0, 42);
    /// assert_eq!(tree.root().depth(), 0);
    /// ```
    pub fn root(&self) -> UtsNode {
        let mut sha = Sha1::new();
        sha.update([0; 16]);
        sha.update(self.seed.to_be_bytes());
        UtsNode {
            state: sha.finalize().into(),
            depth: 0,
        }
    }

    /// Returns the number of children of a node.
    ///
    /// ```
    /// use locksley_workload::UtsTree;
    ///
    /// let tree = UtsTree::binomial(3.0, 0.0, 0, 42);
    /// assert_eq!(tree.children(&tree.root()), 3);
    /// assert_eq!(tree.children(&tree.root().child(1)), 0);
    /// ```
    pub fn children(&self, node: &UtsNode) -> u32 {
        let geometric = match self.kind {
            TreeKind::Binomial if node.depth == 0 => return self.branching as u32,
            TreeKind::Binomial => false,
            TreeKind::Geometric => true,
            TreeKind::Hybrid => node.depth < self.depth / 2,
        };
        let u = node.random();
        if geometric {
            let p = 1.0 / (1.0 + self.branching_at(node.depth));
            ((1.0 - u).ln() / (1.0 - p).ln()).floor().min(MOST_CHILDREN) as u32
        } else if u < self.q {
            self.m
        } else {
            0
        }
    }

    /// Returns B(h), the mean number of children of a geometric tree's node.
    fn branching_at(&self, depth: u32) -> f64 {
        let (b, h, d) = (self.branching, f64::from(depth), f64::from(self.depth));
        match self.shape {
            _ if depth == 0 => b,
            Shape::Linear => b * (1.0 - h / d),
            Shape::Exponential => b * h.powf(-b.ln() / d.ln()),
            Shape::Cyclic if depth > 5 * self.depth => 0.0,
            Shape::Cyclic => b.powf((2.0 * std::f64::consts::PI * h / d).sin()),
            Shape::Fixed if depth < self.depth => b,
            Shape::Fixed => 0.0,
        }
    }
}

/// A node of a tree. It determines the whole subtree below it.
///
/// ```
/// use locksley_workload::{UtsNode, UtsTree};
///
/// let root: UtsNode = UtsTree::published("T1").unwrap().root();
/// assert_ne!(root.child(0), root.child(1));
/// assert_eq!(root.child(0).depth(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UtsNode {
    state: [u8; 20],
    depth: u32,
}

impl UtsNode {
    /// Returns the distance from the root.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the child with this number; see [`UtsTree::children`] for how many there are.
    pub fn child(&self, number: u32) -> UtsNode {
        let mut sha = Sha1::new();
        sha.update(self.state);
        sha.update(number.to_be_bytes());
        UtsNode {
            state: sha.finalize().into(),
            depth: self.depth + 1,
        }
    }

    /// Returns a number in [0, 1), from the last word of the state.
    fn random(&self) -> f64 {
        let [.., a, b, c, d] = self.state;
        let value = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
        f64::from(value) / f64::from(1u32 << 31)
    }
}

/// The result of a search.
///
/// ```
/// use locksley_workload::{Size, Uts, UtsTree};
///
/// let childless = UtsTree::binomial(0.0, 0.0, 0, 42);
/// let size = Size { nodes: 1, depth: 0, leaves: 1 };
/// assert_eq!(Uts::new(childless).size(), size);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Size {
    /// Number of nodes.
    pub nodes: u64,
    /// Depth of the deepest node; the root's is zero.
    pub depth: u32,
    /// Number of nodes without children.
    pub leaves: u64,
}

impl Size {
    fn merge(self, other: Size) -> Size {
        Size {
            nodes: self.nodes + other.nodes,
            depth: self.depth.max(other.depth),
            leaves: self.leaves + other.leaves,
        }
    }
}

/// Searches a tree. An operation is a node.
///
/// ```
/// use locksley_workload::{Program, Serial, Task, Uts, UtsTree};
///
/// let mut uts = Uts::new(UtsTree::binomial(100.0, 0.2, 4, 42));
/// let size = uts.task().run(Serial);
/// assert_eq!(uts.check(size), Ok(()));
/// assert_eq!(size.nodes, uts.operations());
/// ```
#[derive(Clone, Debug)]
pub struct Uts {
    tree: UtsTree,
    root: UtsNode,
    expected: Size,
}

impl Uts {
    /// Creates a search. Searches the tree once, without recursion, for the expected result.
    pub fn new(tree: UtsTree) -> Uts {
        Uts::limited(tree, u64::MAX, u32::MAX).0
    }

    /// Like [`new`](Uts::new); also returns `true` if the tree has at most this many nodes and
    /// levels below the root. If not, it is searched only up to there.
    ///
    /// ```
    /// use locksley_workload::{Uts, UtsTree};
    ///
    /// let endless = UtsTree::binomial(2.0, 1.0, 2, 42);
    /// let (_, ended) = Uts::limited(endless, 1000, 100);
    /// assert!(!ended);
    /// ```
    pub fn limited(tree: UtsTree, nodes: u64, levels: u32) -> (Uts, bool) {
        let root = tree.root();
        let mut expected = Size::default();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let children = tree.children(&node);
            expected.nodes += 1;
            expected.depth = expected.depth.max(node.depth);
            expected.leaves += u64::from(children == 0);
            if expected.nodes > nodes || expected.depth > levels {
                break;
            }
            stack.extend((0..children).map(|number| node.child(number)));
        }
        let ended = expected.nodes <= nodes && expected.depth <= levels;
        (Uts::with_size(tree, expected), ended)
    }

    /// Creates a search of a tree whose size is known.
    ///
    /// ```
    /// use locksley_workload::{Uts, UtsTree};
    ///
    /// let (tree, size) = UtsTree::published_with_size("T3L").unwrap();
    /// assert_eq!(Uts::with_size(tree, size).size(), size);
    /// ```
    pub fn with_size(tree: UtsTree, size: Size) -> Uts {
        Uts {
            tree,
            root: tree.root(),
            expected: size,
        }
    }

    /// Returns the expected result.
    pub fn size(&self) -> Size {
        self.expected
    }
}

impl Program for Uts {
    type Task<'p> = Search<'p>;
    type Output = Size;

    fn operations(&self) -> u64 {
        self.expected.nodes
    }

    fn task(&mut self) -> Search<'_> {
        Search {
            tree: &self.tree,
            root: &self.root,
        }
    }

    fn check(&self, output: Size) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Searches a whole tree.
///
/// ```
/// use locksley_workload::{Program, Search, Serial, Task, Uts, UtsTree};
///
/// let mut uts = Uts::new(UtsTree::binomial(3.0, 0.0, 0, 42));
/// let search: Search = uts.task();
/// assert_eq!(search.run(Serial).leaves, 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Search<'t> {
    tree: &'t UtsTree,
    root: &'t UtsNode,
}

impl Task for Search<'_> {
    type Output = Size;

    fn run<F: Fork>(self, fork: F) -> Size {
        visit(self.tree, self.root, fork)
    }
}

/// Searches the subtrees of some of a node's children, halving their number until one is left.
#[derive(Clone, Copy, Debug)]
struct Children<'t> {
    tree: &'t UtsTree,
    parent: &'t UtsNode,
    from: u32,
    to: u32,
}

impl Task for Children<'_> {
    type Output = Size;

    fn run<F: Fork>(self, fork: F) -> Size {
        let Children {
            tree,
            parent,
            from,
            to,
        } = self;
        if to - from == 1 {
            return visit(tree, &parent.child(from), fork);
        }
        let middle = from + (to - from).div_ceil(2);
        let (a, b) = fork.fork(
            Children { to: middle, ..self },
            Children {
                from: middle,
                ..self
            },
        );
        a.merge(b)
    }
}

fn visit<F: Fork>(tree: &UtsTree, node: &UtsNode, fork: F) -> Size {
    let to = tree.children(node);
    let own = Size {
        nodes: 1,
        depth: node.depth,
        leaves: u64::from(to == 0),
    };
    if to == 0 {
        return own;
    }
    let children = Children {
        tree,
        parent: node,
        from: 0,
        to,
    };
    own.merge(children.run(fork))
}

#[cfg(test)]
mod tests;
