//! Dealing as published: each spawned task runs on the worker that it was dealt to.
#![cfg(not(loom))]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use locksley::policy::{DealMode, DealRule, Dealing};
use locksley::{Pool, Strategy};

use support::{fib, nested_scopes, spawn_tree};

fn pool(workers: usize, strategy: Strategy) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    builder.build().expect("the pool starts")
}

fn dedicated(rule: DealRule) -> Strategy {
    Strategy::Dealing(Dealing {
        rule,
        mode: DealMode::DEDICATED,
        ..Dealing::default()
    })
}

fn without_limit() -> Strategy {
    dedicated(DealRule::Locality {
        l: DealRule::INFINITE,
    })
}

#[test]
fn everything_runs_once() {
    for rule in DealRule::ALL {
        for workers in [1, 2, 5] {
            let pool = pool(workers, dedicated(rule));
            assert_eq!(pool.install(|| fib(16)), 987);
            let count = AtomicUsize::new(0);
            pool.install(|| locksley::scope(|s| spawn_tree(s, 9, &count)));
            assert_eq!(count.into_inner(), 1023, "{rule}, {workers}");
            assert_eq!(
                pool.install(|| nested_scopes(4)),
                nested_scopes(4),
                "{rule}, {workers}"
            );
            assert_eq!(pool.spawn(|| 7).join(), 7);
            let result = pool.install(|| locksley::spawn(|| 8).join());
            assert_eq!(result, 8);
        }
    }
}

/// Theorem 11 with an infinite L. The workers sleep between the rounds, and are woken.
#[test]
fn a_task_runs_where_it_prefers_to_be() {
    let _limit = support::limit();
    let pool = pool(3, without_limit());
    for round in 0..50 {
        if round % 5 == 0 {
            support::until_asleep(&pool);
        }
        let misses = AtomicUsize::new(0);
        pool.scope(|s| {
            s.spawn(|s| {
                for number in 0..30 {
                    let (near, misses) = (number % 3, &misses);
                    s.spawn_near(near, move |_| {
                        let here = locksley::current_worker_index();
                        misses.fetch_add(usize::from(here != Some(near)), Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(misses.into_inner(), 0, "round {round}");
    }
}

/// Theorem 3: under `simple`, the numbers of tasks that one worker deals to two others differ
/// by at most one, and all of them run there.
#[test]
fn tasks_are_dealt_evenly_and_stay() {
    let pool = pool(4, dedicated(DealRule::Simple));
    let ran = [const { AtomicUsize::new(0) }; 4];
    pool.scope(|s| {
        s.spawn(|s| {
            for _ in 0..400 {
                s.spawn(|_| {
                    let here = locksley::current_worker_index().expect("a worker");
                    ran[here].fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(ran.map(AtomicUsize::into_inner), [100; 4]);
}

/// There are more tasks than items in the lists: the other tasks run anywhere.
#[test]
fn more_than_fits_is_run_too() {
    let strategy = "dealing:simple,mode=dedicated,lists=4".parse().unwrap();
    let pool = pool(2, strategy);
    let done = AtomicUsize::new(0);
    pool.install(|| {
        locksley::scope(|s| {
            for _ in 0..20_000 {
                s.spawn(|_| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(done.into_inner(), 20_000);
}

/// Tasks that an exit handler spawns run, although a worker that they could be dealt to has left.
#[test]
fn what_exit_handlers_spawn_is_not_dealt() {
    let done = std::sync::Arc::new(AtomicUsize::new(0));
    let (over, count) = (std::sync::mpsc::channel(), done.clone());
    let ender = std::thread::spawn(move || {
        let builder = Pool::builder()
            .workers(2)
            .strategy(dedicated(DealRule::Simple));
        let leaves = AtomicBool::new(false);
        let builder = builder.exit_handler(move |index| {
            // By then the other worker is about to leave, or leaves later: both must work.
            if index == 0 {
                support::until(&leaves);
            }
            for _ in 0..4 {
                let count = count.clone();
                locksley::spawn_detached(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
            leaves.store(true, Ordering::Release);
        });
        drop(builder.build().expect("the pool starts"));
        over.0.send(()).expect("the test waits");
    });
    let ended = over.1.recv_timeout(Duration::from_secs(60));
    ended.expect("the pool ends");
    ender.join().expect("it did not panic");
    assert_eq!(done.load(Ordering::Relaxed), 8);
}

/// Detached tasks run before the pool ends.
#[test]
fn the_end_waits_for_what_was_dealt() {
    for _ in 0..20 {
        let done = std::sync::Arc::new(AtomicUsize::new(0));
        let handed = done.clone();
        let pool = pool(3, dedicated(DealRule::Simple));
        pool.install(move || {
            for _ in 0..300 {
                let done = handed.clone();
                locksley::spawn(move || {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        drop(pool);
        assert_eq!(done.load(Ordering::Relaxed), 300);
    }
}

#[test]
fn the_calling_thread_cannot_be_dealt_to() {
    let builder = Pool::builder().workers(2).strategy(without_limit());
    let error = builder.use_current_thread().build().unwrap_err();
    assert!(error.to_string().contains("use_current_thread"), "{error}");
}
