//! User-defined donors: the choice of when to give work, and to whom.
#![cfg(not(loom))]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::policy::{Donor, Heuristic, Opportunity, Source, View};
use locksley::{Pool, Strategy, Waiting};

use support::fib;

/// Gives to the next worker, and counts its calls. May fork meanwhile.
struct Next {
    choices: Arc<AtomicUsize>,
    outcomes: Arc<AtomicUsize>,
    forks: bool,
}

impl Donor for Next {
    fn choose(&mut self, at: Opportunity, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
        self.choices.fetch_add(1, Ordering::Relaxed);
        if self.forks {
            assert_eq!(fib(5), 5);
        }
        Some((at.donor.me + 1) % view.count())
    }

    fn offered(&mut self, _: usize, _: bool) {
        self.outcomes.fetch_add(1, Ordering::Relaxed);
    }

    fn is_eager(&self) -> bool {
        true
    }
}

#[test]
fn a_donor_chooses_and_learns_the_outcome() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        for forks in [false, true] {
            let [choices, outcomes] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            let counts = (choices.clone(), outcomes.clone());
            let pool = Pool::builder()
                .workers(3)
                .strategy(Strategy::sharing(Heuristic::TIT_FOR_TAT))
                .waiting(waiting)
                .donor(move |_| Next {
                    choices: counts.0.clone(),
                    outcomes: counts.1.clone(),
                    forks,
                })
                .build()
                .expect("the pool starts");
            let done = AtomicUsize::new(0);
            pool.install(|| {
                locksley::scope(|s| {
                    for _ in 0..500 {
                        s.spawn(|_| {
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
                assert_eq!(fib(16), 987);
            });
            assert_eq!(done.into_inner(), 500);
            let (choices, outcomes) = (
                choices.load(Ordering::Relaxed),
                outcomes.load(Ordering::Relaxed),
            );
            assert!(choices >= 500, "{waiting:?}, {forks}: {choices}");
            assert!(
                (1..=choices).contains(&outcomes),
                "{waiting:?}, {forks}: {outcomes}"
            );
        }
    }
}

/// Panics when it is called, and once more when it is dropped after that.
#[derive(Default)]
struct Panics {
    was_called: bool,
}

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(!self.was_called, "a panic of a donor that is dropped");
    }
}

impl Donor for Panics {
    fn choose(&mut self, _: Opportunity, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
        self.was_called = true;
        panic!("a donor's panic")
    }

    fn is_eager(&self) -> bool {
        true
    }
}

#[test]
fn a_donor_that_panics_is_not_called_again() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let pool = Pool::builder()
        .workers(2)
        .strategy(Strategy::sharing(Heuristic::GREEDY))
        .donor(|_| Panics::default())
        .panic_handler(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .expect("the pool starts");
    for _ in 0..10 {
        assert_eq!(pool.install(|| fib(12)), 144);
        let sum = pool.install(|| locksley::spawn(|| 3).join());
        assert_eq!(sum, 3);
    }
    // Spares have donors too.
    let seen = seen.load(Ordering::Relaxed);
    assert!(
        (1..=66).contains(&seen),
        "{seen} panics, not one for each worker"
    );
}
