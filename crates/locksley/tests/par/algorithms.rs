//! Sorting, prefix sums and the other algorithms, compared with sequential ones.

use std::cmp::Ordering as Order;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};

use locksley::par::merge;
use locksley::prelude::*;
use proptest::prelude::*;

use crate::{busy, pools, uneven};

/// Numbers of items: few, around the sizes of pieces and tiles, and many.
fn len() -> impl Strategy<Value = usize> {
    prop_oneof![0..50_usize, 15_000..18_000_usize, 60_000..120_000_usize]
}

/// Numbers of a certain kind: all different, many equal, sorted, nearly sorted, falling.
fn numbers(len: usize, kind: u8, seed: u64) -> Vec<u64> {
    let random = |n: usize| {
        (n as u64 ^ seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
    };
    let number = |n: usize| match kind {
        0 => random(n),
        1 => random(n) % 8,
        2 => n as u64,
        3 if random(n) % 100 == 0 => random(n) % 100_000,
        3 => n as u64,
        4 => 1,
        _ => (len - n) as u64,
    };
    (0..len).map(number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sorts(len in len(), kind in 0..6_u8, seed in any::<u64>(), pool in 0..pools().len()) {
        let numbers = numbers(len, kind, seed);
        let mut twin = numbers.clone();
        twin.sort();
        let mut sorted = numbers.clone();
        pools()[pool].install(|| sorted.par_sort_unstable());
        prop_assert!(sorted == twin, "unstable");
        let mut sorted = numbers.clone();
        pools()[pool].install(|| sorted.par_sort());
        prop_assert!(sorted == twin, "stable");
        // Boxes show double drops, and the positions show the order of equal keys.
        let keyed = || numbers.iter().enumerate().map(|(at, n)| Box::new((n % 1000, at)));
        let mut sorted: Vec<_> = keyed().collect();
        pools()[pool].install(|| sorted.par_sort_by_key(|pair| pair.0));
        let mut twin: Vec<_> = keyed().collect();
        twin.sort_by_key(|pair| pair.0);
        prop_assert!(sorted == twin, "stable, by key");
        let mut sorted: Vec<_> = keyed().collect();
        pools()[pool].install(|| sorted.par_sort_unstable_by(|a, b| b.cmp(a)));
        twin.sort_by(|a, b| b.cmp(a));
        prop_assert!(sorted == twin, "unstable, falling");
    }

    #[test]
    fn scans(len in len(), seed in any::<u64>(), pool in 0..pools().len()) {
        let numbers = numbers(len, 0, seed);
        // Composition of x -> a x + b, which is not commutative.
        let maps: Vec<(u64, u64)> = numbers.iter().map(|&n| (n | 1, n >> 7)).collect();
        let then = |f: &(u64, u64), g: &(u64, u64)| {
            (g.0.wrapping_mul(f.0), g.0.wrapping_mul(f.1).wrapping_add(g.1))
        };
        let mut twin = maps.clone();
        for at in 1..len {
            twin[at] = then(&twin[at - 1], &twin[at]);
        }
        let mut scanned = maps.clone();
        pools()[pool].install(|| scanned.par_scan(then));
        prop_assert!(scanned == twin, "inclusive");
        let mut scanned = maps;
        let all = pools()[pool].install(|| scanned.par_scan_exclusive((1, 0), then));
        twin.insert(0, (1, 0));
        prop_assert_eq!(twin.pop(), Some(all));
        prop_assert!(scanned == twin, "exclusive");
    }

    /// Few items that own memory, and expensive operations.
    #[test]
    fn scans_of_few(len in 0..400_usize, seed in any::<u64>(), pool in 0..pools().len()) {
        let numbers = numbers(len, 0, seed);
        let words: Vec<String> = numbers.iter().map(|n| (n % 10).to_string()).collect();
        let then = |a: &String, b: &String| {
            uneven(b.len() as u64, seed);
            busy(1);
            format!("{a}{b}")
        };
        let text = words.concat();
        let mut scanned = words.clone();
        pools()[pool].install(|| scanned.par_scan(then));
        prop_assert!(scanned.iter().enumerate().all(|(at, front)| *front == text[..=at]));
        let mut scanned = words;
        let all = pools()[pool].install(|| scanned.par_scan_exclusive(String::new(), then));
        prop_assert_eq!(&all, &text);
        prop_assert!(scanned.iter().enumerate().all(|(at, front)| *front == text[..at]));
    }

    #[test]
    fn selections(
        len in len(),
        kind in 0..6_u8,
        seed in any::<u64>(),
        rank in 0.0..1.0_f64,
        pool in 0..pools().len(),
    ) {
        let numbers = numbers(len, kind, seed);
        let mut sorted = numbers.clone();
        sorted.sort();
        pools()[pool].install(|| {
            if len > 0 {
                let rank = (len as f64 * rank) as usize;
                let mut items = numbers.clone();
                let (front, item, back) = items.par_select_nth_unstable(rank);
                prop_assert_eq!(*item, sorted[rank]);
                prop_assert!(front.iter().all(|n| n <= item) && back.iter().all(|n| n >= item));
                items.sort();
                prop_assert!(items == sorted, "all items are there once");
            }
            let mut items = numbers.clone();
            let is_front = |n: &u64| n % 5 < 2;
            let front = items.par_partition_unstable(is_front);
            prop_assert!(items[..front].iter().all(is_front));
            prop_assert!(!items[front..].iter().any(is_front));
            items.sort();
            prop_assert!(items == sorted, "all items are there once");
            let (mut par, mut seq) = (numbers.clone(), numbers.clone());
            par.par_dedup();
            seq.dedup();
            prop_assert!(par == seq, "dedup");
            let mut boxed: Vec<_> = numbers.iter().map(|n| Box::new(n / 1000)).collect();
            boxed.par_dedup_by_key(|n| **n % 16);
            let mut twin: Vec<_> = numbers.iter().map(|n| Box::new(n / 1000)).collect();
            twin.dedup_by_key(|n| **n % 16);
            prop_assert!(boxed == twin, "dedup by key");
            Ok(())
        })?;
    }

    #[test]
    fn the_rest(
        len in len(),
        kind in 0..6_u8,
        seed in any::<u64>(),
        pool in 0..pools().len(),
        k in 0..100_usize,
    ) {
        let numbers = numbers(len, kind, seed);
        let mut sorted = numbers.clone();
        sorted.sort();
        pools()[pool].install(|| {
            let mut kept = numbers.clone();
            kept.par_retain(|n| n % 3 == 0);
            let twin: Vec<u64> = numbers.iter().copied().filter(|n| n % 3 == 0).collect();
            prop_assert!(kept == twin, "retain");
            let counts = numbers.par().histogram(7, |n| (n % 7) as usize);
            let mut twin = vec![0; 7];
            numbers.iter().for_each(|n| twin[(n % 7) as usize] += 1);
            prop_assert_eq!(counts, twin);
            let top = numbers.par().copied().top_k(k);
            let twin: Vec<u64> = sorted.iter().rev().copied().take(k).collect();
            prop_assert_eq!(top, twin);
            let (even, odd): (Vec<u64>, Vec<u64>) = sorted.iter().partition(|n| *n % 2 == 0);
            prop_assert!(merge(&even, &odd) == sorted, "merge");
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// If a comparison panics, every item is still there once.
    #[test]
    fn panics_in_sorts(len in len(), at in 0..2_000_000_usize, pool in 0..pools().len()) {
        static LIVING: AtomicIsize = AtomicIsize::new(0);
        struct Item(u64);
        impl Drop for Item {
            fn drop(&mut self) {
                LIVING.fetch_sub(1, Ordering::Relaxed);
            }
        }
        crate::panics::quieten();
        let numbers = numbers(len, 0, at as u64);
        let mut items: Vec<Item> = numbers.iter().map(|&n| Item(n)).collect();
        LIVING.fetch_add(len as isize, Ordering::Relaxed);
        for kind in ["stable", "unstable", "select", "partition", "dedup"] {
            let comparisons = AtomicUsize::new(0);
            let compare = |a: &Item, b: &Item| -> Order {
                if comparisons.fetch_add(1, Ordering::Relaxed) == at {
                    std::panic::panic_any("on purpose");
                }
                a.0.cmp(&b.0)
            };
            let sort = || match kind {
                "stable" => items.par_sort_by(compare),
                "unstable" => items.par_sort_unstable_by(compare),
                "select" if len > 0 => {
                    let _ = items.par_select_nth_unstable_by(len / 3, compare);
                }
                "partition" => {
                    let _ = items.par_partition_unstable(|item| {
                        compare(item, item) == Order::Equal && item.0 % 3 == 0
                    });
                }
                // All items are different, so none is removed.
                _ => items.par_dedup_by(|a, b| compare(a, b) == Order::Equal),
            };
            let _ = catch_unwind(AssertUnwindSafe(|| pools()[pool].install(sort)));
            let mut left: Vec<u64> = items.iter().map(|item| item.0).collect();
            left.sort();
            let mut twin = numbers.clone();
            twin.sort();
            prop_assert!(left == twin, "{kind}");
        }
        prop_assert_eq!(LIVING.load(Ordering::Relaxed), len as isize);
        drop(items);
        prop_assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    }
}

/// A comparison that decides as late as it can makes every pivot a bad one (McIlroy: a killer
/// adversary for quicksort). Selection stays linear.
#[test]
fn selection_from_an_adversary_is_linear() {
    const LEN: usize = 200_000;
    const UNDECIDED: u64 = u64::MAX;
    let values: Vec<AtomicU64> = (0..LEN).map(|_| AtomicU64::new(UNDECIDED)).collect();
    let (decided, candidate) = (AtomicU64::new(0), AtomicUsize::new(0));
    let comparisons = AtomicUsize::new(0);
    let value = |item: usize| values[item].load(Relaxed);
    let compare = |&a: &usize, &b: &usize| {
        comparisons.fetch_add(1, Relaxed);
        if a != b && value(a) == UNDECIDED && value(b) == UNDECIDED {
            let low = if a == candidate.load(Relaxed) { a } else { b };
            values[low].store(decided.fetch_add(1, Relaxed), Relaxed);
        }
        if value(a) == UNDECIDED {
            candidate.store(a, Relaxed);
        } else if value(b) == UNDECIDED {
            candidate.store(b, Relaxed);
        }
        value(a).cmp(&value(b))
    };
    let mut items: Vec<usize> = (0..LEN).collect();
    let pool = locksley::Pool::builder()
        .workers(1)
        .build()
        .expect("a pool");
    pool.install(|| {
        items.par_select_nth_unstable_by(LEN - 1, compare);
    });
    let last = value(items[LEN - 1]);
    assert!(items.iter().all(|&item| value(item) <= last));
    let each = comparisons.into_inner() / LEN;
    assert!(each < 200, "{each} comparisons for each item");
}
