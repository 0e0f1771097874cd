//! Skynet: a tree of tasks that only count, with ten children each. The original microbenchmark has
//! a million leaves.

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// Number of children of a task.
const CHILDREN: u64 = 10;

/// Adds up the numbers of the leaves of a tree of tasks with ten children each. An operation is a
/// leaf.
///
/// ```
/// use locksley_workload::{Program, Serial, Skynet, Task};
///
/// let mut skynet = Skynet::new(3);
/// assert_eq!(skynet.task().run(Serial), 999 * 1000 / 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Skynet {
    leaves: u64,
}

impl Skynet {
    /// Creates a tree with 10^levels leaves.
    pub fn new(levels: u32) -> Skynet {
        Skynet {
            leaves: CHILDREN.pow(levels),
        }
    }
}

impl Program for Skynet {
    type Task<'p> = SkynetTask;
    type Output = u64;

    fn operations(&self) -> u64 {
        self.leaves
    }

    fn task(&mut self) -> SkynetTask {
        SkynetTask {
            first: 0,
            count: 1,
            leaves: self.leaves,
        }
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.leaves * (self.leaves - 1) / 2, output)
    }
}

/// Some neighbouring subtrees.
///
/// ```
/// use locksley_workload::{Program, Serial, Skynet, SkynetTask, Task};
///
/// let task: SkynetTask = Skynet::new(0).task();
/// assert_eq!(task.run(Serial), 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SkynetTask {
    /// Number of the first leaf.
    first: u64,
    /// Number of subtrees.
    count: u64,
    /// Number of leaves of each subtree.
    leaves: u64,
}

impl Task for SkynetTask {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let SkynetTask {
            first,
            count,
            leaves,
        } = self;
        if count == 1 && leaves == 1 {
            return first;
        }
        if count == 1 {
            let children = SkynetTask {
                first,
                count: CHILDREN,
                leaves: leaves / CHILDREN,
            };
            return children.run(fork);
        }
        let left = count.div_ceil(2);
        let right = SkynetTask {
            first: first + left * leaves,
            count: count - left,
            leaves,
        };
        let (a, b) = fork.fork(
            SkynetTask {
                count: left,
                ..self
            },
            right,
        );
        a + b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn every_leaf_is_counted_once() {
        for levels in 0..5 {
            let mut skynet = Skynet::new(levels);
            let sum = skynet.task().run(Serial);
            assert_eq!(skynet.check(sum), Ok(()));
            assert!(skynet.check(sum + 1).is_err());
        }
    }
}
