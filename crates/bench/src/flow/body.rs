//! A body that computes between forks: 200 times 50 us, each followed by a task of 50 us.
//!
//! If tasks became visible at the end of the body, other workers would be idle until then. Tasks
//! that can be stolen as soon as they are forked run beside the body, and the program takes half of
//! its serial time.

use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::flow::flow;

use super::{FLOW, SERIAL, pool};
use crate::harness::{Contender, Sample, WallClock, Workload, verify};

pub(super) const NAME: &str = "flow body P=2";

/// Time that the body computes before each fork, and that each task takes.
const PIECE: Duration = Duration::from_micros(50);

#[derive(Clone, Copy)]
struct Problem {
    tasks: u64,
    /// Number of steps of a piece.
    steps: u64,
}

pub(super) fn workload(quick: bool) -> Workload {
    let problem = Problem {
        tasks: if quick { 10 } else { 200 },
        steps: steps_in(PIECE),
    };
    Workload {
        name: NAME,
        about: "200 tasks of 50 us, and 50 us of the body before each; one operation is one task",
        reference: SERIAL,
        note: None,
        contenders: vec![
            contender(SERIAL, problem, Problem::serial),
            contender(FLOW, problem, Problem::flow),
        ],
    }
}

fn contender(name: &'static str, problem: Problem, run: fn(Problem) -> u64) -> Contender {
    let pool: Pool = pool(2);
    let expected = problem.serial();
    Contender::new(name, move |operations| {
        let times = operations.div_ceil(problem.tasks);
        let clock = WallClock::now();
        let results: Vec<u64> = pool.install(|| (0..times).map(|_| run(problem)).collect());
        let elapsed = clock.elapsed();
        for got in results {
            verify(name, "sum", expected, got)?;
        }
        Ok(Sample {
            elapsed,
            operations: times * problem.tasks,
            note: 0.0,
        })
    })
}

impl Problem {
    /// Computes for a time that is proportional to the number of steps.
    fn piece(self, seed: u64) -> u64 {
        let step = |state: u64, _| {
            let state = state.wrapping_mul(6_364_136_223_846_793_005);
            std::hint::black_box(state.wrapping_add(1_442_695_040_888_963_407))
        };
        (0..self.steps).fold(seed, step)
    }

    fn serial(self) -> u64 {
        let task = |number| self.piece(self.piece(number));
        (0..self.tasks).map(task).fold(0, u64::wrapping_add)
    }

    fn flow(self) -> u64 {
        let mut results = vec![0; self.tasks as usize];
        flow(|f| {
            for (number, result) in (0..).zip(&mut results) {
                let (seed, result) = (self.piece(number), f.object(result));
                f.fork(result.write(), move |mut result| {
                    result.set(self.piece(seed));
                });
            }
        });
        results.into_iter().fold(0, u64::wrapping_add)
    }
}

/// Returns the number of steps that take `time`, from the fastest of several runs.
fn steps_in(time: Duration) -> u64 {
    let try_it = Problem {
        tasks: 1,
        steps: 20_000,
    };
    let measure = |seed| {
        let start = Instant::now();
        std::hint::black_box(try_it.piece(seed));
        start.elapsed()
    };
    let fastest = (0..50).map(measure).min().unwrap_or(time);
    let steps = try_it.steps as f64 * time.as_secs_f64() / fastest.as_secs_f64().max(1e-9);
    steps.max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_computes_what_the_loop_does() {
        let problem = Problem {
            tasks: 37,
            steps: 100,
        };
        assert_eq!(problem.flow(), problem.serial());
        assert_ne!(
            Problem {
                tasks: 36,
                ..problem
            }
            .serial(),
            problem.serial()
        );
    }
}
