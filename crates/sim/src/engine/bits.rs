//! A set of processors, one bit for each: for a million it fits into a second-level cache.

/// A set of numbers below a bound.
#[derive(Clone, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// The empty set of numbers below a bound.
    pub(crate) fn new(bound: usize) -> Bits {
        Bits(vec![0; bound.div_ceil(64)])
    }

    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, number: usize, contained: bool) {
        if contained {
            self.insert(number)
        } else {
            self.remove(number)
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// How many numbers are in it.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}
