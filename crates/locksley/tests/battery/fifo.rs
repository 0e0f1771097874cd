use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use locksley::{Pool, Strategy};

use crate::everywhere;

fn alone(strategy: Strategy) -> Pool {
    Pool::builder()
        .workers(1)
        .strategy(strategy)
        .build()
        .unwrap()
}

/// Runs `test` on pools of one worker, so that no thief changes the order.
fn on_one_worker(test: impl Fn(&Pool)) {
    for strategy in Strategy::ALL {
        test(&alone(strategy));
    }
}

#[test]
fn the_order_of_each_kind_of_spawn() {
    on_one_worker(|pool| {
        let order = Mutex::new(Vec::new());
        let note = |task| order.lock().unwrap().push(task);
        pool.scope(|s| (0..5).for_each(|task| s.spawn(move |_| note(task))));
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), [4, 3, 2, 1, 0]);
        pool.scope_fifo(|s| (0..5).for_each(|task| s.spawn_fifo(move |_| note(task))));
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), [0, 1, 2, 3, 4]);
        pool.in_place_scope_fifo(|s| (0..5).for_each(|task| s.spawn_fifo(move |_| note(task))));
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), [0, 1, 2, 3, 4]);
    });
}

/// Rayon's test of nested FIFO scopes: a scope in a scope, with their spawns interleaved.
#[test]
fn the_order_of_nested_scopes() {
    on_one_worker(|pool| {
        let order = Mutex::new(Vec::new());
        let note = |task: usize| order.lock().unwrap().push(task);
        pool.scope_fifo(|outer| {
            for i in 0..3 {
                outer.spawn_fifo(move |outer| {
                    note(10 * i);
                    locksley::scope_fifo(|inner| {
                        for j in 1..3 {
                            inner.spawn_fifo(move |_| note(10 * i + j));
                            outer.spawn_fifo(move |_| note(100 + 10 * i + j));
                        }
                    });
                });
            }
        });
        let order = order.into_inner().unwrap();
        let (inner, outer): (Vec<usize>, Vec<usize>) = order.iter().partition(|&&n| n < 100);
        assert_eq!(inner, [0, 1, 2, 10, 11, 12, 20, 21, 22]);
        assert_eq!(outer, [101, 102, 111, 112, 121, 122]);
    });
}

#[test]
fn the_order_of_free_tasks() {
    for strategy in Strategy::ALL {
        let pool = alone(strategy);
        let order = Arc::new(Mutex::new(Vec::new()));
        let noted = order.clone();
        pool.install(move || {
            for task in 0..10 {
                let order = noted.clone();
                drop(locksley::spawn_fifo(move || {
                    order.lock().unwrap().push(task)
                }));
            }
        });
        pool.shutdown();
        assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
    }
}

/// Waiting for the last task of a queue runs that task, and not those before it.
#[test]
fn a_waiter_takes_its_task_out_of_turn() {
    on_one_worker(|pool| {
        let started = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let mut handles: Vec<_> = (0..10)
                .map(|task| {
                    let started = started.clone();
                    locksley::spawn_fifo(move || {
                        started.fetch_add(1, Ordering::Relaxed);
                        task
                    })
                })
                .collect();
            assert_eq!(handles.pop().unwrap().join(), 9);
            assert_eq!(started.load(Ordering::Relaxed), 1);
            for (task, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.join(), task);
            }
        });
    });
}

#[test]
fn every_task_runs_once() {
    everywhere(|pool| {
        let runs: Vec<AtomicUsize> = (0..2000).map(|_| AtomicUsize::new(0)).collect();
        let run = |task: usize| {
            runs[task].fetch_add(1, Ordering::Relaxed);
        };
        pool.scope_fifo(|s| {
            for task in 0..1000 {
                s.spawn_fifo(move |s| {
                    run(task);
                    s.spawn_fifo(move |_| run(1000 + task));
                });
            }
        });
        assert!(runs.iter().all(|run| run.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn every_free_task_runs_once() {
    everywhere(|pool| {
        let runs = Arc::new(AtomicUsize::new(0));
        let total: usize = pool.install(|| {
            let handles: Vec<_> = (0..500)
                .map(|task| {
                    let runs = runs.clone();
                    locksley::spawn_fifo(move || {
                        runs.fetch_add(1, Ordering::Relaxed);
                        locksley::join(|| task, || 1).0
                    })
                })
                .collect();
            handles.into_iter().rev().map(|handle| handle.join()).sum()
        });
        assert_eq!(total, 499 * 250);
        assert_eq!(runs.load(Ordering::Relaxed), 500);
    });
}

/// Leaving a FIFO scope runs none of the FIFO tasks that were spawned outside of it before.
#[test]
fn leaving_a_scope_runs_no_token_of_others() {
    on_one_worker(|pool| {
        let unrelated = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let here = std::thread::current().id();
            let scope_left = Arc::new(Mutex::new(false));
            for _ in 0..10 {
                let (unrelated, scope_left) = (unrelated.clone(), scope_left.clone());
                drop(locksley::spawn_fifo(move || {
                    if std::thread::current().id() == here && !*scope_left.lock().unwrap() {
                        unrelated.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
            locksley::scope_fifo(|s| (0..10).for_each(|_| s.spawn_fifo(|_| ())));
            *scope_left.lock().unwrap() = true;
        });
        assert_eq!(unrelated.load(Ordering::Relaxed), 0);
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_leaves_a_scope_when_all_tasks_are_done() {
    everywhere(|pool| {
        let done = AtomicUsize::new(0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.scope_fifo(|s| {
                for task in 0..50 {
                    let done = &done;
                    s.spawn_fifo(move |_| {
                        assert!(task != 20);
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }));
        assert!(result.is_err());
        assert_eq!(done.into_inner(), 49);
    });
}
