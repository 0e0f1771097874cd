//! Parallel loops over independent items, with different distributions of costs.

use locksley_policy::GOLDEN;

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};

/// How the costs of a loop's items are distributed.
///
/// ```
/// use locksley_workload::Costs;
///
/// assert_eq!(Costs::Triangular.of(10, 100, 500), 50);
/// assert_eq!(Costs::CostlyFront.of(0, 100, 500), 500_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// All items cost the same.
    Equal,
    /// Item i costs i, scaled so that the mean is half of the largest.
    Triangular,
    /// The first hundredth costs 1000 times as much.
    CostlyFront,
    /// The last hundredth costs 1000 times as much.
    CostlyEnd,
    /// One item in a hundred costs 1000 times as much.
    CostlyRandom,
}

impl Costs {
    /// Returns the number of steps of an item in a loop of `len` items with `work` steps.
    pub fn of(self, item: u64, len: u64, work: u64) -> u64 {
        let costly = match self {
            Costs::Equal => false,
            Costs::Triangular => {
                return (u128::from(work) * u128::from(item) / u128::from(len.max(1))) as u64;
            }
            Costs::CostlyFront => item < len / 100,
            Costs::CostlyEnd => item >= len - len / 100,
            Costs::CostlyRandom => item.wrapping_mul(GOLDEN) >> 57 == 1,
        };
        if costly { 1000 * work } else { work }
    }
}

/// A loop that adds up the results of its items. An operation is an item.
///
/// A runtime that has parallel loops runs it as one of them ([`Fork::sum`]); other runtimes halve
/// it until one item is left.
///
/// ```
/// use locksley_workload::{Costs, ParallelLoop, Program, Serial, Task};
///
/// let mut program = ParallelLoop::new(1000, 5, Costs::Triangular);
/// let sum = program.task().run(Serial);
/// assert_eq!(program.check(sum), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct ParallelLoop {
    len: u64,
    work: u64,
    costs: Costs,
    expected: u64,
}

impl ParallelLoop {
    /// Creates a loop of `len` items of `work` steps, as modified by `costs` (see [`Costs::of`]).
    pub fn new(len: u64, work: u64, costs: Costs) -> ParallelLoop {
        let item = item(len, work, costs);
        let expected = (0..len).map(item).fold(0, u64::wrapping_add);
        ParallelLoop {
            len,
            work,
            costs,
            expected,
        }
    }
}

/// Returns the function that an item computes: a chain of multiplications, one per step.
fn item(len: u64, work: u64, costs: Costs) -> impl Fn(u64) -> u64 + Sync {
    move |number| {
        let steps = costs.of(number, len, work);
        let mixed = (0..steps).fold(number, |x, _| {
            x.wrapping_mul(6_364_136_223_846_793_005) ^ (x >> 31)
        });
        mixed >> 20
    }
}

impl Program for ParallelLoop {
    type Task<'p> = ParallelLoopTask<'p>;
    type Output = u64;

    fn operations(&self) -> u64 {
        self.len
    }

    fn task(&mut self) -> ParallelLoopTask<'_> {
        ParallelLoopTask(self)
    }

    fn check(&self, output: u64) -> Result<(), Mismatch> {
        expect(self.expected, output)
    }
}

/// Runs a [`ParallelLoop`].
///
/// ```
/// use locksley_workload::{Costs, ParallelLoop, ParallelLoopTask, Program, Serial, Task};
///
/// let mut program = ParallelLoop::new(3, 1, Costs::Equal);
/// let task: ParallelLoopTask = program.task();
/// let sum = task.run(Serial);
/// assert!(program.check(sum + 1).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ParallelLoopTask<'l>(&'l ParallelLoop);

impl Task for ParallelLoopTask<'_> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let ParallelLoop {
            len, work, costs, ..
        } = *self.0;
        fork.sum(len, &item(len, work, costs))
    }
}

/// Some items of a loop, halved until one is left: the implementation of a loop for runtimes
/// without loops.
#[derive(Debug)]
pub(crate) struct Items<'i, I> {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) item: &'i I,
}

impl<I: Fn(u64) -> u64 + Sync> Task for Items<'_, I> {
    type Output = u64;

    fn run<F: Fork>(self, fork: F) -> u64 {
        let Items { from, to, item } = self;
        if to - from <= 1 {
            return if from < to { item(from) } else { 0 };
        }
        let mid = from + (to - from) / 2;
        let part = |from, to| Items { from, to, item };
        let (a, b) = fork.fork(part(from, mid), part(mid, to));
        a.wrapping_add(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    /// A runtime that has forks and no loops.
    struct NoLoops;

    impl Fork for NoLoops {
        type Reborrowed<'a> = NoLoops;

        fn reborrow(&mut self) -> NoLoops {
            NoLoops
        }

        fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
            (a.run(NoLoops), b.run(NoLoops))
        }
    }

    #[test]
    fn halves_have_every_item_once() {
        for len in [0, 1, 2, 3, 100, 1001] {
            for costs in [
                Costs::Equal,
                Costs::Triangular,
                Costs::CostlyFront,
                Costs::CostlyEnd,
                Costs::CostlyRandom,
            ] {
                let mut program = ParallelLoop::new(len, 2, costs);
                let (halved, plain) = (program.task().run(NoLoops), program.task().run(Serial));
                assert_eq!(program.check(halved), Ok(()));
                assert_eq!(halved, plain);
            }
        }
    }

    #[test]
    fn one_item_in_a_hundred_is_dear() {
        for costs in [Costs::CostlyFront, Costs::CostlyEnd, Costs::CostlyRandom] {
            let costly = (0..100_000).filter(|&n| costs.of(n, 100_000, 1) == 1000);
            let costly = costly.count();
            assert!((700..=1300).contains(&costly), "{costs:?}: {costly}");
        }
    }
}
