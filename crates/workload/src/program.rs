//! Programs: tasks that can be run repeatedly, with oracles for their results.

use std::fmt;

use crate::fork::Task;

/// A task with its parameters and its oracle.
///
/// ```
/// use locksley_workload::{Layout, Program, Serial, Task, Tree};
///
/// let mut tree = Tree::new(10, Layout::Preorder);
/// for _ in 0..2 {
///     let sum = tree.task().run(Serial);
///     assert_eq!(tree.check(sum), Ok(()));
/// }
/// ```
pub trait Program {
    /// The task of a run.
    type Task<'p>: Task<Output = Self::Output>
    where
        Self: 'p;

    /// The result of a run.
    type Output: Send + fmt::Debug + 'static;

    /// Returns the number of operations of a run. Each program defines what an operation is.
    fn operations(&self) -> u64;

    /// Returns the task of a run. Its data are prepared here, not in the task.
    fn task(&mut self) -> Self::Task<'_>;

    /// Compares the result of the last run with the oracle's.
    ///
    /// # Errors
    ///
    /// If they differ.
    fn check(&self, output: Self::Output) -> Result<(), Mismatch>;
}

/// Error of a program that gave a wrong result.
///
/// ```
/// use locksley_workload::{Fib, Program};
///
/// let mismatch = Fib::new(10).check(54).unwrap_err();
/// assert_eq!(mismatch.to_string(), "expected 55, got 54");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
pub struct Mismatch {
    /// The oracle's result.
    pub expected: String,
    /// The actual result.
    pub got: String,
}

/// Compares a result with the expected one.
///
/// ```
/// assert!(locksley_workload::expect(1, 1).is_ok());
/// assert!(locksley_workload::expect(1, 2).is_err());
/// ```
///
/// # Errors
///
/// If they differ.
pub fn expect<T: PartialEq + fmt::Debug>(expected: T, got: T) -> Result<(), Mismatch> {
    if expected == got {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{expected:?}"),
        got: format!("{got:?}"),
    })
}

/// Compares two slices of the same length, whose first difference becomes the error. `describe`
/// gets its index, and the value that is there.
pub(crate) fn expect_each<T: PartialEq, D: PartialEq + fmt::Debug>(
    expected: &[T],
    got: &[T],
    describe: impl Fn(usize, &T) -> D,
) -> Result<(), Mismatch> {
    let mut pairs = expected.iter().zip(got).enumerate();
    match pairs.find(|(_, (expected, got))| expected != got) {
        None => Ok(()),
        Some((at, (expected, got))) => expect(describe(at, expected), describe(at, got)),
    }
}
