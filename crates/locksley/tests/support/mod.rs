//! A limit of time for a test, and what tests wait for instead of sleeping.
//!
//! No test program uses all of it.
#![allow(dead_code)]

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use locksley::{Pool, PoolState, WorkerActivity};

/// How long a test may take before it is called a standstill. None takes a tenth of it, on a slow
/// machine either.
const LIMIT: Duration = Duration::from_secs(900);

/// Fails the calling test if it stands still: until the result is dropped, a thread waits for that,
/// names the test after [`LIMIT`], and aborts the process.
#[must_use = "the limit ends with it"]
pub(crate) fn limit() -> Sender<()> {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let (guard, dropped) = channel();
    thread::spawn(move || {
        if dropped.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`, which the test runner keeps until the test is over.
            let _ = writeln!(std::io::stderr(), "{test} stands still: {LIMIT:?} are over");
            std::process::abort();
        }
    });
    guard
}

/// Waits until the flag is set.
pub(crate) fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Waits until a pool is in a state.
pub(crate) fn until_state(pool: &Pool, wanted: impl Fn(&PoolState) -> bool) {
    while !wanted(&pool.state()) {
        thread::yield_now();
    }
}

/// How many workers of a pool, spares included, do this.
pub(crate) fn count(state: &PoolState, activity: WorkerActivity) -> usize {
    let workers = state.workers.iter();
    workers.filter(|worker| worker.activity == activity).count()
}

/// Waits until a worker waits for others, has looked for what it may run meanwhile, and found
/// nothing.
pub(crate) fn until_blocked(pool: &Pool, index: usize) {
    until_state(pool, |state| {
        state.workers[index].activity == WorkerActivity::Blocked
    });
}

/// Waits until all workers of a pool sleep.
pub(crate) fn until_asleep(pool: &Pool) {
    until_state(pool, |state| {
        count(state, WorkerActivity::Asleep) >= pool.workers()
    });
}
