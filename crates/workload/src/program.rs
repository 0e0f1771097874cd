//! Tasks that can be run again and again, and checked.

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
    /// What is run.
    type Task<'p>: Task<Output = Self::Output>
    where
        Self: 'p;

    /// What comes out.
    type Output: Send + fmt::Debug + 'static;

    /// How many operations a run has; what an operation is, the program says.
    fn operations(&self) -> u64;

    /// One run's task. What the run needs is prepared here, not in the task.
    fn task(&mut self) -> Self::Task<'_>;

    /// Compares what came out of the last run with what the oracle says.
    ///
    /// # Errors
    ///
    /// If it differs.
    fn check(&self, output: Self::Output) -> Result<(), Mismatch>;
}

/// A program gave a wrong result.
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
    /// What the oracle says.
    pub expected: String,
    /// What came out.
    pub got: String,
}

/// Compares what came out with what should have.
///
/// ```
/// assert!(locksley_workload::expect(1, 1).is_ok());
/// assert!(locksley_workload::expect(1, 2).is_err());
/// ```
///
/// # Errors
///
/// If it differs.
pub fn expect<T: PartialEq + fmt::Debug>(expected: T, got: T) -> Result<(), Mismatch> {
    if expected == got {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{expected:?}"),
        got: format!("{got:?}"),
    })
}
