//! Tasks that hold a lock while they wait for their own tasks, beside others that want the lock.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use locksley::{Pool, Strategy};

use crate::child::assert_finishes;

/// Strategies that keep spawned tasks in different queues, or move them before they run.
const STRATEGIES: [&str; 10] = [
    "stealing",
    "chase-lev",
    "semi-private",
    "steal-half",
    "steal-half:probabilistic",
    "sharing",
    "dealing",
    "dealing:locality",
    "dealing:locality,l=2,batch=1",
    "dealing:adaptive",
];

/// Tasks that each hold the lock while `parts` tasks of their own run.
fn hold_while(pool: &Pool, rounds: usize, parts: impl Fn(&AtomicUsize) + Sync) {
    for _ in 0..rounds {
        let (lock, tasks) = (Mutex::new(()), AtomicUsize::new(0));
        pool.scope(|s| {
            for _ in 0..100 {
                s.spawn(|_| {
                    let _held = lock.lock().unwrap();
                    parts(&tasks);
                });
            }
        });
        assert_eq!(tasks.into_inner(), 300);
    }
}

fn count(tasks: &AtomicUsize) {
    tasks.fetch_add(1, Ordering::Relaxed);
}

fn with_each(run: impl Fn(&Pool)) {
    let strategies = STRATEGIES.map(|name| name.parse::<Strategy>().expect("a strategy"));
    for strategy in strategies {
        for workers in [2, 4, 7] {
            let pool = Pool::builder().workers(workers).strategy(strategy).build();
            run(&pool.expect("the pool starts"));
        }
    }
}

/// A worker must not run another task that wants the lock before a part of the task that holds it.
#[test]
fn a_scope_under_a_lock() {
    assert_finishes("locks::a_scope_under_a_lock", || {
        with_each(|pool| {
            hold_while(pool, 8, |tasks| {
                locksley::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| count(tasks));
                    }
                });
            });
        });
    });
}

/// The same with parts that spawn each other, on any worker.
#[test]
fn a_scope_that_grows_under_a_lock() {
    assert_finishes("locks::a_scope_that_grows_under_a_lock", || {
        with_each(|pool| {
            hold_while(pool, 8, |tasks| {
                locksley::scope(|s| {
                    s.spawn(|s| {
                        count(tasks);
                        for _ in 0..2 {
                            s.spawn(|_| count(tasks));
                        }
                    });
                });
            });
        });
    });
}

/// Spawns tasks that want the lock.
fn want(lock: &Arc<Mutex<()>>, tasks: usize) {
    for _ in 0..tasks {
        let lock = lock.clone();
        locksley::spawn_detached(move || drop(lock.lock().unwrap()));
    }
}

/// A part was spawned by another worker, and lies in its queue among tasks that want the lock.
#[test]
fn a_part_among_tasks_that_want_the_lock() {
    assert_finishes("locks::a_part_among_tasks_that_want_the_lock", || {
        with_each(|pool| {
            for round in 0..4 {
                let unrelated = [9, 2000][round / 2];
                // Tasks of the previous round may still want its lock.
                let lock = Arc::new(Mutex::new(()));
                let (began, done) = (AtomicBool::new(false), AtomicUsize::new(0));
                let until_it_began = || {
                    while !began.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                };
                let (lock, began, done) = (&lock, &began, &done);
                pool.install(|| {
                    let _held = lock.lock().unwrap();
                    if round % 2 == 0 {
                        locksley::scope(|s| {
                            s.spawn(|s| {
                                began.store(true, Ordering::Release);
                                want(lock, unrelated);
                                s.spawn(|_| count(done));
                                want(lock, unrelated);
                            });
                            until_it_began();
                        });
                    } else {
                        locksley::scope_fifo(|s| {
                            s.spawn_fifo(|s| {
                                began.store(true, Ordering::Release);
                                want(lock, unrelated);
                                s.spawn_fifo(|_| count(done));
                                want(lock, unrelated);
                            });
                            until_it_began();
                        });
                    }
                });
                assert_eq!(done.load(Ordering::Relaxed), 1);
            }
        });
    });
}

/// A task that holds the lock calls another pool, which calls back.
#[test]
fn a_call_back_under_a_lock() {
    assert_finishes("locks::a_call_back_under_a_lock", || {
        with_each(|pool| {
            let other = Pool::builder().workers(2).build().unwrap();
            let lock = Arc::new(Mutex::new(()));
            for _ in 0..10 {
                let answer = pool.install(|| {
                    let _held = lock.lock().unwrap();
                    want(&lock, 9);
                    other.install(|| pool.install(|| 7))
                });
                assert_eq!(answer, 7);
            }
        });
    });
}
