//! Time for which a job stays hidden behind a task that takes 100 ms and neither forks nor pops.
//!
//! A worker forks a job while the other worker is busy, and then runs the long task. When the other
//! worker runs out of work, no job is public, and its request will not be answered in time: it has
//! to take the job by force. On a semi-private deque as published (Rito, "Scheduling computations",
//! Algorithms 8 and 9) the job would stay hidden until the long task ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

use super::lineup::{self, STEALING};
use crate::harness::report::Outcome;
use crate::harness::{Contender, Plan, Sample, Workload, WrongResult, verify};

/// Name in tables, bars and JSON.
pub(super) const NAME: &str = "hidden behind 100 ms";

/// Limit of the time for which the job is hidden.
pub(super) const SEMI_PRIVATE: &str = "semi-private";

const CONTENDERS: [&str; 6] = [
    STEALING,
    "stealing",
    SEMI_PRIVATE,
    "steal-half",
    "sharing",
    "dealing",
];

/// Duration of the task that forks nothing.
const LONG: Duration = Duration::from_millis(100);

/// Result for a job behind a long task.
struct Episode {
    /// Time from when the other worker ran out of work until the job began.
    hidden: Duration,
    /// `true` if the other worker ran the job during the long task.
    was_stolen: bool,
}

/// Forks a job, then runs a task that takes `long` or ends once the job has begun.
fn episode(pool: &Pool, long: Duration) -> Episode {
    let [forked, begun] = [const { AtomicBool::new(false) }; 2];
    let (start, released) = (Instant::now(), AtomicU64::new(0));
    let occupied = AtomicBool::new(false);
    let nanos = || start.elapsed().as_nanos() as u64;
    let (mut began, mut runner, mut owner) = (0, None, None);
    pool.install(|| {
        locksley::scope(|scope| {
            scope.spawn(|_| {
                occupied.store(true, Ordering::Release);
                while !forked.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                // By now the long task is certain to have begun.
                let since = Instant::now();
                while since.elapsed() < Duration::from_micros(200) {
                    std::hint::spin_loop();
                }
                released.store(nanos(), Ordering::Release);
            });
            while !occupied.load(Ordering::Acquire) {
                thread::yield_now();
            }
            let task = || {
                owner = Some(thread::current().id());
                forked.store(true, Ordering::Release);
                let since = Instant::now();
                while since.elapsed() < long && !begun.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            };
            let job = || {
                began = nanos();
                runner = Some(thread::current().id());
                begun.store(true, Ordering::Release);
            };
            locksley::join(task, job);
        });
    });
    Episode {
        hidden: Duration::from_nanos(began.saturating_sub(released.into_inner())),
        was_stolen: runner != owner,
    }
}

fn contender(name: &'static str, strategy: Strategy) -> Contender {
    Contender::new(name, move |operations| {
        let pool = lineup::builder(strategy, 2).build();
        let pool = pool.expect("the machine has room for a pool");
        let episodes = operations.clamp(1, 20);
        let seen: Vec<Episode> = (0..episodes).map(|_| episode(&pool, LONG)).collect();
        let stolen = seen.iter().filter(|episode| episode.was_stolen).count();
        // On a busy machine the other worker may lack a processor for as long as the task takes.
        let are_most = 2 * stolen as u64 > episodes;
        verify(
            name,
            "the other worker ran most of the jobs",
            true,
            are_most,
        )?;
        let hidden = seen.iter().map(|episode| episode.hidden);
        let longest = hidden.clone().max().unwrap_or_default();
        Ok(Sample {
            elapsed: hidden.sum(),
            operations: episodes,
            note: longest.as_secs_f64() * 1e6,
        })
    })
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    if !plan.includes(NAME) || lineup::is_crowded(2) {
        return Ok(());
    }
    let contenders = lineup::known(&CONTENDERS).into_iter();
    let workload = Workload {
        name: NAME,
        about: "a forked job, from when another worker wants it until it begins",
        reference: STEALING,
        note: Some("the longest, us"),
        contenders: contenders
            .filter_map(|name| Some(contender(name, lineup::strategy(name)?)))
            .collect(),
    };
    outcome.workloads.push(workload.run(plan)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the job were hidden until the task ends, the worker that forked it would run it.
    #[test]
    fn the_other_worker_runs_the_job_while_the_long_task_goes_on() {
        for name in lineup::known(&CONTENDERS) {
            let strategy = lineup::strategy(name).expect("it is built in");
            let pool = lineup::builder(strategy, 2).build().expect("a pool");
            assert!(episode(&pool, Duration::from_secs(60)).was_stolen, "{name}");
        }
    }
}
