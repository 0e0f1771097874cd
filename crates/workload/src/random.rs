//! Pseudo-random data, the same for the same seed on every machine.

use locksley_policy::{Source, SplitMix64};

/// Returns the next number of [`SplitMix64`].
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    let mut random = SplitMix64(*state);
    let number = random.next();
    *state = random.0;
    number
}

/// Returns a number below a limit, which must not be 0; the bias is below one in 2^32 for limits
/// below 2^32.
pub(crate) fn below(limit: u64, state: &mut u64) -> u64 {
    let mut random = SplitMix64(*state);
    let number = random.below(limit as usize) as u64;
    *state = random.0;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut state = 1;
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[below(5, &mut state) as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
    }
}
