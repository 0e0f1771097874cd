//! Fork and join: a parallel merge sort.
//!
//! ```sh
//! cargo run --release -p locksley --example join
//! ```

use std::time::Instant;

/// Number of values up to which a leaf sorts sequentially.
const LEAF: usize = 4096;

fn sort(values: &mut [u64], buffer: &mut [u64]) {
    if values.len() <= LEAF {
        return values.sort_unstable();
    }
    let middle = values.len() / 2;
    let (left, right) = values.split_at_mut(middle);
    let (low, high) = buffer.split_at_mut(middle);
    locksley::join(|| sort(left, low), || sort(right, high));
    buffer.copy_from_slice(values);
    merge(buffer.split_at(middle), values);
}

fn merge((mut left, mut right): (&[u64], &[u64]), out: &mut [u64]) {
    for slot in out {
        let from = match (left.first(), right.first()) {
            (Some(a), Some(b)) if a <= b => &mut left,
            (Some(_), None) => &mut left,
            _ => &mut right,
        };
        *slot = from[0];
        *from = &from[1..];
    }
}

fn main() {
    let count = 2_000_000;
    // Multiplying by a large odd number shuffles the values.
    let values: Vec<u64> = (0..count)
        .map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();

    let mut serial = values.clone();
    let start = Instant::now();
    serial.sort_unstable();
    println!("std, one thread:     {:>9.2?}", start.elapsed());

    let (mut parallel, mut buffer) = (values, vec![0; count as usize]);
    let start = Instant::now();
    sort(&mut parallel, &mut buffer);
    let workers = locksley::current_num_workers();
    println!("Locksley, {workers} workers: {:>9.2?}", start.elapsed());
    assert_eq!(parallel, serial);
    println!("Both agree on {count} values.");
}
