//! Broadcasts that meet each other.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Waiting};

use crate::child::finishes;

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
    finishes("broadcasts::four_threads_at_once", || {
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
    finishes("broadcasts::four_tasks_at_once", || {
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

/// Two pools whose tasks broadcast to each other: a worker that waits for the other pool reads what
/// is sent to it.
#[test]
fn two_pools_broadcast_to_each_other() {
    finishes("broadcasts::two_pools_broadcast_to_each_other", || {
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
    finishes("broadcasts::a_broadcast_in_each_broadcast", || {
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
