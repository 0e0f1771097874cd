//! A loop splits only if another worker is out of work.

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::par::Split;
use locksley::prelude::*;
use locksley::{Pool, Strategy};

use crate::busy;

/// A source that counts how often it is split.
struct Counted<'c, S> {
    source: S,
    splits: &'c AtomicUsize,
}

impl<S: Split> Split for Counted<'_, S> {
    type Item = S::Item;
    type Iter<'a>
        = S::Iter<'a>
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        self.splits.fetch_add(1, Ordering::Relaxed);
        let (left, right) = self.source.split_at(mid);
        let splits = self.splits;
        let counted = |source| Counted { source, splits };
        (counted(left), counted(right))
    }

    fn block(&mut self, len: usize) -> Self::Iter<'_> {
        self.source.block(len)
    }
}

/// Runs a loop of so many microseconds. Returns how often it was split.
fn splits(microseconds: u64) -> usize {
    let splits = AtomicUsize::new(0);
    let source = Counted {
        source: 0..microseconds,
        splits: &splits,
    };
    source.into_par().for_each(|_| busy(1));
    splits.into_inner()
}

fn pool(workers: usize, strategy: Strategy) -> Pool {
    let pool = Pool::builder().workers(workers).strategy(strategy).build();
    pool.expect("the pool starts")
}

#[test]
fn a_single_worker_never_splits() {
    for strategy in Strategy::ALL {
        assert_eq!(pool(1, strategy).install(|| splits(5000)), 0);
    }
}

/// Runs loops with ends of all kinds. Returns how often they were split.
fn splits_of_all_kinds() -> usize {
    let splits = AtomicUsize::new(0);
    let numbers: Vec<u64> = (0..100_000).map(|n| n * 77_777 % 1009).collect();
    let par = || {
        let source = Counted {
            source: &numbers[..],
            splits: &splits,
        };
        source.into_par()
    };
    let len = numbers.len();
    assert_eq!(par().count(), len);
    assert_eq!(par().sum::<u64>(), numbers.iter().sum::<u64>());
    assert_eq!(par().map(|n| 2 * n).collect::<Vec<u64>>().len(), len);
    assert_eq!(par().filter(|n| **n < 2000).collect::<Vec<_>>().len(), len);
    let (small, large) = par().partition(|n| **n < 500);
    assert_eq!(small.len() + large.len(), len);
    assert!(!par().any(|&n| n == 5000));
    assert_eq!(par().take_while(|n| **n < 2000).count(), len);
    assert_eq!(par().copied().top_k(3), [1008; 3]);
    assert_eq!(par().histogram(1, |_| 0), [len]);
    par().for_each(|_| {});
    splits.into_inner()
}

#[test]
fn no_request_no_split_whatever_the_end() {
    for strategy in Strategy::ALL {
        let count = pool(1, strategy).install(splits_of_all_kinds);
        assert_eq!(count, 0, "{strategy}");
        let mut count = 0;
        beside_busy_workers(&pool(3, strategy), || count = splits_of_all_kinds());
        assert_eq!(count, 0, "{strategy}");
    }
}

/// Runs `body` on one of three workers, while the two others are busy.
fn beside_busy_workers(pool: &Pool, body: impl FnOnce() + Send) {
    let (busy, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|_| {
                busy.fetch_add(1, Ordering::SeqCst);
                while done.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            });
        }
        scope.spawn(|_| {
            while busy.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            body();
            done.store(1, Ordering::SeqCst);
        });
    });
}

#[test]
fn while_all_others_are_busy_there_is_no_split() {
    for strategy in Strategy::ALL {
        let pool = pool(3, strategy);
        let mut count = 0;
        beside_busy_workers(&pool, || count = splits(3000));
        assert_eq!(count, 0, "{strategy}");
    }
}

/// Sleeping workers are woken to help, whatever the strategy.
#[test]
fn a_long_loop_is_shared() {
    for strategy in Strategy::ALL {
        let pool = pool(2, strategy);
        let seen = AtomicUsize::new(0);
        let splits = AtomicUsize::new(0);
        pool.install(|| {
            // Ends early, once both workers have run an item.
            let source = Counted {
                source: 0..20_000_000_u64,
                splits: &splits,
            };
            let _ = source.into_par().any(|_| {
                let worker = locksley::current_worker_index().unwrap_or_default();
                busy(1);
                seen.fetch_or(1 << worker, Ordering::Relaxed) == 0b11
            });
        });
        assert_eq!(seen.into_inner(), 0b11, "{strategy}");
        assert!(splits.into_inner() > 0, "{strategy}");
    }
}

/// Loops and joins nest in loops.
#[test]
fn loops_nest() {
    for strategy in Strategy::ALL {
        let total: u64 = pool(4, strategy).install(|| {
            (0..40_u64)
                .par()
                .map(|outer| {
                    let inner = (0..50_u64).par().map(|inner| {
                        busy(1);
                        let (a, b) = locksley::join(|| inner, || outer);
                        a * b
                    });
                    inner.sum::<u64>()
                })
                .sum()
        });
        assert_eq!(total, (0..40).sum::<u64>() * (0..50).sum::<u64>());
    }
}
