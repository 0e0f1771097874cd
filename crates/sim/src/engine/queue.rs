//! Work queues of the stealing schedulers, modelled as far as times and counters depend on them.

use super::costs::Costs;
use super::tally::Tally;

/// Result of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stolen<N> {
    /// The node that was stolen.
    Node(N),
    /// The queue was empty.
    Empty,
    /// There was only private work; the owner's request flag is set.
    Private,
}

/// The ready nodes of a processor, without the node that it executes.
pub(crate) trait LocalQueue<N: Copy>: Default {
    /// Pushes a node at the bottom, for the owner.
    fn push(&mut self, node: N);

    /// Pops a node from the bottom, for the owner. Returns it, and the cost in ticks.
    fn pop(&mut self, costs: &Costs, tally: &mut Tally) -> (Option<N>, u32);

    /// Takes a node from the top, for a thief. The caller adds the cost.
    fn steal(&mut self) -> Stolen<N>;

    /// Does what the owner has to do before each node. Returns the cost in ticks.
    fn before(&mut self, costs: &Costs, tally: &mut Tally) -> u32;

    /// Returns all nodes, the oldest first.
    fn nodes(&self) -> &[N];

    /// Returns `true` if a thief can take a node even if the owner does nothing.
    fn can_be_stolen(&self) -> bool {
        !self.nodes().is_empty()
    }
}

/// A deque like that of Arora, Blumofe and Plaxton or of Chase and Lev: thieves can take every
/// node; the owner pays a fence for each pop, and a compare-and-swap for the last node.
#[derive(Clone, Debug)]
pub(crate) struct LockFree<N> {
    /// Stolen nodes up to `top`, and the nodes of the deque from there on.
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

/// Number of stolen nodes that may be kept before the other nodes are moved to the front.
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

impl<N: Copy> LocalQueue<N> for LockFree<N> {
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

/// A semi-private deque (thesis, Algorithms 8 and 9, with the errors of both corrected): nodes are
/// private until a thief requests one, and the owner pays only for public nodes.
///
/// The request is cleared before a node is exposed, so that no request is lost. A thief that finds
/// the deque empty makes no request.
#[derive(Clone, Debug)]
pub(crate) struct SemiPrivate<N> {
    deque: LockFree<N>,
    /// Number of public nodes, counted from the top.
    public: usize,
    /// Set if a thief has requested a node.
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

impl<N: Copy> LocalQueue<N> for SemiPrivate<N> {
    #[inline]
    fn push(&mut self, node: N) {
        self.deque.nodes.push(node);
    }

    #[inline]
    fn pop(&mut self, costs: &Costs, tally: &mut Tally) -> (Option<N>, u32) {
        if self.deque.nodes().len() > self.public {
            return (self.deque.nodes.pop(), 0);
        }
        // RACE in the thesis: all nodes that are left are public, as in the deque of Arora, Blumofe
        // and Plaxton. The owner knows an empty deque without a fence.
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

    fn can_be_stolen(&self) -> bool {
        self.public > 0
    }
}
