//! Every task runs exactly once, in large numbers: leaves of trees of joins, below spawned tasks.
//!
//! Each strategy runs two to the power of `LOCKSLEY_LEAVES` leaves, 16 by default. Each leaf has a
//! number, and the sum of the numbers' hashes differs if one leaf ran twice and another never.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicU64, Ordering};

use locksley::{Pool, Strategy};
use locksley_policy::mix;

/// Binary logarithm of the number of spawned tasks. Each is a tree of joins.
const SPAWNED: u32 = 10;

/// Runs the tree below the node with this number. Returns the number of its leaves and the sum of
/// their hashes.
fn tree(depth: u32, number: u64) -> (u64, u64) {
    if depth == 0 {
        return (1, mix(number));
    }
    let [left, right] = [2 * number, 2 * number + 1];
    let (left, right) = locksley::join(|| tree(depth - 1, left), || tree(depth - 1, right));
    (left.0 + right.0, left.1.wrapping_add(right.1))
}

#[test]
fn every_leaf_runs_exactly_once() {
    let depth = std::env::var("LOCKSLEY_LEAVES").map_or(16, |text| text.parse().expect("a number"));
    assert!((SPAWNED..48).contains(&depth), "{depth}");
    let leaves = 1 << depth;
    let expected = (0..leaves).fold(0, |sum: u64, leaf| sum.wrapping_add(mix(leaf)));
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(3).strategy(strategy).build();
        let [count, sum] = [const { AtomicU64::new(0) }; 2];
        pool.expect("the pool starts").scope(|scope| {
            for number in 0..1 << SPAWNED {
                let (count, sum) = (&count, &sum);
                scope.spawn(move |_| {
                    let below = tree(depth - SPAWNED, number);
                    count.fetch_add(below.0, Ordering::Relaxed);
                    sum.fetch_add(below.1, Ordering::Relaxed);
                });
            }
        });
        let seen = (count.into_inner(), sum.into_inner());
        assert_eq!(seen, (leaves, expected), "{strategy}");
    }
    let all = leaves * Strategy::ALL.len() as u64;
    println!("{all} leaves, each counted once");
}
