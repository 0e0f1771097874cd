//! Work piles of the stealing schedulers, as far as timing and counting can see them.

use super::costs::Costs;
use super::tally::Tally;

/// What a steal comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stolen<N> {
    /// This node.
    Node(N),
    /// There was nothing.
    Empty,
    /// There was only private work, and the owner has been told.
    Private,
}

/// A processor's ready nodes, but for the one that it is about to execute.
pub(crate) trait Pile<N: Copy>: Default {
    /// The owner adds a node at the bottom.
    fn push(&mut self, node: N);

    /// The owner takes a node from the bottom; the ticks that it takes, besides.
    fn pop(&mut self, costs: &Costs, tally: &mut Tally) -> (Option<N>, u32);

    /// A thief takes a node from the top. What it costs is the thief's to count.
    fn steal(&mut self) -> Stolen<N>;

    /// What the owner does before each node; the ticks that it takes.
    fn before(&mut self, costs: &Costs, tally: &mut Tally) -> u32;

    /// All nodes, the oldest first.
    fn nodes(&self) -> &[N];
}

/// A deque as Arora, Blumofe and Plaxton's or Chase and Lev's: thieves can take all there is, and
/// the owner pays a fence whenever it takes a node, and a compare-and-swap for the last one.
#[derive(Clone, Debug)]
pub(crate) struct LockFree<N> {
    /// The nodes, from `top` on; those before have been stolen.
    nodes: Vec<N>,
    top: usize,
}

impl<N> Default for LockFree<N> {
    fn default() -> Self {
        LockFree {
            nodes: Vec::new(),
            top: 0,
        }
    }
}

/// So many stolen nodes may be kept before the rest is moved up.
const SLACK: usize = 32;

impl<N: Copy> LockFree<N> {
    #[inline]
    fn take_top(&mut self) -> Option<N> {
        let node = *self.nodes.get(self.top)?;
        self.top += 1;
        if self.top == self.nodes.len() {
            self.nodes.clear();
            self.top = 0;
        } else if self.top > SLACK && 2 * self.top > self.nodes.len() {
            self.nodes.drain(..self.top);
            self.top = 0;
        }
        Some(node)
    }
}

impl<N: Copy> Pile<N> for LockFree<N> {
    #[inline]
    fn push(&mut self, node: N) {
        self.nodes.push(node);
    }

    #[inline]
    fn pop(&mut self, costs: &Costs, tally: &mut Tally) -> (Option<N>, u32) {
        tally.fences += 1;
        if self.nodes.len() - self.top > 1 {
            return (self.nodes.pop(), costs.fence);
        }
        let last = self.take_top();
        let cas = u32::from(last.is_some());
        tally.cas += u64::from(cas);
        (last, costs.fence + cas * costs.cas)
    }

    #[inline]
    fn steal(&mut self) -> Stolen<N> {
        self.take_top().map_or(Stolen::Empty, Stolen::Node)
    }

    #[inline]
    fn before(&mut self, _: &Costs, _: &mut Tally) -> u32 {
        0
    }

    #[inline]
    fn nodes(&self) -> &[N] {
        &self.nodes[self.top..]
    }
}

/// A semi-private deque (thesis, Algorithms 8 and 9, with the errors of both mended): nodes are
/// private until a thief has asked for one, and the owner pays only for what is public.
///
/// The request is cleared before a node is exposed, so that none is lost, and a thief that finds
/// nothing at all makes no request.
#[derive(Clone, Debug)]
pub(crate) struct SemiPrivate<N> {
    deque: LockFree<N>,
    /// How many of the nodes, from the top, are public.
    public: usize,
    /// Returns `true` if a thief has asked.
    targeted: bool,
}

impl<N> Default for SemiPrivate<N> {
    fn default() -> Self {
        SemiPrivate {
            deque: LockFree::default(),
            public: 0,
            targeted: false,
        }
    }
}

impl<N: Copy> Pile<N> for SemiPrivate<N> {
    #[inline]
    fn push(&mut self, node: N) {
        self.deque.nodes.push(node);
    }

    #[inline]
    fn pop(&mut self, costs: &Costs, tally: &mut Tally) -> (Option<N>, u32) {
        if self.deque.nodes().len() > self.public {
            return (self.deque.nodes.pop(), 0);
        }
        // The thesis's RACE: what is left is public, as in the deque of Arora, Blumofe and Plaxton.
        // One that is empty is known to be, without a fence.
        if self.public == 0 {
            return (None, 0);
        }
        self.public -= 1;
        self.deque.pop(costs, tally)
    }

    #[inline]
    fn steal(&mut self) -> Stolen<N> {
        if self.public > 0 {
            self.public -= 1;
            return self.deque.steal();
        }
        if self.deque.nodes().is_empty() {
            return Stolen::Empty;
        }
        self.targeted = true;
        Stolen::Private
    }

    #[inline]
    fn before(&mut self, costs: &Costs, tally: &mut Tally) -> u32 {
        if !self.targeted {
            return 0;
        }
        self.targeted = false;
        if self.deque.nodes().len() == self.public {
            return 0;
        }
        self.public += 1;
        tally.exposed += 1;
        tally.fences += 1;
        costs.fence
    }

    #[inline]
    fn nodes(&self) -> &[N] {
        self.deque.nodes()
    }
}
