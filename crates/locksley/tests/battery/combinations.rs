//! The core of the battery under every combination of policies, with two waiting rules.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::policy::{Amount, DealRule, Heuristic, Sharing, Target, Victims, When};
use locksley::{Pool, Strategy, Waiting};

use crate::random_graphs;
use crate::support::fib;

/// Returns all combinations of policies, for each strategy that has any.
fn combinations() -> Vec<Strategy> {
    let read = |text: &str| text.parse().expect("a strategy");
    let mut all = Victims::ALL.map(Strategy::flexible).to_vec();
    for when in When::ALL {
        all.extend(Amount::ALL.map(|amount| Strategy::steal_half(when, amount)));
    }
    let Strategy::Sharing(thetas) = read("sharing:greedy,theta_s=0.25,theta_r=0.125") else {
        unreachable!("this is sharing");
    };
    for heuristic in Heuristic::ALL {
        all.extend(Target::ALL.map(|target| {
            Strategy::Sharing(Sharing {
                heuristic,
                target,
                ..thetas
            })
        }));
    }
    all.extend(DealRule::ALL.map(Strategy::dealing));
    all
}

/// Runs a test under every combination.
fn combined(test: impl Fn(Pool)) {
    for strategy in combinations() {
        for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
            let builder = Pool::builder().workers(3).strategy(strategy);
            let pool = builder.waiting(waiting).stack_size(8 << 20).build();
            test(pool.expect("the pool starts"));
        }
    }
}

#[test]
fn there_is_one_of_each() {
    let all = combinations();
    assert_eq!(all.len(), 6 + 3 * 3 + 4 * 4 + 3);
    for (number, strategy) in all.iter().enumerate() {
        assert_eq!(strategy.to_string().parse(), Ok(*strategy));
        assert!(!all[..number].contains(strategy), "{strategy} twice");
    }
}

#[test]
fn forks_and_spawns() {
    combined(|pool| {
        assert_eq!(pool.install(|| fib(15)), 610);
        let sum = AtomicUsize::new(0);
        pool.scope(|s| {
            for number in 0..300 {
                let sum = &sum;
                s.spawn_near(number % 4, move |s| {
                    sum.fetch_add(fib(2) as usize, Ordering::Relaxed);
                    s.spawn(move |_| {
                        sum.fetch_add(number, Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(sum.into_inner(), 300 + 300 * 299 / 2);
    });
}

#[test]
fn random_trees() {
    combined(|pool| (0..4).for_each(|seed| random_graphs::check_seed(&pool, seed, false)));
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn random_trees_among_panics() {
    combined(|pool| (4..8).for_each(|seed| random_graphs::check_seed(&pool, seed, true)));
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn panics_reach_the_waiter() {
    combined(|pool| {
        let caught = |f: &(dyn Fn() + Sync)| {
            let payload = catch_unwind(AssertUnwindSafe(|| pool.install(f)));
            payload.expect_err("a panic").downcast_ref().copied()
        };
        let fork = || {
            locksley::join(|| fib(8), || -> u64 { panic!("forked") });
        };
        assert_eq!(caught(&fork), Some("forked"));
        let spawn = || locksley::scope(|s| s.spawn(|_| panic!("spawned")));
        assert_eq!(caught(&spawn), Some("spawned"));
        assert_eq!(pool.install(|| fib(10)), 55, "the pool stays usable");
    });
}

#[test]
fn a_pool_ends_when_all_is_done() {
    combined(|pool| {
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..20 {
            let done = done.clone();
            drop(pool.spawn(move || {
                for _ in 0..10 {
                    let done = done.clone();
                    drop(locksley::spawn(move || {
                        done.fetch_add(fib(5) as usize, Ordering::Relaxed);
                    }));
                }
            }));
        }
        pool.shutdown();
        assert_eq!(done.load(Ordering::Relaxed), 20 * 10 * 5);
    });
}
