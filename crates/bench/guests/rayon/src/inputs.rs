//! Inputs, the same in every run.

/// The generator of Steele, Lea and Flood (splitmix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }
}

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }
}

/// Returns `count` numbers.
pub(crate) fn numbers(count: usize) -> Vec<u64> {
    Numbers::new(7).take(count).collect()
}

/// Returns `count` strings of a few letters, some of them equal.
pub(crate) fn strings(count: usize) -> Vec<String> {
    let letters = |number: u64| format!("{:x}", number % (count as u64 * 4));
    Numbers::new(8).take(count).map(letters).collect()
}

/// Computes for a few dozen nanoseconds.
pub(crate) fn work(seed: u64) -> u64 {
    Numbers::new(seed).take(16).fold(0, u64::wrapping_add)
}
