//! Phases over the same blocks: a block is in the cache of the worker that worked on it last.
//!
//! In each phase there is a task for every block, which goes over the block's numbers; the next
//! phase begins when all tasks are done. A worker that gets the blocks that it had before finds
//! them in its cache, which is the purpose of affinity (Acar, Blelloch and Blumofe, "The data
//! locality of work stealing").

use locksley_policy::GOLDEN;

use crate::fork::{Fork, Halves, Spawned, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// How tasks are handed to the workers.
///
/// ```
/// use locksley_workload::SpawnMode;
///
/// assert_eq!(SpawnMode::default(), SpawnMode::Fork);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpawnMode {
    /// The tasks are halved recursively by forks.
    #[default]
    Fork,
    /// Each task is spawned.
    Spawn,
    /// Each task is spawned near a worker, which is the same one for the same data.
    Near,
}

impl SpawnMode {
    /// Hands tasks to the workers, in order.
    pub(crate) fn run<T, F>(self, fork: F, tasks: Vec<T>)
    where
        T: Task<Output = ()>,
        F: Fork,
    {
        let (workers, count) = (fork.workers(), tasks.len().max(1));
        match self {
            SpawnMode::Fork => Halves(tasks).run(fork),
            SpawnMode::Spawn => fork.spawn_each(tasks.into_iter().map(Spawned::anywhere)),
            SpawnMode::Near => {
                let near = |(at, task)| Spawned::near(at * workers / count, task);
                fork.spawn_each(tasks.into_iter().enumerate().map(near));
            }
        }
    }
}

/// Works on blocks, phase after phase. An operation is a number of a block in a phase.
///
/// ```
/// use locksley_workload::{Phases, Program, Serial, Task, SpawnMode};
///
/// let mut phases = Phases::new(8, 100, 5, SpawnMode::Near, 7);
/// phases.task().run(Serial);
/// assert_eq!(phases.check(()), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Phases {
    length: usize,
    phases: u32,
    mode: SpawnMode,
    seed: u64,
    numbers: Vec<u64>,
    expected: Vec<u64>,
}

impl Phases {
    /// Creates `blocks` blocks of `length` numbers, at least one each. Computes the expected result
    /// in a loop.
    pub fn new(blocks: usize, length: usize, phases: u32, mode: SpawnMode, seed: u64) -> Phases {
        let length = length.max(1);
        let mut program = Phases {
            length,
            phases,
            mode,
            seed,
            numbers: vec![0; blocks.max(1) * length],
            expected: Vec::new(),
        };
        program.begin();
        let mut expected = program.numbers.clone();
        for _ in 0..phases {
            expected.chunks_exact_mut(length).for_each(step);
        }
        program.expected = expected;
        program
    }

    fn begin(&mut self) {
        let mut state = self.seed;
        self.numbers.fill_with(|| split_mix(&mut state));
    }
}

/// Updates a block: each number is combined with the one before it.
fn step(block: &mut [u64]) {
    let mut before = 0_u64;
    for number in block {
        *number = number.rotate_left(7) ^ before.wrapping_mul(GOLDEN);
        before = *number;
    }
}

impl Program for Phases {
    type Task<'p> = PhasesTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.numbers.len() as u64 * u64::from(self.phases.max(1))
    }

    fn task(&mut self) -> PhasesTask<'_> {
        self.begin();
        PhasesTask(self)
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let mut pairs = self.expected.iter().zip(&self.numbers).enumerate();
        pairs.try_for_each(|(at, (expected, got))| expect((at, expected), (at, got)))
    }
}

/// Runs all phases, one after the other.
///
/// ```
/// use locksley_workload::{Phases, PhasesTask, Program, Serial, Task, SpawnMode};
///
/// let mut phases = Phases::new(2, 2, 2, SpawnMode::Fork, 7);
/// let task: PhasesTask = phases.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct PhasesTask<'p>(&'p mut Phases);

impl Task for PhasesTask<'_> {
    type Output = ();

    fn run<F: Fork>(self, mut fork: F) {
        let Phases {
            length,
            phases,
            mode,
            numbers,
            ..
        } = self.0;
        for _ in 0..*phases {
            let blocks = numbers.chunks_exact_mut(*length);
            mode.run(fork.reborrow(), blocks.map(Block).collect());
        }
    }
}

/// A block in a phase.
struct Block<'p>(&'p mut [u64]);

impl Task for Block<'_> {
    type Output = ();

    fn run<F: Fork>(self, _: F) {
        step(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn every_way_gives_what_the_loop_gives() {
        for mode in [SpawnMode::Fork, SpawnMode::Spawn, SpawnMode::Near] {
            let mut program = Phases::new(7, 30, 4, mode, 3);
            program.task().run(Serial);
            assert_eq!(program.check(()), Ok(()), "{mode:?}");
            program.phases = 3;
            program.task().run(Serial);
            assert!(program.check(()).is_err(), "a phase is missing");
        }
    }

    /// A fork that records the hints of spawned tasks.
    struct Places<'a>(&'a std::cell::RefCell<Vec<Option<usize>>>);

    impl Fork for Places<'_> {
        type Reborrowed<'b>
            = Places<'b>
        where
            Self: 'b;

        fn reborrow(&mut self) -> Places<'_> {
            Places(self.0)
        }

        fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
            Serial.fork(a, b)
        }

        fn workers(&self) -> usize {
            3
        }

        fn spawn_each<T, I>(self, tasks: I)
        where
            T: Task<Output = ()>,
            I: Iterator<Item = Spawned<T>> + Send,
        {
            self.0.borrow_mut().extend(tasks.map(|task| task.near));
        }
    }

    #[test]
    fn neighbouring_blocks_are_near_the_same_worker_in_every_phase() {
        let seen = std::cell::RefCell::new(Vec::new());
        let mut program = Phases::new(6, 2, 2, SpawnMode::Near, 3);
        program.task().run(Places(&seen));
        let phase = [0, 0, 1, 1, 2, 2].map(Some);
        assert_eq!(seen.into_inner(), [phase, phase].concat());
    }
}
