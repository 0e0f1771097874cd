//! A stencil over a row of points.

use super::{Computation, Enabled, Size};

/// A row of points. At each step a point depends on itself and its two neighbours at the step
/// before.
///
/// A point has three successors, but a node has at most two. So a point at a step is two nodes: the
/// first leads to the left neighbour and to the second, the second to the point itself and to the
/// right neighbour. At the last step a point is one node. A tree of forks starts the row, and all
/// points join in the sink.
///
/// Work 2 width steps, span ceil(log2 width) + 2 steps.
///
/// ```
/// use locksley_sim::dag::{Computation, Size, Stencil};
///
/// assert_eq!(Stencil::new(64, 100).size(), Size { work: 12_800, span: 206 });
/// ```
#[derive(Clone, Debug)]
pub struct Stencil {
    width: u32,
    steps: u32,
    /// Number of executed predecessors of each point, for even and for odd steps. A point is never
    /// more than one step ahead of its neighbours, so two vectors are enough.
    arrived: [Vec<u8>; 2],
    /// Number of points that have not made their last step.
    pending: u32,
}

/// A ready node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A fork that starts the points from the first number up to but not including the second.
    Tree(u32, u32),
    /// The first node of a point at a step: the numbers of the point and of the step.
    First(u32, u32),
    /// The second node of a point at a step.
    Second(u32, u32),
    /// The sink.
    Sink,
}

impl Stencil {
    /// Creates a row of `width` points for `steps` steps. Both are at least one; 0 is taken as 1.
    pub fn new(width: u32, steps: u32) -> Stencil {
        Stencil {
            width: width.max(1),
            steps: steps.max(1),
            arrived: [Vec::new(), Vec::new()],
            pending: 0,
        }
    }

    fn tree(from: u32, to: u32) -> Node {
        match to - from {
            1 => Node::First(from, 0),
            _ => Node::Tree(from, to),
        }
    }

    /// Counts an executed predecessor of a point. Returns the first node of the point if it is
    /// ready.
    fn arrive(&mut self, point: u32, step: u32) -> Option<Node> {
        if point >= self.width {
            return None;
        }
        let neighbours = u8::from(point > 0) + u8::from(point + 1 < self.width);
        let arrived = &mut self.arrived[(step % 2) as usize][point as usize];
        *arrived += 1;
        if *arrived <= neighbours {
            return None;
        }
        *arrived = 0;
        Some(Node::First(point, step))
    }

    fn last_step(&mut self) -> Enabled<Node> {
        self.pending -= 1;
        match self.pending {
            0 => Enabled::One(Node::Sink),
            _ => Enabled::Nothing,
        }
    }
}

impl Computation for Stencil {
    type Node = Node;

    const NESTED: bool = false;

    fn start(&mut self) -> Node {
        self.arrived = [vec![0; self.width as usize], vec![0; self.width as usize]];
        self.pending = self.width;
        Stencil::tree(0, self.width)
    }

    fn execute(&mut self, node: Node) -> Enabled<Node> {
        match node {
            Node::Tree(from, to) => {
                let middle = from + (to - from).div_ceil(2);
                Enabled::Two(Stencil::tree(from, middle), Stencil::tree(middle, to))
            }
            Node::First(_, step) if step + 1 == self.steps => self.last_step(),
            Node::First(point, step) => {
                let second = Node::Second(point, step);
                let left = point.checked_sub(1);
                match left.and_then(|left| self.arrive(left, step + 1)) {
                    Some(left) => Enabled::Two(second, left),
                    None => Enabled::One(second),
                }
            }
            Node::Second(point, step) => {
                let own = self.arrive(point, step + 1);
                match (own, self.arrive(point + 1, step + 1)) {
                    (Some(own), Some(right)) => Enabled::Two(own, right),
                    (Some(one), None) | (None, Some(one)) => Enabled::One(one),
                    (None, None) => Enabled::Nothing,
                }
            }
            Node::Sink => Enabled::End,
        }
    }

    fn affinity(&self, node: Node) -> Option<u64> {
        match node {
            Node::First(point, _) => Some(u64::from(point)),
            _ => None,
        }
    }

    /// There are width - 1 forks, two nodes for each point and step (one at the last step), and the
    /// sink. A longest path goes down the tree, through all steps of one point, and to the sink.
    fn size(&self) -> Size {
        let (width, steps) = (u64::from(self.width), u64::from(self.steps));
        let levels = u64::from(width.next_power_of_two().trailing_zeros());
        Size {
            work: (width - 1) + (2 * steps - 1) * width + 1,
            span: levels + 2 * steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{levels, measure};

    #[test]
    fn formulas_agree_with_the_graph() {
        for (width, steps) in [(1, 1), (1, 5), (2, 1), (2, 4), (3, 3), (10, 7), (33, 20)] {
            let mut stencil = Stencil::new(width, steps);
            assert_eq!(stencil.size(), levels(&mut stencil), "{width} {steps}");
            assert_eq!(stencil.size().work, measure(&mut stencil));
        }
    }
}
