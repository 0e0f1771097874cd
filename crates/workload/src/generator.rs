//! One generator that feeds all workers: all tasks come from one place, one after the other.
//!
//! Each task's input is computed from the one before, so the generator is a chain. It forks off a
//! task as soon as it knows the task's input, and goes on: a pool must hand out the tasks from one
//! worker to all others. The number of workers that can be kept busy is the ratio of a task's work
//! to that of the generator between two tasks. With forks, the generator is the first closure of a
//! join with the task, and recurses; with spawns, it is a loop.

use crate::fork::{Fork, Spawned, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// Generates tasks and runs them. An operation is a task.
///
/// ```
/// use locksley_workload::{Generator, Program, Serial, Task};
///
/// let mut generator = Generator::new(100, 10, 1000, 7);
/// let sum = generator.task().run(Serial);
/// assert_eq!(generator.check(sum), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    plan: Plan,
    /// Results of the tasks, if they are spawned.
    results: Option<Vec<u64>>,
    expected: u64,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    tasks: u32,
    gap: u32,
    grain: u32,
    seed: u64,
}

impl Generator {
    /// Creates a generator of `tasks` tasks, each of `grain` steps, with `gap` steps of the
    /// generator before each. A step is a number of a pseudo-random generator, a few nanoseconds.
    /// The recursion is as deep as there are tasks. Computes the expected result in a loop.
    pub fn new(tasks: u32, gap: u32, grain: u32, seed: u64) -> Generator {
        let (mut state, mut expected) = (seed, 0_u64);
        for _ in 0..tasks {
            state = steps(state, gap);
            expected = expected.wrapping_add(steps(!state, grain));
        }
        Generator {
            plan: Plan {
                tasks,
                gap,
                grain,
                seed,
            },
            results: None,
            expected,
        }
    }

    /// Returns the same program, in a loop that spawns the tasks.
    ///
    /// ```
    /// use locksley_workload::{Generator, Program, Serial, Task};
    ///
    /// let mut generator = Generator::new(100, 10, 1000, 7).spawned();
    /// let sum = generator.task().run(Serial);
    /// assert_eq!(generator.check(sum), Ok(()));
    /// ```
    pub fn spawned(self) -> Generator {
        Generator {
            results: Some(vec![0; self.plan.tasks as usize]),
            ..self
        }
    }
}

/// Runs `steps` steps from a state on; the result depends on all of them.
pub(crate) fn steps(mut state: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        state = split_mix(&mut state);
    }
    state
}

impl Program for Generator {
    type Task<'p> = GeneratorTask<'p>;
    type Output = u64;

    fn operations(&self) -> u64 {
        u64::from(self.plan.tasks)
    }

    fn task(&mut self) -> GeneratorTask<'_> {
        let plan = self.plan;
        match &mut self.results {
            None => GeneratorTask::Forked(Generate {
                plan,
                left: plan.tasks,
                state: plan.seed,
            }),
            Some(results) => {
                results.fill(0);
                GeneratorTask::Spawned(GeneratorLoop { plan, results })
            }
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Generates all tasks.
///
/// ```
/// use locksley_workload::{Generator, GeneratorTask, Program, Serial, Task};
///
/// let mut generator = Generator::new(0, 1, 1, 7);
/// let task: GeneratorTask = generator.task();
/// assert_eq!(task.run(Serial), 0);
/// ```
#[derive(Debug)]
pub enum GeneratorTask<'p> {
    /// The tasks are forked.
    Forked(Generate),
    /// The tasks are spawned in a loop.
    Spawned(GeneratorLoop<'p>),
}

impl Task for GeneratorTask<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        match self {
            GeneratorTask::Forked(generate) => generate.run(fork),
            GeneratorTask::Spawned(spawn) => spawn.run(fork),
        }
    }
}

/// Generates the tasks in a loop, and spawns them.
#[derive(Debug)]
pub struct GeneratorLoop<'p> {
    plan: Plan,
    results: &'p mut [u64],
}

impl Task for GeneratorLoop<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let Plan {
            gap, grain, seed, ..
        } = self.plan;
        let mut state = seed;
        let tasks = self.results.iter_mut().map(|result| {
            state = steps(state, gap);
            let steps = Steps(!state, grain);
            Spawned::anywhere(StoringTask { steps, result })
        });
        fork.spawn_each(tasks);
        self.results.iter().copied().fold(0, u64::wrapping_add)
    }
}

/// A task that stores its result.
struct StoringTask<'p> {
    steps: Steps,
    result: &'p mut u64,
}

impl Task for StoringTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, fork: F) {
        *self.result = self.steps.run(fork);
    }
}

/// Generates the remaining tasks.
#[derive(Clone, Copy, Debug)]
pub struct Generate {
    plan: Plan,
    left: u32,
    state: u64,
}

impl Task for Generate {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        if self.left == 0 {
            return 0;
        }
        let Plan { gap, grain, .. } = self.plan;
        let state = steps(self.state, gap);
        let rest = Generate {
            left: self.left - 1,
            state,
            ..self
        };
        // The generator comes first, so that it continues here and thieves take the tasks.
        let (others, this) = fork.fork(rest, Steps(!state, grain));
        others.wrapping_add(this)
    }
}

/// A task without forks: this many steps (second field) from this state on (first field).
pub(crate) struct Steps(pub(crate) u64, pub(crate) u32);

impl Task for Steps {
    type Output = u64;

    fn run<F: Fork>(self, _: F) -> u64 {
        steps(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_sum_is_that_of_the_loop() {
        for tasks in [0, 1, 2, 100] {
            let mut generator = Generator::new(tasks, 3, 5, 42);
            let sum = generator.task().run(Serial);
            assert_eq!(generator.check(sum), Ok(()));
            assert!(generator.check(sum ^ 1).is_err());
            let mut spawned = generator.spawned();
            assert_eq!(spawned.task().run(Serial), sum);
        }
    }
}
