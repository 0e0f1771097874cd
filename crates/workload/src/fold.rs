//! A fold with an operation that is associative and not commutative: the order of the parts
//! matters.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::split_mix;

/// Number of maps that are composed serially.
const BLOCK: usize = 1024;

/// The map x -> slope x + offset, modulo 2^64.
///
/// ```
/// use locksley_workload::{Fold, Program, Serial, Task};
///
/// assert_eq!(Fold::new(0, 7).task().run(Serial).slope, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// Factor of x.
    pub slope: u64,
    /// Number added after the multiplication.
    pub offset: u64,
}

impl Affine {
    const IDENTITY: Affine = Affine {
        slope: 1,
        offset: 0,
    };

    /// Returns the map that applies `self` and then `other`.
    fn then(self, other: Affine) -> Affine {
        Affine {
            slope: other.slope.wrapping_mul(self.slope),
            offset: other
                .slope
                .wrapping_mul(self.offset)
                .wrapping_add(other.offset),
        }
    }

    fn apply(self, x: u64) -> u64 {
        self.slope.wrapping_mul(x).wrapping_add(self.offset)
    }
}

/// Composes affine maps, first to last. An operation is a map.
///
/// ```
/// use locksley_workload::{Fold, Program, Serial, Task};
///
/// let mut fold = Fold::new(5000, 7);
/// let map = fold.task().run(Serial);
/// assert_eq!(fold.check(map), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Fold {
    maps: Vec<Affine>,
}

impl Fold {
    /// Creates a fold of `n` pseudo-random maps.
    pub fn new(n: usize, seed: u64) -> Fold {
        let mut state = seed;
        let map = |_| Affine {
            slope: split_mix(&mut state) | 1,
            offset: split_mix(&mut state),
        };
        Fold {
            maps: (0..n).map(map).collect(),
        }
    }
}

impl Program for Fold {
    type Task<'p> = FoldTask<'p>;
    type Output = Affine;

    fn operations(&self) -> u64 {
        self.maps.len().max(1) as u64
    }

    fn task(&mut self) -> FoldTask<'_> {
        FoldTask(&self.maps)
    }

    /// Applies the maps one by one to two numbers, since two points determine an affine map.
    fn check(&self, output: Affine) -> Result<(), Mismatch> {
        for start in [0, 1] {
            let end = self.maps.iter().fold(start, |x, map| map.apply(x));
            expect(end, output.apply(start))?;
        }
        Ok(())
    }
}

/// Composes some of the maps.
///
/// ```
/// use locksley_workload::{Fold, FoldTask, Program, Serial, Task};
///
/// let mut fold = Fold::new(0, 7);
/// let task: FoldTask = fold.task();
/// let identity = task.run(Serial);
/// assert_eq!(fold.check(identity), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FoldTask<'p>(&'p [Affine]);

impl Task for FoldTask<'_> {
    type Output = Affine;

    fn run<F: Fork>(self, fork: F) -> Affine {
        if self.0.len() <= BLOCK {
            return self.0.iter().copied().fold(Affine::IDENTITY, Affine::then);
        }
        let (first, second) = self.0.split_at(self.0.len() / 2);
        let (a, b) = fork.fork(FoldTask(first), FoldTask(second));
        a.then(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn the_order_of_the_parts_matters() {
        let mut fold = Fold::new(3 * BLOCK + 5, 9);
        let map = fold.task().run(Serial);
        assert_eq!(fold.check(map), Ok(()));
        let (first, second) = fold.maps.split_at(BLOCK);
        let [a, b] = [first, second].map(|maps| FoldTask(maps).run(Serial));
        assert_eq!(a.then(b), map);
        assert!(fold.check(b.then(a)).is_err());
    }

    #[test]
    fn slopes_are_odd_so_that_no_map_loses_bits() {
        assert!(Fold::new(100, 5).maps.iter().all(|map| map.slope % 2 == 1));
    }
}
