//! Inputs of the loops.

/// Returns the size of a large loop, which is smaller in a quick run.
pub(super) fn many(quick: bool) -> usize {
    if quick { 20_000 } else { 10_000_000 }
}

/// Returns random numbers.
pub(super) fn numbers(len: usize) -> Vec<u64> {
    let random = |n: u64| {
        let mixed = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    };
    (0..len as u64).map(random).collect()
}

/// Returns numbers in order, except for one in a hundred.
pub(super) fn nearly_sorted(len: usize) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..len as u64).collect();
    for place in (0..len).step_by(100) {
        numbers.swap(place, (place * 7919) % len);
    }
    numbers
}

/// Returns words of different lengths.
pub(super) fn words(len: usize) -> Vec<String> {
    let word = |n: u64| format!("{:x}", n >> (n % 32));
    numbers(len).into_iter().map(word).collect()
}

/// Computes a chain of multiplications, which takes about a nanosecond per step.
#[inline(always)]
pub(super) fn work(seed: u64, steps: u64) -> u64 {
    (0..steps).fold(seed, |x, _| {
        x.wrapping_mul(6_364_136_223_846_793_005) ^ (x >> 31)
    })
}
