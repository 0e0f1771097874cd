//! Iterators of other crates, on a pool of this one.
#![cfg(not(loom))]

/// Pools of every strategy.
#[cfg(any(feature = "paralight", feature = "orx-parallel"))]
fn pools() -> impl Iterator<Item = locksley::Pool> {
    let build = |(at, strategy): (usize, &locksley::Strategy)| {
        let builder = locksley::Pool::builder().workers(1 + at % 4);
        builder.strategy(*strategy).build()
    };
    let pools = locksley::Strategy::ALL.iter().enumerate().map(build);
    pools.map(|pool| pool.expect("the pool starts"))
}

#[cfg(feature = "paralight")]
mod on_paralight {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use locksley::Pool;
    use paralight::prelude::*;

    use crate::pools;

    /// Takes a microsecond, so that loops are worth sharing.
    fn busy() {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(1) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn sums_and_searches() {
        for pool in pools() {
            for len in [0, 1, 7, 1000, 5000] {
                let numbers: Vec<u64> = (0..len).collect();
                let slow = |n: &u64| {
                    busy();
                    *n
                };
                let sum = numbers
                    .par_iter()
                    .with_thread_pool(&pool)
                    .map(slow)
                    .sum::<u64>();
                assert_eq!(sum, numbers.iter().sum::<u64>());
                let found = numbers
                    .par_iter()
                    .with_thread_pool(&pool)
                    .map(slow)
                    .find_first(|n| n % 900 == 899);
                assert_eq!(found, numbers.iter().copied().find(|n| n % 900 == 899));
                // Blocks come in order, and so do their items.
                let blocks: Vec<Vec<u8>> = numbers
                    .par_iter()
                    .with_thread_pool(&pool)
                    .map(|n| slow(n) as u8)
                    .collect_per_thread();
                let twin: Vec<u8> = numbers.iter().map(|&n| n as u8).collect();
                assert_eq!(blocks.concat(), twin);
            }
        }
    }

    struct Counted<'c>(u64, &'c AtomicUsize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Items by value are dropped once: used ones, those that a search skips, and those after a
    /// panic.
    #[test]
    fn every_item_is_dropped_once() {
        for pool in pools() {
            for stop in [0, 50, 1999, 5000] {
                for panics in [false, true] {
                    let dropped = AtomicUsize::new(0);
                    let items: Vec<_> = (0..2000).map(|n| Counted(n, &dropped)).collect();
                    let search = |pool: &Pool| {
                        items
                            .into_par_iter()
                            .with_thread_pool(pool)
                            .find_first(|item| {
                                busy();
                                if panics && item.0 == stop {
                                    std::panic::panic_any("on purpose");
                                }
                                item.0 == stop
                            })
                    };
                    let found = catch_unwind(AssertUnwindSafe(|| search(&pool).map(|item| item.0)));
                    let there = stop < 2000;
                    match found {
                        Ok(found) => assert_eq!(found, there.then_some(stop)),
                        Err(_) => assert!(panics && there),
                    }
                    assert_eq!(dropped.into_inner(), 2000, "{stop} {panics}");
                }
            }
        }
    }
}

#[cfg(feature = "orx-parallel")]
mod on_orx_parallel {
    use orx_parallel::{IntoParIter, Par, ParCollection, Runner};

    use crate::pools;

    #[test]
    fn sums_and_collections() {
        for pool in pools() {
            let numbers: Vec<u64> = (0..20_000).collect();
            let sum = numbers
                .par()
                .runner(Runner::adaptive_with_pool(&pool))
                .map(|n| n * 3)
                .sum();
            assert_eq!(sum, numbers.iter().map(|n| n * 3).sum::<u64>());
            let even: Vec<String> = numbers
                .clone()
                .into_par()
                .runner(Runner::adaptive_with_pool(&pool))
                .filter(|n| n % 2 == 0)
                .map(|n| n.to_string())
                .collect();
            let twin = numbers.iter().filter(|n| *n % 2 == 0).map(u64::to_string);
            assert_eq!(even, twin.collect::<Vec<_>>());
        }
    }
}
