//! Work and span of a computation, and three ways to count them.

use serde::{Deserialize, Serialize};

use super::{Computation, Enabled, SeriesParallel, Step};

/// Size of a computation.
///
/// ```
/// use locksley_sim::dag::{Balanced, Computation, Size, Strands};
///
/// // Two levels of forks, two of joins, and four leaves of one node.
/// let tree = Strands::new(Balanced::new(2, 1));
/// assert_eq!(tree.size(), Size { work: 10, span: 5 });
/// assert_eq!(tree.size().parallelism(), 2.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// T1: number of nodes.
    pub work: u64,
    /// Tinf: number of nodes on a longest path.
    pub span: u64,
}

impl Size {
    /// Returns T1 / Tinf, the number of processors that can be kept busy on average.
    pub fn parallelism(self) -> f64 {
        self.work as f64 / self.span as f64
    }

    /// Returns max(T1 / P, Tinf), the lower bound on the length of every schedule.
    ///
    /// ```
    /// use locksley_sim::dag::Size;
    ///
    /// assert_eq!(Size { work: 100, span: 20 }.at_least(4), 25.0);
    /// ```
    pub fn at_least(self, processors: usize) -> f64 {
        (self.work as f64 / processors as f64).max(self.span as f64)
    }

    /// Returns T1 / P + Tinf (P - 1) / P, the upper bound on the length of every greedy schedule
    /// (Graham; thesis, corollary 4.1.1).
    ///
    /// ```
    /// use locksley_sim::dag::Size;
    ///
    /// assert_eq!(Size { work: 100, span: 20 }.greedy_at_most(4), 40.0);
    /// ```
    pub fn greedy_at_most(self, processors: usize) -> f64 {
        let p = processors as f64;
        self.work as f64 / p + self.span as f64 * (p - 1.0) / p
    }
}

/// Counts work and span of a series-parallel computation by walking through all of it depth first.
/// This needs memory for the deepest path only.
///
/// ```
/// use locksley_sim::dag::{Balanced, SeriesParallel, explore};
///
/// let tree = Balanced::new(10, 7);
/// assert_eq!(explore(&tree), tree.size());
/// ```
pub fn explore<G: SeriesParallel + ?Sized>(shape: &G) -> Size {
    /// What is left to visit: a strand that starts after this many nodes, or a join whose strands
    /// have been visited.
    enum Visit<T> {
        Strand(T, u64),
        Join(T),
    }
    let mut work = 0;
    // For each open join, the longest path to it so far. The first entry is that of the sink.
    let mut longest: Vec<u64> = vec![0];
    let mut visits = vec![Visit::Strand(shape.root(), 0)];
    while let Some(visit) = visits.pop() {
        let (mut task, mut depth) = match visit {
            Visit::Strand(task, depth) => (task, depth),
            Visit::Join(then) => (then, longest.pop().unwrap_or_default()),
        };
        loop {
            work += 1;
            depth += 1;
            match shape.step(task) {
                Step::Next(next) => task = next,
                Step::Fork(a, b) => {
                    visits.push(Visit::Strand(b, depth));
                    task = a;
                }
                Step::ForkJoin(a, b, then) => {
                    visits.push(Visit::Join(then));
                    longest.push(0);
                    visits.push(Visit::Strand(b, depth));
                    task = a;
                }
                Step::Done => break,
            }
        }
        if let Some(longest) = longest.last_mut() {
            *longest = depth.max(*longest);
        }
    }
    Size {
        work,
        span: longest.first().copied().unwrap_or_default(),
    }
}

/// Counts work and span of any computation by executing it level by level, all ready nodes at once,
/// as with an unlimited number of processors. There are as many levels as nodes on a longest path.
///
/// ```
/// use locksley_sim::dag::{Computation, Wavefront, levels};
///
/// let mut wavefront = Wavefront::new(30, 20, 1);
/// assert_eq!(levels(&mut wavefront), wavefront.size());
/// ```
pub fn levels<C: Computation>(computation: &mut C) -> Size {
    let mut size = Size::default();
    let mut level = vec![computation.start()];
    let mut next = Vec::new();
    while !level.is_empty() {
        size.work += level.len() as u64;
        size.span += 1;
        for node in level.drain(..) {
            match computation.execute(node) {
                Enabled::Nothing => (),
                Enabled::One(a) => next.push(a),
                Enabled::Two(a, b) => next.extend([a, b]),
                Enabled::End => return size,
            }
        }
        std::mem::swap(&mut level, &mut next);
    }
    size
}

/// Executes a computation on one processor, depth first, and returns the number of nodes.
///
/// ```
/// use locksley_sim::dag::{Computation, Stencil, measure};
///
/// let mut stencil = Stencil::new(9, 5);
/// assert_eq!(measure(&mut stencil), stencil.size().work);
/// ```
pub fn measure<C: Computation>(computation: &mut C) -> u64 {
    let mut work = 0;
    let mut ready = vec![computation.start()];
    while let Some(node) = ready.pop() {
        work += 1;
        match computation.execute(node) {
            Enabled::Nothing => (),
            Enabled::One(next) => ready.push(next),
            Enabled::Two(next, other) => ready.extend([other, next]),
            Enabled::End => break,
        }
    }
    work
}
