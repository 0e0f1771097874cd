//! Built-in programs. Each runs unchanged in one process, on MPI, and on Redis.

pub mod cholesky;
pub mod merge_sort;
#[cfg(feature = "uts")]
pub mod uts;

use locksley_policy::{Random, Source};

/// Returns a pseudorandom number, a function of the seed and its index.
fn number(seed: u64, index: u64) -> u32 {
    (Random::new(seed, index).next() >> 32) as u32
}
