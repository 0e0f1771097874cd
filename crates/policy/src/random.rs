//! Random numbers for decisions: small and fast generators, with the same numbers for the same
//! seed.

/// A source of random numbers.
pub trait Source {
    /// Returns the next number, uniform over all values of `u64`.
    fn next(&mut self) -> u64;

    /// Returns a number below `bound`, which is not zero.
    ///
    /// It multiplies instead of dividing: the bias is below `bound / 2^64`.
    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Returns a number from 0 inclusive to 1 exclusive, in steps of 2^-53.
    #[inline]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    #[inline]
    fn next(&mut self) -> u64 {
        (**self).next()
    }
}

/// The increment of [`SplitMix64`]: 2^64 over the golden ratio, odd. Also a good factor for hashes.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of [`SplitMix64`]: mixes all bits of a word into all others.
///
/// ```
/// assert_eq!(locksley_policy::mix(0), 0xe220_a839_7b1d_cdaf);
/// ```
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(GOLDEN);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Steele, Lea and Flood's SplitMix64 ("Fast splittable pseudorandom number generators", 2014). Any
/// state is as good as any other, so a state may be computed, for instance from a key.
///
/// ```
/// use locksley_policy::{Source, SplitMix64};
///
/// let mut random = SplitMix64(0);
/// assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
/// assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64(pub u64);

impl Source for SplitMix64 {
    #[inline]
    fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        number
    }
}

/// Vigna's xorshift64*, seeded through Steele, Lea and Flood's SplitMix64.
///
/// One word of state, three shifts and a multiplication: good enough to choose a victim, and cheap
/// for a worker that draws a number whenever it is out of work. Not for secrets.
///
/// ```
/// use locksley_policy::{Random, Source};
///
/// let mut a = Random::new(42, 0);
/// let mut b = Random::new(42, 0);
/// let mut other_stream = Random::new(42, 1);
/// assert_eq!(a.next(), b.next());
/// assert_ne!(a.next(), other_stream.next());
/// assert!(a.below(6) < 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// Never zero: xorshift maps zero to itself.
    state: u64,
}

impl Random {
    /// Creates the generator of a seed and a stream, such as the number of a worker. Stream k of a
    /// seed is stream k - 1 of the seed that is larger by [`GOLDEN`], so seeds must not be chosen
    /// at this distance.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random {
            state: mix(seed.wrapping_add(stream.wrapping_mul(GOLDEN))).max(1),
        }
    }
}

impl Source for Random {
    #[inline]
    fn next(&mut self) -> u64 {
        let mut x = self.state;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.state = x;
        x.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::distributed;

    /// The first numbers of the reference implementation, for the seed 1234567.
    #[test]
    fn split_mix_is_the_published_one() {
        let mut random = SplitMix64(1_234_567);
        let numbers: [u64; 3] = std::array::from_fn(|_| random.next());
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn below_is_uniform() {
        let mut random = Random::new(1, 2);
        let mut counts = [0; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(distributed(&counts, &[1.0 / 7.0; 7]), "{counts:?}");
    }

    #[test]
    fn unit_is_uniform_and_below_one() {
        let mut random = Random::new(3, 0);
        let mut counts = [0; 10];
        for _ in 0..100_000 {
            counts[(random.unit() * 10.0) as usize] += 1;
        }
        assert!(distributed(&counts, &[0.1; 10]), "{counts:?}");
    }

    #[test]
    fn no_seed_gets_stuck() {
        // For some stream of these seeds, SplitMix64 maps the state to zero; `max` in `Random::new`
        // replaces it.
        for seed in [0, 1, u64::MAX, 0x61c8_8646_80b5_83eb] {
            for stream in 0..100 {
                let mut random = Random::new(seed, stream);
                assert_ne!(random.next(), random.next(), "seed {seed} stream {stream}");
            }
        }
    }
}
