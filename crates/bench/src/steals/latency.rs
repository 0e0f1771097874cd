//! Latency of a job in the queue of a worker that computes for 100 ms without forking.
//!
//! The pool's other worker is idle: it is either looking for work already or asleep.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

use super::bar;
use super::pair;
use super::spin::{self, Rate, spin};
use crate::harness::Plan;
use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::stats::{median, number};
use crate::harness::table::Table;

const NAME: &str = "latency";

/// Limit of the latency under the default strategy while the other worker looks for work, in
/// microseconds.
const LIMIT: f64 = 50.0;

/// Time for which the worker computes after it has pushed the job; it stops early once the job is
/// taken.
const COMPUTATION: Duration = Duration::from_millis(100);

/// Time after which an idle worker is certain to be asleep.
const PAUSE: Duration = Duration::from_millis(5);

/// Ways to push the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Push {
    Join,
    Spawn,
}

/// State of the other worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thief {
    Searches,
    Sleeps,
}

const SCENES: [(Push, Thief, &str); 4] = [
    (Push::Join, Thief::Searches, "join"),
    (Push::Spawn, Thief::Searches, "spawn"),
    (Push::Join, Thief::Sleeps, "join, asleep"),
    (Push::Spawn, Thief::Sleeps, "spawn, asleep"),
];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) {
    let is_included = plan.includes(NAME);
    let mut defaults = [None; SCENES.len()];
    if is_included {
        let rate = spin::calibrate();
        let title = "latency: until a job behind a computation that does not fork is taken, us";
        let mut header = vec!["strategy"];
        header.extend(SCENES.map(|(_, _, name)| name));
        let mut table = Table::new(title, &header);
        let progress = Progress::start(NAME, Strategy::ALL.len() as u64);
        for strategy in Strategy::ALL {
            let mut row = vec![strategy.to_string()];
            for (scene, default) in SCENES.into_iter().zip(&mut defaults) {
                let latency = latency(strategy, scene, rate, pair::rounds(plan, 0.25));
                row.push(number(latency));
                if strategy == Strategy::default() {
                    *default = Some(latency);
                }
            }
            table.row(row);
            progress.step();
        }
        outcome.tables.push(table);
    }
    for ((_, thief, name), latency) in SCENES.into_iter().zip(defaults) {
        if thief == Thief::Searches {
            let name = format!("{NAME} behind a computation, {name}, us");
            outcome.bars.push(bar(name, LIMIT, latency));
        }
    }
}

/// Returns the median latency of some rounds, in microseconds.
fn latency(
    strategy: Strategy,
    (push, thief, _): (Push, Thief, &str),
    rate: Rate,
    rounds: usize,
) -> f64 {
    let pool = Pool::builder().workers(2).strategy(strategy).build();
    let pool = pool.expect("the machine has room for a pool");
    let round = || {
        match thief {
            Thief::Searches => occupy(rate),
            Thief::Sleeps => thread::sleep(PAUSE),
        }
        episode(push).as_secs_f64() * 1e6
    };
    // The first round is dropped, since the pool is still starting.
    let latencies = pool.install(|| (0..=rounds).map(|_| round()).collect::<Vec<f64>>());
    median(&latencies[1..])
}

/// Gives both workers a task. The other worker finishes first, and looks for more work.
fn occupy(rate: Rate) {
    let work = |microseconds| move || black_box(spin(rate.steps(microseconds), 1));
    locksley::join(work(60.0), work(30.0));
}

/// Pushes a job and computes. Returns the time until the job starts.
fn episode(push: Push) -> Duration {
    let (start, taken) = (Instant::now(), AtomicU64::new(0));
    let job = || {
        let nanoseconds = start.elapsed().as_nanos().max(1) as u64;
        taken.store(nanoseconds, Ordering::Release);
    };
    let compute = || {
        while start.elapsed() < COMPUTATION && taken.load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
    };
    match push {
        Push::Join => {
            locksley::join(compute, job);
        }
        Push::Spawn => locksley::scope(|scope| {
            scope.spawn(|_| job());
            compute();
        }),
    }
    Duration::from_nanos(taken.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_taken_was_timed() {
        for push in [Push::Join, Push::Spawn] {
            let pool = Pool::builder().workers(2).build().expect("there is room");
            assert!(pool.install(|| episode(push)) > Duration::ZERO);
        }
    }
}
