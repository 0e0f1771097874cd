//! Costs that must not grow with the number of other tasks, waiters or queue entries. Times are
//! printed; only counts are asserted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use locksley::prelude::*;
use locksley::{JoinHandle, Pool};

use crate::child::assert_finishes_within;

/// A time limit so long that exceeding it counts as a hang.
const FOREVER: Duration = Duration::from_secs(180);

/// Runs a program with `n` and with `4 n` tasks on one worker, and prints the cost of a task.
fn compare(n: usize, program: impl Fn(&Pool, usize) + Sync) {
    for tasks in [n, 4 * n] {
        let builder = Pool::builder().workers(1).stack_size(1 << 30);
        let pool = builder.build().unwrap();
        let start = Instant::now();
        pool.install(|| program(&pool, tasks));
        let each = start.elapsed().as_secs_f64() / tasks as f64;
        println!("{tasks} tasks: {:.2} us each", 1e6 * each);
    }
}

#[test]
fn handles_joined_in_the_order_of_spawning() {
    assert_finishes_within(
        FOREVER,
        "growth::handles_joined_in_the_order_of_spawning",
        || {
            compare(2_500, |_, tasks| {
                let handles: Vec<_> = (0..tasks).map(|n| locksley::spawn(move || n)).collect();
                let sum: usize = handles.into_iter().map(|handle| handle.join()).sum();
                assert_eq!(sum, tasks * (tasks - 1) / 2);
            });
        },
    );
}

#[test]
fn fifo_handles_joined_in_the_order_of_spawning() {
    assert_finishes_within(
        FOREVER,
        "growth::fifo_handles_joined_in_the_order_of_spawning",
        || {
            compare(2_500, |_, tasks| {
                let handles: Vec<_> = (0..tasks)
                    .map(|n| locksley::spawn_fifo(move || n))
                    .collect();
                let sum: usize = handles.into_iter().map(|handle| handle.join()).sum();
                assert_eq!(sum, tasks * (tasks - 1) / 2);
            });
        },
    );
}

/// FIFO tasks that are joined at once leave only a bounded number of jobs to run later.
#[cfg(feature = "stats")]
#[test]
fn a_joined_fifo_task_leaves_nothing_behind() {
    const NAME: &str = "growth::a_joined_fifo_task_leaves_nothing_behind";
    assert_finishes_within(FOREVER, NAME, || {
        compare(2_500, |_, tasks| {
            for n in 0..tasks {
                assert_eq!(locksley::spawn_fifo(move || n).join(), n);
            }
        });
        let pool = Pool::builder().workers(1).build().unwrap();
        let observer = pool.observer();
        let before = pool.install(|| {
            for n in 0..10_000 {
                assert_eq!(locksley::spawn_fifo(move || n).join(), n);
            }
            observer.stats()
        });
        drop(pool);
        let left = (observer.stats() - before).total().tasks;
        assert!(left <= 64, "{left} jobs were left after 10000 tasks");
    });
}

/// Nested joins, each of which spawns a task on top of its own job.
#[test]
fn a_chain_of_joins_that_spawn() {
    fn chain(depth: usize) {
        if depth > 0 {
            locksley::join(
                || {
                    locksley::spawn_detached(|| ());
                    chain(depth - 1);
                },
                || (),
            );
        }
    }
    assert_finishes_within(FOREVER, "growth::a_chain_of_joins_that_spawn", || {
        compare(1_000, |_, tasks| chain(tasks));
    });
}

/// Joins one after the other, each of which leaves a task behind.
#[test]
fn a_row_of_joins_that_spawn() {
    assert_finishes_within(FOREVER, "growth::a_row_of_joins_that_spawn", || {
        compare(4_000, |_, tasks| {
            for _ in 0..tasks {
                locksley::join(|| locksley::spawn_detached(|| ()), || ());
            }
        });
    });
}

/// Joins `rounds` times 50 tasks that lie between two tasks which are kept. Each joined task leaves
/// a ghost, the entry of a task that has already run, in the middle of the queue.
fn join_between(
    rounds: usize,
    spawn: impl Fn(usize) -> JoinHandle<usize>,
) -> Vec<JoinHandle<usize>> {
    let mut kept = Vec::new();
    for round in 0..rounds {
        kept.push(spawn(round));
        let joined: Vec<_> = (0..50).map(&spawn).collect();
        kept.push(spawn(round));
        let sum: usize = joined.into_iter().map(JoinHandle::join).sum();
        assert_eq!(sum, 50 * 49 / 2);
    }
    kept
}

/// Joins tasks on the only worker of a pool, which never gets to their ghosts in its queue: the
/// ghosts must be freed nevertheless.
fn ghosts_are_swept(test: &str, spawn: fn(usize) -> JoinHandle<usize>) {
    assert_finishes_within(FOREVER, test, || {
        let pool = Pool::builder().workers(1).build().unwrap();
        pool.install(|| {
            let handles = join_between(400, spawn);
            let (queued, kept) = (pool.loads()[0], handles.len());
            assert!(queued <= 3 * kept, "{queued} for {kept} tasks");
        });
    });
}

#[test]
fn ghosts_in_a_workers_queue_are_swept() {
    let spawn = |n| locksley::spawn(move || n);
    ghosts_are_swept("growth::ghosts_in_a_workers_queue_are_swept", spawn);
}

#[test]
fn ghosts_in_a_queue_in_order_are_swept() {
    let spawn = |n| locksley::spawn_fifo(move || n);
    ghosts_are_swept("growth::ghosts_in_a_queue_in_order_are_swept", spawn);
}

/// The only worker joins tasks that an outside thread has put into the pool's queue.
#[test]
fn ghosts_in_the_pools_queue_are_swept() {
    assert_finishes_within(
        FOREVER,
        "growth::ghosts_in_the_pools_queue_are_swept",
        || {
            let pool = Pool::builder().workers(1).spares(0).build().unwrap();
            let (sender, receiver) = mpsc::sync_channel(0);
            let watched = &pool;
            let (kept, queued) = std::thread::scope(move |threads| {
                threads.spawn(move || {
                    for n in 0..20_000 {
                        sender.send(watched.spawn(move || n)).unwrap();
                    }
                });
                watched.install(move || {
                    let mut kept = Vec::new();
                    for (number, handle) in receiver.iter().enumerate() {
                        match number % 100 {
                            0 => kept.push(handle),
                            _ => assert_eq!(handle.join(), number),
                        }
                    }
                    (kept.len(), watched.state().queued)
                })
            });
            assert!(queued <= 3 * kept, "{queued} for {kept} tasks");
        },
    );
}

/// One worker only spawns tasks, and another one joins them.
#[test]
fn ghosts_that_another_worker_leaves_are_swept() {
    assert_finishes_within(
        FOREVER,
        "growth::ghosts_that_another_worker_leaves_are_swept",
        || {
            let pool = Pool::builder().workers(2).spares(0).build().unwrap();
            let (sender, receiver) = mpsc::sync_channel(0);
            let watched = &pool;
            let queued = pool.install(move || {
                let spawn = move || {
                    for n in 0..20_000 {
                        sender.send(locksley::spawn(move || n)).unwrap();
                    }
                    let me = locksley::current_worker_index().unwrap();
                    drop(sender);
                    watched.loads()[me]
                };
                let join = move || {
                    for (number, handle) in receiver.iter().enumerate() {
                        assert_eq!(handle.join(), number);
                    }
                };
                locksley::join(spawn, join).0
            });
            assert!(queued <= 200, "{queued} jobs are left");
        },
    );
}

/// A worker deals its tasks to another worker, which is busy, and joins them.
#[test]
fn ghosts_that_were_dealt_are_swept() {
    assert_finishes_within(FOREVER, "growth::ghosts_that_were_dealt_are_swept", || {
        let builder = Pool::builder().workers(2).spares(0);
        let pool = builder
            .strategy("dealing".parse().unwrap())
            .build()
            .unwrap();
        let (busy, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let until = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        };
        let queued = pool.install(|| {
            let join = || {
                until(&busy);
                for n in 0..10_000 {
                    assert_eq!(locksley::spawn(move || n).join(), n);
                }
                over.store(true, Ordering::Release);
                pool.loads().iter().sum::<usize>()
            };
            let wait = || {
                busy.store(true, Ordering::Release);
                until(&over);
            };
            locksley::join(join, wait).0
        });
        assert!(queued <= 200, "{queued} jobs are left");
    });
}

/// Loops whose `split_where` rule takes off one item each time: the stack does not grow with the
/// number of items.
#[test]
fn loops_whose_rule_takes_one_item_off() {
    let name = "growth::loops_whose_rule_takes_one_item_off";
    assert_finishes_within(FOREVER, name, || {
        let pool = Pool::builder().workers(4).stack_size(1 << 20).build();
        let pool = pool.unwrap();
        let items: Vec<u32> = (0..3_000).collect();
        let rules: [fn(std::ops::Range<usize>) -> usize; 3] =
            [|left| left.start + 1, |left| left.end * 2, |_| 0];
        for rule in rules {
            let sum = pool.install(|| {
                let items = items.par().split_where(rule);
                items.map(|&n| slowly(n)).sum::<u32>()
            });
            assert_eq!(sum, items.iter().sum::<u32>());
        }
    });
}

/// Returns its argument after 20 µs, so that the rest of the loop is worth stealing.
fn slowly(n: u32) -> u32 {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
    n
}

/// Opens nested scopes, each of which waits for the next one, on another thread.
fn nest(depth: usize) {
    if depth > 0 {
        locksley::scope(|s| {
            s.spawn(|_| nest(depth - 1));
            locksley::blocking(|| std::thread::sleep(Duration::from_micros(200)));
        });
    }
}

/// Each waiter inspects the jobs that the others run.
#[test]
fn many_waiters() {
    assert_finishes_within(FOREVER, "growth::many_waiters", || {
        let pool = Pool::builder().workers(2).spares(400).build().unwrap();
        for depth in [50, 200] {
            let start = Instant::now();
            pool.install(|| nest(depth));
            println!("{depth} nested scopes: {:?}", start.elapsed());
        }
    });
}

/// Each waiter looks for its tasks in the pool's queue.
#[test]
fn many_waiters_beside_a_long_queue() {
    assert_finishes_within(FOREVER, "growth::many_waiters_beside_a_long_queue", || {
        let pool = Pool::builder().workers(2).build().unwrap();
        let (done, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let wait = || {
            while !ended.load(Ordering::Acquire) {
                locksley::blocking(|| std::thread::sleep(Duration::from_millis(1)));
            }
        };
        std::thread::scope(|threads| {
            for _ in 0..30 {
                threads.spawn(|| pool.scope(|s| s.spawn(|_| wait())));
            }
            let start = Instant::now();
            pool.in_place_scope(|s| {
                for _ in 0..100_000 {
                    s.spawn(|_| _ = done.fetch_add(1, Ordering::Relaxed));
                }
            });
            println!("100,000 tasks beside 30 waiters: {:?}", start.elapsed());
            ended.store(true, Ordering::Release);
        });
        assert_eq!(done.into_inner(), 100_000);
    });
}

/// Scopes wait while tasks of many other scopes lie in the pool's queue.
#[test]
fn scopes_beside_tasks_of_other_scopes() {
    fn spawn_at_each_level(pool: &Pool, levels: usize, tasks: usize, done: &AtomicUsize) {
        if levels == 0 {
            return;
        }
        pool.in_place_scope(|s| {
            for _ in 0..tasks {
                s.spawn(|_| {
                    locksley::scope(|inner| {
                        inner.spawn(|_| {
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                });
            }
            spawn_at_each_level(pool, levels - 1, tasks, done);
        });
    }
    const NAME: &str = "growth::scopes_beside_tasks_of_other_scopes";
    assert_finishes_within(FOREVER, NAME, || {
        let pool = Pool::builder().workers(2).build().unwrap();
        for tasks in [100, 400] {
            let (levels, done, start) = (128, AtomicUsize::new(0), Instant::now());
            spawn_at_each_level(&pool, levels, tasks, &done);
            let each = start.elapsed().as_secs_f64() / (levels * tasks) as f64;
            println!("{} tasks: {:.2} us each", levels * tasks, 1e6 * each);
            assert_eq!(done.into_inner(), levels * tasks);
        }
    });
}
