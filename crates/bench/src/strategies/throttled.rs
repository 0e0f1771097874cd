//! Workers of unequal speed: a thread outside of the pool, the rival, is bound to the processor of
//! one worker and uses a part of that processor's time.
//!
//! With work W, span D and P processors of mean speed Pi, no schedule takes less than W / (P Pi),
//! and a schedule that leaves no processor idle while there is work takes at most D / Pi more
//! (Danjean's lecture, after Bender and Rabin). The processor time that was available to the pool
//! is known afterwards: P times the time, minus the rival's processor time. The note reports it as
//! a multiple of the work: 1 is the bound without its second term, and 1 + P D / W the bound with a
//! constant of 1. D is one of 2^11 leaves, so that P D / W is 0.001. The system may stop the
//! throttled worker in the middle of a leaf for a whole slice, which the bound does not include.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pinning, Pool, Strategy};

use super::lineup::{self, STEALING};
use crate::harness::report::Outcome;
use crate::harness::{Contender, Plan, Sample, Workload, WrongResult, verify};

/// Name in tables, bars and JSON.
pub(super) const NAME: &str = "a throttled worker";

/// The baseline that a strategy must beat: half of the work for each worker, whatever its speed.
const HALVES: &str = "halves without balancing";

const CONTENDERS: [&str; 5] = [STEALING, "stealing", "steal-half", "sharing", "dealing"];

const WORKERS: usize = 2;

/// Depth of the splits, which give 2^11 leaves.
const DEPTH: u32 = 11;

/// Work of a leaf, about 20 us.
fn leaf(seed: u64) -> u64 {
    (0..20_000).fold(seed, |state, _| {
        std::hint::black_box(state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(5))
    })
}

fn tree(depth: u32, seed: u64) -> u64 {
    if depth == 0 {
        return leaf(seed);
    }
    let (a, b) = locksley::join(
        || tree(depth - 1, 2 * seed),
        || tree(depth - 1, 2 * seed + 1),
    );
    a ^ b
}

/// Runs the tree in two halves, from which no other worker takes anything.
fn halves() -> u64 {
    let half = |seed: u64| {
        let leaves = 1_u64 << (DEPTH - 1);
        (0..leaves).fold(0, |sum, number| sum ^ leaf((seed << (DEPTH - 1)) + number))
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| half(3));
        half(2) ^ other.join().expect("it does not panic")
    })
}

/// Returns the processor time of the calling thread, if the system reports it.
fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// Time of a run, and the processor time that was available to it.
struct Run {
    elapsed: Duration,
    available: f64,
}

/// The rival's thread: a pool of one worker, since a pool can bind its worker to the first
/// processor. Each worker of the measured pool has a processor of its own, so that the rival
/// throttles one of them.
fn rival_thread() -> Pool {
    let builder = Pool::builder().workers(1);
    let builder = if cfg!(target_os = "linux") {
        builder.pinning(Pinning::Compact)
    } else {
        builder
    };
    builder.build().expect("the machine has room for a pool")
}

/// Runs a closure while the thread of `rivals` keeps its processor busy.
fn beside_a_rival(rivals: &Pool, work: impl FnOnce() -> u64) -> (u64, Run) {
    let [started, done] = [const { AtomicBool::new(false) }; 2];
    let rival = || {
        let before = processor_time().unwrap_or_default();
        started.store(true, Ordering::Release);
        while !done.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        let after = processor_time().unwrap_or_default();
        after.saturating_sub(before)
    };
    thread::scope(|scope| {
        let rival = scope.spawn(|| rivals.install(rival));
        while !started.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let start = Instant::now();
        let result = work();
        let elapsed = start.elapsed();
        done.store(true, Ordering::Relaxed);
        let taken = rival.join().expect("it does not panic");
        let available = WORKERS as f64 * elapsed.as_secs_f64() - taken.as_secs_f64();
        (result, Run { elapsed, available })
    })
}

/// Returns the work: the time of all leaves on one thread that has a processor for itself.
fn serially() -> (u64, f64) {
    let start = Instant::now();
    let leaves = 1_u64 << DEPTH;
    let result = (0..leaves).fold(0, |sum, number| sum ^ leaf(leaves + number));
    (result, start.elapsed().as_secs_f64())
}

fn contender(name: &'static str, strategy: Option<Strategy>) -> Contender {
    Contender::new(name, move |operations| {
        let pool = strategy.map(|strategy| {
            let builder = lineup::builder(strategy, WORKERS);
            builder.build().expect("the machine has room for a pool")
        });
        let run = |pool: &Option<Pool>| match pool {
            Some(pool) => pool.install(|| tree(DEPTH, 1)),
            None => halves(),
        };
        let (runs, rivals) = (operations.clamp(1, 5), rival_thread());
        let (mut elapsed, mut available, mut work) = (Duration::ZERO, 0.0, 0.0);
        for _ in 0..runs {
            let (expected, alone) = serially();
            let (result, one) = beside_a_rival(&rivals, || run(&pool));
            verify(name, "sum", expected, result)?;
            elapsed += one.elapsed;
            available += one.available;
            work += alone;
        }
        Ok(Sample {
            elapsed,
            operations: runs,
            note: available / work,
        })
    })
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let possible = !lineup::is_crowded(WORKERS) && processor_time().is_some();
    if !plan.includes(NAME) || !possible || lineup::processors() != WORKERS {
        return Ok(());
    }
    let contenders = lineup::known(&CONTENDERS).into_iter();
    let balanced =
        contenders.filter_map(|name| Some(contender(name, Some(lineup::strategy(name)?))));
    let workload = Workload {
        name: NAME,
        about: "2^11 leaves of 20 us, beside a thread that computes on one worker's processor",
        reference: STEALING,
        note: Some("processor time over the work"),
        contenders: balanced.chain([contender(HALVES, None)]).collect(),
    };
    outcome.workloads.push(workload.run(plan)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_compute_the_same() {
        let (expected, _) = serially();
        assert_eq!(halves(), expected);
        assert_eq!(beside_a_rival(&rival_thread(), halves).0, expected);
        let strategy = lineup::strategy("stealing").expect("it is built in");
        let pool = lineup::builder(strategy, WORKERS).build().expect("a pool");
        assert_eq!(pool.install(|| tree(DEPTH, 1)), expected);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_rival_has_one_processor() {
        let allowed = || {
            let text = fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
            let line = text
                .lines()
                .find(|line| line.starts_with("Cpus_allowed_list"));
            line.expect("it is there").to_owned()
        };
        let list = rival_thread().install(allowed);
        let cpus = list.split_whitespace().last().expect("a list");
        assert!(cpus.parse::<usize>().is_ok(), "{list}");
    }
}
