//! Pseudo-random numbers from a seed.

use locksley_policy::{Source, SplitMix64};

pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.0.next() % end as u64) as usize
    }

    /// Returns a number below `end`, small ones more often.
    pub(crate) fn skewed(&mut self, end: usize) -> usize {
        let first = self.below(end);
        first.min(self.below(end))
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
