//! Parsing of traces.

use std::fmt;

use crate::Trace;

/// Error for a text that is not a trace as [`Trace::write`] writes it.
///
/// ```
/// use locksley_trace::Trace;
///
/// let error = Trace::from_json("{}").unwrap_err();
/// assert!(error.to_string().contains("traceEvents"));
/// ```
#[derive(Debug)]
pub struct ReadError(serde_json::Error);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this is no trace as written by locksley: {}; give the JSON object that `Trace::write` \
             wrote",
            self.0
        )
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl Trace {
    /// Parses the output of [`to_json`](Trace::to_json). Needs the feature `read`.
    ///
    /// ```
    /// use locksley_trace::{Activity, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.slice(Activity::Work, (1, 0), 0.0, 10.0);
    /// assert_eq!(Trace::from_json(&trace.to_json())?, trace);
    /// # Ok::<(), locksley_trace::ReadError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or not of this format.
    pub fn from_json(text: &str) -> Result<Trace, ReadError> {
        serde_json::from_str(text).map_err(ReadError)
    }
}
