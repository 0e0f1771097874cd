//! Parallel loops, compared with the sequential ones, in pools of all sizes and strategies.
#![cfg(not(loom))]

mod algorithms;
mod ends;
mod forks;
mod outside;
mod panics;
mod sources;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use locksley::{Pool, Strategy};

/// Returns pools of one to nine workers, and a pool of three workers for each strategy.
fn pools() -> &'static [Pool] {
    static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
    POOLS.get_or_init(|| {
        let strategies = Strategy::ALL.iter().cycle();
        let sizes = (1..=9).chain([3; 8]);
        let pool =
            |(workers, &strategy)| Pool::builder().workers(workers).strategy(strategy).build();
        let pools = sizes.zip(strategies).map(pool);
        pools.collect::<Result<_, _>>().expect("the pools start")
    })
}

/// Spins for so many microseconds, so that a loop is worth sharing.
fn busy(microseconds: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(microseconds) {
        std::hint::spin_loop();
    }
}

/// Spins for some microseconds for a few of the items, and almost no time for the others.
fn uneven(item: u64, seed: u64) {
    let mixed = (item ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    match mixed {
        0 => busy(20),
        1..4 => busy(2),
        _ => {}
    }
}
