//! Several broadcasts at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Strategy, Waiting};

use crate::child::assert_finishes;

/// Four threads broadcast at once, and each broadcast waits until all workers are in it.
fn from_four_threads(pool: &Pool) {
    let runs = AtomicUsize::new(0);
    let start = Barrier::new(4);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..200 {
                    let all_here = Barrier::new(pool.workers());
                    start.wait();
                    pool.broadcast(|_| {
                        all_here.wait();
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(runs.into_inner(), 4 * 200 * pool.workers());
}

#[test]
fn four_threads_at_once() {
    assert_finishes("broadcasts::four_threads_at_once", || {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 3, 8] {
                let pool = Pool::builder().workers(workers).waiting(waiting).build();
                from_four_threads(&pool.unwrap());
            }
        }
    });
}

/// The same from four tasks of another pool, and from tasks of the pool itself.
#[test]
fn four_tasks_at_once() {
    assert_finishes("broadcasts::four_tasks_at_once", || {
        for workers in [2, 8] {
            let pool = Pool::builder().workers(workers).build().unwrap();
            let other = Pool::builder().workers(4).build().unwrap();
            for home in [&other, &pool] {
                let runs = AtomicUsize::new(0);
                home.scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|_| {
                            for _ in 0..20 {
                                let all_here = Barrier::new(workers);
                                pool.broadcast(|_| {
                                    all_here.wait();
                                    runs.fetch_add(1, Ordering::Relaxed);
                                });
                            }
                        });
                    }
                });
                assert_eq!(runs.into_inner(), 4 * 20 * workers);
            }
        }
    });
}

/// Two pools whose tasks broadcast to each other: a worker that waits for the other pool runs
/// broadcasts that are sent to it.
#[test]
fn two_pools_broadcast_to_each_other() {
    assert_finishes("broadcasts::two_pools_broadcast_to_each_other", || {
        for workers in [1, 2, 4] {
            let [first, second] =
                [(); 2].map(|()| Pool::builder().workers(workers).build().unwrap());
            let runs = AtomicUsize::new(0);
            let count = |pool: &Pool| {
                let all_here = Barrier::new(workers);
                pool.broadcast(|_| {
                    all_here.wait();
                    runs.fetch_add(1, Ordering::Relaxed);
                });
            };
            std::thread::scope(|threads| {
                for (here, there) in [(&first, &second), (&second, &first)] {
                    threads.spawn(move || {
                        here.scope(|s| {
                            for _ in 0..30 {
                                s.spawn(|_| count(there));
                            }
                        });
                    });
                }
            });
            assert_eq!(runs.into_inner(), 60 * workers);
        }
    });
}

/// Broadcasts inside of broadcasts.
#[test]
fn a_broadcast_in_each_broadcast() {
    assert_finishes("broadcasts::a_broadcast_in_each_broadcast", || {
        for workers in [1, 2, 5, 9] {
            let pool = Pool::builder().workers(workers).build().unwrap();
            let runs = AtomicUsize::new(0);
            for _ in 0..10 {
                pool.broadcast(|_| {
                    locksley::broadcast(|_| {
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            assert_eq!(runs.into_inner(), 10 * workers * workers);
        }
    });
}

/// Joins around a broadcast, whose waits take the jobs of outer joins: each closure runs once.
#[test]
fn joins_around_a_broadcast_run_once() {
    assert_finishes("broadcasts::joins_around_a_broadcast_run_once", || {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for strategy in [Strategy::ChaseLev, Strategy::Stealing] {
                // The fault that this test looks for is rare, so a release build makes more
                // rounds.
                for _ in 0..if cfg!(debug_assertions) { 400 } else { 4000 } {
                    let builder = Pool::builder().workers(2).strategy(strategy);
                    let pool = builder.waiting(waiting).build().unwrap();
                    (0..3).for_each(|_| joins_around_a_broadcast(&pool));
                }
                println!("{waiting:?}, {strategy}");
            }
        }
    });
}

fn joins_around_a_broadcast(pool: &Pool) {
    let runs = [const { AtomicUsize::new(0) }; 7];
    let run = |number: usize| {
        let runs = &runs;
        move || {
            (0..100).for_each(|_| std::hint::spin_loop());
            runs[number].fetch_add(1, Ordering::Relaxed);
        }
    };
    let fork = |a: &(dyn Fn() + Sync), b: &(dyn Fn() + Sync)| {
        locksley::join(a, b);
    };
    let broadcasts = || drop(pool.broadcast(|_| run(6)()));
    let deepest = || fork(&run(0), &broadcasts);
    let deeper = || fork(&deepest, &run(1));
    let deep = || fork(&deeper, &run(2));
    let beside = || fork(&run(3), &run(4));
    let inner = || fork(&beside, &deep);
    pool.in_place_scope(|s| s.spawn(|_| fork(&run(5), &inner)));
    let runs = runs.map(AtomicUsize::into_inner);
    assert_eq!(
        runs,
        [1, 1, 1, 1, 1, 1, 2],
        "each closure runs once, the broadcast twice"
    );
}
