//! Computations: directed acyclic graphs that unfold while they are executed.
//!
//! The model is that of Arora, Blumofe and Plaxton, and of Rito's thesis (section 4.1): a node is
//! an instruction that takes one step; an edge says that one node must be executed before another;
//! a node has at most two successors; there is one root and one sink. *Work* T1 is the number of
//! nodes, *span* Tinf the number of nodes on a longest path.
//!
//! A [`Computation`] gives its nodes away one at a time: [`execute`](Computation::execute) a ready
//! node, and it tells which nodes that enabled. So a graph of 10^9 nodes needs memory for
//! those that are ready, and for the joins that are under way.
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
//! Most computations are [`SeriesParallel`]: strands that fork and join. [`Strands`] makes a
//! computation of them. What is not, such as [`Wavefront`], [`Stencil`] or a [`Graph`] from a file,
//! keeps count of its nodes' predecessors itself.

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

/// What the execution of a node enabled.
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
    /// Two: the first is the one that the processor goes on with.
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

    /// Returns `true` if all joins are nested: a strand joins only with what was forked from the
    /// same place.
    ///
    /// Then a processor that executes depth first and is robbed of its oldest nodes only meets
    /// others at joins only when its deque is empty, and need not be looked at until then.
    const NESTED: bool;

    /// Returns `true` if every join waits for exactly two strands, those of one fork. Then a
    /// processor that executes both of them executes the join.
    const PAIRED: bool = false;

    /// Begins anew, and gives the root.
    fn start(&mut self) -> Self::Node;

    /// Executes a ready node.
    fn execute(&mut self, node: Self::Node) -> Enabled<Self::Node>;

    /// At least how many nodes are to be executed before a processor is done with a node and what
    /// descends from it, up to and without the join that it leads to, if no other processor helps;
    /// the node itself included. Used only where joins are [`NESTED`](Computation::NESTED).
    fn at_least(&self, node: Self::Node) -> u64 {
        let _ = node;
        1
    }

    /// The item that a node begins, if it begins one: work of which one says that it has
    /// affinity to a processor. Any number; equal numbers mean equal affinity.
    fn affinity(&self, node: Self::Node) -> Option<u64> {
        let _ = node;
        None
    }

    /// Work and span, exactly.
    fn size(&self) -> Size;
}
