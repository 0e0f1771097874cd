use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use locksley::Yield;

use crate::everywhere;

#[test]
fn none_outside_of_a_pool() {
    everywhere(|pool| {
        assert_eq!(locksley::yield_now(), None);
        assert_eq!(locksley::yield_local(), None);
        assert_eq!(pool.yield_now(), None);
        assert_eq!(pool.yield_local(), None);
    });
}

#[test]
fn until_a_spawned_task_has_run() {
    everywhere(|pool| {
        pool.install(|| {
            let handle = locksley::spawn(|| 7);
            while !handle.is_finished() {
                assert!(locksley::yield_now().is_some());
            }
            assert_eq!(handle.join(), 7);
            let handle = locksley::spawn(|| 8);
            while !handle.is_finished() {
                assert!(locksley::yield_local().is_some());
            }
            assert_eq!(handle.join(), 8);
        });
    });
}

/// A yield may take the job of the join that it is in; the join must notice. With several workers,
/// yields take only local jobs: if they stole, two workers could each end up waiting for a task
/// that is further down on the other's stack.
#[test]
fn inside_a_join_whose_other_side_it_waits_for() {
    fn rendezvous(depth: usize, runs: &AtomicUsize) {
        if depth == 0 {
            return;
        }
        let met = AtomicBool::new(false);
        locksley::join(
            || {
                rendezvous(depth - 1, runs);
                while !met.load(Ordering::Acquire) {
                    let yielded = match locksley::current_num_workers() {
                        1 => locksley::yield_now(),
                        _ => locksley::yield_local(),
                    };
                    if yielded == Some(Yield::Idle) {
                        std::thread::yield_now();
                    }
                }
            },
            || {
                runs.fetch_add(1, Ordering::Relaxed);
                rendezvous(depth - 1, runs);
                met.store(true, Ordering::Release);
            },
        );
    }
    everywhere(|pool| {
        let runs = AtomicUsize::new(0);
        pool.install(|| rendezvous(6, &runs));
        assert_eq!(runs.into_inner(), 63, "each right side runs exactly once");
    });
}

/// Yields at various nodes of a tree of joins: every leaf runs exactly once.
#[test]
fn all_over_a_tree_of_joins() {
    fn tree(depth: usize, number: usize, leaves: &[AtomicUsize]) {
        if number % 3 == 0 {
            locksley::yield_now();
        }
        if number % 5 == 0 {
            locksley::yield_local();
        }
        if depth == 0 {
            leaves[number].fetch_add(1, Ordering::Relaxed);
            return;
        }
        locksley::join(
            || {
                tree(depth - 1, 2 * number, leaves);
                if number % 2 == 0 {
                    locksley::yield_local();
                }
            },
            || tree(depth - 1, 2 * number + 1, leaves),
        );
    }
    everywhere(|pool| {
        for _ in 0..5 {
            let leaves: Vec<AtomicUsize> = (0..512).map(|_| AtomicUsize::new(0)).collect();
            pool.install(|| tree(9, 0, &leaves));
            assert!(leaves.iter().all(|leaf| leaf.load(Ordering::Relaxed) == 1));
        }
    });
}

#[test]
fn a_yield_runs_targeted_jobs() {
    everywhere(|pool| {
        pool.install(|| {
            let runs = Arc::new(AtomicUsize::new(0));
            let counter = runs.clone();
            locksley::spawn_broadcast(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            let workers = locksley::current_num_workers();
            while runs.load(Ordering::Relaxed) < workers {
                assert!(locksley::yield_local().is_some());
            }
            assert_eq!(runs.load(Ordering::Relaxed), workers);
        });
    });
}
