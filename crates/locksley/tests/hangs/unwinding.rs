//! Tasks that run on a thread while a panic unwinds there do not see the panic.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use locksley::flow::Graph;
use locksley::{Pool, Strategy, Waiting};

use crate::child::assert_finishes;

/// Runs a closure that panics, without a message.
fn panics(f: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err(), "it panics");
}

fn panic_silently() {
    resume_unwind(Box::new("planned"));
}

fn everywhere(test: impl Fn(&Pool)) {
    for strategy in Strategy::ALL {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 3] {
                let builder = Pool::builder().workers(workers).strategy(strategy);
                test(&builder.waiting(waiting).build().unwrap());
            }
        }
    }
}

/// The first closure panics; the second runs, and must not see that the thread unwinds: otherwise
/// its guards would roll back, and a lock that it holds when it panics would not be poisoned.
#[test]
fn a_second_closure_sees_no_panic() {
    assert_finishes("unwinding::a_second_closure_sees_no_panic", || {
        let seen = AtomicUsize::new(0);
        everywhere(|pool| {
            for _ in 0..20 {
                panics(|| {
                    pool.join(panic_silently, || {
                        seen.fetch_add(thread::panicking().into(), Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(seen.into_inner(), 0);
    });
}

/// A join whose first closure panics waits for the second, which was stolen, and helps meanwhile.
/// The tasks that it runs then, related or not, must not see the panic either.
#[test]
fn unrelated_tasks_see_no_panic() {
    assert_finishes("unwinding::unrelated_tasks_see_no_panic", || {
        let seen = Arc::new(AtomicUsize::new(0));
        everywhere(|pool| {
            if pool.workers() == 1 {
                return; // No other worker can have started the second closure.
            }
            let stolen = AtomicBool::new(false);
            let spawn_some = || {
                for _ in 0..50 {
                    let seen = seen.clone();
                    locksley::spawn_detached(move || {
                        seen.fetch_add(thread::panicking().into(), Ordering::Relaxed);
                    });
                }
            };
            let first = || {
                while !stolen.load(Ordering::Acquire) {
                    // Some strategies hand work over at a push.
                    locksley::join(|| (), || ());
                    thread::yield_now();
                }
                panic_silently();
            };
            let second = || {
                spawn_some();
                stolen.store(true, Ordering::Release);
                thread::sleep(Duration::from_millis(2));
            };
            panics(|| {
                pool.join(first, second);
            });
        });
        assert_eq!(seen.load(Ordering::Relaxed), 0);
    });
}

/// The body of a scope or a flow panics while it has tasks.
#[test]
fn tasks_of_a_scope_that_panics_see_no_panic() {
    assert_finishes(
        "unwinding::tasks_of_a_scope_that_panics_see_no_panic",
        || {
            let seen = AtomicUsize::new(0);
            let look = || {
                seen.fetch_add(thread::panicking().into(), Ordering::Relaxed);
            };
            everywhere(|pool| {
                panics(|| {
                    pool.scope(|s| {
                        (0..20).for_each(|_| s.spawn(|_| look()));
                        panic_silently();
                    });
                });
                panics(|| {
                    pool.scope_fifo(|s| {
                        (0..20).for_each(|_| s.spawn_fifo(|_| look()));
                        panic_silently();
                    });
                });
                panics(|| {
                    pool.install(|| {
                        locksley::flow(|f| {
                            (0..20).for_each(|_| f.fork((), |()| look()));
                            panic_silently();
                        });
                    });
                });
            });
            assert_eq!(seen.into_inner(), 0);
        },
    );
}

/// Both closures panic: a lock that the second one holds is poisoned.
#[test]
fn a_lock_of_the_second_closure_is_poisoned() {
    assert_finishes(
        "unwinding::a_lock_of_the_second_closure_is_poisoned",
        || {
            everywhere(|pool| {
                let lock = Mutex::new(());
                panics(|| {
                    pool.join(panic_silently, || {
                        let _guard = lock.lock().unwrap();
                        panic_silently();
                    });
                });
                assert!(lock.is_poisoned());
            });
        },
    );
}

/// Panic payload whose destructor waits for the pool.
struct Waits;

impl Drop for Waits {
    fn drop(&mut self) {
        locksley::yield_now();
        locksley::broadcast(|_| ());
    }
}

/// Several nodes of a graph panic. All payloads but the first are dropped, and no lock of the graph
/// is held meanwhile.
#[test]
fn surplus_panics_of_a_graph_are_dropped_without_its_lock() {
    assert_finishes(
        "unwinding::surplus_panics_of_a_graph_are_dropped_without_its_lock",
        || {
            for waiting in [Waiting::Leapfrog, Waiting::TakeAny, Waiting::Own] {
                let pool = Pool::builder().workers(4).waiting(waiting).build().unwrap();
                for _ in 0..50 {
                    let mut graph = Graph::new();
                    for number in 0..40 {
                        graph.task(number.to_string(), || {
                            thread::sleep(Duration::from_micros(20));
                            resume_unwind(Box::new(Waits));
                        });
                    }
                    let plan = graph.build().unwrap();
                    // The first payload is dropped here, outside of the pool.
                    panics(|| pool.install(|| plan.run()));
                }
            }
        },
    );
}
