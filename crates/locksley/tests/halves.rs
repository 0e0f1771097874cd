//! Stealing half: jobs move from queue to queue, each still runs once, and a worker that waits for
//! it goes on.
#![cfg(not(loom))]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use locksley::policy::{Amount, When};
use locksley::{Pool, Strategy, Waiting};

use support::fib;

fn pool(workers: usize, when: When, amount: Amount) -> Pool {
    let strategy = Strategy::steal_half(when, amount);
    let builder = Pool::builder().workers(workers).strategy(strategy);
    builder.build().expect("the pool starts")
}

/// Returns all combinations of policies.
fn policies() -> impl Iterator<Item = (When, Amount)> {
    let amounts = |when| Amount::ALL.into_iter().map(move |amount| (when, amount));
    When::ALL.into_iter().flat_map(amounts)
}

/// Runs a tree of tasks in which some subtrees are much larger than others. Returns the number of
/// nodes.
fn lopsided(depth: u32) -> usize {
    if depth == 0 {
        return 1;
    }
    let count = AtomicUsize::new(1);
    locksley::scope(|s| {
        for child in 0..3 {
            let count = &count;
            s.spawn(move |_| {
                let below = lopsided(depth.saturating_sub(1 + child));
                count.fetch_add(below, Ordering::Relaxed);
            });
        }
    });
    count.into_inner()
}

fn lopsided_serially(depth: u32) -> usize {
    if depth == 0 {
        return 1;
    }
    (0..3).fold(1, |sum, child| {
        sum + lopsided_serially(depth.saturating_sub(1 + child))
    })
}

#[test]
fn every_policy_runs_everything_once() {
    for (when, amount) in policies() {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 5] {
                let pool = Pool::builder()
                    .workers(workers)
                    .strategy(Strategy::steal_half(when, amount))
                    .waiting(waiting)
                    .build()
                    .unwrap();
                assert_eq!(pool.install(|| fib(16)), 987);
                let nodes = pool.install(|| lopsided(7));
                assert_eq!(nodes, lopsided_serially(7), "{when}, {amount}, {waiting:?}");
            }
        }
    }
}

#[test]
fn more_than_fits_is_run_too() {
    for (when, amount) in policies() {
        let pool = pool(3, when, amount);
        let done = AtomicUsize::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                for _ in 0..20_000 {
                    s.spawn(|_| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(done.into_inner(), 20_000);
    }
}

/// Forks `jobs` nested jobs, and then calls `inside`.
fn nested(jobs: usize, job: &(impl Fn() + Sync), inside: &(impl Fn() + Sync)) {
    match jobs {
        0 => inside(),
        _ => {
            locksley::join(|| nested(jobs - 1, job, inside), job);
        }
    }
}

/// A worker forks eight jobs and waits for each. Another worker takes some: the owner goes on when
/// they are done.
fn forks_are_taken(pool: &Pool) {
    for _ in 0..20 {
        let [occupied, ready, stolen] = [const { AtomicBool::new(false) }; 3];
        let ran = AtomicUsize::new(0);
        let until = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        };
        let job = || {
            stolen.store(true, Ordering::Release);
            std::thread::sleep(Duration::from_millis(1));
            ran.fetch_add(1, Ordering::Relaxed);
        };
        let inside = || {
            ready.store(true, Ordering::Release);
            until(&stolen);
        };
        pool.install(|| {
            locksley::scope(|s| {
                // Keeps the other worker busy until all jobs are forked.
                s.spawn(|_| {
                    occupied.store(true, Ordering::Release);
                    until(&ready);
                });
                until(&occupied);
                nested(8, &job, &inside);
            });
        });
        assert_eq!(ran.into_inner(), 8);
    }
}

/// If waiters leapfrog, thieves take the jobs of joins one by one.
#[test]
fn joins_do_not_move_where_waiters_leapfrog() {
    for waiting in [Waiting::Leapfrog, Waiting::Own] {
        for when in When::ALL {
            let builder = Pool::builder()
                .workers(2)
                .strategy(Strategy::steal_half(when, Amount::Half))
                .waiting(waiting);
            let pool = builder.build().unwrap();
            assert_eq!(pool.install(|| fib(20)), 6765);
            #[cfg(feature = "stats")]
            assert_eq!(pool.stats().total().batch_stolen, 0, "{}", pool.stats());
            // This also spawns a task, which may move in a batch.
            forks_are_taken(&pool);
        }
    }
}

/// If waiters take any work, a thief takes half of the public jobs, runs the oldest, and the others
/// run too.
#[cfg(feature = "stats")]
#[test]
fn joins_move_in_halves_where_waiters_take_any() {
    for when in When::ALL {
        for amount in [Amount::Half, Amount::Difference] {
            let builder = Pool::builder()
                .workers(2)
                .strategy(Strategy::steal_half(when, amount))
                .waiting(Waiting::TakeAny);
            let pool = builder.build().unwrap();
            forks_are_taken(&pool);
            let ran = std::sync::Mutex::new(Vec::new());
            let job = |number| ran.lock().unwrap().push(number);
            // The innermost task keeps its worker until the other one has taken a batch: the thief
            // has to force the worker's jobs public.
            let wait = || {
                while pool.stats().total().batch_stolen == 0 {
                    std::thread::yield_now();
                }
                while ran.lock().unwrap().is_empty() {
                    std::thread::yield_now();
                }
            };
            while pool.stats().total().batch_stolen == 0 {
                ran.lock().unwrap().clear();
                pool.install(|| numbered(8, &job, &wait));
                let mut order = ran.lock().unwrap().clone();
                assert_eq!(order[0], 8, "the oldest first: {order:?}");
                order.sort_unstable();
                assert_eq!(order, (1..=8).collect::<Vec<_>>());
            }
        }
    }
}

/// [`nested`] with numbered jobs. The oldest job has the largest number.
fn numbered(jobs: usize, job: &(impl Fn(usize) + Sync), inside: &(impl Fn() + Sync)) {
    match jobs {
        0 => inside(),
        _ => {
            locksley::join(|| numbered(jobs - 1, job, inside), || job(jobs));
        }
    }
}

/// Searches a huge range for a number at the beginning of its second half. A thief that began with
/// the newest job of a batch would search the small end of the range for years.
#[test]
fn a_search_of_a_large_range_ends() {
    fn search(low: u64, high: u64, wanted: u64, found: &AtomicBool) {
        if found.load(Ordering::Relaxed) {
            return;
        }
        if high - low == 1 {
            found.fetch_or(low == wanted, Ordering::Relaxed);
            return;
        }
        let middle = low + (high - low) / 2;
        let below = || search(low, middle, wanted, found);
        locksley::join(below, || search(middle, high, wanted, found));
    }
    for (when, amount) in policies() {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            let pool = Pool::builder()
                .workers(2)
                .strategy(Strategy::steal_half(when, amount))
                .waiting(waiting)
                .build()
                .unwrap();
            let (found, end) = (AtomicBool::new(false), 1 << 50);
            pool.install(|| search(0, end, end / 2, &found));
            assert!(found.into_inner(), "{when}, {amount}, {waiting:?}");
        }
    }
}

#[cfg(feature = "stats")]
#[test]
fn batches_are_counted() {
    let pool = pool(2, When::Empty, Amount::Difference);
    // A worker has many tasks, until a thief has taken several at once.
    pool.install(|| {
        locksley::scope(|s| {
            for _ in 0..1000 {
                s.spawn(|_| {});
            }
            while pool.stats().total().batch_stolen == 0 {
                s.spawn(|_| std::thread::yield_now());
                std::thread::yield_now();
            }
        });
    });
    let total = pool.stats().total();
    assert!(total.steals >= 1, "{total:?}");
    assert_eq!(total.balanced, 0, "only the idle steal");
}

#[cfg(feature = "stats")]
#[test]
fn the_busy_balance_if_they_are_told_to() {
    for (when, amount) in policies().filter(|(when, _)| *when != When::Empty) {
        let pool = pool(3, when, amount);
        while pool.stats().total().balanced == 0 {
            assert_eq!(pool.install(|| fib(15)), 610);
        }
        let total = pool.stats().total();
        assert!(total.balanced <= total.steal_attempts, "{total:?}");
    }
}

#[cfg(feature = "stats")]
#[test]
fn one_at_a_time_hauls_nothing_for_the_idle() {
    let pool = pool(3, When::Empty, Amount::One);
    for _ in 0..20 {
        assert_eq!(pool.install(|| fib(16)), 987);
    }
    assert_eq!(pool.stats().total().batch_stolen, 0);
}
