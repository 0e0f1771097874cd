//! The counters of programs with known behaviour.
#![cfg(all(feature = "stats", not(loom)))]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use locksley::{Pool, Stats, Strategy, Waiting};

use support::{fib, join_both_at_once};

fn pool(workers: usize, strategy: Strategy) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    builder.build().expect("the pool starts")
}

/// Waits until `fits` accepts the pool's counters: idle workers update them with a delay.
fn wait_until(pool: &Pool, fits: impl Fn(&Stats) -> bool) -> Stats {
    loop {
        let stats = pool.stats();
        if fits(&stats) {
            return stats;
        }
        std::thread::yield_now();
    }
}

/// A join whose first closure waits for the second, and forks meanwhile: for strategies in which a
/// worker shows work only when it forks.
fn insist() {
    let stolen = AtomicBool::new(false);
    locksley::join(
        || {
            while !stolen.load(Ordering::Acquire) {
                locksley::join(std::thread::yield_now, || ());
            }
        },
        || {
            stolen.store(true, Ordering::Release);
        },
    );
}

#[test]
fn one_worker_steals_nothing() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder()
            .workers(1)
            .strategy(strategy)
            // No spares.
            .waiting(Waiting::TakeAny)
            .build()
            .unwrap();
        assert_eq!(pool.install(|| fib(15)), 610);
        let total = pool.stats().total();
        let steals = (
            total.steal_attempts,
            total.steals,
            total.empty,
            total.leapfrogged,
        );
        assert_eq!(steals, (0, 0, 0, 0), "{strategy}");
        assert_eq!(total.tasks, 1, "{strategy}: what `install` handed over");
        assert_eq!(pool.stats().outside().handed, 1, "{strategy}");
        assert_eq!(total.deepest, 0, "{strategy}");
    }
}

#[test]
fn what_must_be_stolen_is_counted() {
    for strategy in Strategy::ALL {
        let pool = pool(2, strategy);
        let before = pool.stats();
        pool.install(|| {
            if strategy == Strategy::SemiPrivate {
                insist();
            } else {
                join_both_at_once();
            }
        });
        let total = (pool.stats() - before).total();
        // Under `sharing` the job may have been given away instead, and under `dealing` dealt.
        let moved = total.steals + total.accepted + total.collected;
        assert!(moved >= 1, "{strategy}: {total:?}");
        assert!(total.tasks >= 2, "{strategy}: the root and the stolen one");
        if strategy == Strategy::SemiPrivate {
            let made_public =
                |stats: &locksley::Stats| stats.total().exposed + stats.total().forced;
            let stats = wait_until(&pool, |stats| made_public(stats) >= 1);
            assert!(made_public(&stats) >= 1);
        }
    }
}

#[test]
fn attempts_add_up() {
    for strategy in Strategy::ALL {
        let pool = pool(3, strategy);
        pool.install(|| fib(20));
        // When all workers sleep, the counters do not change, and no task is under way.
        let still = wait_until(&pool, |stats| {
            std::thread::yield_now();
            *stats == pool.stats()
        });
        for worker in still.workers() {
            let answers = worker.steals + worker.empty + worker.retried + worker.private;
            assert!(
                worker.steal_attempts.abs_diff(answers) <= 1,
                "{strategy}: {worker:?}"
            );
            assert!(
                worker.steals <= worker.tasks + worker.handed,
                "{strategy}: {worker:?}"
            );
            assert!(
                worker.leapfrogged <= worker.steals,
                "{strategy}: {worker:?}"
            );
        }
    }
}

#[test]
fn steals_cost_what_the_strategy_says() {
    let pool = pool(2, Strategy::Stealing);
    pool.install(|| {
        for _ in 0..10 {
            join_both_at_once();
        }
    });
    let total = wait_until(&pool, |stats| stats.total().parks >= 2).total();
    assert!(total.steals >= 10, "{total:?}");
    assert!(total.exposed + total.forced >= 1, "{total:?}");
    assert!(
        total.rmws >= 2 * total.steals,
        "a visit and the steal: {total:?}"
    );
}

#[test]
fn idling_parks_and_work_wakes() {
    let pool = pool(2, Strategy::default());
    let idle = wait_until(&pool, |stats| {
        stats.workers().iter().all(|worker| worker.parks >= 1)
    });
    pool.install(|| ());
    let later = wait_until(&pool, |stats| stats.total().parks > idle.total().parks);
    let during = later - idle;
    assert!(during.total().woken >= 1, "{during}");
    assert_eq!(during.outside().handed, 1, "{during}");
}

#[test]
fn a_difference_forgets_what_was_before() {
    let pool = pool(1, Strategy::default());
    for _ in 0..5 {
        pool.install(|| ());
    }
    let before = pool.stats();
    assert_eq!(before.total().tasks, 5);
    pool.install(|| ());
    assert_eq!((pool.stats() - before).total().tasks, 1);
}

#[test]
fn spares_that_stand_in_are_counted() {
    let pool = pool(1, Strategy::default());
    let (barrier, inside) = (Barrier::new(2), AtomicBool::new(false));
    // The only worker blocks in another pool until a task has run that it cannot run itself.
    let other = Pool::builder().workers(1).build().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.install(|| {
                other.install(|| {
                    inside.store(true, Ordering::Release);
                    barrier.wait();
                });
            });
        });
        while !inside.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        pool.install(|| barrier.wait());
    });
    let stats = pool.stats();
    assert!(stats.total().spares >= 1, "{stats}");
    assert!(stats.workers().len() >= 2, "{stats}");
}

/// Many tasks that each wait in the middle (rayon issue 854): a worker that takes another task
/// whenever it waits would stack all of them up.
fn many_waits(tasks: usize) {
    locksley::scope(|s| {
        for _ in 0..tasks {
            s.spawn(|_| {
                locksley::join(
                    || locksley::join(std::thread::yield_now, || ()),
                    || locksley::scope(|s| s.spawn(|_| std::hint::black_box(()))),
                );
            });
        }
    });
}

/// Nested joins, each in a closure of the previous one that may be stolen.
fn nested_joins(levels: usize) {
    if levels > 0 {
        locksley::join(std::thread::yield_now, || nested_joins(levels - 1));
    }
}

/// Nested scopes, each in a task of the previous one.
fn nested_scopes(levels: usize) {
    if levels > 0 {
        locksley::scope(|s| {
            s.spawn(move |_| nested_scopes(levels - 1));
            std::thread::yield_now();
        });
    }
}

#[test]
fn waits_do_not_stack_up_beyond_the_limit() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        for strategy in Strategy::ALL {
            for (workers, limit) in [(2, 0), (2, 3), (5, 8)] {
                let pool = Pool::builder()
                    .workers(workers)
                    .strategy(strategy)
                    .waiting(waiting)
                    .depth_limit(limit)
                    // Enough for the nesting of the program itself.
                    .stack_size(64 << 20)
                    .build()
                    .unwrap();
                pool.install(|| many_waits(2_000));
                pool.install(|| nested_joins(2_000));
                pool.install(|| nested_scopes(2_000));
                let stats = pool.stats();
                // If no spare is left, a waiter takes any work rather than block.
                assert!(
                    stats.total().deepest <= limit as u64 || stats.total().no_spare > 0,
                    "{strategy}, {waiting:?}, limit {limit}:\n{stats}"
                );
                assert_eq!(wait_until(&pool, |s| s.total().depth == 0).total().depth, 0);
            }
        }
    }
}

/// The depth gauge changes: while one worker waits for a closure that the other runs, it runs the
/// task which that closure waits for. No other worker can.
#[test]
fn helping_shows_in_the_depth() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder()
            .workers(2)
            .strategy(strategy)
            .waiting(Waiting::TakeAny)
            .build()
            .unwrap();
        let (stolen, helped) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let task = helped.clone();
        pool.install(|| {
            locksley::join(
                || {
                    while !stolen.load(Ordering::Acquire) {
                        locksley::join(std::thread::yield_now, || ());
                    }
                    drop(pool.spawn(move || task.store(true, Ordering::Release)));
                },
                || {
                    stolen.store(true, Ordering::Release);
                    while !helped.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                },
            )
        });
        assert_eq!(pool.stats().total().deepest, 1, "{strategy}");
    }
}
