//! Loops without a chunk size: they split when a worker is idle. Finds the most frequent remainder
//! of squares.
//!
//! ```sh
//! cargo run --release -p locksley --example loops
//! ```

use locksley::prelude::*;

const MODULUS: usize = 101;

fn main() {
    let numbers: Vec<u64> = (0..1_000_000).collect();

    // Map and reduce. Parts are combined in the order of the data, whichever worker runs them.
    let sum: u64 = numbers.par().map(|&n| n * n % MODULUS as u64).sum();
    println!("the remainders add up to {sum}");

    // Each part has counts of its own, which are added when two parts are joined.
    let counts = numbers.par().fold(
        || [0_u64; MODULUS],
        |mut counts, &n| {
            counts[(n * n) as usize % MODULUS] += 1;
            counts
        },
        |mut left, right| {
            left.iter_mut()
                .zip(right)
                .for_each(|(left, right)| *left += right);
            left
        },
    );
    let (most, times) = (0..).zip(counts).max_by_key(|pair| pair.1).expect("some");
    println!("{most} is the most frequent, {times} times");
    assert_eq!(counts.iter().sum::<u64>(), numbers.len() as u64);
}
