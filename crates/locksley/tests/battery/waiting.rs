use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use locksley::Pool;

use crate::everywhere;

fn spread(depth: usize) -> usize {
    if depth == 0 {
        std::hint::black_box((0..200).sum::<usize>());
        return 1;
    }
    let (a, b) = locksley::join(|| spread(depth - 1), || spread(depth - 1));
    a + b
}

/// A task locks a mutex and calls a parallel function inside; others do the same. A waiter that
/// took any task would take one that wants the lock it holds.
#[test]
fn a_lock_held_while_waiting_is_no_deadlock() {
    everywhere(|pool| {
        let lock = Mutex::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                for _ in 0..50 {
                    s.spawn(|_| {
                        let mut total = lock.lock().unwrap();
                        *total += spread(6);
                    });
                }
            });
        });
        assert_eq!(lock.into_inner().unwrap(), 50 * 64);
    });
}

/// Leaving a scope runs the scope's tasks, and no others that lie about.
#[test]
fn leaving_a_scope_runs_no_unrelated_task() {
    everywhere(|pool| {
        let leaving = Arc::new(AtomicBool::new(false));
        let strangers = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let here = std::thread::current().id();
            for _ in 0..100 {
                let (leaving, strangers) = (leaving.clone(), strangers.clone());
                drop(locksley::spawn(move || {
                    if leaving.load(Ordering::Relaxed) && std::thread::current().id() == here {
                        strangers.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
            for _ in 0..20 {
                leaving.store(true, Ordering::Relaxed);
                locksley::scope(|s| {
                    for _ in 0..10 {
                        s.spawn(|_| {
                            spread(3);
                        });
                    }
                });
                leaving.store(false, Ordering::Relaxed);
            }
        });
        assert_eq!(strangers.load(Ordering::Relaxed), 0);
    });
}

/// Two workers hold each other up: each waits for a task of the other's. The rest of the work is done by
/// spares.
#[test]
fn spares_take_the_place_of_waiters() {
    everywhere(|pool| {
        let workers = pool.workers();
        let barrier = Barrier::new(workers + 1);
        std::thread::scope(|threads| {
            for _ in 0..workers {
                threads.spawn(|| {
                    pool.install(|| {
                        let handle = locksley::spawn(|| {
                            std::thread::sleep(Duration::from_millis(20));
                            1
                        });
                        std::thread::sleep(Duration::from_millis(5));
                        assert_eq!(handle.join(), 1);
                    });
                    barrier.wait();
                });
            }
            barrier.wait();
        });
    });
}

/// A pool of one worker whose task calls into another pool, which calls back into the first.
#[test]
fn pools_that_call_each_other_finish() {
    let first = Pool::builder().workers(1).build().unwrap();
    let second = Pool::builder().workers(1).build().unwrap();
    let answer = first.install(|| second.install(|| first.install(|| second.install(|| 42))));
    assert_eq!(answer, 42);
}
