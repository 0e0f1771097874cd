//! Flows: which tasks run at the same time, which are stopped, what is dropped, and flows inside of
//! joins, scopes and flows.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use locksley::flow::{Flow, Object, Sum, Write, flow};
use locksley::{Pool, Strategy};

use crate::everywhere;

/// Runs a test with two workers, under strategies in which a thief can take a forked job even if
/// its owner is blocked.
fn with_two(test: impl Fn(&Pool)) {
    let _limit = crate::support::limit();
    let open = ["stealing", "chase-lev", "abp", "flexible:steal-back"];
    for strategy in open.map(|text| text.parse::<Strategy>().expect("a strategy")) {
        let pool = Pool::builder().workers(2).strategy(strategy).build();
        test(&pool.expect("the pool starts"));
    }
}

fn spin_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn tasks_that_share_nothing_run_at_the_same_time() {
    with_two(|pool| {
        let (barrier, leaders) = (Barrier::new(2), AtomicUsize::new(0));
        pool.install(|| {
            flow(|f| {
                let (a, b) = (f.value(0), f.value(0));
                for object in [a, b] {
                    let (barrier, leaders) = (&barrier, &leaders);
                    f.fork(object.update(), move |_| {
                        let leads = barrier.wait().is_leader();
                        leaders.fetch_add(usize::from(leads), Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(leaders.into_inner(), 1);
    });
}

#[test]
fn readers_run_at_the_same_time_and_so_do_those_who_cumulate() {
    with_two(|pool| {
        let barrier = Barrier::new(2);
        let mut sum = 0;
        pool.install(|| {
            flow(|f| {
                let sum = f.cumulative(&mut sum, Sum);
                for n in [1, 2] {
                    let barrier = &barrier;
                    f.fork(sum.cumulate(), move |mut sum| {
                        barrier.wait();
                        sum.add(n);
                    });
                }
                for _ in 0..2 {
                    f.fork(sum.read(), |sum| {
                        barrier.wait();
                        assert_eq!(*sum, 3);
                    });
                }
            });
        });
        assert_eq!(sum, 3);
    });
}

#[test]
fn a_new_version_is_written_while_the_old_one_is_read() {
    with_two(|pool| {
        let written = AtomicBool::new(false);
        let mut object = 1;
        pool.install(|| {
            flow(|f| {
                let object = f.object(&mut object);
                f.fork(object.read(), |old| {
                    spin_until(&written);
                    assert_eq!(*old, 1);
                });
                f.fork(object.write_new(0), |new| {
                    *new = 2;
                    written.store(true, Ordering::Release);
                });
                f.fork(object.update(), |new| *new *= 10);
            });
        });
        assert_eq!(object, 20);
    });
}

/// A helper leaves if no task is ready; when more tasks are ready, a helper comes again.
#[test]
fn helpers_come_back_when_there_is_more_to_do() {
    with_two(|pool| {
        let (barrier, leaders) = (Barrier::new(2), AtomicUsize::new(0));
        pool.install(|| {
            flow(|f| {
                let (chain, a, b) = (f.value(0), f.value(0), f.value(0));
                for _ in 0..3 {
                    for _ in 0..200 {
                        f.fork(chain.update(), |chain| {
                            *chain += 1;
                            std::thread::yield_now();
                        });
                    }
                    for object in [a, b] {
                        let (barrier, leaders) = (&barrier, &leaders);
                        f.fork((chain.read(), object.update()), move |_| {
                            let leads = barrier.wait().is_leader();
                            leaders.fetch_add(usize::from(leads), Ordering::Relaxed);
                        });
                    }
                }
            });
        });
        assert_eq!(leaders.into_inner(), 3);
    });
}

/// Waits up to 30 seconds until a count is reached. Returns `true` if it was.
fn reaches(count: &AtomicUsize, goal: usize) -> bool {
    let start = Instant::now();
    while count.load(Ordering::Acquire) < goal {
        if start.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Runs a test with two workers, under strategies whose flows have helpers while their body forks.
fn with_an_open_body(test: impl Fn(&Pool)) {
    for text in ["stealing", "flexible:steal-back", "steal-half", "sharing"] {
        let strategy: Strategy = text.parse().expect("a strategy");
        let pool = Pool::builder().workers(2).strategy(strategy).build();
        test(&pool.expect("the pool starts"));
    }
}

/// After each fork, the body waits until another worker has run the task: helpers that have left
/// come back.
#[test]
fn tasks_run_while_their_body_still_forks() {
    with_an_open_body(|pool| {
        let ran = AtomicUsize::new(0);
        pool.install(|| {
            flow(|f| {
                for round in 1..=30 {
                    let ran = &ran;
                    f.fork((), move |()| ran.store(round, Ordering::Release));
                    assert!(reaches(ran, round), "task {round} waits for its body");
                    if round % 3 == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        });
    });
}

/// A body that is a window ahead waits for the oldest generation only, not for a long task of the
/// younger one.
#[test]
fn a_body_goes_on_though_a_task_of_the_window_takes_long() {
    with_an_open_body(|pool| {
        let [began, forked] = [const { AtomicUsize::new(0) }; 2];
        let waited = AtomicBool::new(false);
        pool.install(|| {
            flow(|f| {
                for n in 1..=9000 {
                    if n == 3000 {
                        f.fork((), |()| {
                            began.store(1, Ordering::Release);
                            waited.store(reaches(&forked, 5000), Ordering::Relaxed);
                        });
                        assert!(reaches(&began, 1), "no helper comes");
                    } else {
                        f.fork((), |()| ());
                    }
                    forked.store(n, Ordering::Release);
                }
            });
        });
        assert!(waited.into_inner(), "the body waited for all of its tasks");
    });
}

/// The body makes objects and versions while tasks that access other objects run.
#[test]
fn objects_and_versions_are_made_while_tasks_run() {
    everywhere(|pool| {
        let mut last = 0;
        pool.install(|| {
            flow(|f| {
                let last = f.object(&mut last);
                for n in 1..=5000_u64 {
                    let (square, own) = (f.value(0), f.value(vec![n; 3]));
                    f.fork((own.read(), square.write()), |(own, mut square)| {
                        square.set(own[0] * own[2]);
                    });
                    f.fork((square.read(), last.write_new(0)), |(square, last)| {
                        *last = *square
                    });
                }
            });
        });
        assert_eq!(last, 5000 * 5000);
    });
}

#[test]
fn more_tasks_than_a_frame_collects() {
    everywhere(|pool| {
        let mut sums = [0_u64; 3];
        pool.install(|| {
            flow(|f| {
                let sums: Vec<_> = sums.iter_mut().map(|sum| f.object(sum)).collect();
                for n in 0..20_000 {
                    f.fork(sums[n % 3].update(), move |sum| *sum += n as u64);
                }
            });
        });
        assert_eq!(sums.iter().sum::<u64>(), 20_000 * 19_999 / 2);
    });
}

fn fib<'f>(f: &'f Flow<'f, '_>, n: u64, mut result: Write<'f, u64>) {
    if n < 2 {
        return result.set(n);
    }
    let (x, y, result) = (f.value(0), f.value(0), f.value(result));
    f.fork_nested(x.write(), move |f, x| fib(f, n - 1, x));
    f.fork_nested(y.write(), move |f, y| fib(f, n - 2, y));
    f.fork((x.read(), y.read(), result.update()), |(x, y, result)| {
        result.set(x + y);
    });
}

fn fib_by_flow(n: u64) -> u64 {
    let mut result = 0;
    flow(|f| {
        let result = f.object(&mut result);
        f.fork_nested(result.write(), move |f, result| fib(f, n, result));
    });
    result
}

#[test]
fn tasks_of_tasks() {
    everywhere(|pool| assert_eq!(pool.install(|| fib_by_flow(15)), 610));
}

#[test]
fn flows_inside_of_joins_scopes_and_flows() {
    everywhere(|pool| {
        let total = AtomicUsize::new(0);
        pool.install(|| {
            let (a, b) = locksley::join(|| fib_by_flow(8), || fib_by_flow(9));
            assert_eq!((a, b), (21, 34));
            locksley::scope(|s| {
                for n in 0..8 {
                    let total = &total;
                    s.spawn(move |_| {
                        total.fetch_add(fib_by_flow(n) as usize, Ordering::Relaxed);
                    });
                }
            });
            flow(|f| {
                let sum = f.value(0);
                for n in 0..8 {
                    f.fork(sum.update(), move |sum| {
                        let (a, b) = locksley::join(|| fib_by_flow(n), || fib_by_flow(n + 1));
                        *sum += a + b;
                    });
                }
                f.fork(sum.read(), |sum| assert_eq!(*sum, 33 + 54));
            });
        });
        assert_eq!(total.into_inner(), 33);
    });
}

#[test]
fn flows_from_outside_use_the_global_pool() {
    assert_eq!(fib_by_flow(10), 55);
}

/// Counts how often it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
#[allow(clippy::forget_non_drop, reason = "what a program may do")]
fn everything_is_dropped_once_whether_it_ran_or_not() {
    everywhere(|pool| {
        let drops = Arc::new(AtomicUsize::new(0));
        let ran = AtomicUsize::new(0);
        let new = || Dropped(drops.clone());
        let mut home = new();
        let attempt = || {
            pool.install(|| {
                flow(|f| {
                    let value = f.value(new());
                    let home = f.object(&mut home);
                    let sum = f.cumulative_value(vec![new()], |all: &mut Vec<_>, mut more| {
                        all.append(&mut more)
                    });
                    for number in 0..10 {
                        let task = new();
                        let part = new();
                        let ran = &ran;
                        f.fork((value.update(), sum.cumulate()), move |(_, mut sum)| {
                            let _task = task;
                            ran.fetch_add(1, Ordering::Relaxed);
                            sum.add(vec![part]);
                            if number == 4 {
                                panic::resume_unwind(Box::new("the fifth"));
                            }
                        });
                        f.fork(home.write_new(new()), |_| ());
                    }
                    // A leak is allowed, and must not cause a double free.
                    f.fork(sum.cumulate(), |sum| std::mem::forget(sum));
                });
            });
        };
        let thrown = panic::catch_unwind(AssertUnwindSafe(attempt)).unwrap_err();
        assert_eq!(*thrown.downcast::<&str>().unwrap(), "the fifth");
        assert_eq!(ran.into_inner(), 5, "the rest depends on it");
        drop(home);
        // The value, the sum's first element, ten tasks, ten parts, ten versions, and `home`.
        assert_eq!(drops.load(Ordering::Relaxed), 1 + 1 + 20 + 10 + 1);
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_stops_what_depends_on_it_and_nothing_else() {
    everywhere(|pool| {
        let ran: Vec<AtomicBool> = (0..6).map(|_| AtomicBool::new(false)).collect();
        let mark = |place: usize| ran[place].store(true, Ordering::Relaxed);
        let attempt = || {
            pool.install(|| {
                flow(|f| {
                    let (a, b, c) = (f.value(0), f.value(0), f.value(0));
                    f.fork(a.update(), |_| panic::resume_unwind(Box::new(1)));
                    f.fork(b.update(), |_| mark(0));
                    f.fork((a.read(), b.update()), |_| mark(1));
                    f.fork(b.read(), |_| mark(2));
                    f.fork(c.update(), |_| mark(3));
                    f.fork(a.write_new(0), |_| mark(4));
                    f.fork(c.read(), |_| panic::resume_unwind(Box::new(2)));
                    f.fork(c.update(), |_| mark(5));
                });
            });
        };
        let thrown = panic::catch_unwind(AssertUnwindSafe(attempt)).unwrap_err();
        assert_eq!(*thrown.downcast::<i32>().unwrap(), 1, "the first in order");
        let ran: Vec<bool> = ran.iter().map(|ran| ran.load(Ordering::Relaxed)).collect();
        assert_eq!(ran, [true, false, false, true, true, true]);
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_body_that_panics_waits_for_its_tasks() {
    everywhere(|pool| {
        let mut n = 0;
        let attempt = || {
            pool.install(|| {
                flow(|f| {
                    let n = f.object(&mut n);
                    f.fork(n.update(), |n| *n += 1);
                    panic::resume_unwind(Box::new("the body"));
                });
            });
        };
        let thrown = panic::catch_unwind(AssertUnwindSafe(attempt)).unwrap_err();
        assert_eq!(*thrown.downcast::<&str>().unwrap(), "the body");
        assert_eq!(n, 1);
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn an_operation_or_a_drop_that_panics_reaches_the_caller() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic::resume_unwind(Box::new("dropped"));
        }
    }
    everywhere(|pool| {
        let drop = || {
            pool.install(|| {
                flow(|f| {
                    f.value(Bomb);
                    f.value(Bomb);
                });
            });
        };
        let thrown = panic::catch_unwind(AssertUnwindSafe(drop)).unwrap_err();
        assert_eq!(*thrown.downcast::<&str>().unwrap(), "dropped");
        let mut sum = 0;
        let fold = || {
            pool.install(|| {
                flow(|f| {
                    let explode = |_: &mut i32, _: i32| panic::resume_unwind(Box::new("combined"));
                    let sum = f.cumulative(&mut sum, explode);
                    for n in 0..10 {
                        f.fork(sum.cumulate(), move |mut sum| sum.add(n));
                    }
                });
            });
        };
        let thrown = panic::catch_unwind(AssertUnwindSafe(fold)).unwrap_err();
        assert_eq!(*thrown.downcast::<&str>().unwrap(), "combined");
    });
}

#[test]
fn a_cancelled_flow_starts_no_more_tasks() {
    everywhere(|pool| {
        let ran = AtomicUsize::new(0);
        pool.install(|| {
            flow(|f| {
                let n = f.value(0);
                f.fork_nested(n.update(), |f, _| {
                    f.cancel();
                    f.fork((), |()| {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                });
                for _ in 0..100 {
                    f.fork(n.update(), |_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(ran.into_inner(), 0);
    });
}

#[test]
fn a_pool_is_shut_down_when_its_flows_are_over() {
    let pool = Pool::builder()
        .workers(2)
        .strategy(Strategy::default())
        .build()
        .unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    pool.spawn_detached(move || {
        flow(|f| {
            for _ in 0..1000 {
                let count = &count;
                f.fork((), move |()| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    pool.shutdown();
    assert_eq!(done.load(Ordering::Relaxed), 1000);
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn conflicting_accesses_of_one_task_are_refused() {
    fn refused(fork: impl for<'f> Fn(&'f Flow<'f, '_>, Object<'f, i32, Sum>) + Sync) {
        let attempt = || flow(|f| fork(f, f.cumulative_value(0, Sum)));
        let thrown = panic::catch_unwind(AssertUnwindSafe(attempt)).unwrap_err();
        let message = thrown.downcast::<&str>().unwrap();
        assert!(
            message.contains("two accesses to the same object"),
            "{message}"
        );
    }
    refused(|f, n| f.fork((n.update(), n.update()), |_| ()));
    refused(|f, n| f.fork((n.read(), n.write()), |_| ()));
    refused(|f, n| f.fork((n.cumulate(), n.cumulate()), |_| ()));
    refused(|f, n| f.fork((n.write_new(1), n.read()), |_| ()));
    refused(|f, n| {
        let mut reads: Vec<_> = (0..40).map(|_| f.value(0)).map(Object::update).collect();
        let other = f.value(0);
        reads.extend([other.update(), other.update()]);
        f.fork((reads, n.read()), |_| ());
    });
    flow(|f| {
        let n = f.value(0);
        f.fork((n.read(), n.read(), vec![n.read(), n.read()]), |_| ());
    });
}

#[test]
fn tasks_near_a_worker_run_in_order() {
    everywhere(|pool| {
        let mut tiles = [0; 8];
        pool.flow(|f| {
            let tiles: Vec<_> = tiles.iter_mut().map(|tile| f.object(tile)).collect();
            for _ in 0..3 {
                for (number, tile) in tiles.iter().enumerate() {
                    let near = locksley::worker_for_key(&number);
                    f.fork_near(near, tile.update(), move |tile| *tile += number);
                }
            }
        });
        assert_eq!(tiles, [0, 3, 6, 9, 12, 15, 18, 21]);
    });
}

#[test]
fn a_task_sees_the_rows_of_its_tile() {
    let mut matrix = vec![0; 4 * 4];
    locksley::flow(|f| {
        let tiles = f.grid(&mut matrix, 4, (2, 4));
        f.fork(tiles.at(1, 0).update(), |tile| {
            assert_eq!((tile.rows(), tile.columns()), (2, 4));
            tile.row_mut(0).fill(1);
            let (to, from) = tile.row_pair(1, 0);
            to.copy_from_slice(from);
            tile[(1, 3)] = 2;
        });
    });
    assert_eq!(matrix[8..], [1, 1, 1, 1, 1, 1, 1, 2]);

    let mut line = [1, 2, 3];
    locksley::flow(|f| {
        let line = f.object(&mut line[..]);
        f.fork(line.write(), |mut line| {
            line.fill_with(|place| place * place)
        });
    });
    assert_eq!(line, [0, 1, 4]);
}
