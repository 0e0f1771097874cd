//! The time of a recursion depending on the position of its jobs in the worker's deque.
//!
//! Each task that is stolen, or taken from the old end, moves the position by one slot. A circular
//! deque must not be slower when a recursion crosses its end.

use std::time::Instant;

use locksley::Pool;

use super::contenders::{Locksley, Runtime};
use crate::harness::Plan;
use crate::harness::report::Figures;
use crate::harness::stats::median;

pub(super) const TITLE: &str = "fib(16) at 64 positions of a deque, the dearest / the median";

/// Number of positions: once around the smallest deque.
const POSITIONS: usize = 64;

/// Number of runs of fib at each position, of which the shortest counts.
const TIMES: usize = 200;

const N: u64 = 16;
const FIB: u64 = 987;

/// Limit of the time at the slowest position relative to the median.
pub(super) const LIMIT: f64 = 1.1;

pub(super) fn figures(plan: &Plan) -> Option<Figures> {
    if !plan.includes(TITLE) {
        return None;
    }
    // A breadth-first worker takes its oldest task, so the position moves by one slot per task.
    let pool = Pool::builder()
        .workers(1)
        .breadth_first(true)
        .build()
        .ok()?;
    let times: Vec<f64> = (0..POSITIONS)
        .map(|_| {
            pool.install(|| locksley::spawn(|| ())).join();
            pool.run(shortest)
        })
        .collect();
    let dearest = times.iter().copied().fold(0.0, f64::max);
    let mut figures = Figures::new(TITLE);
    figures.add(Locksley::NAME, dearest / median(&times));
    Some(figures)
}

fn shortest(worker: &locksley::Worker) -> f64 {
    let times = (0..TIMES).map(|_| {
        let start = Instant::now();
        assert_eq!(forked(worker, N), FIB);
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn forked(worker: &locksley::Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(
        |worker| forked(worker, n - 1),
        |worker| forked(worker, n - 2),
    );
    a + b
}
