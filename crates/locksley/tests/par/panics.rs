//! Panics at random places: they reach the caller, and every item is dropped exactly once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicIsize, Ordering};

use locksley::par::Split;
use locksley::prelude::*;
use proptest::prelude::*;

use crate::{busy, pools};

/// An item that counts the living items.
#[derive(Debug)]
struct Living<'c>(u64, &'c AtomicIsize);

impl<'c> Living<'c> {
    fn new(number: u64, count: &'c AtomicIsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Living(number, count)
    }
}

impl Clone for Living<'_> {
    fn clone(&self) -> Self {
        Living::new(self.0, self.1)
    }
}

impl Drop for Living<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a closure that may panic on purpose. Returns `true` if it did.
fn panics(run: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => false,
        Err(payload) => {
            assert!(payload.downcast_ref::<&str>() == Some(&"on purpose"));
            true
        }
    }
}

/// Suppresses the messages of intended panics.
pub(crate) fn quieten() {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
                usual(info);
            }
        }));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn nothing_is_dropped_twice_or_never(
        len in 0..800_u64,
        place in 0..1600_u64,
        cost in 0..3_u64,
        pool in 0..pools().len(),
    ) {
        quieten();
        let count = AtomicIsize::new(0);
        let items = || -> Vec<Living> { (0..len).map(|n| Living::new(n, &count)).collect() };
        let check = |item: &Living| {
            busy(cost);
            if item.0 == place {
                std::panic::panic_any("on purpose");
            }
        };
        let expected = place < len;
        pools()[pool].install(|| {
            let ended = panics(|| items().into_par().for_each(|item| check(&item)));
            prop_assert_eq!(ended, expected, "by value");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "by value");

            let ended = panics(|| {
                let all: Vec<Living> = (0..len).par().map(|n| {
                    let item = Living::new(n, &count);
                    check(&item);
                    item
                }).collect();
                assert_eq!(all.len() as u64, len);
            });
            prop_assert_eq!(ended, expected, "collected");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "collected");

            let ended = panics(|| {
                let all: Vec<Living> = items().into_par().filter(|item| {
                    check(item);
                    item.0 % 2 == 0
                }).collect();
                assert_eq!(all.len() as u64, len.div_ceil(2));
            });
            prop_assert_eq!(ended, expected, "filtered");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "filtered");

            let ended = panics(|| {
                let all = items().into_par().inspect(check).map(|item| (item, 1)).unzip();
                assert_eq!(all.0.len() as u64, len);
            });
            prop_assert_eq!(ended, expected, "unzipped");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "unzipped");

            let ended = panics(|| {
                let all: Vec<Living> = items().into_par().take_while(|item| {
                    check(item);
                    item.0 < len / 2
                }).collect();
                assert_eq!(all.len() as u64, len / 2);
            });
            // An item after the end may or may not be run.
            let must = place < len / 2;
            prop_assert!((must <= ended) && (ended <= expected), "taken while");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "taken while");

            let mut kept = items();
            let ended = panics(|| kept.par_retain(|item| {
                check(item);
                item.0 % 3 == 0
            }));
            prop_assert_eq!(ended, expected, "retained");
            prop_assert_eq!(kept.len() as u64, if ended { 0 } else { len.div_ceil(3) });
            drop(kept);
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "retained");

            let ended = panics(|| {
                let (even, odd) = items().into_par().partition(|item| {
                    check(item);
                    item.0 % 2 == 0
                });
                assert_eq!((even.len() + odd.len()) as u64, len);
            });
            prop_assert_eq!(ended, expected, "partitioned");
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "partitioned");

            let add = |a: &Living, b: &Living| {
                check(b);
                Living::new(a.0.max(b.0), &count)
            };
            let mut scanned = items();
            let ended = panics(|| scanned.par_scan(add));
            // `check` sees only right operands: never the first item, and some items twice.
            prop_assert_eq!(ended, expected && place > 0, "scanned");
            prop_assert_eq!(scanned.len() as u64, len, "scanned");
            prop_assert!(ended || scanned.iter().map(|item| item.0).eq(0..len), "scanned");
            drop(scanned);
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "scanned");

            let last = items().into_par().inspect(|_| busy(cost)).max_by_key(|item| item.0);
            prop_assert_eq!(last.map(|item| item.0), len.checked_sub(1));
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "reduced");

            let items = items().into_par().inspect(|_| busy(cost));
            let found = items.find_first(|item| item.0 == place);
            prop_assert_eq!(found.is_some(), expected);
            drop(found);
            prop_assert_eq!(count.load(Ordering::Relaxed), 0, "searched");
            Ok(())
        })?;
    }
}

/// A source whose blocks have too few or too many items, and whose halves overlap.
#[derive(Clone, Copy)]
struct Liar {
    says: usize,
    adds: isize,
}

impl Split for Liar {
    type Item = usize;
    type Iter<'a> = std::ops::Range<usize>;

    fn len(&self) -> usize {
        self.says
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let half = |says| Liar { says, ..self };
        (half(mid * 3), half(self.says))
    }

    fn block(&mut self, len: usize) -> std::ops::Range<usize> {
        busy(2);
        0..len.saturating_add_signed(self.adds)
    }
}

#[test]
fn a_source_that_lies_is_found_out() {
    for pool in pools() {
        let collect = |adds| {
            let liar = Liar { says: 1000, adds };
            let collect = || liar.into_par().collect::<Vec<usize>>();
            catch_unwind(AssertUnwindSafe(|| pool.install(collect)))
        };
        assert!(collect(-1).is_err() && collect(-1000).is_err());
        let all = collect(5).map(|all| all.len());
        assert_eq!(all.ok(), Some(1000), "no more than there is room for");
    }
}

/// A loop in a destructor that runs while its thread unwinds runs all of its items.
#[test]
fn loops_run_whole_while_a_panic_unwinds() {
    struct AddUp<'s>(&'s AtomicIsize);
    impl Drop for AddUp<'_> {
        fn drop(&mut self) {
            let sum = |n: isize| {
                busy(1);
                n
            };
            let sum = (0..2000_isize).par().map(sum).sum::<isize>();
            self.0.store(sum, Ordering::Relaxed);
        }
    }
    quieten();
    for pool in pools() {
        let sum = AtomicIsize::new(0);
        let ended = panics(|| {
            pool.install(|| {
                let _sum = AddUp(&sum);
                std::panic::panic_any("on purpose");
            });
        });
        assert!(ended);
        assert_eq!(sum.into_inner(), 2000 * 1999 / 2);
    }
}

/// An item whose destructor panics if the flag is set, unless its thread already unwinds.
struct Bomb<'c>(Living<'c>, bool);

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        if self.1 && !std::thread::panicking() {
            std::panic::panic_any("on purpose");
        }
    }
}

/// If the destructor of an item that a loop leaves out panics, all other items are still dropped.
#[test]
fn a_surplus_that_panics_leaks_nothing() {
    quieten();
    let count = AtomicIsize::new(0);
    let bombs = |len: u64, bomb: u64| -> Vec<Bomb> {
        let item = |n| Bomb(Living::new(n, &count), n == bomb);
        (0..len).map(item).collect()
    };
    type Loop<'l> = (&'l str, Box<dyn Fn() + 'l>);
    let loops: [Loop; 7] = [
        (
            "zip, left",
            Box::new(|| drop(bombs(10, 8).into_par().zip(bombs(5, 9)))),
        ),
        (
            "zip, right",
            Box::new(|| drop(bombs(5, 9).into_par().zip(bombs(10, 8)))),
        ),
        (
            "take",
            Box::new(|| assert!(bombs(10, 8).into_par().take(5).count() > 0)),
        ),
        (
            "skip",
            Box::new(|| assert!(bombs(10, 2).into_par().skip(5).count() > 0)),
        ),
        (
            "step",
            Box::new(|| assert!(bombs(10, 3).into_par().step_by(2).count() > 0)),
        ),
        (
            "search",
            Box::new(|| drop(bombs(500, 400).into_par().find_first(|item| item.0.0 == 7))),
        ),
        (
            "filter",
            Box::new(|| {
                let kept = bombs(500, 400).into_par().filter(|item| {
                    busy(1);
                    item.0.0 != 400
                });
                drop(kept.collect::<Vec<_>>());
            }),
        ),
    ];
    for pool in pools() {
        for (name, run) in &loops {
            assert!(panics(run), "{name}");
            assert_eq!(count.load(Ordering::Relaxed), 0, "{name}");
        }
        let run = || bombs(500, 499).into_par().for_each(|_| busy(1));
        assert!(panics(|| pool.install(run)));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
