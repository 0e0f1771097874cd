//! User-defined donors: the choice of when to give work, and to whom.
#![cfg(not(loom))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::policy::{Donor, Heuristic, Opportunity, Source, View};
use locksley::{Pool, Strategy, Waiting};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Gives to the next worker, and counts its calls. May fork meanwhile.
struct Next {
    asked: Arc<AtomicUsize>,
    told: Arc<AtomicUsize>,
    forks: bool,
}

impl Donor for Next {
    fn choose(&mut self, at: Opportunity, view: &dyn View, _: &mut dyn Source) -> Option<usize> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.forks {
            assert_eq!(fib(5), 5);
        }
        Some((at.donor.me + 1) % view.count())
    }

    fn offered(&mut self, _: usize, _: bool) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    fn is_eager(&self) -> bool {
        true
    }
}

#[test]
fn a_donor_is_asked_and_told() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        for forks in [false, true] {
            let [asked, told] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            let counts = (asked.clone(), told.clone());
            let pool = Pool::builder()
                .workers(3)
                .strategy(Strategy::sharing(Heuristic::TIT_FOR_TAT))
                .waiting(waiting)
                .donor(move |_| Next {
                    asked: counts.0.clone(),
                    told: counts.1.clone(),
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
            let (asked, told) = (asked.load(Ordering::Relaxed), told.load(Ordering::Relaxed));
            assert!(asked >= 500, "{waiting:?}, {forks}: {asked}");
            assert!((1..=asked).contains(&told), "{waiting:?}, {forks}: {told}");
        }
    }
}

/// Panics when it is called, and once more when it is dropped after that.
#[derive(Default)]
struct Panics {
    asked: bool,
}

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(!self.asked, "a panic of a donor that is dropped");
    }
}

impl Donor for Panics {
    fn choose(&mut self, _: Opportunity, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
        self.asked = true;
        panic!("a donor's panic")
    }

    fn is_eager(&self) -> bool {
        true
    }
}

#[test]
fn a_donor_that_panics_is_not_asked_again() {
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
