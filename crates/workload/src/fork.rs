//! What a task is, and what it needs from a runtime.

use crate::loops::LoopHalves;

/// A piece of work that may fork.
///
/// ```
/// use locksley_workload::{Fork, Serial, Task};
///
/// /// Counts the leaves of a binary tree of that height.
/// struct Leaves(u32);
///
/// impl Task for Leaves {
///     type Output = u64;
///
///     fn run<F: Fork>(self, fork: F) -> u64 {
///         if self.0 == 0 {
///             return 1;
///         }
///         let (left, right) = fork.fork(Leaves(self.0 - 1), Leaves(self.0 - 1));
///         left + right
///     }
/// }
///
/// assert_eq!(Leaves(10).run(Serial), 1024);
/// ```
pub trait Task: Send {
    /// What comes out.
    type Output: Send;

    /// Runs the task on the thread that calls this.
    fn run<F: Fork>(self, fork: F) -> Self::Output;
}

/// The right to fork once. A runtime's adapter implements it for the context that the
/// runtime passes along (`&Worker`, `&mut Scope`), or for a type of size zero.
///
/// See the [crate's documentation](crate) for an example.
pub trait Fork: Sized {
    /// The same right, borrowed.
    type Again<'a>: Fork
    where
        Self: 'a;

    /// Borrows the right, for a task that forks more than once.
    fn again(&mut self) -> Self::Again<'_>;

    /// Runs two tasks, perhaps in parallel; on one worker, the first one first.
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output);

    /// Adds up the results of a loop's items, with wrapping. A runtime that has parallel loops
    /// overrides it; otherwise the loop is halved until one item is left.
    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        let all = LoopHalves {
            from: 0,
            to: len,
            item,
        };
        all.run(self)
    }
}

/// Runs the first task, then the second.
///
/// ```
/// use locksley_workload::{Fib, Program, Serial, Task};
///
/// assert_eq!(Fib::new(10).task().run(Serial), 55);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Fork for Serial {
    type Again<'a> = Serial;

    #[inline(always)]
    fn again(&mut self) -> Serial {
        Serial
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        let a = a.run(Serial);
        (a, b.run(Serial))
    }

    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        (0..len).map(item).fold(0, u64::wrapping_add)
    }
}
