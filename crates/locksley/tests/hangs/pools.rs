//! Pools that call into each other, and pools that are dropped on each other's workers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy, Waiting};

use crate::child::assert_finishes;

/// Keeps a processor busy for `time`.
fn work(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Tasks of one pool each call into a second one, and from there back into the first.
fn calls_back(workers: usize, tasks: usize, waiting: Waiting) {
    let build = || Pool::builder().workers(workers).waiting(waiting);
    let (first, second) = (build().build().unwrap(), build().build().unwrap());
    let done = AtomicUsize::new(0);
    first.in_place_scope(|s| {
        for _ in 0..tasks {
            s.spawn(|_| {
                second.install(|| {
                    work(Duration::from_millis(5));
                    first.install(|| done.fetch_add(1, Ordering::Relaxed));
                });
            });
        }
    });
    assert_eq!(done.into_inner(), tasks);
}

#[test]
fn seventy_tasks_that_call_there_and_back() {
    assert_finishes("pools::seventy_tasks_that_call_there_and_back", || {
        calls_back(2, 70, Waiting::Leapfrog);
    });
}

#[test]
fn tasks_that_call_there_and_back() {
    assert_finishes("pools::tasks_that_call_there_and_back", || {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 3] {
                calls_back(workers, 200, waiting);
            }
        }
    });
}

/// Two pools that install into each other, both at once.
#[test]
fn two_pools_that_install_into_each_other() {
    assert_finishes("pools::two_pools_that_install_into_each_other", || {
        fn to_and_fro(pools: &[Pool; 2], here: usize, depth: usize) -> usize {
            match depth {
                0 => 1,
                _ => pools[1 - here].install(|| {
                    let next = || to_and_fro(pools, 1 - here, depth - 1);
                    let (a, b) = locksley::join(next, next);
                    a + b
                }),
            }
        }
        for strategy in Strategy::ALL {
            for workers in [1, 2, 4] {
                let build = || Pool::builder().workers(workers).strategy(strategy);
                let pools = [build().build().unwrap(), build().build().unwrap()];
                std::thread::scope(|threads| {
                    for here in [0, 1] {
                        let pools = &pools;
                        threads.spawn(move || assert_eq!(to_and_fro(pools, here, 6), 64));
                    }
                });
            }
            println!("{strategy}");
        }
    });
}

/// Chains of calls through three pools, longer than there are spares, from several threads.
#[test]
fn chains_over_three_pools() {
    assert_finishes("pools::chains_over_three_pools", || {
        fn chain(pools: &[Pool; 3], step: usize) -> usize {
            match step {
                0 => 0,
                _ => pools[step % 3].install(|| chain(pools, step - 1)) + 1,
            }
        }
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 4] {
                let pools = [(); 3].map(|()| {
                    let builder = Pool::builder().workers(workers).stack_size(16 << 20);
                    builder.waiting(waiting).build().unwrap()
                });
                std::thread::scope(|threads| {
                    for _ in 0..3 {
                        threads.spawn(|| assert_eq!(chain(&pools, 300), 300));
                    }
                });
            }
        }
    });
}

/// A pool that is dropped on a worker of another pool, while its last task calls that other pool.
fn dropped_on_a_worker(workers: usize, waiting: Waiting, last: fn(&Pool)) {
    let build = || Pool::builder().workers(workers).waiting(waiting);
    let outer = Arc::new(build().build().unwrap());
    for _ in 0..20 {
        let inner = build().build().unwrap();
        let (sender, ended) = channel();
        let (started, from) = channel();
        let back = outer.clone();
        inner.spawn_detached(move || {
            started.send(()).unwrap();
            last(&back);
            drop(back);
            sender.send(()).unwrap();
        });
        from.recv().unwrap();
        outer.install(move || drop(inner));
        ended.recv().unwrap();
    }
}

#[test]
fn dropped_on_a_worker_that_its_last_task_broadcasts_to() {
    assert_finishes(
        "pools::dropped_on_a_worker_that_its_last_task_broadcasts_to",
        || {
            for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
                for workers in [1, 2, 3] {
                    dropped_on_a_worker(workers, waiting, |outer| {
                        std::thread::sleep(Duration::from_millis(1));
                        outer.broadcast(|_| ());
                    });
                }
            }
        },
    );
}

#[test]
fn dropped_on_a_worker_that_its_last_task_installs_on() {
    assert_finishes(
        "pools::dropped_on_a_worker_that_its_last_task_installs_on",
        || {
            for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
                for workers in [1, 2, 3] {
                    dropped_on_a_worker(workers, waiting, |outer| {
                        std::thread::sleep(Duration::from_millis(1));
                        outer.install(|| ());
                    });
                }
            }
        },
    );
}

/// All workers of a pool drop a pool each.
#[test]
fn every_worker_drops_a_pool() {
    assert_finishes("pools::every_worker_drops_a_pool", || {
        for workers in [1, 2, 4] {
            let outer = Pool::builder().workers(workers).build().unwrap();
            let done = Arc::new(AtomicUsize::new(0));
            let all_here = Barrier::new(workers);
            outer.broadcast(|_| {
                all_here.wait();
                let inner = Pool::builder().workers(2).build().unwrap();
                for _ in 0..20 {
                    let done = done.clone();
                    inner.spawn_detached(move || {
                        locksley::join(|| work(Duration::from_micros(50)), || ());
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), 20 * workers);
        }
    });
}

/// A pool that is dropped by its own last task shuts down on its own.
#[test]
fn dropped_by_its_own_task() {
    assert_finishes("pools::dropped_by_its_own_task", || {
        for workers in [1, 2, 4] {
            for _ in 0..20 {
                let pool = Arc::new(Pool::builder().workers(workers).build().unwrap());
                let (sender, receiver) = channel();
                let own = pool.clone();
                pool.spawn_detached(move || {
                    let task = locksley::spawn(move || sender.send(7).unwrap());
                    drop(own);
                    task.join();
                });
                drop(pool);
                assert_eq!(receiver.recv(), Ok(7));
            }
        }
    });
}

/// The first worker that exits spawns a task in its exit handler. While the second worker runs the
/// task, the third goes back to sleep: it must be woken once more.
#[test]
fn what_an_exit_handler_spawns_runs_and_the_pool_ends() {
    assert_finishes(
        "pools::what_an_exit_handler_spawns_runs_and_the_pool_ends",
        || {
            for spawners in [1, 3] {
                let (left, runs) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
                let count = runs.clone();
                let exit = move |_| {
                    if left.fetch_add(1, Ordering::Relaxed) < spawners {
                        let count = count.clone();
                        locksley::spawn_detached(move || {
                            thread::sleep(Duration::from_millis(20));
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                };
                let pool = Pool::builder().workers(3).exit_handler(exit);
                drop(pool.build().unwrap());
                assert_eq!(runs.load(Ordering::Relaxed), spawners);
            }
        },
    );
}

/// Drops pools while their threads are still starting, or right afterwards, with `handler` as start
/// handler or as exit handler.
fn in_handlers(pools: usize, at_start: bool, handler: fn()) {
    for workers in [1, 3, 8] {
        for _ in 0..pools {
            let builder = Pool::builder().workers(workers);
            let builder = if at_start {
                builder.start_handler(move |_| handler())
            } else {
                builder.exit_handler(move |_| handler())
            };
            let pool = builder.build().unwrap();
            pool.install(|| locksley::join(|| (), || ()));
        }
    }
}

#[test]
fn a_start_handler_broadcasts() {
    assert_finishes("pools::a_start_handler_broadcasts", || {
        in_handlers(100, true, || {
            drop(locksley::broadcast(|context| context.index()))
        });
    });
}

/// Each start handler that blocks causes a spare to start, which runs the handler too.
#[test]
fn handlers_block() {
    assert_finishes("pools::handlers_block", || {
        for at_start in [true, false] {
            in_handlers(10, at_start, || locksley::block_on(locksley::spawn(|| ())));
        }
    });
}

/// A worker of a pool without spares drops another pool, whose last task calls the worker's pool.
#[test]
fn a_pool_without_spares_is_called_by_one_that_it_drops() {
    assert_finishes(
        "pools::a_pool_without_spares_is_called_by_one_that_it_drops",
        || {
            let builder = Pool::builder().workers(1).waiting(Waiting::Own);
            let pool = Arc::new(builder.build().unwrap());
            let caller = pool.clone();
            pool.install(move || {
                let other = Pool::builder().workers(1).build().unwrap();
                other.spawn_detached(move || caller.install(|| ()));
            });
        },
    );
}

/// On the only worker, a task respawns itself until a call from outside has run.
#[test]
fn a_call_beside_tasks_that_spawn_each_other() {
    fn again(stop: Arc<AtomicBool>) {
        if !stop.load(Ordering::Relaxed) {
            locksley::spawn_detached(|| again(stop));
        }
    }
    assert_finishes("pools::a_call_beside_tasks_that_spawn_each_other", || {
        for strategy in Strategy::ALL {
            let pool = Pool::builder()
                .workers(1)
                .strategy(strategy)
                .build()
                .unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            let first = stop.clone();
            pool.spawn_detached(|| again(first));
            pool.install(|| stop.store(true, Ordering::Relaxed));
        }
    });
}
