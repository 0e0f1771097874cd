//! Random numbers as functions of the place and time of their use.
//!
//! A processor keeps no generator: its random numbers follow from the seed of the run, its own
//! number and the time. So a million processors need no memory for generators, and the order in
//! which the simulator advances them does not matter.

use locksley_policy::{Source, SplitMix64, mix};

/// Random numbers of one processor at one time: SplitMix64 from a state that is a hash of seed,
/// processor and time.
///
/// ```
/// use locksley_policy::Source;
/// use locksley_sim::CounterRng;
///
/// let draw = |processor, time| CounterRng::at(42, processor, time).next();
/// assert_eq!(draw(3, 100), draw(3, 100));
/// assert_ne!(draw(3, 100), draw(3, 101));
/// assert_ne!(draw(3, 100), draw(4, 100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRng(SplitMix64);

impl CounterRng {
    /// Returns the numbers for `processor` at `time` in a run with `seed`.
    #[inline]
    pub fn at(seed: u64, processor: usize, time: u64) -> CounterRng {
        // An odd multiplier that differs from that of SplitMix64, so that no processor draws a
        // shifted copy of another processor's numbers.
        let place = (processor as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let state = mix(seed ^ place).wrapping_add(time.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7));
        CounterRng(SplitMix64(state))
    }
}

impl Source for CounterRng {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` if `count` is within six standard deviations of the mean of its binomial
    /// distribution.
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
            by_time[CounterRng::at(1, 5, i as u64).below(victims)] += 1;
            by_processor[CounterRng::at(1, i, 5).below(victims)] += 1;
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
        let victim = |p, t| CounterRng::at(9, p, t).below(16);
        let trials = 100_000;
        let in_time = (0..trials).filter(|&t| victim(3, t as u64) == victim(3, t as u64 + 1));
        let in_space = (0..trials).filter(|&p| victim(p, 7) == victim(p + 1, 7));
        assert!(is_near(in_time.count(), trials, 1.0 / 16.0));
        assert!(is_near(in_space.count(), trials, 1.0 / 16.0));
    }
}
