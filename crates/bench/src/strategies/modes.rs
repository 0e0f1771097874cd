//! Compares work dealing as published with the pool's hybrid.
//!
//! In both, spawned tasks are dealt by the same oracle. In the hybrid an idle worker fetches tasks
//! that were dealt to another worker; as published (`mode=dedicated`) it waits until a task is
//! dealt to it. So they differ little if all tasks take the same time, and the hybrid is faster if
//! one worker is dealt the long tasks: here every sixteenth task is long, and dealing in turn gives
//! all of them to the same one of two workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

use super::lineup::{self, DEALING, Work};
use crate::harness::report::Outcome;
use crate::harness::{Contender, Plan, Sample, Workload, WrongResult, verify};

const CONTENDERS: [&str; 5] = [
    DEALING,
    "dealing:simple,mode=dedicated",
    "dealing:adaptive",
    "dealing:adaptive,mode=dedicated",
    "stealing",
];

const WORKERS: usize = 2;

/// Number of tasks that are spawned at once, a multiple of [`PERIOD`].
const TASKS: u64 = 256;

/// One task in `PERIOD` is long, if the lengths differ.
const PERIOD: u64 = 16;

/// Lengths of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// All tasks take 10 us.
    Even,
    /// One task in [`PERIOD`] takes 85 us, the others take 5 us: 10 us on average.
    Uneven,
}

/// The measurements: name in tables and JSON, description, and lengths of the tasks.
const CASES: [(&str, &str, Lengths); 2] = [
    (
        "dealing modes, even tasks",
        "one worker spawns 256 tasks of 10 us, two execute them, per task",
        Lengths::Even,
    ),
    (
        "dealing modes, uneven tasks",
        "one worker spawns 256 tasks, every 16th of 85 us and the others of 5, per task",
        Lengths::Uneven,
    ),
];

impl Lengths {
    fn of(self, task: u64) -> Work {
        let micros = match (self, task % PERIOD) {
            (Lengths::Even, _) => 10,
            (Lengths::Uneven, 0) => 85,
            (Lengths::Uneven, _) => 5,
        };
        Work::Compute(Duration::from_micros(micros))
    }
}

/// Spawns all tasks and waits for them. Returns the sum of their numbers.
fn run(pool: &Pool, lengths: Lengths) -> u64 {
    let sum = AtomicU64::new(0);
    pool.scope(|scope| {
        for task in 0..TASKS {
            let sum = &sum;
            scope.spawn(move |_| {
                lengths.of(task).run();
                sum.fetch_add(task, Ordering::Relaxed);
            });
        }
    });
    sum.into_inner()
}

fn contender(name: &'static str, strategy: Strategy, lengths: Lengths) -> Contender {
    Contender::new(name, move |operations| {
        let pool = lineup::builder(strategy, WORKERS).build();
        let pool = pool.expect("the machine has room for a pool");
        let runs = operations.div_ceil(TASKS).max(1);
        let mut elapsed = Duration::ZERO;
        for _ in 0..runs {
            let start = Instant::now();
            let sum = run(&pool, lengths);
            elapsed += start.elapsed();
            verify(name, "sum of the tasks", (0..TASKS).sum(), sum)?;
        }
        Ok(Sample {
            elapsed,
            operations: runs * TASKS,
            note: 0.0,
        })
    })
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    for (name, about, lengths) in CASES {
        if !plan.includes(name) || lineup::is_crowded(WORKERS) {
            continue;
        }
        let contenders = lineup::known(&CONTENDERS).into_iter();
        let workload = Workload {
            name,
            about,
            reference: DEALING,
            note: None,
            contenders: contenders
                .filter_map(|name| Some(contender(name, lineup::strategy(name)?, lengths)))
                .collect(),
        };
        outcome.workloads.push(workload.run(plan)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_executes_every_task() {
        assert_eq!(lineup::known(&CONTENDERS).len(), CONTENDERS.len());
        for name in CONTENDERS {
            let strategy = lineup::strategy(name).expect("it is built in");
            let pool = lineup::builder(strategy, WORKERS).build().expect("a pool");
            for lengths in [Lengths::Even, Lengths::Uneven] {
                assert_eq!(run(&pool, lengths), TASKS * (TASKS - 1) / 2, "{name}");
            }
        }
    }

    #[test]
    fn both_programs_have_the_same_work() {
        let total = |lengths: Lengths| -> Duration {
            let time = |task| match lengths.of(task) {
                Work::Compute(time) | Work::Block(time) => time,
            };
            (0..TASKS).map(time).sum()
        };
        assert_eq!(total(Lengths::Even), total(Lengths::Uneven));
    }
}
