//! Bars: limits that measurements must keep.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// A limit and the measured value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bar {
    /// Name of the limited quantity.
    pub(crate) name: Cow<'static, str>,
    /// Largest acceptable value.
    pub(crate) limit: f64,
    /// Measured value; `None` if it could not be measured.
    pub(crate) measured: Option<f64>,
}

/// Verdict on a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within the limit.
    Ok,
    /// Beyond the limit.
    Short,
    /// Not measured.
    Skipped,
}

impl Bar {
    /// Compares the measurement, unrounded, with the limit.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.measured {
            None => Verdict::Skipped,
            Some(measured) if measured <= self.limit => Verdict::Ok,
            Some(_) => Verdict::Short,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bar {
            name,
            limit,
            measured,
        } = self;
        let measured = measured.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
        let verdict = match self.verdict() {
            Verdict::Ok => "ok",
            Verdict::Short => "short",
            Verdict::Skipped => "skipped",
        };
        write!(f, "bar {name}: {measured} (limit {limit}) {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(measured: Option<f64>) -> Bar {
        Bar {
            name: "owner_pair semi_private".into(),
            limit: 0.15,
            measured,
        }
    }

    #[test]
    fn a_bar_is_one_line() {
        let line = "bar owner_pair semi_private: 0.071 (limit 0.15) ok";
        assert_eq!(bar(Some(0.0714)).to_string(), line);
        let line = "bar owner_pair semi_private: 0.230 (limit 0.15) short";
        assert_eq!(bar(Some(0.23)).to_string(), line);
        let line = "bar owner_pair semi_private: unknown (limit 0.15) skipped";
        assert_eq!(bar(None).to_string(), line);
    }

    #[test]
    fn the_limit_itself_is_good_enough_and_rounding_does_not_help() {
        assert_eq!(bar(Some(0.15)).verdict(), Verdict::Ok);
        assert_eq!(bar(Some(0.150_01)).verdict(), Verdict::Short);
        assert_eq!(bar(Some(f64::NAN)).verdict(), Verdict::Short);
    }
}
