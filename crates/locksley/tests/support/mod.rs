//! A time limit for tests, and conditions that tests wait for instead of sleeping.
//!
//! Not every test program uses all of them.
#![allow(dead_code)]

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use locksley::{Pool, PoolState, WorkerActivity};

/// Time after which a test counts as hanging. No test takes a tenth of it, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(900);

/// Fails the calling test if it hangs: unless the result is dropped within [`LIMIT`], a thread
/// prints the test's name and aborts the process.
#[must_use = "the limit ends with it"]
pub(crate) fn limit() -> Sender<()> {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let (guard, dropped) = channel();
    thread::spawn(move || {
        if dropped.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`, whose output the test runner keeps until the test is over.
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

/// Waits until `wanted` returns `true` for the pool's state.
pub(crate) fn until_state(pool: &Pool, wanted: impl Fn(&PoolState) -> bool) {
    while !wanted(&pool.state()) {
        thread::yield_now();
    }
}

/// Returns the number of workers of a pool, spares included, with this activity.
pub(crate) fn count(state: &PoolState, activity: WorkerActivity) -> usize {
    let workers = state.workers.iter();
    workers.filter(|worker| worker.activity == activity).count()
}

/// Waits until a worker is blocked: it waits, and has found no job that it may run meanwhile.
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
