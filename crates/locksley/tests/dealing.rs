//! Dealing: spawned tasks are dealt to workers, each still runs once and returns its result, and
//! every dealt task is within reach of a worker.
#![cfg(not(loom))]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use locksley::policy::DealRule;
use locksley::{Idle, Pool, Strategy, Waiting};

use support::{fib, join_both_at_once, limit, nested_scopes, spawn_tree, until, until_asleep};

/// Returns the strategies of all oracles, and some variants.
fn policies() -> impl Iterator<Item = Strategy> {
    let more = ["dealing:locality,l=2,batch=1", "dealing:adaptive,samples=8"];
    let more = more.map(|text| text.parse().expect("a strategy"));
    DealRule::ALL.map(Strategy::dealing).into_iter().chain(more)
}

fn pool(workers: usize, strategy: Strategy) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    builder.build().expect("the pool starts")
}

#[test]
fn every_policy_runs_everything_once() {
    for strategy in policies() {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 5] {
                let builder = Pool::builder().workers(workers).strategy(strategy);
                let pool = builder.waiting(waiting).build().unwrap();
                assert_eq!(pool.install(|| fib(16)), 987, "{strategy}");
                assert_eq!(pool.install(|| nested_scopes(5)), 243, "{strategy}");
                let count = AtomicUsize::new(0);
                pool.scope(|s| spawn_tree(s, 9, &count));
                assert_eq!(count.into_inner(), 1023, "{strategy}");
            }
        }
    }
}

/// Each task counts its runs.
#[test]
fn each_task_runs_once() {
    for strategy in policies() {
        let pool = pool(3, strategy);
        let runs: Vec<AtomicUsize> = (0..20_000).map(|_| AtomicUsize::new(0)).collect();
        pool.scope(|s| {
            for (number, run) in runs.iter().enumerate() {
                let task = move |_: &_| {
                    run.fetch_add(1, Ordering::Relaxed);
                };
                match number % 3 {
                    0 => s.spawn(task),
                    near => s.spawn_near(near * number % 4, task),
                }
            }
        });
        let once = |run: &AtomicUsize| run.load(Ordering::Relaxed) == 1;
        assert!(runs.iter().all(once), "{strategy}");
    }
}

/// Of two closures that can end only together, one is dealt or fetched, although the worker that
/// forked it waits in the other, and deals nothing meanwhile.
#[test]
fn a_fork_whose_maker_is_blocked_is_reached() {
    let _limit = limit();
    for strategy in policies() {
        let pool = pool(2, strategy);
        for _ in 0..20 {
            pool.install(join_both_at_once);
        }
    }
}

/// Tasks are dealt to a worker that is blocked until they are done, unknown to the pool.
#[test]
fn tasks_whose_consumer_is_blocked_are_reached() {
    let _limit = limit();
    for strategy in policies() {
        for workers in [2, 3] {
            let pool = pool(workers, strategy);
            for _ in 0..5 {
                let all = Barrier::new(workers);
                // Each task is dealt to a different worker, and waits for all others.
                pool.scope(|s| {
                    for worker in 0..workers {
                        s.spawn_near(worker, |_| {
                            all.wait();
                        });
                    }
                });
                let done = AtomicUsize::new(0);
                pool.scope(|s| {
                    for number in 0..2 * workers {
                        s.spawn_near(number % workers, |_| {
                            done.fetch_add(1, Ordering::Release);
                        });
                    }
                    while done.load(Ordering::Acquire) < 2 * workers {
                        std::thread::yield_now();
                    }
                });
                assert_eq!(done.into_inner(), 2 * workers, "{strategy}");
            }
        }
    }
}

/// A worker holds a lock while it waits for a task that it dealt; other tasks want the lock. A
/// waiter that ran one of those would never go on.
#[test]
fn a_waiter_runs_only_what_it_waits_for() {
    for strategy in policies() {
        for workers in [1, 2, 4] {
            let pool = pool(workers, strategy);
            let total = Mutex::new(0);
            pool.scope(|s| {
                for _ in 0..200 {
                    s.spawn(|_| {
                        let mut total = total.lock().unwrap();
                        *total += nested_scopes(1) + fib(3) as usize;
                    });
                }
            });
            assert_eq!(total.into_inner().unwrap(), 1000, "{strategy}");
        }
    }
}

/// A worker whose request is not answered fetches, however soon it goes to sleep.
#[test]
fn a_worker_that_rarely_searches_fetches_too() {
    let _limit = limit();
    let (spins, yields) = (0, 0);
    for strategy in policies() {
        let builder = Pool::builder().workers(2).strategy(strategy);
        let pool = builder.idle(Idle { spins, yields }).build().unwrap();
        for _ in 0..20 {
            pool.install(join_both_at_once);
        }
    }
}

/// Builds a pool without spares whose waiters run only their own tasks.
fn strict(workers: usize, strategy: Strategy) -> Pool {
    let builder = Pool::builder().workers(workers).processors(workers);
    let builder = builder.strategy(strategy).spares(0).depth_limit(0);
    builder.build().expect("the pool starts")
}

/// A waiter gets back a task that it dealt to a worker which is blocked until the task is done,
/// although the task prefers that worker.
#[test]
fn a_waiter_gets_back_what_is_stuck() {
    let _limit = limit();
    for strategy in policies() {
        let pool = strict(2, strategy);
        for _ in 0..5 {
            pool.install(|| {
                let other = 1 - locksley::current_worker_index().expect("a worker");
                let [begun, done] = [const { AtomicBool::new(false) }; 2];
                locksley::scope(|s| {
                    s.spawn_near(other, |_| {
                        begun.store(true, Ordering::Release);
                        until(&done);
                    });
                    until(&begun);
                    locksley::scope(|s| {
                        s.spawn_near(other, |_| done.store(true, Ordering::Release));
                    });
                    assert!(done.load(Ordering::Acquire), "{strategy}");
                });
            });
        }
    }
}

/// Tasks that block two workers, one after the other, until all other tasks are done.
struct Trap {
    waiter: Option<usize>,
    dealt: AtomicBool,
    done: AtomicUsize,
    /// The worker that is blocked first, and the worker that its task was dealt to (tasks are dealt
    /// in turn).
    first: AtomicUsize,
    dealt_to: AtomicUsize,
    blocked: AtomicUsize,
    end: AtomicBool,
}

impl Trap {
    const TASKS: usize = 96;
    const WORKERS: usize = 3;

    /// Runs a task. The first worker is blocked by its first task, the second one by the first task
    /// that was dealt to the same worker and that it has fetched.
    fn task(&self, number: usize) {
        let here = locksley::current_worker_index();
        if here != self.waiter {
            until(&self.dealt);
            if self.blocks(here.expect("a worker"), number % Trap::WORKERS) {
                self.blocked.fetch_add(1, Ordering::AcqRel);
                return until(&self.end);
            }
        }
        if self.done.fetch_add(1, Ordering::AcqRel) + 1 == Trap::TASKS - 2 {
            self.end.store(true, Ordering::Release);
        }
    }

    fn blocks(&self, here: usize, dealt_to: usize) -> bool {
        let (none, set, seen) = (usize::MAX, Ordering::AcqRel, Ordering::Acquire);
        match self.first.compare_exchange(none, here, set, seen) {
            Ok(_) => self.dealt_to.store(dealt_to, Ordering::Release),
            Err(first) => {
                return first != here
                    && self.dealt_to.load(Ordering::Acquire) == dealt_to
                    && self.blocked.load(Ordering::Acquire) == 1;
            }
        }
        true
    }
}

/// A waiter gets tasks that another worker has fetched from a third one's buffer, but not begun.
/// The same holds where thieves take half of a queue.
#[test]
fn a_waiter_gets_what_another_one_has_fetched() {
    let _limit = limit();
    let half = "steal-half".parse().expect("a strategy");
    for strategy in [Strategy::dealing(DealRule::Simple), half] {
        let pool = strict(Trap::WORKERS, strategy);
        for _ in 0..20 {
            pool.install(spring_the_trap);
        }
    }
}

fn spring_the_trap() {
    let trap = &Trap {
        waiter: locksley::current_worker_index(),
        dealt: AtomicBool::new(false),
        done: AtomicUsize::new(0),
        first: AtomicUsize::new(usize::MAX),
        dealt_to: AtomicUsize::new(usize::MAX),
        blocked: AtomicUsize::new(0),
        end: AtomicBool::new(false),
    };
    locksley::scope(|s| {
        for number in 0..Trap::TASKS {
            s.spawn(move |_| trap.task(number));
        }
        trap.dealt.store(true, Ordering::Release);
        // The waiter does nothing until both workers are blocked, or no task is left to block them.
        while trap.blocked.load(Ordering::Acquire) < 2 && !trap.end.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    let done = trap.done.load(Ordering::Acquire) + trap.blocked.load(Ordering::Acquire);
    assert_eq!(done, Trap::TASKS, "each task has run once");
}

#[test]
fn panics_of_dealt_jobs_reach_who_waits() {
    for strategy in policies() {
        let pool = pool(2, strategy);
        for round in 0..50 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.scope(|s| {
                    for task in 0..4 {
                        s.spawn_near(task % 2, move |_| assert_ne!(task, round % 4, "in a task"));
                    }
                })
            }));
            assert!(caught.is_err(), "{strategy}");
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.install(|| locksley::join(|| fib(8), || panic!("in the fork")))
            }));
            let payload = caught.expect_err("a panic");
            assert_eq!(payload.downcast_ref(), Some(&"in the fork"));
        }
        assert_eq!(pool.install(|| fib(10)), 55);
    }
}

/// A pool that is dropped runs all dealt tasks, in whichever buffer they are.
#[test]
fn the_end_waits_for_what_was_dealt() {
    for strategy in policies() {
        for round in 0..20 {
            let pool = pool(1 + round % 4, strategy);
            let done = std::sync::Arc::new(AtomicUsize::new(0));
            let (outer, tell) = (done.clone(), std::sync::mpsc::channel());
            let (started, wait) = tell;
            pool.spawn_detached(move || {
                started.send(()).unwrap();
                for near in 0..100 {
                    let (inner, innermost) = (outer.clone(), outer.clone());
                    let task = move || {
                        inner.fetch_add(1, Ordering::Relaxed);
                        locksley::spawn_fifo_detached(move || {
                            innermost.fetch_add(1, Ordering::Relaxed);
                        });
                    };
                    drop(locksley::spawn_near(near % 5, task));
                }
            });
            wait.recv().unwrap();
            drop(pool);
            assert_eq!(done.load(Ordering::Relaxed), 200, "{strategy}");
        }
    }
}

/// A task that is dealt to a sleeping worker wakes it, or another one.
#[test]
fn what_is_dealt_wakes_a_worker() {
    let _limit = limit();
    for strategy in policies() {
        let pool = pool(2, strategy);
        for _ in 0..50 {
            until_asleep(&pool);
            pool.install(|| {
                let other = 1 - locksley::current_worker_index().expect("a worker");
                let ran = std::sync::Arc::new(AtomicBool::new(false));
                let tell = ran.clone();
                let task = locksley::spawn_near(other, move || {
                    tell.store(true, Ordering::Release);
                    7
                });
                until(&ran);
                assert_eq!(task.join(), 7);
            });
        }
    }
}

#[cfg(feature = "stats")]
mod counted {
    use std::time::{Duration, Instant};

    use locksley::WorkerStats;

    use super::*;

    /// Returns the statistics of all workers. A worker publishes them when it runs a job.
    fn counts(pool: &Pool) -> Vec<WorkerStats> {
        pool.broadcast(|_| ());
        pool.stats().workers().to_vec()
    }

    fn total(pool: &Pool) -> WorkerStats {
        let counts = counts(pool);
        counts
            .into_iter()
            .fold(WorkerStats::default(), |sum, one| sum + one)
    }

    /// Theorem 3: the numbers of jobs that one worker deals to each worker differ by at most one,
    /// except jobs that it keeps because it has no other: here the first job, and no other while
    /// the other workers are busy.
    #[test]
    fn simple_deals_evenly() {
        let pool = pool(4, Strategy::dealing(DealRule::Simple));
        let dealt = AtomicBool::new(false);
        let before = pool.stats().total();
        pool.broadcast(|context| {
            if context.index() > 0 {
                return until(&dealt);
            }
            locksley::scope(|s| {
                for _ in 0..1002 {
                    s.spawn(|_| ());
                }
                dealt.store(true, Ordering::Release);
            });
        });
        let during = total(&pool) - before;
        assert!((250..=252).contains(&during.kept), "{during:?}");
        // A kept job may have been dealt later, to a worker that requested work.
        let dealt = 1002 - during.kept;
        assert!(during.dealt >= dealt, "{during:?}");
        assert!(during.dealt <= dealt + during.kept, "{during:?}");
    }

    /// A chain of tasks, each of which spawns the next, stays with the worker that runs it, unless
    /// another worker fetches a link.
    #[test]
    fn a_chain_is_not_dealt() {
        fn link<'s>(scope: &locksley::Scope<'s>, left: usize) {
            if left > 0 {
                scope.spawn(move |scope| link(scope, left - 1));
            }
        }
        for strategy in policies() {
            let pool = pool(3, strategy);
            let before = pool.stats().total();
            pool.scope(|scope| link(scope, 1000));
            let during = total(&pool) - before;
            // A spare has no buffers, and keeps what it fetches without counting it.
            assert!(during.kept > 0, "{strategy}: {during:?}");
            assert_eq!(during.dealt, 0, "{strategy}: {during:?}");
        }
    }

    /// Spawns tasks near all workers equally. Returns how many ran on their preferred worker, and
    /// how many were spawned.
    fn near_tasks(pool: &Pool, workers: usize, rounds: usize, tasks: usize) -> (usize, usize) {
        let (hits, spawned) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..rounds {
            pool.scope(|s| {
                if locksley::current_worker_index().is_none_or(|me| me >= workers) {
                    // A spare has no buffers to deal to.
                    return;
                }
                spawned.fetch_add(tasks, Ordering::Relaxed);
                for key in 0..tasks {
                    let near = locksley::worker_for_key(&key);
                    let hits = &hits;
                    s.spawn_near(near, move |_| {
                        let here = locksley::current_worker_index();
                        hits.fetch_add(usize::from(here == Some(near)), Ordering::Relaxed);
                    });
                }
            });
        }
        (hits.into_inner(), spawned.into_inner())
    }

    /// Theorem 11: of jobs whose preferred workers are distributed evenly, a fraction of at least
    /// 1 - 1/L run there, as counted by the jobs themselves.
    #[test]
    fn locality_hits() {
        for l in [2, 3, 4] {
            // With more workers than processors, some sleep, and others run the jobs dealt to them.
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            for workers in [1, 2, 4].into_iter().filter(|&n| n <= processors) {
                // If other programs use the processors, a worker may not get to the jobs dealt to
                // it in time, so there are several tries.
                let (rounds, tasks, mut tries) = (20, 600, 0);
                let (pool, hits, spawned) = loop {
                    tries += 1;
                    let pool = pool(workers, Strategy::dealing(DealRule::Locality { l }));
                    let (hits, spawned) = near_tasks(&pool, workers, rounds, tasks);
                    if tries == 8 || hits * l as usize >= spawned * (l as usize - 1) {
                        break (pool, hits, spawned);
                    }
                };
                assert!(spawned >= rounds * tasks / 2, "mostly spares: {spawned}");
                let counted = total(&pool);
                assert!(
                    hits * l as usize >= spawned * (l as usize - 1),
                    "l={l}, {workers} workers: {hits} of {spawned}\n{}",
                    pool.stats()
                );
                assert_eq!(counted.near, spawned as u64);
                // A job that was moved to the pool's queue may still have run on its preferred
                // worker.
                assert!(counted.hits <= hits as u64, "{counted:?}");
                assert!(counted.hits * u64::from(l) >= counted.near * u64::from(l - 1));
            }
        }
    }

    /// Affinity is counted under every rule, and followed by some.
    #[test]
    fn affinity_is_counted() {
        for strategy in policies() {
            let pool = pool(2, strategy);
            pool.scope(|s| (0..100).for_each(|near| s.spawn_near(near % 2, |_| ())));
            let total = total(&pool);
            assert_eq!(total.near, 100, "{strategy}");
            assert!(total.hits <= total.near, "{strategy}: {total:?}");
        }
        let stealing = pool(2, Strategy::ChaseLev);
        stealing.scope(|s| s.spawn_near(1, |_| ()));
        assert_eq!(total(&stealing).near, 0);
    }

    /// Moving a job from the worker that spawns it to the worker it is dealt to takes no
    /// read-modify-write, except for the pool of item lists: one for each list, at either end.
    #[test]
    fn to_deal_and_to_collect_takes_no_compare_and_swap() {
        const JOBS: u64 = 50_000;
        // Allows for the table of chunks, and for exchanges that fail.
        const SLACK: u64 = 32;
        let granularity = locksley_queue::pcb::GRANULARITY as u64;
        for strategy in
            [DealRule::Simple, DealRule::LOCALITY, DealRule::ADAPTIVE].map(Strategy::dealing)
        {
            let pool = pool(2, strategy);
            // One worker deals and one collects. Neither is out of work meanwhile, so none fetches
            // or sleeps.
            let [ready, dealt, collected] = [const { 2 }; 3].map(Barrier::new);
            let mut costs = pool.broadcast(|context| {
                let me = context.index();
                ready.wait();
                if me == 0 {
                    let before = pool.stats().workers()[0];
                    for _ in 0..JOBS {
                        locksley::spawn_detached(|| ());
                    }
                    let cost = pool.stats().workers()[0] - before;
                    dealt.wait();
                    // If this worker returned, it would help to collect.
                    collected.wait();
                    return cost;
                }
                dealt.wait();
                let before = pool.stats().workers()[1];
                while pool.stats().workers()[1].collected - before.collected < JOBS / 4 {
                    locksley::yield_local();
                }
                collected.wait();
                pool.stats().workers()[1] - before
            });
            let (collector, dealer) = (costs.pop().unwrap(), costs.pop().unwrap());
            assert!(dealer.dealt >= JOBS / 4, "{strategy}: {dealer:?}");
            // A new list takes two: for its number, and for the count of lists.
            assert!(
                dealer.rmws <= 2 * dealer.dealt / granularity + SLACK,
                "{strategy}: {dealer:?}"
            );
            assert!(collector.collected >= JOBS / 4, "{strategy}: {collector:?}");
            let lists = collector.collected / granularity + SLACK;
            assert!(collector.rmws <= lists, "{strategy}: {collector:?}");
            let fences = std::env::var_os("LOCKSLEY_NO_MEMBARRIER").is_some();
            if cfg!(target_os = "linux") && !fences {
                assert_eq!((dealer.fences, collector.fences), (0, 0), "{strategy}");
            }
            assert_eq!(
                (dealer.membarriers, collector.membarriers),
                (0, 0),
                "{strategy}"
            );
        }
    }

    /// A fork and a join without a thief's request take none either.
    #[test]
    fn a_fork_takes_no_compare_and_swap() {
        let pool = pool(1, Strategy::dealing(DealRule::Simple));
        let cost = pool.install(|| {
            let before = pool.stats().workers()[0];
            assert_eq!(fib(15), 610);
            pool.stats().workers()[0] - before
        });
        assert_eq!((cost.rmws, cost.membarriers), (0, 0), "{cost:?}");
    }

    /// A worker that is out of work makes a request, and gets a fork.
    #[test]
    fn forks_are_exposed_to_who_asks() {
        let pool = pool(2, Strategy::dealing(DealRule::Simple));
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            pool.install(|| fib(18));
            let total = total(&pool);
            if total.exposed + total.forced > 0 && total.steals > 0 {
                break;
            }
            assert!(Instant::now() < end, "{}", pool.stats());
        }
    }

    /// All dealt jobs are taken, by their consumer or another worker: all workers sleep in the end.
    #[test]
    fn an_idle_pool_sleeps_and_wakes() {
        let _limit = limit();
        for strategy in policies() {
            let pool = pool(3, strategy);
            for _ in 0..20 {
                let count = AtomicUsize::new(0);
                pool.scope(|s| spawn_tree(s, 5, &count));
                assert_eq!(count.into_inner(), 63);
                until_asleep(&pool);
            }
        }
    }
}
