//! A chain that forks rarely: little parallelism.

use super::{SeriesParallel, Size, Step};

/// A chain of periods. In each, `serial` nodes, of which the last forks; then two strands of
/// `parallel` nodes each. Their join is the first node of the next period, or the sink.
///
/// Work n (serial + 2 parallel) + 1, span n (serial + parallel) + 1.
///
/// ```
/// use locksley_sim::dag::{Chain, SeriesParallel, Size};
///
/// let chain = Chain::new(10, 90, 5);
/// assert_eq!(chain.size(), Size { work: 1001, span: 951 });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    periods: u64,
    serial: u64,
    parallel: u64,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// In the chain: number of periods that are not finished, and number of nodes up to and
    /// including the fork.
    Serial(u64, u64),
    /// In one of the two strands, with this many nodes to execute.
    Parallel(u64),
}

impl Chain {
    /// Creates a chain. Each number is at least one; 0 is taken as 1.
    pub fn new(periods: u64, serial: u64, parallel: u64) -> Chain {
        Chain {
            periods: periods.max(1),
            serial: serial.max(1),
            parallel: parallel.max(1),
        }
    }
}

impl SeriesParallel for Chain {
    type Task = Task;

    const PAIRED: bool = true;

    fn root(&self) -> Task {
        Task::Serial(self.periods, self.serial)
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Serial(0, _) | Task::Parallel(1) => Step::Done,
            Task::Serial(periods, 1) => {
                let strand = Task::Parallel(self.parallel);
                Step::ForkJoin(strand, strand, Task::Serial(periods - 1, self.serial))
            }
            Task::Serial(periods, rest) => Step::Next(Task::Serial(periods, rest - 1)),
            Task::Parallel(rest) => Step::Next(Task::Parallel(rest - 1)),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        match task {
            Task::Parallel(rest) => rest,
            Task::Serial(..) => 1,
        }
    }

    fn size(&self) -> Size {
        let Chain {
            periods,
            serial,
            parallel,
        } = *self;
        Size {
            work: periods * (serial + 2 * parallel) + 1,
            span: periods * (serial + parallel) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, explore, levels};

    #[test]
    fn formulas_agree_with_the_graph() {
        for (periods, serial, parallel) in [(1, 1, 1), (3, 5, 2), (10, 1, 7)] {
            let chain = Chain::new(periods, serial, parallel);
            assert_eq!(chain.size(), explore(&chain));
            assert_eq!(chain.size(), levels(&mut Strands::new(chain)));
        }
    }
}
