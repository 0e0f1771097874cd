//! Tasks that hold a lock while they wait for tasks of their own, and others that want the lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Strategy};

use crate::child::finishes;

/// Strategies under which a spawned task may get to another worker before it runs.
const MOVERS: [&str; 7] = [
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
    let names = MOVERS.map(|name| name.parse().expect("a strategy"));
    for strategy in names.into_iter().chain([Strategy::Stealing]) {
        for workers in [2, 4, 7] {
            let pool = Pool::builder().workers(workers).strategy(strategy).build();
            run(&pool.expect("the pool starts"));
        }
    }
}

/// A worker that gets a part of such a task, and before that another such task, wants the lock.
#[test]
fn a_scope_under_a_lock() {
    finishes("locks::a_scope_under_a_lock", || {
        with_each(|pool| {
            hold_while(pool, 20, |tasks| {
                locksley::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| count(tasks));
                    }
                });
            });
        });
    });
}

/// The same with parts that spawn each other, on whatever worker they run.
#[test]
fn a_scope_that_grows_under_a_lock() {
    finishes("locks::a_scope_that_grows_under_a_lock", || {
        with_each(|pool| {
            hold_while(pool, 20, |tasks| {
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
