//! A time limit for tests, conditions that tests wait for instead of sleeping, and small programs
//! that several tests run.
//!
//! Not every test program uses all of them.
#![allow(dead_code)]

use std::any::Any;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use locksley::{Pool, PoolState, Scope, WorkerActivity};

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
            let _ = writeln!(std::io::stderr(), "{test} hangs: it has run for {LIMIT:?}");
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

/// Leaks a pool to which tasks have `'static` references. It stays reachable, so leak detectors do
/// not report it.
pub(crate) fn kept(pool: Pool) -> &'static Pool {
    static POOLS: Mutex<Vec<&Pool>> = Mutex::new(Vec::new());
    let pool: &'static Pool = Box::leak(Box::new(pool));
    POOLS.lock().unwrap().push(pool);
    pool
}

/// Returns a command that runs one test of this program in a process of its own.
pub(crate) fn run_again(test: &str) -> Command {
    let program = std::env::current_exe().expect("the test knows its file");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture"]);
    command
}

/// Returns the text of a panic, whether it was formatted or not; an empty one of other payloads.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let formatted = || payload.downcast_ref::<String>().map(String::as_str);
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(formatted).unwrap_or("")
}

/// Computes a Fibonacci number with joins.
pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Forks two closures that can end only together, so that another worker must run one of them.
pub(crate) fn join_both_at_once() {
    let _limit = limit();
    let barrier = Barrier::new(2);
    let (a, b) = locksley::join(|| barrier.wait(), || barrier.wait());
    assert_ne!(a.is_leader(), b.is_leader());
}

/// Spawns a binary tree of tasks into one scope, and counts them.
pub(crate) fn spawn_tree<'s>(scope: &Scope<'s>, depth: usize, count: &'s AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
    for _ in 0..2 * usize::from(depth > 0) {
        scope.spawn(move |scope| spawn_tree(scope, depth - 1, count));
    }
}

/// Runs scopes of three tasks within tasks of scopes. Returns the number of innermost tasks.
pub(crate) fn nested_scopes(depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let [a, b, c] = [const { AtomicUsize::new(0) }; 3];
    locksley::scope(|s| {
        for part in [&a, &b, &c] {
            s.spawn(move |_| part.store(nested_scopes(depth - 1), Ordering::Relaxed));
        }
    });
    [a, b, c].into_iter().map(AtomicUsize::into_inner).sum()
}
