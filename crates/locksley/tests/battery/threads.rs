//! Threads that the caller starts, adopted threads, pools without spares, and pools that shut down
//! in the background.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use locksley::{BuildError, Pool, Strategy, Waiting, Worker, Yield};

/// Pools without spares under every strategy and both waiting rules.
fn without_spares(workers: usize, test: impl Fn(Pool)) {
    let _limit = crate::support::limit();
    for strategy in Strategy::ALL {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            let builder = Pool::builder().workers(workers).strategy(strategy);
            test(builder.waiting(waiting).spares(0).build().unwrap());
        }
    }
}

fn leaves(depth: usize) -> usize {
    match depth {
        0 => 1,
        _ => {
            let (a, b) = locksley::join(|| leaves(depth - 1), || leaves(depth - 1));
            a + b
        }
    }
}

#[test]
fn a_pool_runs_on_scoped_threads_and_they_end_with_it() {
    for strategy in Strategy::ALL {
        let ended = AtomicUsize::new(0);
        thread::scope(|scope| {
            let pool = Pool::builder()
                .workers(3)
                .strategy(strategy)
                .build_with(|worker| {
                    scope.spawn(|| {
                        worker.run();
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                    Ok(())
                })
                .unwrap();
            assert_eq!(pool.install(|| leaves(8)), 256);
            drop(pool);
        });
        assert_eq!(ended.into_inner(), 3);
    }
}

#[test]
fn dropping_a_pool_waits_for_the_callers_threads() {
    let done = Arc::new(AtomicUsize::new(0));
    let at_exit = done.clone();
    let pool = Pool::builder()
        .workers(3)
        .exit_handler(move |_| {
            thread::sleep(Duration::from_millis(20));
            at_exit.fetch_add(1, Ordering::Relaxed);
        })
        .build_with(|worker| {
            thread::spawn(|| worker.run());
            Ok(())
        });
    drop(pool.unwrap());
    assert_eq!(done.load(Ordering::Relaxed), 3);
}

#[test]
fn a_worker_that_is_never_run_is_not_missed() {
    let pool = Pool::builder()
        .workers(3)
        .build_with(|worker| match worker.index() {
            0 => worker.spawn(),
            _ => {
                drop(worker);
                Ok(())
            }
        })
        .unwrap();
    assert_eq!(pool.install(|| leaves(8)), 256);
}

#[test]
fn a_refusal_ends_those_that_were_started() {
    let started = Mutex::new(Vec::new());
    let error = Pool::builder()
        .workers(4)
        .build_with(|worker| {
            if worker.index() == 2 {
                return Err(io::Error::other("no more"));
            }
            started.lock().unwrap().push(thread::spawn(|| worker.run()));
            Ok(())
        })
        .unwrap_err();
    assert!(
        matches!(error, BuildError::Thread { started: 2, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("no more"));
    for thread in started.into_inner().unwrap() {
        thread.join().unwrap();
    }
}

#[test]
fn a_refusal_does_not_count_the_adopted_thread() {
    let builder = Pool::builder().workers(3).use_current_thread();
    let error = builder
        .build_with(|_| Err(io::Error::other("no more")))
        .unwrap_err();
    assert!(
        matches!(error, BuildError::Thread { started: 0, .. }),
        "{error}"
    );
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_while_starting_ends_those_that_were_started() {
    let started = Mutex::new(Vec::new());
    let build = || {
        Pool::builder().workers(4).build_with(|worker| {
            assert!(worker.index() < 2, "no more");
            started.lock().unwrap().push(thread::spawn(|| worker.run()));
            Ok(())
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(build)).is_err());
    for thread in started.into_inner().unwrap() {
        thread.join().unwrap();
    }
}

/// Runs a test on a thread that may be adopted.
fn adopted(workers: usize, test: fn(&Pool)) {
    for strategy in Strategy::ALL {
        let run = move || {
            let builder = Pool::builder().workers(workers).strategy(strategy);
            let pool = builder.use_current_thread().build().unwrap();
            assert_eq!(pool.current_worker_index(), Some(0));
            test(&pool);
        };
        thread::spawn(run).join().unwrap();
    }
}

#[test]
fn an_adopted_thread_works_where_it_waits() {
    for workers in [1, 3] {
        adopted(workers, |pool| {
            assert_eq!(leaves(10), 1024);
            assert_eq!(pool.install(thread::current).id(), thread::current().id());
            let mut done = [false; 100];
            locksley::scope(|s| {
                for one in &mut done {
                    s.spawn(|_| *one = true);
                }
            });
            assert_eq!(done, [true; 100]);
            assert_eq!(
                pool.broadcast(|context| context.index()).len(),
                pool.workers()
            );
        });
    }
}

#[test]
fn an_adopted_thread_that_gives_way_runs_what_was_spawned() {
    adopted(1, |pool| {
        let task = pool.spawn(|| 7);
        assert!(!task.is_finished());
        assert_eq!(locksley::yield_now(), Some(Yield::Executed));
        assert_eq!(task.join(), 7);
    });
}

#[test]
fn dropping_a_pool_on_its_adopted_thread_runs_what_was_spawned() {
    for workers in [1, 3] {
        thread::spawn(move || {
            let count = Arc::new(AtomicUsize::new(0));
            let builder = Pool::builder().workers(workers).use_current_thread();
            let pool = builder.build().unwrap();
            for _ in 0..100 {
                let count = count.clone();
                pool.spawn_detached(move || {
                    locksley::spawn_detached(move || {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            drop(pool);
            assert_eq!(count.load(Ordering::Relaxed), 100);
            // The thread is still a worker, the only one of its pool.
            assert_eq!(leaves(5), 32);
        })
        .join()
        .unwrap();
    }
}

#[test]
fn a_worker_cannot_be_adopted() {
    adopted(1, |pool| {
        let error = Pool::builder().use_current_thread().build().unwrap_err();
        assert!(matches!(error, BuildError::AlreadyWorker), "{error}");
        assert!(error.to_string().contains("on another one"), "{error}");
        assert_eq!(pool.install(|| 7), 7);
    });
}

#[test]
fn without_spares_every_index_is_below_the_size() {
    without_spares(3, |pool| {
        let check = || {
            let index = locksley::current_worker_index().unwrap();
            assert!(index < 3, "{index}");
        };
        pool.install(|| {
            for _ in 0..50 {
                locksley::scope(|s| {
                    for _ in 0..10 {
                        s.spawn(|_| {
                            check();
                            locksley::join(check, || locksley::join(check, check));
                        });
                    }
                });
            }
        });
        assert!(pool.run(|worker| worker.num_spares() == 0 && worker.num_workers() == 3));
        #[cfg(feature = "stats")]
        assert_eq!(pool.stats().workers().len(), 3, "no spare was activated");
    });
}

/// Two pools of one worker each, without spares: a worker that waits for the other pool runs tasks
/// of its own pool.
#[test]
fn pools_without_spares_call_into_each_other() {
    without_spares(1, |a| {
        without_spares(1, |b| {
            let nap = || thread::sleep(Duration::from_millis(2));
            let depth = a.install(|| {
                b.install(|| {
                    nap();
                    a.install(|| {
                        nap();
                        b.install(|| a.spawn(|| 5).join())
                    })
                })
            });
            assert_eq!(depth, 5);
        });
    });
}

/// A worker waits for a task, which waits for an unrelated one: the unrelated one finds a worker.
#[test]
fn without_spares_a_waiter_runs_unrelated_jobs_in_the_end() {
    without_spares(2, |pool| {
        if format!("{pool:?}").contains("SemiPrivate") {
            // There, a spawned task stays private until the next fork, and may wait forever.
            return;
        }
        let stolen = AtomicBool::new(false);
        let ((), told) = pool.install(|| {
            let first = || {
                while !stolen.load(Ordering::Acquire) {
                    locksley::join(thread::yield_now, || ());
                }
            };
            let second = || {
                stolen.store(true, Ordering::Release);
                let (sender, receiver) = mpsc::channel();
                locksley::spawn_detached(move || sender.send(7).unwrap());
                receiver.recv()
            };
            locksley::join(first, second)
        });
        assert_eq!(told, Ok(7));
    });
}

#[test]
fn a_future_is_waited_for_without_spares() {
    without_spares(1, |pool| {
        let sum = pool.install(|| {
            let (a, b) = (locksley::spawn(|| 2), locksley::spawn(|| 3));
            locksley::block_on(async { a.await + b.await })
        });
        assert_eq!(sum, 5);
    });
}

#[test]
fn breadth_first_takes_the_oldest_first() {
    for strategy in Strategy::ALL {
        let builder = Pool::builder().workers(1).strategy(strategy);
        let pool = builder.breadth_first(true).build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let seen = order.clone();
        pool.install(move || {
            for task in 0..10 {
                let seen = seen.clone();
                locksley::spawn_detached(move || seen.lock().unwrap().push(task));
            }
        });
        drop(pool);
        let order = order.lock().unwrap();
        if strategy == Strategy::SemiPrivate {
            // Private tasks cannot be taken from the other end, but none is lost.
            assert_eq!(order.len(), 10);
        } else {
            assert_eq!(*order, (0..10).collect::<Vec<_>>(), "{strategy}");
        }
    }
}

#[test]
fn breadth_first_joins_come_out_right() {
    for strategy in Strategy::ALL {
        for workers in [1, 3] {
            let builder = Pool::builder().workers(workers).strategy(strategy);
            let pool = builder.breadth_first(true).build().unwrap();
            let sum = pool.install(|| {
                locksley::scope(|s| {
                    for _ in 0..20 {
                        s.spawn(|_| assert_eq!(leaves(6), 64));
                    }
                });
                leaves(10)
            });
            assert_eq!(sum, 1024);
        }
    }
}

#[test]
fn a_retired_pool_finishes_by_itself() {
    for strategy in Strategy::ALL {
        let (go, wait) = mpsc::channel::<()>();
        let (ended, all_ended) = mpsc::channel();
        let pool = Pool::builder()
            .workers(2)
            .strategy(strategy)
            .exit_handler(move |index| ended.send(index).unwrap())
            .build()
            .unwrap();
        let (sender, results) = mpsc::channel();
        pool.spawn_detached(move || {
            wait.recv().unwrap();
            locksley::spawn_fifo_detached(move || sender.send(leaves(6)).unwrap());
        });
        pool.shutdown_background();
        go.send(()).unwrap();
        assert_eq!(results.recv(), Ok(64));
        // The handler, and with it the sender, is dropped when the last thread releases the pool.
        assert_eq!(all_ended.iter().sum::<usize>(), 1);
    }
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_detached_panic_goes_to_the_handler_and_nothing_is_lost() {
    for strategy in Strategy::ALL {
        let (sender, panics) = mpsc::channel();
        let pool = Pool::builder()
            .workers(2)
            .strategy(strategy)
            .panic_handler(move |payload| sender.send(payload).unwrap())
            .build()
            .unwrap();
        for round in 0..10 {
            pool.spawn_detached(move || panic!("{round}"));
            pool.spawn_fifo_detached(move || panic!("{round}"));
        }
        drop(pool);
        assert_eq!(panics.iter().count(), 20);
    }
}

#[test]
fn the_worker_at_hand_is_the_one_that_was_given() {
    super::everywhere(|pool| {
        pool.run(|worker| {
            let same = |found: &Worker| std::ptr::eq(found, worker);
            assert!(Worker::with_current(|found| found.is_some_and(same)));
        });
        assert!(Worker::with_current(|found| found.is_none()));
    });
}
