//! The choice of victims: user-defined balancers are called, and faulty ones do no harm.
#![cfg(not(loom))]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use locksley::policy::{Actor, Balancer, Outcome, Source, Theta, Victims, View};
use locksley::{Pool, Strategy, Waiting};

use support::{fib, join_both_at_once};

/// Gives the pool work until `happened` returns `true`.
fn work_until(pool: &Pool, happened: impl Fn() -> bool) {
    let _limit = support::limit();
    while !happened() {
        assert_eq!(pool.install(|| fib(12)), 144);
    }
}

const OFTEN: f64 = 0.9;

fn often() -> Theta {
    Theta::new(OFTEN).unwrap()
}

/// A balancer that calls a closure.
struct Asked<F>(F);

impl<F: FnMut(Actor, &dyn View) -> Option<usize>> Balancer for Asked<F> {
    fn choose(&mut self, actor: Actor, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
        (self.0)(actor, view)
    }
}

#[test]
fn ones_own_balancer_is_asked_under_every_strategy() {
    for strategy in Strategy::ALL {
        let asked = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let counts = asked.clone();
        let pool = Pool::builder()
            .workers(3)
            .strategy(strategy)
            .balancer(often(), move |index| {
                let counts = counts.clone();
                Asked(move |actor: Actor, view: &dyn View| {
                    assert_eq!(actor.me, index);
                    assert!(view.count() >= 3);
                    assert_eq!(view.load(usize::MAX), 0, "no worker's");
                    if let Some(count) = counts.get(index) {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Some((actor.me + 1) % view.count())
                })
            })
            .build()
            .unwrap();
        let all_asked = || asked.iter().all(|count| count.load(Ordering::Relaxed) > 0);
        work_until(&pool, all_asked);
    }
}

#[test]
fn a_balancer_learns_what_came_of_it() {
    struct Learner(Arc<[AtomicUsize; 4]>);

    impl Balancer for Learner {
        fn choose(&mut self, _: Actor, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
            Some(0)
        }

        fn tried(&mut self, victim: usize, outcome: Outcome) {
            assert!(victim < 2 + 64, "{victim}");
            self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    let outcomes = Arc::new([const { AtomicUsize::new(0) }; 4]);
    let told = outcomes.clone();
    let pool = Pool::builder()
        .workers(2)
        .balancer(often(), move |_| Learner(told.clone()))
        .build()
        .unwrap();
    pool.install(join_both_at_once);
    let count = |outcome: Outcome| outcomes[outcome as usize].load(Ordering::Relaxed);
    work_until(&pool, || count(Outcome::Empty) > 0);
    pool.install(join_both_at_once);
    work_until(&pool, || count(Outcome::Success) > 0);
    assert_eq!(count(Outcome::Skipped), 0);
}

#[test]
fn a_worker_knows_its_last_thief() {
    let known = Arc::new(AtomicBool::new(false));
    let seen = known.clone();
    let pool = Pool::builder()
        .workers(2)
        .balancer(often(), move |_| {
            let seen = seen.clone();
            Asked(move |actor: Actor, _: &dyn View| {
                if let Some(thief) = actor.memory.last_thief() {
                    assert_ne!(thief, actor.me);
                    seen.store(true, Ordering::Relaxed);
                }
                None
            })
        })
        .build()
        .unwrap();
    while !known.load(Ordering::Relaxed) {
        pool.install(join_both_at_once);
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a panic of a balancer that is dropped");
    }
}

#[test]
fn a_balancer_that_panics_is_not_asked_again() {
    let panics = Arc::new(AtomicUsize::new(0));
    let caught = panics.clone();
    let pool = Pool::builder()
        .workers(2)
        // No spares, which would have balancers of their own.
        .waiting(Waiting::TakeAny)
        .panic_handler(move |_| {
            caught.fetch_add(1, Ordering::Relaxed);
        })
        .balancer(often(), |_| {
            let bomb = Bomb;
            Asked(move |_: Actor, _: &dyn View| {
                let _ = &bomb;
                panic!("no idea whom")
            })
        })
        .build()
        .unwrap();
    work_until(&pool, || panics.load(Ordering::Relaxed) >= 2);
    pool.install(join_both_at_once);
    assert_eq!(panics.load(Ordering::Relaxed), 2);
}

#[test]
fn a_balancer_that_cannot_be_made_is_none() {
    let panics = Arc::new(AtomicUsize::new(0));
    let caught = panics.clone();
    let pool = Pool::builder()
        .workers(2)
        .panic_handler(move |_| {
            caught.fetch_add(1, Ordering::Relaxed);
        })
        .balancer(often(), |index| {
            assert!(index > 9, "not for this one");
            Victims::Uniform
        })
        .build()
        .unwrap();
    assert_eq!(panics.load(Ordering::Relaxed), 2);
    pool.install(join_both_at_once);
}

/// A balancer may use the pool that calls it.
#[test]
fn a_balancer_may_fork() {
    let forked = Arc::new(AtomicUsize::new(0));
    let counter = forked.clone();
    let pool = Pool::builder()
        .workers(3)
        .balancer(often(), move |_| {
            let counter = counter.clone();
            Asked(move |actor: Actor, view: &dyn View| {
                let (a, b) = locksley::join(|| fib(5), || fib(6));
                counter.fetch_add(a as usize + b as usize, Ordering::Relaxed);
                Some((actor.me + 1) % view.count())
            })
        })
        .build()
        .unwrap();
    work_until(&pool, || forked.load(Ordering::Relaxed) >= 10 * 13);
}

#[test]
fn nonsense_does_no_harm() {
    for named in [None, Some(0), Some(1), Some(70), Some(usize::MAX)] {
        let pool = Pool::builder()
            .workers(2)
            .balancer(often(), move |_| Asked(move |_: Actor, _: &dyn View| named))
            .build()
            .unwrap();
        pool.install(join_both_at_once);
        assert_eq!(pool.install(|| fib(15)), 610);
    }
}

#[cfg(feature = "stats")]
#[test]
fn choices_and_skips_are_counted() {
    let pool = |victims: Victims| {
        let pool = Pool::builder()
            .workers(2)
            .strategy(Strategy::flexible(victims.with_theta(often())));
        pool.build().unwrap()
    };
    let skipping = pool(Victims::SKIP);
    work_until(&skipping, || skipping.stats().total().skipped > 10);
    let sticking = pool(Victims::STICKY);
    work_until(&sticking, || sticking.stats().total().chosen > 10);
    let total = sticking.stats().total();
    assert_eq!(total.skipped, 0);
    assert!(total.chosen <= total.steal_attempts + 2, "{total:?}");
    let uniform = pool(Victims::Uniform);
    uniform.install(join_both_at_once);
    let total = uniform.stats().total();
    assert_eq!((total.chosen, total.skipped), (0, 0));
}
