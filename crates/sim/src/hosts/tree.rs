//! A tree like T1L and T1XL that unfolds from the top, so that 10^12 nodes need not be visited.
//!
//! In these trees of UTS every node above the depth limit has a number of children that is
//! geometrically distributed with mean m = 4. To run a subtree, the simulation has to know its
//! number of nodes, and the number of nodes of the whole tree is given. So a subtree has a size,
//! and the sizes of its children are drawn from it.
//!
//! **Lemma.** In the limit of many levels this has the distribution of the tree itself. A subtree
//! dies out with probability 1/m. If it does not, its size divided by the mean is distributed
//! exponentially, and it has K surviving children, where K is 1, 2, ... with the geometric
//! distribution of mean m (Athreya and Ney, "Branching processes", I.4, for linear fractional
//! laws). So the sizes of the surviving children are the gaps of a Poisson process of rate 1, if
//! the mean of a child is 1, of which each point ends the subtree with probability 1/m. Given that
//! it ends at x, the points before are again those of a Poisson process, of rate 1 - 1/m: **K - 1
//! is Poisson with mean (1 - 1/m) x, and the cuts are uniform.**
//!
//! Subtrees that die out are small; they are counted with their parents.

use locksley_policy::Source;

/// m: mean number of children of a node.
const CHILDREN: f64 = 4.0;

/// Largest number of cuts, which is the largest number of children of a node in UTS.
const MOST_CUTS: usize = 100;

/// A subtree that has not been unfolded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subtree {
    pub(super) nodes: u64,
    /// Number of levels below its root.
    height: u8,
}

/// Returns the mean size of a subtree that survives.
fn mean(height: u8) -> f64 {
    let all = (CHILDREN.powi(i32::from(height) + 1) - 1.0) / (CHILDREN - 1.0);
    all / (1.0 - 1.0 / CHILDREN)
}

impl Subtree {
    /// Creates a whole tree of `nodes` nodes, of the height that is usual for this size.
    pub(super) fn whole(nodes: u64) -> Subtree {
        let fits = |&height: &u8| mean(height) >= nodes as f64;
        let height = (0..40).find(fits).unwrap_or(40);
        Subtree { nodes, height }
    }

    /// Returns `true` if the subtree has a single level or node, and cannot be unfolded.
    pub(super) fn is_flat(&self) -> bool {
        self.height == 0 || self.nodes <= 1
    }

    /// Appends the children to a stack. The sum of their sizes is one less than the size of the
    /// subtree.
    pub(super) fn unfold(self, random: &mut impl Source, stack: &mut Vec<Subtree>) {
        let below = self.nodes.saturating_sub(1);
        let Some(height) = self.height.checked_sub(1).filter(|_| below > 0) else {
            return;
        };
        let expected = (1.0 - 1.0 / CHILDREN) * self.nodes as f64 / mean(height);
        let mut cuts = [below; MOST_CUTS + 1];
        let many = poisson(expected, random);
        for cut in &mut cuts[..many] {
            *cut = random.below(below as usize) as u64;
        }
        cuts[..many].sort_unstable();
        let mut last = 0;
        for &cut in &cuts[..=many] {
            let nodes = cut - last;
            stack.extend((nodes > 0).then_some(Subtree { nodes, height }));
            last = cut;
        }
    }
}

/// Draws a number with a Poisson distribution, at most [`MOST_CUTS`]: the number of exponentially
/// distributed waits that fit into a time.
fn poisson(mean: f64, random: &mut impl Source) -> usize {
    let end = (-mean).exp();
    let mut product = 1.0 - random.unit();
    let mut many = 0;
    while product > end && many < MOST_CUTS {
        product *= 1.0 - random.unit();
        many += 1;
    }
    many
}

#[cfg(test)]
mod tests {
    use locksley_policy::Random;
    use locksley_workload::{Shape, UtsNode, UtsTree};

    use super::*;

    #[test]
    fn nothing_is_lost_when_a_tree_unfolds() {
        let mut random = Random::new(1, 0);
        let mut stack = vec![Subtree::whole(3_000_000)];
        let mut nodes = 0;
        while let Some(top) = stack.pop() {
            if top.is_flat() {
                nodes += top.nodes
            } else {
                nodes += 1;
                top.unfold(&mut random, &mut stack);
            }
        }
        assert_eq!(nodes, 3_000_000);
    }

    fn size(tree: &UtsTree, node: &UtsNode) -> u64 {
        let children = 0..tree.children(node);
        1 + children.map(|i| size(tree, &node.child(i))).sum::<u64>()
    }

    /// Measures how unequal shares are: returns the probability that two random nodes are in the
    /// same share.
    fn together(shares: &[u64]) -> f64 {
        let all: f64 = shares.iter().map(|&share| share as f64).sum();
        shares
            .iter()
            .map(|&share| (share as f64 / all).powi(2))
            .sum()
    }

    /// Compares the children of the roots of real trees with those of drawn trees of the same
    /// sizes.
    #[test]
    fn it_is_as_unbalanced_as_the_real_tree() {
        const HEIGHT: u8 = 6;
        const DRAWS: usize = 20;
        let mut random = Random::new(2, 0);
        let (mut real, mut drawn, mut trees) = (0.0, 0.0, 0.0);
        for seed in 0..100 {
            let tree = UtsTree::geometric(Shape::Fixed, u32::from(HEIGHT), CHILDREN, seed);
            let root = tree.root();
            let sizes: Vec<u64> = (0..tree.children(&root))
                .map(|number| size(&tree, &root.child(number)))
                .collect();
            let nodes = 1 + sizes.iter().sum::<u64>();
            if nodes < 300 {
                continue;
            }
            for _ in 0..DRAWS {
                let mut children = Vec::new();
                let height = HEIGHT;
                Subtree { nodes, height }.unfold(&mut random, &mut children);
                let shares: Vec<u64> = children.iter().map(|child| child.nodes).collect();
                drawn += together(&shares) / DRAWS as f64;
            }
            real += together(&sizes);
            trees += 1.0;
        }
        let (real, drawn) = (real / trees, drawn / trees);
        assert!((real - drawn).abs() < 0.06, "{real} against {drawn}");
    }
}
