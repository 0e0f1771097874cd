use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use locksley::{Pool, Strategy};

use crate::everywhere;

fn zeros(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

fn values(counts: &[AtomicUsize]) -> Vec<usize> {
    counts.iter().map(|n| n.load(Ordering::Relaxed)).collect()
}

#[test]
fn once_on_each_worker_in_order() {
    everywhere(|pool| {
        let workers = pool.workers();
        let threads = Mutex::new(std::collections::HashSet::new());
        for _ in 0..20 {
            let indices = pool.broadcast(|context| {
                assert_eq!(context.num_workers(), workers);
                assert_eq!(locksley::current_worker_index(), Some(context.index()));
                threads.lock().unwrap().insert(std::thread::current().id());
                context.index()
            });
            assert_eq!(indices, (0..workers).collect::<Vec<_>>());
        }
        assert_eq!(
            threads.lock().unwrap().len(),
            workers,
            "no spare takes part"
        );
    });
}

#[test]
fn from_within_a_worker_and_nested() {
    everywhere(|pool| {
        let workers = pool.workers();
        let counts = zeros(workers);
        let sums = pool.install(|| {
            locksley::broadcast(|outer| {
                let inner = locksley::broadcast(|context| {
                    counts[context.index()].fetch_add(1, Ordering::Relaxed);
                    context.index()
                });
                inner.into_iter().sum::<usize>() + outer.index()
            })
        });
        let all: usize = (0..workers).sum();
        assert_eq!(sums, (0..workers).map(|i| all + i).collect::<Vec<_>>());
        assert_eq!(values(&counts), vec![workers; workers]);
    });
}

/// Several threads broadcast at once, while the workers fork and wait for each other.
#[test]
fn to_busy_workers_from_everywhere() {
    fn spread(depth: usize, pool: &Pool) -> usize {
        if depth == 0 {
            return if locksley::current_worker_index() == Some(0) {
                locksley::broadcast(|_| 1).len() / pool.workers()
            } else {
                1
            };
        }
        let (a, b) = locksley::join(|| spread(depth - 1, pool), || spread(depth - 1, pool));
        a + b
    }
    everywhere(|pool| {
        let counts = zeros(pool.workers());
        std::thread::scope(|threads| {
            threads.spawn(|| assert_eq!(pool.install(|| spread(6, pool)), 64));
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..30 {
                        pool.broadcast(|context| {
                            counts[context.index()].fetch_add(1, Ordering::Relaxed)
                        });
                    }
                });
            }
        });
        assert_eq!(values(&counts), vec![90; pool.workers()]);
    });
}

/// Every worker is blocked in a wait for a thread that broadcasts to all of them.
#[test]
fn to_workers_that_wait_for_the_broadcast() {
    everywhere(|pool| {
        let other = Pool::builder().workers(1).build().unwrap();
        let workers = pool.workers();
        let all_wait = Barrier::new(workers);
        let broadcasts = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..workers {
                threads.spawn(|| {
                    pool.install(|| {
                        all_wait.wait();
                        other.install(|| {
                            let seen = pool.broadcast(|context| context.index());
                            assert_eq!(seen.len(), workers);
                            broadcasts.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                });
            }
        });
        assert_eq!(broadcasts.into_inner(), workers);
    });
}

/// A worker waits for a task by joining or by awaiting its handle; the task broadcasts.
#[test]
fn from_a_task_whose_handle_is_waited_for() {
    everywhere(|pool| {
        let total = pool.install(|| {
            let task = || locksley::spawn(|| locksley::broadcast(|_| 1).len());
            task().join() + locksley::block_on(task())
        });
        assert_eq!(total, 2 * pool.workers());
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_reaches_the_caller_when_all_are_done() {
    everywhere(|pool| {
        let runs = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.broadcast(|context| {
                runs.fetch_add(1, Ordering::SeqCst);
                assert!(context.index() != pool.workers() / 2, "in the middle");
            });
        }));
        assert_eq!(runs.load(Ordering::SeqCst), pool.workers());
        let payload = result.unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "in the middle");
        assert_eq!(pool.broadcast(|_| ()).len(), pool.workers(), "still usable");
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn results_are_dropped_once_when_one_panics() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    everywhere(|pool| {
        let drops = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.broadcast(|context| {
                assert!(context.index() != 0);
                Counted(&drops)
            })
        }));
        assert!(result.is_err());
        assert_eq!(drops.load(Ordering::Relaxed), pool.workers() - 1);
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn spawned_ones_run_before_the_pool_ends_and_tell_the_handler_of_panics() {
    for strategy in Strategy::ALL {
        let (runs, panics) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counter, handler) = (runs.clone(), panics.clone());
        let pool = Pool::builder()
            .workers(3)
            .strategy(strategy)
            .panic_handler(move |_| {
                handler.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .unwrap();
        for round in 0..10 {
            let counter = counter.clone();
            pool.spawn_broadcast(move |context| {
                counter.fetch_add(1, Ordering::Relaxed);
                assert!(round + context.index() != 5);
            });
        }
        drop(pool);
        assert_eq!(runs.load(Ordering::Relaxed), 30);
        assert_eq!(panics.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn in_a_scope() {
    everywhere(|pool| {
        let counts = zeros(pool.workers());
        let spawned = AtomicUsize::new(0);
        pool.scope(|s| {
            s.spawn_broadcast(|s, context| {
                counts[context.index()].fetch_add(1, Ordering::Relaxed);
                s.spawn(|_| {
                    spawned.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(values(&counts), vec![1; pool.workers()]);
        assert_eq!(spawned.into_inner(), pool.workers());
    });
}

/// A broadcast wakes sleeping workers; the pool has no other work.
#[test]
fn to_sleeping_workers() {
    everywhere(|pool| {
        for _ in 0..5 {
            crate::support::until_asleep(pool);
            let indices = pool.broadcast(|context| context.index());
            assert_eq!(indices, Vec::from_iter(0..pool.workers()));
        }
    });
}

thread_local! {
    /// Set while the thread waits with a lock held.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// A task that a broadcast forks does not descend from the task that its worker waits for, so a
/// waiter for that task must not take it.
#[test]
fn a_waiter_takes_nothing_from_a_broadcast_on_top_of_a_relative() {
    everywhere(|pool| {
        let lock = Mutex::new(());
        let (stop, unrelated) = (AtomicBool::new(false), AtomicUsize::new(0));
        // A worker's share may run on top of a waiter, and its join gets the job back from the
        // worker's queue or from the pool's.
        let share = || {
            let maker = std::thread::current().id();
            locksley::join(std::thread::yield_now, || {
                let is_unrelated = HOLDS.get() && std::thread::current().id() != maker;
                unrelated.fetch_add(usize::from(is_unrelated), Ordering::Relaxed);
            });
        };
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    pool.broadcast(|_| share());
                }
            });
            pool.scope(|s| {
                for _ in 0..30 {
                    s.spawn(|_| {
                        let guard = lock.lock().unwrap();
                        HOLDS.set(true);
                        locksley::join(std::thread::yield_now, std::thread::yield_now);
                        HOLDS.set(false);
                        drop(guard);
                    });
                }
            });
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(unrelated.into_inner(), 0, "{pool:?}");
    });
}
