//! Work of a known length: arithmetic that uses neither a clock nor memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Computes `iterations` steps of a chain in which every step depends on the one before.
///
/// A step is a shift, an exclusive or and a multiplication, which a compiler cannot shorten, and
/// which are not slower while another hardware thread of the same core does the same.
#[inline(never)]
pub(crate) fn spin(iterations: u64, seed: u64) -> u64 {
    let mut value = seed;
    for _ in 0..black_box(iterations) {
        value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    value
}

/// Measures how many steps take a microsecond: the best of many short runs.
pub(crate) fn calibrate() -> Rate {
    const STEPS: u64 = 50_000;
    const TRIES: u64 = 40;
    let best = (0..TRIES).map(|seed| {
        let start = Instant::now();
        black_box(spin(STEPS, seed));
        start.elapsed()
    });
    let best = best.min().unwrap_or(Duration::MAX);
    Rate(STEPS as f64 / (best.as_secs_f64() * 1e6))
}

/// Speed of the processor, in steps per microsecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(pub(crate) f64);

impl Rate {
    /// Returns the number of steps that take `microseconds`.
    pub(crate) fn steps(self, microseconds: f64) -> u64 {
        (self.0 * microseconds).round().max(1.0) as u64
    }
}
