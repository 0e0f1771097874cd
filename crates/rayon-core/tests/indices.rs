//! Indices of threads: under every strategy, and in pools built through `locksley` itself with
//! every kind of waiting.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use locksley::{Pool, Strategy, Waiting};

/// Records which thread reports which index in a pool.
#[derive(Default)]
struct Owners {
    seen: Mutex<HashMap<usize, ThreadId>>,
}

impl Owners {
    /// Checks, in a task, that its thread has a unique index below the number of threads.
    fn task(&self, threads: usize) {
        let index = rayon_core::current_thread_index().expect("in a pool");
        assert_eq!(rayon_core::current_num_threads(), threads);
        assert!(index < threads, "{index} of {threads}");
        let here = thread::current().id();
        let mut seen = self.seen.lock().unwrap();
        assert_eq!(*seen.entry(index).or_insert(here), here, "two with {index}");
        let of_this_thread = seen.values().filter(|&&thread| thread == here).count();
        assert_eq!(of_this_thread, 1, "one with several indices");
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// Uses every kind of task, and calls `task` in each.
fn turmoil(depth: usize, task: &(impl Fn() + Sync)) {
    if depth == 0 {
        return task();
    }
    rayon_core::join(|| turmoil(depth - 1, task), || turmoil(depth - 1, task));
    rayon_core::scope(|s| {
        s.spawn(|_| turmoil(depth - 1, task));
        s.spawn(|s| s.spawn_broadcast(|_, _| task()));
    });
    rayon_core::scope_fifo(|s| {
        s.spawn_fifo(|_| task());
        s.spawn_fifo(|_| turmoil(depth - 1, task));
    });
    rayon_core::broadcast(|_| task());
    rayon_core::yield_now();
}

/// Runs [`turmoil`] in pools of several sizes, from several threads.
fn indices_are_unique() {
    for threads in [1, 2, 7] {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.build().unwrap();
        let owners = Owners::default();
        let task = || owners.task(threads);
        thread::scope(|outside| {
            for _ in 0..3 {
                outside.spawn(|| pool.install(|| turmoil(3, &task)));
            }
        });
        // A broadcast reaches every thread.
        assert_eq!(owners.count(), threads);
    }
}

#[test]
fn an_index_is_that_of_one_thread_and_below_the_number_of_threads() {
    indices_are_unique();
}

/// The environment selects the strategy, so each strategy has a process of its own.
#[test]
fn so_it_is_under_every_strategy() {
    for strategy in Strategy::ALL {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "child_indices"])
            .env("LOCKSLEY_STRATEGY", strategy.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{strategy}: {said}");
        assert!(said.contains("1 passed"), "{strategy}: {said}");
    }
}

#[test]
#[ignore = "a child process of `so_it_is_under_every_strategy`"]
fn child_indices() {
    indices_are_unique();
}

/// A worker of a pool built through `locksley` may be a spare with an index beyond the number of
/// workers. So rayon's functions use the global pool there, unless the pool has no spares.
#[test]
fn so_it_is_in_pools_of_locksleys_own_however_they_wait() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        for spares in [0, 1, 5] {
            let builder = Pool::builder().workers(3).waiting(waiting).spares(spares);
            let native = builder.build().unwrap();
            // Pools whose waiting workers take any task have no spares.
            let inside = spares == 0 || waiting == Waiting::TakeAny;
            let index = native.install(rayon_core::current_thread_index);
            assert_eq!(index.is_some(), inside, "{waiting:?}, {spares} spares");
            let threads = if inside {
                3
            } else {
                rayon_core::current_num_threads()
            };
            let owners = Owners::default();
            let task = || owners.task(threads);
            thread::scope(|outside| {
                for _ in 0..3 {
                    outside.spawn(|| native.install(|| turmoil(3, &task)));
                }
            });
            assert_eq!(owners.count(), threads, "{waiting:?}, {spares} spares");
        }
    }
}

#[test]
fn a_pool_with_spares_counts_as_outside() {
    let native = Pool::builder().workers(3).spares(2).build().unwrap();
    native.install(|| {
        assert_eq!(rayon_core::current_thread_index(), None);
        assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
        assert_eq!(rayon_core::yield_now(), None);
        assert_eq!(rayon_core::yield_local(), None);
    });
}
