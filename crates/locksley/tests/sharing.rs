//! Sharing: busy workers give jobs to idle ones, each job still runs once, and a worker that waits
//! for it goes on.
#![cfg(not(loom))]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use locksley::policy::Heuristic;
use locksley::{Pool, Strategy, Waiting, WorkerActivity};

use support::{count, fib, limit, until, until_asleep, until_state};

/// Returns the thesis's heuristics, and some combinations with the other policies.
fn policies() -> impl Iterator<Item = Strategy> {
    let more = [
        "sharing:greedy,theta_s=0.5,target=spread-back",
        "sharing:greedy,target=threshold,l_p=2",
        "sharing:greedy,target=shortest",
        "sharing:tit-for-tat,theta_s=0.25,theta_r=0.25",
        "sharing:custom,initial=T,spread=FUT,thief=UTFT",
    ];
    let more = more.map(|text| text.parse().expect("a strategy"));
    Heuristic::ALL
        .map(Strategy::sharing)
        .into_iter()
        .chain(more)
}

fn pool(workers: usize, strategy: Strategy) -> Pool {
    let builder = Pool::builder().workers(workers).strategy(strategy);
    builder.build().expect("the pool starts")
}

/// A chain that forks one small job at a time: there is never much to steal.
fn chain(links: usize) -> usize {
    match links {
        0 => 0,
        _ => {
            let (rest, one) = locksley::join(|| chain(links - 1), || 1);
            rest + one
        }
    }
}

#[test]
fn every_policy_runs_everything_once() {
    for strategy in policies() {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            for workers in [1, 2, 5] {
                let builder = Pool::builder().workers(workers).strategy(strategy);
                let pool = builder.waiting(waiting).build().unwrap();
                assert_eq!(pool.install(|| fib(16)), 987, "{strategy}");
                assert_eq!(pool.install(|| chain(300)), 300, "{strategy}");
                let done = AtomicUsize::new(0);
                pool.install(|| {
                    locksley::scope(|s| {
                        for _ in 0..500 {
                            s.spawn(|_| {
                                done.fetch_add(chain(2), Ordering::Relaxed);
                            });
                        }
                    });
                });
                assert_eq!(done.into_inner(), 1000, "{strategy}");
            }
        }
    }
}

#[test]
fn more_than_fits_is_run_too() {
    for strategy in policies() {
        let pool = pool(3, strategy);
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

/// A panic in a donated job reaches the donor, which waits for the job.
#[test]
fn panics_of_donated_jobs_reach_the_donor() {
    for strategy in policies() {
        let pool = pool(2, strategy);
        for _ in 0..50 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.install(|| locksley::join(|| chain(20), || panic!("in the fork")))
            }));
            let payload = caught.expect_err("a panic");
            assert_eq!(payload.downcast_ref(), Some(&"in the fork"));
        }
        assert_eq!(pool.install(|| fib(10)), 55);
    }
}

/// A worker forks, and does not take the job back before another worker runs it. Then it blocks,
/// and must be woken.
#[test]
fn who_waits_for_a_job_that_another_has_goes_on() {
    let _limit = limit();
    for strategy in policies() {
        let pool = pool(2, strategy);
        for _ in 0..20 {
            let taken = AtomicBool::new(false);
            let give = || until(&taken);
            let take = || {
                taken.store(true, Ordering::Release);
                until_state(&pool, |state| {
                    count(state, WorkerActivity::Waiting) + state.blocked > 0
                });
                7
            };
            assert_eq!(pool.install(|| locksley::join(give, take)).1, 7);
        }
    }
}

/// Affinity is a hint under every strategy, even if no worker has the index.
#[test]
fn tasks_near_a_worker_run_once() {
    for strategy in policies().chain(Strategy::ALL) {
        let pool = pool(3, strategy);
        let done = AtomicUsize::new(0);
        let task = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        pool.install(|| {
            locksley::scope(|s| {
                for near in 0..1000 {
                    s.spawn_near(near % 5, |_| task());
                }
            });
            let near = locksley::worker_for_key("the same");
            assert_eq!(locksley::spawn_near(near, || 7).join(), 7);
        });
        pool.in_place_scope(|s| s.spawn_near(1, |_| task()));
        assert_eq!(pool.spawn_near(2, || 8).join(), 8);
        assert_eq!(done.into_inner(), 1001, "{strategy}");
    }
}

/// A targeted job wakes a sleeping worker if that is the only worker that can run it.
#[test]
fn a_targeted_job_wakes_its_worker() {
    let _limit = limit();
    let pool = pool(2, Strategy::sharing(Heuristic::TIT_FOR_TAT));
    for _ in 0..50 {
        until_asleep(&pool);
        pool.install(|| {
            let other = 1 - locksley::current_worker_index().expect("a worker");
            let ran = std::sync::Arc::new(AtomicBool::new(false));
            let tell = ran.clone();
            let task = locksley::spawn_near(other, move || {
                tell.store(true, Ordering::Release);
                locksley::current_worker_index()
            });
            until(&ran);
            assert_eq!(task.join(), Some(other));
        });
    }
}

/// If waiters take any work, the newest job itself is offered: a worker that keeps an older job
/// gives the newer one away.
#[test]
fn the_newest_is_given_where_waiters_take_any() {
    let _limit = limit();
    let pool = Pool::builder()
        .workers(2)
        .strategy(Strategy::sharing(Heuristic::GREEDY))
        .waiting(Waiting::TakeAny)
        .idle(locksley::Idle {
            spins: 1000,
            yields: 1_000_000,
        })
        .build()
        .expect("the pool starts");
    // Forks nested jobs until another worker has begun one, and notes which one it was.
    fn fork(depth: usize, begun: &AtomicUsize) {
        if begun.load(Ordering::Acquire) == 0 && depth < 500 {
            std::thread::yield_now();
            locksley::join_context(
                |_| fork(depth + 1, begun),
                |context| {
                    if context.migrated() {
                        let _ = begun.compare_exchange(
                            0,
                            depth + 1,
                            Ordering::AcqRel,
                            Ordering::Relaxed,
                        );
                    }
                },
            );
        }
    }
    let mut deepest = 0;
    while deepest < 2 {
        let begun = AtomicUsize::new(0);
        pool.install(|| fork(0, &begun));
        deepest = deepest.max(begun.into_inner());
    }
    assert!((2..=500).contains(&deepest), "{deepest}");
}

#[cfg(feature = "stats")]
mod counted {
    use std::time::{Duration, Instant};

    use locksley::{Idle, WorkerStats};

    use super::*;

    /// Builds a pool whose workers go to sleep late, so that they can be given work.
    fn wakeful(workers: usize, strategy: Strategy) -> Pool {
        let idle = Idle {
            spins: 1000,
            yields: 100_000,
        };
        let builder = Pool::builder().workers(workers).strategy(strategy);
        builder.idle(idle).build().unwrap()
    }

    /// Returns the sum of all statistics. A worker publishes its own when it runs a job.
    fn total(pool: &Pool) -> WorkerStats {
        pool.broadcast(|_| ());
        pool.stats().total()
    }

    /// Runs `program` until an offer has been accepted.
    fn until_accepted(strategy: Strategy, program: impl Fn() + Sync) -> WorkerStats {
        let pool = wakeful(2, strategy);
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            pool.install(&program);
            let total = total(&pool);
            if total.accepted > 0 {
                return total;
            }
            assert!(Instant::now() < end, "{strategy}: {}", pool.stats());
        }
    }

    /// The numbers of offers, accepted offers and ghosts are consistent.
    fn adds_up(total: WorkerStats, strategy: Strategy) {
        let made = total.offered + total.mailed;
        assert!(total.accepted + total.late <= made, "{strategy}: {total:?}");
        assert!(total.ghosts <= total.accepted, "{strategy}: {total:?}");
    }

    #[test]
    fn forks_are_given_away() {
        for heuristic in [
            Heuristic::GREEDY,
            Heuristic::TIT_FOR_TAT,
            Heuristic::CONTINUOUS_TIT_FOR_TAT,
        ] {
            let strategy = Strategy::sharing(heuristic);
            let total = until_accepted(strategy, || {
                for _ in 0..1000 {
                    // No older job is queued, and the other worker has time to find the offer.
                    locksley::join(std::thread::yield_now, || ());
                }
            });
            adds_up(total, strategy);
        }
    }

    #[test]
    fn spawned_tasks_are_given_away() {
        let spread_back = "sharing:greedy,theta_s=0.5,target=spread-back".parse();
        for strategy in [
            Strategy::sharing(Heuristic::GREEDY),
            Strategy::sharing(Heuristic::TIT_FOR_TAT),
            spread_back.unwrap(),
        ] {
            let total = until_accepted(strategy, || {
                locksley::scope(|s| {
                    for _ in 0..1000 {
                        s.spawn(|_| ());
                        std::thread::yield_now();
                    }
                });
            });
            adds_up(total, strategy);
        }
    }

    /// If no worker tries to steal, none gives.
    #[test]
    fn tit_for_tat_without_thieves_gives_nothing() {
        let strategy = Strategy::sharing(Heuristic::TIT_FOR_TAT);
        let alone = pool(1, strategy);
        assert_eq!(alone.install(|| fib(18)), 2584);
        let stats = total(&alone);
        assert_eq!(
            (stats.offered, stats.refused, stats.steal_attempts),
            (0, 0, 0)
        );

        // Two workers, of which one is kept busy.
        let pool = pool(2, strategy);
        let [occupied, done] = [const { AtomicBool::new(false) }; 2];
        let during = pool.install(|| {
            locksley::scope(|s| {
                s.spawn(|_| {
                    occupied.store(true, Ordering::Release);
                    until(&done);
                });
                until(&occupied);
                // Uses up the requests so far.
                fib(2);
                let before = pool.stats();
                assert_eq!(fib(18), 2584);
                let during = pool.stats() - before;
                done.store(true, Ordering::Release);
                during.total()
            })
        });
        assert_eq!(during.steal_attempts, 0, "{during:?}");
        assert_eq!((during.offered, during.refused), (0, 0), "{during:?}");
    }

    /// Section 5.3.2.2: there are at most as many attempts to give as opportunities to steal.
    #[test]
    fn tit_for_tat_is_paid_for_by_thieves() {
        for workers in [2, 3, 5] {
            let pool = wakeful(workers, Strategy::sharing(Heuristic::TIT_FOR_TAT));
            for _ in 0..20 {
                pool.install(|| fib(14));
                pool.install(|| chain(100));
            }
            let total = total(&pool);
            let attempts = total.offered + total.refused;
            assert!(
                attempts <= total.steal_attempts + total.skipped,
                "{total:?}"
            );
        }
    }

    /// Under `sharing`, jobs with an affinity are sent to their worker, and accepted.
    #[test]
    fn affinity_goes_by_targeted_jobs() {
        let strategy = Strategy::sharing(Heuristic::TIT_FOR_TAT);
        let total = until_accepted(strategy, || {
            locksley::scope(|s| {
                let other = 1 - locksley::current_worker_index().expect("a worker");
                for _ in 0..100 {
                    s.spawn_near(other, |_| ());
                    std::thread::yield_now();
                }
            });
        });
        assert!(total.mailed >= 100, "{total:?}");
        adds_up(total, strategy);
        let pool = pool(2, Strategy::ChaseLev);
        pool.scope(|s| s.spawn_near(1, |_| ()));
        assert_eq!(pool.stats().total().mailed, 0);
    }

    /// Greedy gives without a request, unless a thief was faster.
    #[test]
    fn greedy_always_tries() {
        let pool = pool(2, Strategy::sharing(Heuristic::GREEDY));
        let during = pool.install(|| {
            let before = pool.stats();
            for _ in 0..100 {
                locksley::join(|| (), || ());
            }
            (pool.stats() - before).total()
        });
        let tries = during.offered + during.refused + during.steals;
        assert!(tries >= 100, "{during:?}");
    }

    /// All workers of an idle pool sleep, and the next task wakes one.
    #[test]
    fn an_idle_pool_sleeps_and_wakes() {
        let _limit = limit();
        for strategy in policies() {
            let pool = pool(3, strategy);
            for _ in 0..20 {
                assert_eq!(pool.install(|| fib(8)), 21);
                until_asleep(&pool);
            }
        }
    }
}
