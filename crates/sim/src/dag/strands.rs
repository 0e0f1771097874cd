//! Series-parallel computations: strands that fork and join.

use super::{Computation, Enabled, Size};

/// Result of the execution of one node of a strand.
///
/// ```
/// use locksley_sim::dag::{Fib, SeriesParallel, Step};
///
/// let fib = Fib::new(5);
/// assert!(matches!(fib.step(fib.root()), Step::ForkJoin(..)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// The strand continues.
    Next(T),
    /// The node forks. Both strands lead to the join that this strand led to.
    Fork(T, T),
    /// The node forks. When both strands are done, the third continues; its first node is the join.
    ForkJoin(T, T, T),
    /// The strand is done: this was its last node.
    Done,
}

/// A computation of strands. A pure function says how each strand continues.
///
/// ```
/// use locksley_sim::dag::{SeriesParallel, Size, Step, Strands, Computation};
///
/// /// Forks once, into two strands of that many nodes, and joins.
/// struct Twins(u64);
///
/// #[derive(Clone, Copy, Debug)]
/// enum Task {
///     Root,
///     Twin(u64),
///     Join,
/// }
///
/// impl SeriesParallel for Twins {
///     type Task = Task;
///
///     fn root(&self) -> Task {
///         Task::Root
///     }
///
///     fn step(&self, task: Task) -> Step<Task> {
///         match task {
///             Task::Root => Step::ForkJoin(Task::Twin(self.0), Task::Twin(self.0), Task::Join),
///             Task::Twin(1) | Task::Join => Step::Done,
///             Task::Twin(more) => Step::Next(Task::Twin(more - 1)),
///         }
///     }
/// }
///
/// let size = Strands::new(Twins(10)).size();
/// assert_eq!(size, Size { work: 22, span: 12 });
/// ```
pub trait SeriesParallel {
    /// A strand, at the node that it is to execute next.
    type Task: Copy + std::fmt::Debug;

    /// `true` if every fork has a join of its own: there is no [`Step::Fork`].
    const PAIRED: bool = false;

    /// Returns the first strand. Its end is the sink, so it never ends in a [`Step::Fork`].
    fn root(&self) -> Self::Task;

    /// Executes one node of a strand and returns how the strand continues.
    fn step(&self, task: Self::Task) -> Step<Self::Task>;

    /// See [`Computation::at_least`].
    #[inline]
    fn at_least(&self, task: Self::Task) -> u64 {
        let _ = task;
        1
    }

    /// See [`Computation::affinity`].
    #[inline]
    fn affinity(&self, task: Self::Task) -> Option<u64> {
        let _ = task;
        None
    }

    /// Returns work and span. The default implementation [explores](super::explore) the whole
    /// computation; implementations with a formula override it.
    fn size(&self) -> Size {
        super::explore(self)
    }
}

/// A ready node: a strand, and the join that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strand<T> {
    task: T,
    join: u32,
}

/// An open join, or a free slot for one.
#[derive(Clone, Copy, Debug)]
struct Join<T> {
    /// Number of strands that have not arrived; 0 if the slot is free.
    pending: u32,
    /// Slot of the join that the continuation leads to.
    outer: u32,
    /// Strand that continues after the join.
    then: T,
}

/// Slot of the join that the root strand leads to: the end of the computation.
const END: u32 = 0;

/// Number of slots in a block.
const BLOCK: u32 = 16;

/// Turns a [`SeriesParallel`] computation into a [`Computation`]. See [`SeriesParallel`] for an
/// example.
///
/// A join occupies a slot from the execution of its fork until its last strand arrives, so there
/// are as many occupied slots as open joins. It takes the slot behind the join that it leads to, if
/// that slot is free and in the same block, and the first slot of a free block otherwise. So the
/// joins that one processor works on are adjacent in memory, whatever the number of other
/// processors.
#[derive(Clone, Debug)]
pub struct Strands<G: SeriesParallel> {
    shape: G,
    joins: Vec<Join<G::Task>>,
    /// Number of occupied slots of each block.
    taken: Vec<u8>,
    /// Blocks without occupied slots.
    free: Vec<u32>,
}

impl<G: SeriesParallel> Strands<G> {
    /// Creates the computation of a shape.
    pub fn new(shape: G) -> Strands<G> {
        Strands {
            shape,
            joins: Vec::new(),
            taken: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Returns the shape.
    ///
    /// ```
    /// use locksley_sim::dag::{Fib, SeriesParallel, Strands};
    ///
    /// assert_eq!(Strands::new(Fib::new(10)).shape().root(), 10);
    /// ```
    pub fn shape(&self) -> &G {
        &self.shape
    }

    #[inline]
    fn open(&mut self, outer: u32, then: G::Task) -> u32 {
        let mut place = outer + 1;
        if place.is_multiple_of(BLOCK) || self.joins[place as usize].pending > 0 {
            place = self.free_block();
        }
        self.joins[place as usize] = Join {
            pending: 2,
            outer,
            then,
        };
        self.taken[(place / BLOCK) as usize] += 1;
        place
    }

    /// Returns the first slot of a free block; allocates a block if there is none.
    fn free_block(&mut self) -> u32 {
        if let Some(block) = self.free.pop() {
            return block * BLOCK;
        }
        let free = Join {
            pending: 0,
            outer: END,
            then: self.shape.root(),
        };
        let place = u32::try_from(self.joins.len()).expect("fewer than 2^32 joins are under way");
        self.joins.extend([free; BLOCK as usize]);
        self.taken.push(0);
        place
    }

    #[inline]
    fn arrive(&mut self, place: u32) -> Enabled<Strand<G::Task>> {
        let join = &mut self.joins[place as usize];
        join.pending -= 1;
        if join.pending > 0 {
            return Enabled::Nothing;
        }
        if place == END {
            return Enabled::End;
        }
        let strand = Strand {
            task: join.then,
            join: join.outer,
        };
        let taken = &mut self.taken[(place / BLOCK) as usize];
        *taken -= 1;
        if *taken == 0 {
            self.free.push(place / BLOCK);
        }
        Enabled::One(strand)
    }
}

impl<G: SeriesParallel> Computation for Strands<G> {
    type Node = Strand<G::Task>;

    const NESTED: bool = true;

    const PAIRED: bool = G::PAIRED;

    fn start(&mut self) -> Self::Node {
        self.joins.clear();
        self.taken.clear();
        self.free.clear();
        let end = self.free_block() as usize;
        self.joins[end].pending = 1;
        self.taken[end] = 1;
        Strand {
            task: self.shape.root(),
            join: END,
        }
    }

    #[inline]
    fn execute(&mut self, node: Self::Node) -> Enabled<Self::Node> {
        let Strand { task, join } = node;
        let strand = |task, join| Strand { task, join };
        match self.shape.step(task) {
            Step::Next(next) => Enabled::One(strand(next, join)),
            Step::Fork(a, b) => {
                self.joins[join as usize].pending += 1;
                Enabled::Two(strand(a, join), strand(b, join))
            }
            Step::ForkJoin(a, b, then) => {
                let inner = self.open(join, then);
                Enabled::Two(strand(a, inner), strand(b, inner))
            }
            Step::Done => self.arrive(join),
        }
    }

    #[inline]
    fn at_least(&self, node: Self::Node) -> u64 {
        self.shape.at_least(node.task)
    }

    #[inline]
    fn affinity(&self, node: Self::Node) -> Option<u64> {
        self.shape.affinity(node.task)
    }

    fn size(&self) -> Size {
        self.shape.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Balanced, levels};

    #[test]
    fn places_of_joins_are_used_again() {
        let mut tree = Strands::new(Balanced::new(10, 1));
        for _ in 0..2 {
            let mut ready = vec![tree.start()];
            while let Some(node) = ready.pop() {
                match tree.execute(node) {
                    Enabled::Nothing => (),
                    Enabled::One(next) => ready.push(next),
                    Enabled::Two(next, other) => ready.extend([other, next]),
                    Enabled::End => assert!(ready.is_empty()),
                }
            }
            assert_eq!(tree.joins.len(), BLOCK as usize);
        }
    }

    #[test]
    fn a_computation_begins_anew_even_if_it_was_left_in_the_middle() {
        let mut tree = Strands::new(Balanced::new(5, 3));
        let root = tree.start();
        assert!(matches!(tree.execute(root), Enabled::Two(..)));
        assert_eq!(levels(&mut tree), tree.size());
    }
}
