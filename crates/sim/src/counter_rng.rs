//! Random numbers that are functions of where they are used.
//!
//! A processor keeps no generator: what it draws follows from the run's seed, its own number and
//! the time. So a million processors need no memory for it, and the order in which the simulator
//! happens to look at them changes nothing.

use locksley_policy::Source;

/// The increment of SplitMix64: 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood): mixes all bits of a word into all others.
#[inline]
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(GOLDEN);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The numbers that one processor draws at one time: SplitMix64 from a state that is mixed of both.
///
/// ```
/// use locksley_policy::Source;
/// use locksley_sim::Draw;
///
/// let draw = |processor, time| Draw::at(42, processor, time).next();
/// assert_eq!(draw(3, 100), draw(3, 100));
/// assert_ne!(draw(3, 100), draw(3, 101));
/// assert_ne!(draw(3, 100), draw(4, 100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw(u64);

impl Draw {
    /// The numbers of a run with this seed, for a processor and a time.
    #[inline]
    pub fn at(seed: u64, processor: usize, time: u64) -> Draw {
        // An odd multiplier other than GOLDEN, so that no processor's numbers are another's
        // shifted.
        let place = (processor as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
        Draw(mix(seed ^ place).wrapping_add(time.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7)))
    }
}

impl Source for Draw {
    #[inline]
    fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six standard deviations of a binomial count around its mean.
    fn is_near(count: usize, trials: usize, probability: f64) -> bool {
        let mean = trials as f64 * probability;
        (count as f64 - mean).abs() < 6.0 * (mean * (1.0 - probability)).sqrt()
    }

    #[test]
    fn victims_are_uniform_over_time_and_over_processors() {
        let victims = 10;
        let mut by_time = vec![0; victims];
        let mut by_processor = vec![0; victims];
        for i in 0..100_000 {
            by_time[Draw::at(1, 5, i as u64).below(victims)] += 1;
            by_processor[Draw::at(1, i, 5).below(victims)] += 1;
        }
        for counts in [by_time, by_processor] {
            assert!(
                counts.iter().all(|&count| is_near(count, 100_000, 0.1)),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn neighbours_agree_no_more_often_than_by_chance() {
        let victim = |p, t| Draw::at(9, p, t).below(16);
        let trials = 100_000;
        let in_time = (0..trials).filter(|&t| victim(3, t as u64) == victim(3, t as u64 + 1));
        let in_space = (0..trials).filter(|&p| victim(p, 7) == victim(p + 1, 7));
        assert!(is_near(in_time.count(), trials, 1.0 / 16.0));
        assert!(is_near(in_space.count(), trials, 1.0 / 16.0));
    }
}
