//! Checks of results: a contender that loses work would otherwise seem fast.

use std::fmt;

use locksley_workload::expect;

/// Error of a contender that gave a wrong result, which makes the run worthless.
///
/// ```
/// use locksley_measure::WrongResult;
///
/// let wrong = WrongResult::new("a queue", "sum", "3".into(), "2".into());
/// assert_eq!(wrong.to_string(), "a queue gave a wrong result: sum: expected 3, got 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{contender} gave a wrong result: {what}: expected {expected}, got {got}")]
pub struct WrongResult {
    contender: String,
    what: String,
    expected: String,
    got: String,
}

impl WrongResult {
    /// Creates the error: `contender` computed `what`, with these expected and actual results.
    pub fn new(contender: &str, what: &str, expected: String, got: String) -> WrongResult {
        WrongResult {
            contender: contender.to_owned(),
            what: what.to_owned(),
            expected,
            got,
        }
    }
}

/// Compares the result of a contender with the expected one.
///
/// ```
/// assert!(locksley_measure::verify("a queue", "sum", 3, 3).is_ok());
/// assert!(locksley_measure::verify("a queue", "sum", 3, 2).is_err());
/// ```
///
/// # Errors
///
/// If the results differ.
pub fn verify<T: PartialEq + fmt::Debug>(
    contender: &str,
    what: &str,
    expected: T,
    got: T,
) -> Result<(), WrongResult> {
    expect(expected, got)
        .map_err(|mismatch| WrongResult::new(contender, what, mismatch.expected, mismatch.got))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_says_whose_and_how() {
        assert_eq!(verify("a", "sum", 3, 3), Ok(()));
        let wrong = verify("loser", "sum", 3, 2).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "loser gave a wrong result: sum: expected 3, got 2"
        );
    }
}
