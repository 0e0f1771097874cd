//! Computations by name: `fib:n=30`, `uts:T3`, `sort:k=20,merge=parallel`.

mod error;
mod text;

pub use error::SpecError;

use std::path::PathBuf;

use locksley_workload::UtsTree;

use super::{
    Balanced, Chain, Computation, Fib, Generator, Graph, GraphError, Merge, Phased, RandomTree,
    Sort, Stencil, Strands, Uts, Wavefront,
};

/// An operation on a computation of any type. It takes the place of a generic closure.
///
/// ```
/// use locksley_sim::dag::{Computation, Dag, Size, Visitor};
///
/// struct HowLarge;
///
/// impl Visitor for HowLarge {
///     type Output = Size;
///
///     fn visit<C: Computation>(self, computation: C) -> Size {
///         computation.size()
///     }
/// }
///
/// let dag: Dag = "fib:n=10".parse()?;
/// assert_eq!(dag.build(HowLarge)?.work, 265);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Visitor {
    /// Result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<C: Computation>(self, computation: C) -> Self::Output;
}

/// A computation by name and parameters.
///
/// | text | computation |
/// |---|---|
/// | `fib:n=30` | [`Fib`] |
/// | `balanced:depth=10,grain=1` | [`Balanced`] |
/// | `random:nodes=100000,fork=0.5,seed=1` | [`RandomTree`] |
/// | `uts:T3` | [`Uts`], one of T1, T2, T3, T4, T5, T1L, T2L, T3L, T1XL |
/// | `sort:k=16,base=0,merge=serial`, `sort:k=16,merge=parallel,split=0.5`, `sort:k=16,merge=path` | [`Sort`] |
/// | `chain:periods=1000,serial=90,parallel=10` | [`Chain`] |
/// | `generator:tasks=10000,grain=50,gap=1` | [`Generator`] |
/// | `phased:phases=8,items=1000,shortest=10,longest=30,seed=1` | [`Phased`] |
/// | `wavefront:rows=100,columns=100,grain=10` | [`Wavefront`] |
/// | `stencil:width=100,steps=100` | [`Stencil`] |
/// | `file:graph.json` | [`Graph`] |
///
/// A parameter that is left out has the value shown in the table.
///
/// ```
/// use locksley_sim::dag::Dag;
///
/// let dag: Dag = "sort:merge=parallel,k=20".parse().unwrap();
/// assert_eq!(dag.to_string(), "sort:k=20,base=0,merge=parallel,split=0.5");
/// let error = "sorted:k=20".parse::<Dag>().unwrap_err().to_string();
/// assert!(error.contains("`sorted`") && error.contains("fib, balanced"));
/// let error = "fib:m=3".parse::<Dag>().unwrap_err().to_string();
/// assert_eq!(error, "fib has no parameter `m`: possible is fib:n=30");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Dag {
    /// See [`Fib::new`].
    Fib {
        /// Index of the Fibonacci number.
        n: u32,
    },
    /// See [`Balanced::new`].
    Balanced {
        /// Number of levels of forks.
        depth: u32,
        /// Number of nodes of a leaf.
        grain: u32,
    },
    /// See [`RandomTree::new`].
    Random {
        /// Number of nodes.
        nodes: u64,
        /// Probability that a node forks.
        fork: f64,
        /// Seed of the shape.
        seed: u64,
    },
    /// See [`Uts::new`].
    Uts {
        /// Name of the tree in the literature.
        name: String,
    },
    /// See [`Sort::new`].
    Sort {
        /// Logarithm of the number of numbers: 2^k are sorted.
        k: u32,
        /// One strand sorts 2^base numbers.
        base: u32,
        /// Algorithm that merges.
        merge: Merge,
    },
    /// See [`Chain::new`].
    Chain {
        /// Number of periods.
        periods: u64,
        /// Number of nodes of a period up to and including its fork.
        serial: u64,
        /// Number of nodes of each of the two strands.
        parallel: u64,
    },
    /// See [`Generator::new`].
    Generator {
        /// Number of tasks.
        tasks: u64,
        /// Number of nodes of a task.
        grain: u64,
        /// Number of nodes from one fork to the next.
        gap: u64,
    },
    /// See [`Phased::new`].
    Phased {
        /// Number of phases.
        phases: u32,
        /// Number of items of a phase.
        items: u32,
        /// Length of the shortest item, without its first node.
        shortest: u32,
        /// Length of the longest item, without its first node.
        longest: u32,
        /// Seed of the lengths.
        seed: u64,
    },
    /// See [`Wavefront::new`].
    Wavefront {
        /// Number of rows of the grid.
        rows: u32,
        /// Number of columns of the grid.
        columns: u32,
        /// Number of nodes of a cell.
        grain: u32,
    },
    /// See [`Stencil::new`].
    Stencil {
        /// Number of points.
        width: u32,
        /// Number of steps.
        steps: u32,
    },
    /// See [`Graph::read`].
    File {
        /// Path of the file.
        path: PathBuf,
    },
}

impl Dag {
    /// Returns one of each kind that needs no file, with default parameters.
    pub fn all() -> Vec<Dag> {
        text::NAMES
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect()
    }

    /// Creates the computation and passes it to `visitor`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or has no valid graph, or if no UTS tree has the
    /// name.
    pub fn build<V: Visitor>(&self, visitor: V) -> Result<V::Output, GraphError> {
        Ok(match *self {
            Dag::Fib { n } => visitor.visit(Strands::new(Fib::new(n))),
            Dag::Balanced { depth, grain } => {
                visitor.visit(Strands::new(Balanced::new(depth, grain)))
            }
            Dag::Random { nodes, fork, seed } => {
                visitor.visit(Strands::new(RandomTree::new(nodes, fork, seed)))
            }
            Dag::Uts { ref name } => {
                let tree = UtsTree::published(name);
                let tree = tree.ok_or_else(|| GraphError::Tree(name.clone()))?;
                visitor.visit(Strands::new(Uts::new(tree)))
            }
            Dag::Sort { k, base, merge } => {
                visitor.visit(Strands::new(Sort::with_base(k, base, merge)))
            }
            Dag::Chain {
                periods,
                serial,
                parallel,
            } => visitor.visit(Strands::new(Chain::new(periods, serial, parallel))),
            Dag::Generator { tasks, grain, gap } => {
                visitor.visit(Strands::new(Generator::new(tasks, grain, gap)))
            }
            Dag::Phased {
                phases,
                items,
                shortest,
                longest,
                seed,
            } => visitor.visit(Strands::new(Phased::new(
                phases, items, shortest, longest, seed,
            ))),
            Dag::Wavefront {
                rows,
                columns,
                grain,
            } => visitor.visit(Wavefront::new(rows, columns, grain)),
            Dag::Stencil { width, steps } => visitor.visit(Stencil::new(width, steps)),
            Dag::File { ref path } => visitor.visit(Graph::read(path)?),
        })
    }
}
