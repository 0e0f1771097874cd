//! Computations: directed acyclic graphs that unfold while they are executed.
//!
//! The model is that of Arora, Blumofe and Plaxton, and of Rito's thesis (section 4.1): a node is
//! an instruction that takes one step; an edge says that one node must be executed before another;
//! a node has at most two successors; there is one root and one sink. *Work* T1 is the number of
//! nodes, *span* Tinf the number of nodes on a longest path.
//!
//! A [`Computation`] is never held in memory as a whole: [`execute`](Computation::execute) takes a
//! ready node and returns the nodes that it enables. So a graph of 10^9 nodes needs memory only for
//! the nodes that are ready and for the joins that are open.
//!
//! ```text
//!              fork
//!            .'    '.
//!        enabled    enabled          Two(a, b): a is executed next, b is pushed
//!           a          b
//!            '.      .'
//!              join                  enabled by whichever of a and b ends last
//! ```
//!
//! Most computations are [`SeriesParallel`]: strands that fork and join. [`Strands`] turns them
//! into a [`Computation`]. The others, such as [`Wavefront`], [`Stencil`] or a [`Graph`] from a
//! file, count the executed predecessors of their nodes themselves.

mod balanced;
mod chain;
mod fib;
mod generator;
mod graph;
mod measure;
mod phased;
mod random;
mod sort;
mod spec;
mod stencil;
mod strands;
mod uts;
mod wavefront;

pub use balanced::Balanced;
pub use chain::Chain;
pub use fib::Fib;
pub use generator::Generator;
pub use graph::{Graph, GraphError};
pub use measure::{Size, explore, levels, measure};
pub use phased::Phased;
pub use random::RandomTree;
pub use sort::{Merge, Sort};
pub use spec::{Dag, SpecError, Visitor};
pub use stencil::Stencil;
pub use strands::{SeriesParallel, Step, Strands};
pub use uts::Uts;
pub use wavefront::Wavefront;

/// The nodes that the execution of a node enabled.
///
/// ```
/// use locksley_sim::dag::{Computation, Enabled, Fib, Strands};
///
/// let mut fib = Strands::new(Fib::new(2));
/// let Enabled::Two(one, zero) = fib.start().and_execute(&mut fib) else {
///     panic!("fib(2) forks");
/// };
/// assert!(matches!(fib.execute(one), Enabled::Nothing));
/// assert!(matches!(fib.execute(zero), Enabled::One(_)));
///
/// /// Reads better in a chain.
/// trait AndExecute: Copy {
///     fn and_execute<C: Computation<Node = Self>>(self, c: &mut C) -> Enabled<Self> {
///         c.execute(self)
///     }
/// }
/// impl<N: Copy> AndExecute for N {}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled<N> {
    /// No node.
    Nothing,
    /// One node.
    One(N),
    /// Two nodes. The processor continues with the first.
    Two(N, N),
    /// The node was the sink: the computation is over.
    End,
}

/// A computation that unfolds while it is executed.
///
/// ```
/// use locksley_sim::dag::{Computation, Enabled, Fib, Strands};
///
/// // One processor: a stack, and the nodes in depth-first order.
/// let mut fib = Strands::new(Fib::new(10));
/// let mut ready = vec![fib.start()];
/// let mut executed = 0;
/// while let Some(node) = ready.pop() {
///     executed += 1;
///     match fib.execute(node) {
///         Enabled::Nothing => (),
///         Enabled::One(next) => ready.push(next),
///         Enabled::Two(next, other) => ready.extend([other, next]),
///         Enabled::End => break,
///     }
/// }
/// assert_eq!(executed, fib.size().work);
/// ```
pub trait Computation {
    /// A ready node.
    type Node: Copy + std::fmt::Debug;

    /// `true` if all joins are nested: a join waits only for strands that descend from its own
    /// fork.
    ///
    /// Then a processor that executes depth first, and from which thieves take only the oldest
    /// nodes, reaches joins that involve other processors only when its deque is empty. The
    /// simulator need not advance it before.
    const NESTED: bool;

    /// `true` if every join waits for exactly two strands, those of one fork. Then a processor that
    /// executes both of them executes the join.
    const PAIRED: bool = false;

    /// Starts the computation from the beginning and returns the root.
    fn start(&mut self) -> Self::Node;

    /// Executes a ready node and returns what it enabled.
    fn execute(&mut self, node: Self::Node) -> Enabled<Self::Node>;

    /// Returns a lower bound on the number of nodes that one processor has to execute for `node`
    /// and all that descends from it. The node itself counts; the join that it leads to does not.
    /// Used only if joins are [`NESTED`](Computation::NESTED).
    fn at_least(&self, node: Self::Node) -> u64 {
        let _ = node;
        1
    }

    /// Returns the affinity of the item that starts with `node`, if one does. An item is a piece of
    /// work that prefers a processor. The value can be any number; items with equal numbers prefer
    /// the same processor.
    fn affinity(&self, node: Self::Node) -> Option<u64> {
        let _ = node;
        None
    }

    /// Returns the exact work and span.
    fn size(&self) -> Size;
}
