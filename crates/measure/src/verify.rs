//! Checks of results: a contender that loses work would otherwise seem fast.

use std::fmt;

/// Error of a contender that gave a wrong result, which makes the run worthless.
///
/// ```
/// use locksley_measure::Wrong;
///
/// let wrong = Wrong::new("a queue", "sum", "3".into(), "2".into());
/// assert_eq!(wrong.to_string(), "a queue gave a wrong result: sum: expected 3, got 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{contender} gave a wrong result: {what}: expected {expected}, got {got}")]
pub struct Wrong {
    contender: String,
    what: String,
    expected: String,
    got: String,
}

impl Wrong {
    /// Creates the error: `contender` computed `what`, with these expected and actual results.
    pub fn new(contender: &str, what: &str, expected: String, got: String) -> Wrong {
        Wrong {
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
) -> Result<(), Wrong> {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    Err(Wrong::new(contender, what, expected, got))
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
