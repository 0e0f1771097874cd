//! One strand that generates all the work.

use super::{SeriesParallel, Size, Step};

/// A strand that forks one task after another, of `grain` nodes each, with `gap` nodes from one
/// fork to the next. All tasks join in the sink. The processor that executes the generating strand
/// continues with it and pushes the tasks.
///
/// Work n (grain + gap) + 2, span n gap + grain + 1.
///
/// ```
/// use locksley_sim::dag::{Generator, SeriesParallel, Size};
///
/// assert_eq!(Generator::new(1000, 50, 1).size(), Size { work: 51_002, span: 1051 });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    tasks: u64,
    grain: u64,
    gap: u64,
}

/// Position of a strand.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// The generating strand: number of tasks to fork, and number of nodes up to and including the
    /// next fork.
    Generate(u64, u64),
    /// A task: its number, and how many of its nodes are left to execute.
    Work(u64, u64),
    /// The sink.
    Sink,
}

impl Generator {
    /// Creates a generator of `tasks` tasks. Each number is at least one; 0 is taken as 1.
    pub fn new(tasks: u64, grain: u64, gap: u64) -> Generator {
        Generator {
            tasks: tasks.max(1),
            grain: grain.max(1),
            gap: gap.max(1),
        }
    }
}

impl SeriesParallel for Generator {
    type Task = Task;

    fn root(&self) -> Task {
        Task::Generate(self.tasks, self.gap)
    }

    #[inline]
    fn step(&self, task: Task) -> Step<Task> {
        match task {
            Task::Generate(0, _) | Task::Work(_, 1) | Task::Sink => Step::Done,
            Task::Generate(tasks, 1) => {
                let more = Task::Generate(tasks - 1, self.gap);
                let task = Task::Work(tasks, self.grain);
                if tasks == self.tasks {
                    Step::ForkJoin(more, task, Task::Sink)
                } else {
                    Step::Fork(more, task)
                }
            }
            Task::Generate(tasks, rest) => Step::Next(Task::Generate(tasks, rest - 1)),
            Task::Work(number, rest) => Step::Next(Task::Work(number, rest - 1)),
        }
    }

    #[inline]
    fn at_least(&self, task: Task) -> u64 {
        match task {
            Task::Work(_, rest) => rest,
            Task::Generate(..) | Task::Sink => 1,
        }
    }

    #[inline]
    fn affinity(&self, task: Task) -> Option<u64> {
        match task {
            Task::Work(number, rest) if rest == self.grain => Some(number),
            _ => None,
        }
    }

    fn size(&self) -> Size {
        let Generator { tasks, grain, gap } = *self;
        Size {
            work: tasks * (grain + gap) + 2,
            span: tasks * gap + grain + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Strands, explore, levels};

    #[test]
    fn formulas_agree_with_the_graph() {
        for (tasks, grain, gap) in [(1, 1, 1), (7, 1, 3), (20, 9, 2)] {
            let generator = Generator::new(tasks, grain, gap);
            assert_eq!(generator.size(), explore(&generator));
            assert_eq!(generator.size(), levels(&mut Strands::new(generator)));
        }
    }
}
