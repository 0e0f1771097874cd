//! Every end, compared with that of `std`.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::prelude::*;
use proptest::prelude::*;

use crate::{busy, pools, uneven};

/// Numbers with duplicates, and a seed for the costs of items.
fn numbers() -> impl Strategy<Value = (Vec<u64>, u64)> {
    let len = prop_oneof![
        Just(0_usize),
        Just(1),
        2..10_usize,
        120..140_usize,
        500..1500_usize,
    ];
    let numbers = len.prop_flat_map(|len| prop::collection::vec(0..200_u64, len));
    (numbers, any::<u64>())
}

fn pool() -> impl Strategy<Value = usize> {
    0..pools().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn folds(((numbers, seed), pool) in (numbers(), pool())) {
        let numbers = &numbers[..];
        let slow = |&n: &u64| {
            uneven(n, seed);
            n
        };
        pools()[pool].install(|| {
            let par = || numbers.par().map(slow);
            let seq = || numbers.iter().copied();
            prop_assert_eq!(par().sum::<u64>(), seq().sum::<u64>());
            prop_assert_eq!(
                par().map(|n| n.wrapping_mul(2) | 1)
                    .map(std::num::Wrapping)
                    .product::<std::num::Wrapping<u64>>(),
                seq().map(|n| n.wrapping_mul(2) | 1).map(std::num::Wrapping).product()
            );
            prop_assert_eq!(par().count(), numbers.len());
            prop_assert_eq!(
                par().filter(|n| n % 3 == 0).count(),
                seq().filter(|n| n % 3 == 0).count()
            );
            prop_assert_eq!(par().min(), seq().min());
            prop_assert_eq!(par().max(), seq().max());
            let text = par().fold(String::new, |text, n| text + &n.to_string(), |a, b| a + &b);
            prop_assert_eq!(text, seq().map(|n| n.to_string()).collect::<String>());
            let joined = par().map(|n| n.to_string()).reduce_with(|a, b| a + &b);
            prop_assert_eq!(joined, seq().map(|n| n.to_string()).reduce(|a, b| a + &b));
            let joined = par().map(|n| n.to_string()).reduce(String::new, |a, b| a + &b);
            prop_assert_eq!(joined, seq().map(|n| n.to_string()).collect::<String>());
            Ok(())
        })?;
    }

    /// Of equal items `max` is the last and `min` the first, as in `std`.
    #[test]
    fn equals_keep_their_order(((numbers, seed), pool) in (numbers(), pool())) {
        pools()[pool].install(|| {
            let par = || numbers.par().enumerate().inspect(|(_, n)| uneven(**n, seed));
            let seq = || numbers.iter().enumerate();
            prop_assert_eq!(par().max_by_key(|(_, n)| **n / 7), seq().max_by_key(|(_, n)| **n / 7));
            prop_assert_eq!(par().min_by_key(|(_, n)| **n / 7), seq().min_by_key(|(_, n)| **n / 7));
            prop_assert_eq!(
                par().max_by(|a, b| (a.1 / 9).cmp(&(b.1 / 9))),
                seq().max_by(|a, b| (a.1 / 9).cmp(&(b.1 / 9)))
            );
            prop_assert_eq!(
                par().min_by(|a, b| (a.1 / 9).cmp(&(b.1 / 9))),
                seq().min_by(|a, b| (a.1 / 9).cmp(&(b.1 / 9)))
            );
            Ok(())
        })?;
    }

    #[test]
    fn collections(((numbers, seed), pool) in (numbers(), pool())) {
        pools()[pool].install(|| {
            let par = || numbers.par().map(|&n| {
                uneven(n, seed);
                n
            });
            let seq = || numbers.iter().copied();
            let boxed: Vec<Box<u64>> = par().map(Box::new).collect();
            prop_assert_eq!(boxed, seq().map(Box::new).collect::<Vec<_>>());
            let even: Vec<String> = par().filter(|n| n % 2 == 0).map(|n| n.to_string()).collect();
            let twin = seq().filter(|n| n % 2 == 0).map(|n| n.to_string());
            prop_assert_eq!(even, twin.collect::<Vec<_>>());
            let flat: Vec<u64> = par().flat_map(|n| 0..n % 4).collect();
            prop_assert_eq!(flat, seq().flat_map(|n| 0..n % 4).collect::<Vec<_>>());
            let kept: Vec<u64> = par().filter_map(|n| n.checked_sub(50)).collect();
            prop_assert_eq!(kept, seq().filter_map(|n| n.checked_sub(50)).collect::<Vec<_>>());
            let parts = par().partition(|n| n % 5 < 2);
            prop_assert_eq!(parts, seq().partition::<Vec<_>, _>(|n| n % 5 < 2));
            let pairs = par().map(|n| (n, n.to_string())).unzip();
            let twin = seq().map(|n| (n, n.to_string()));
            prop_assert_eq!(pairs, twin.unzip::<_, _, Vec<_>, Vec<_>>());
            let units: Vec<()> = par().map(drop).collect();
            prop_assert_eq!(units.len(), numbers.len());
            Ok(())
        })?;
    }

    #[test]
    fn searches(((numbers, seed), pool, wanted) in (numbers(), pool(), 0..220_u64)) {
        pools()[pool].install(|| {
            let par = || numbers.par().inspect(|n| uneven(**n, seed));
            let seq = || numbers.iter();
            prop_assert_eq!(par().any(|&n| n == wanted), seq().any(|&n| n == wanted));
            prop_assert_eq!(par().all(|&n| n != wanted), seq().all(|&n| n != wanted));
            let found = par().find_any(|&&n| n == wanted);
            prop_assert_eq!(found, seq().find(|&&n| n == wanted));
            prop_assert_eq!(par().position(|&n| n == wanted), seq().position(|&n| n == wanted));
            let place = par().enumerate().find_first(|(_, n)| **n == wanted);
            prop_assert_eq!(place, seq().enumerate().find(|(_, n)| **n == wanted));
            let big = par().filter(|n| **n > wanted).find_map_first(|n| n.checked_mul(3));
            prop_assert_eq!(big, seq().filter(|n| **n > wanted).find_map(|n| n.checked_mul(3)));
            let tried = par().try_for_each(|&n| if n == wanted { Err(n) } else { Ok(()) });
            let twin = seq().try_for_each(|&n| {
                if n == wanted { ControlFlow::Break(n) } else { ControlFlow::Continue(()) }
            });
            prop_assert_eq!(tried.err(), twin.break_value());
            Ok(())
        })?;
    }

    #[test]
    fn ends_where_a_function_says(
        ((numbers, seed), pool, wanted) in (numbers(), pool(), 0..220_u64),
    ) {
        pools()[pool].install(|| {
            let par = || numbers.par().inspect(|n| uneven(**n, seed)).copied();
            let seq = || numbers.iter().copied();
            let before: Vec<u64> = par().take_while(|&n| n != wanted).collect();
            prop_assert_eq!(before, seq().take_while(|&n| n != wanted).collect::<Vec<_>>());
            let less = |n: u64| n.checked_sub(wanted / 16);
            let mapped: Vec<u64> = par().map_while(less).collect();
            prop_assert_eq!(mapped, seq().map_while(less).collect::<Vec<_>>());
            prop_assert_eq!(par().map_while(less).count(), seq().map_while(less).count());
            let text = par()
                .map_while(less)
                .fold(String::new, |text, n| text + &n.to_string(), |a, b| a + &b);
            prop_assert_eq!(text, seq().map_while(less).map(|n| n.to_string()).collect::<String>());
            let same = par().deterministic().take_while(|&n| n != wanted).count();
            prop_assert_eq!(same, seq().take_while(|&n| n != wanted).count());
            Ok(())
        })?;
    }

    /// The items after the first match that are searched in vain are at most as many as those
    /// before it.
    #[test]
    fn the_waste_of_a_search_is_bounded(
        len in 2000..9000_usize,
        hit in prop_oneof![0..50_usize, 0..9000_usize],
        pool in pool(),
    ) {
        let looked = AtomicUsize::new(0);
        let found = pools()[pool].install(|| {
            (0..len).par().find_first(|&n| {
                busy(1);
                if n > hit {
                    looked.fetch_add(1, Ordering::Relaxed);
                }
                n == hit
            })
        });
        prop_assert_eq!(found, (hit < len).then_some(hit));
        prop_assert!(looked.load(Ordering::Relaxed) <= hit, "{looked:?} beyond {hit}");
    }

    /// A loop that is cancelled at any item runs none twice, and returns whether it ran all.
    #[test]
    fn cancelled_anywhere((numbers, seed) in numbers(), place in 0..2000_usize, pool in pool()) {
        let visits: Vec<AtomicUsize> = numbers.iter().map(|_| AtomicUsize::new(0)).collect();
        let token = locksley::CancelToken::new();
        let all = pools()[pool].install(|| {
            numbers.par().enumerate().for_each_until(&token, |(at, &n)| {
                uneven(n, seed);
                visits[at].fetch_add(1, Ordering::Relaxed);
                if at == place {
                    token.cancel();
                }
            })
        });
        let visits: Vec<usize> = visits.into_iter().map(AtomicUsize::into_inner).collect();
        prop_assert!(visits.iter().all(|&count| count <= 1));
        prop_assert_eq!(all, visits.iter().all(|&count| count == 1));
        prop_assert!(all || visits[place] == 1, "nothing else ends it");
    }

    /// Every item is visited once; each piece has a state of its own.
    #[test]
    fn visits(((numbers, seed), pool) in (numbers(), pool())) {
        let visits: Vec<AtomicUsize> = numbers.iter().map(|_| AtomicUsize::new(0)).collect();
        let states = AtomicUsize::new(0);
        let init = || {
            states.fetch_add(1, Ordering::Relaxed);
            0_usize
        };
        let places = pools()[pool].install(|| {
            numbers.par().enumerate().map_init(init, |count, (place, &n)| {
                uneven(n, seed);
                *count += 1;
                visits[place].fetch_add(1, Ordering::Relaxed);
                (place, *count)
            }).collect::<Vec<_>>()
        });
        prop_assert!(visits.iter().all(|visit| visit.load(Ordering::Relaxed) == 1));
        prop_assert!(places.iter().enumerate().all(|(at, &(place, _))| at == place));
        let pieces = places.iter().filter(|(_, count)| *count == 1).count();
        prop_assert!(pieces <= states.into_inner(), "a state counts from 1 on once");
    }
}

#[test]
fn cancelled_loops_stop() {
    for pool in pools() {
        let token = locksley::CancelToken::new();
        let ran = AtomicUsize::new(0);
        let all = pool.install(|| {
            (0..1_000_000_u32).par().for_each_until(&token, |n| {
                if n == 1000 {
                    token.cancel();
                }
                ran.fetch_add(1, Ordering::Relaxed);
            })
        });
        assert!(!all && ran.into_inner() < 1_000_000);
        let fresh = token.child();
        assert!(fresh.is_cancelled());
        let token = locksley::CancelToken::new();
        assert!(pool.install(|| (0..1000_u32).par().for_each_until(&token, |_| {})));
    }
}
