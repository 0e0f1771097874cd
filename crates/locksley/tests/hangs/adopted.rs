//! Pools with an adopted thread that ends, or drops the pool, at an unusual time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use locksley::{Pool, Strategy};

use crate::child::assert_finishes;
use crate::support::panic_text;

/// Builds a pool with an adopted thread that has ended.
fn deserted(workers: usize, strategy: Strategy) -> Pool {
    let build = move || {
        let builder = Pool::builder().workers(workers).strategy(strategy);
        builder.use_current_thread().build().unwrap()
    };
    thread::spawn(build).join().unwrap()
}

/// Asserts that `call` panics with a message that contains `what`.
fn refuses(what: &str, call: impl FnOnce()) {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it cannot be done");
    let message = panic_text(&*payload);
    assert!(message.contains(what), "{message}");
}

#[test]
fn a_pool_dropped_beside_a_broadcast() {
    assert_finishes("adopted::a_pool_dropped_beside_a_broadcast", || {
        for strategy in Strategy::ALL {
            let builder = Pool::builder().workers(2).strategy(strategy);
            let run = || {
                let pool = builder.use_current_thread().build().unwrap();
                let (begun, reached) = (AtomicBool::new(false), AtomicUsize::new(0));
                locksley::join(
                    || {
                        while !begun.load(Ordering::Relaxed) {
                            thread::yield_now();
                        }
                        drop(pool);
                    },
                    || {
                        begun.store(true, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(1));
                        locksley::broadcast(|_| reached.fetch_add(1, Ordering::Relaxed));
                    },
                );
                assert_eq!(reached.into_inner(), 2);
            };
            thread::spawn(run).join().unwrap();
        }
    });
}

#[test]
fn a_broadcast_to_a_thread_that_has_ended() {
    assert_finishes("adopted::a_broadcast_to_a_thread_that_has_ended", || {
        for strategy in Strategy::ALL {
            let pool = deserted(2, strategy);
            refuses("a worker of this pool has left", || {
                pool.broadcast(|_| ());
            });
            refuses("a worker of this pool has left", || {
                pool.spawn_broadcast(|_| ())
            });
            assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
        }
    });
}

#[test]
fn a_broadcast_that_a_thread_has_not_run_when_it_ends() {
    assert_finishes(
        "adopted::a_broadcast_that_a_thread_has_not_run_when_it_ends",
        || {
            for _ in 0..100 {
                let reached = Arc::new(AtomicUsize::new(0));
                let count = reached.clone();
                let run = move || {
                    let builder = Pool::builder().workers(3).use_current_thread();
                    let pool = builder.build().unwrap();
                    thread::scope(|s| {
                        let count = count.clone();
                        let send = || {
                            pool.spawn_broadcast(move |_| {
                                count.fetch_add(1, Ordering::Relaxed);
                            })
                        };
                        s.spawn(send);
                    });
                    pool
                };
                drop(thread::spawn(run).join().unwrap());
                assert_eq!(reached.load(Ordering::Relaxed), 3);
            }
        },
    );
}

#[test]
fn a_pool_without_a_thread() {
    assert_finishes("adopted::a_pool_without_a_thread", || {
        for strategy in Strategy::ALL {
            let pool = deserted(1, strategy);
            let refuses = |call: &dyn Fn()| refuses("only worker has ended", call);
            refuses(&|| pool.install(|| ()));
            refuses(&|| drop(pool.spawn(|| ())));
            refuses(&|| pool.spawn_detached(|| ()));
            refuses(&|| pool.in_place_scope(|s| s.spawn(|_| ())));
            refuses(&|| pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| ())));
        }
    });
}

#[test]
fn a_broadcast_on_the_thread_after_its_pool() {
    assert_finishes("adopted::a_broadcast_on_the_thread_after_its_pool", || {
        let run = || {
            let pool = Pool::builder()
                .workers(3)
                .use_current_thread()
                .build()
                .unwrap();
            drop(pool);
            refuses("a worker of this pool has left", || {
                locksley::broadcast(|_| ());
            });
        };
        thread::spawn(run).join().unwrap();
    });
}
