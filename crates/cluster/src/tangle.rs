//! A program for tests: from a seed, tasks spawn others, make groups, and go on from continuations
//! at random. A recursive oracle computes the expected result.

use std::num::Wrapping;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley_policy::{Random, Source};
use serde::{Deserialize, Serialize};

use crate::{Continuation, Program, Sum, Task, Tasks};

/// The result type. Continuations fold it in a way that depends on the order of their inputs.
pub(crate) type Number = Sum<Wrapping<u64>>;

/// A task whose behaviour follows from its seed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RandomTask {
    pub(crate) seed: u64,
    pub(crate) depth: u32,
    /// One of this many runs of a task panics; 0 for none.
    pub(crate) panics: u64,
}

/// A continuation whose result depends on the order of its inputs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RandomContinuation(RandomTask);

fn mix(seed: u64, salt: u64) -> u64 {
    Random::new(seed, salt).next()
}

fn fold(inputs: impl Iterator<Item = Wrapping<u64>>) -> Wrapping<u64> {
    inputs.fold(Wrapping(17), |sum, input| sum * Wrapping(31) + input)
}

impl RandomTask {
    pub(crate) fn new(seed: u64, depth: u32) -> RandomTask {
        RandomTask {
            seed,
            depth,
            panics: 0,
        }
    }

    fn own(&self) -> Wrapping<u64> {
        Wrapping(mix(self.seed, 0))
    }

    fn child(&self, number: u64) -> RandomTask {
        RandomTask {
            seed: mix(self.seed, 100 + number),
            depth: self.depth - 1,
            ..*self
        }
    }

    /// Returns the tasks that it spawns.
    fn spawned(&self) -> Vec<RandomTask> {
        let count = [0, 0, 1, 2][mix(self.seed, 1) as usize % 4];
        let some = 0..if self.depth == 0 { 0 } else { count };
        some.map(|number| self.child(number)).collect()
    }

    /// Returns the groups that it makes.
    fn groups(&self) -> Vec<(RandomContinuation, Vec<RandomTask>)> {
        let count = [0, 1, 1, 2][mix(self.seed, 2) as usize % 4];
        let group = |number: u64| {
            let size = mix(self.seed, 3 + number) % 4;
            let members = (0..size).map(|member| self.child(10 * (number + 1) + member));
            (
                RandomContinuation(self.child(90 + number)),
                members.collect(),
            )
        };
        let some = 0..if self.depth == 0 { 0 } else { count };
        some.map(group).collect()
    }

    /// Computes the whole result of a task by recursion.
    pub(crate) fn whole(&self) -> Wrapping<u64> {
        let spawned = self.spawned();
        let spawned: Wrapping<u64> = spawned.iter().map(RandomTask::whole).sum();
        let groups = self.groups().into_iter().map(|(tie, members)| {
            let inputs = members.iter().map(RandomTask::whole);
            // A continuation spawns tasks and groups as a task does.
            fold(inputs) + tie.0.whole()
        });
        self.own() + spawned + groups.sum::<Wrapping<u64>>()
    }

    fn go_on(self, tasks: &Tasks<Number>) -> Wrapping<u64> {
        // Some of the tasks and groups have been made when it panics.
        for task in self.spawned() {
            tasks.spawn(task);
        }
        for (number, (tie, members)) in self.groups().into_iter().enumerate() {
            tasks.spawn_all(members).then(tie);
            if number == 0 {
                self.maybe_panic();
            }
        }
        self.maybe_panic();
        self.own()
    }

    fn maybe_panic(&self) {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        if self.panics > 0 {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            if mix(run, 7).is_multiple_of(self.panics) {
                // Without the panic hook, which would print every panic.
                resume_unwind(Box::new("panicked at random"));
            }
        }
    }
}

impl Task for RandomTask {
    const KIND: &'static str = "knot";
    type Output = Number;

    fn run(self, tasks: &Tasks<Number>) -> Number {
        Sum(self.go_on(tasks))
    }
}

impl Continuation for RandomContinuation {
    const KIND: &'static str = "tie";
    type Output = Number;

    fn run(self, inputs: Vec<Number>, tasks: &Tasks<Number>) -> Number {
        let folded = fold(inputs.into_iter().map(|Sum(input)| input));
        Sum(folded + self.0.go_on(tasks))
    }
}

pub(crate) fn program() -> Program<Number> {
    Program::new("tangle")
        .with::<RandomTask>()
        .with_continuation::<RandomContinuation>()
}
