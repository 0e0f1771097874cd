//! Medians and quartiles: what stays put when some samples are disturbed.

use std::fmt;

use serde::Serialize;

/// The middle of a set of samples, and how far its inner half spreads.
///
/// ```
/// use locksley_measure::Summary;
///
/// let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 4.0]);
/// assert_eq!((summary.q1, summary.median, summary.q3), (2.0, 3.0, 4.0));
/// assert_eq!(summary.spread(), "2.00..4.00");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// First quartile.
    pub q1: f64,
    /// Second quartile.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
}

impl Summary {
    /// Summarises samples; of none, the summary is not a number.
    pub fn of(samples: &[f64]) -> Summary {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary {
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
        }
    }

    /// Summarises the ratios of samples that were taken in the same round.
    ///
    /// What disturbed a whole round, a slower clock for instance, cancels out.
    pub fn of_ratios(samples: &[f64], reference: &[f64]) -> Summary {
        let ratios: Vec<f64> = samples.iter().zip(reference).map(|(a, b)| a / b).collect();
        Summary::of(&ratios)
    }

    /// The quartiles as text.
    pub fn spread(&self) -> String {
        format!("{}..{}", Figure(self.q1), Figure(self.q3))
    }
}

/// The quantile of sorted samples, interpolated between neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = q * (sorted.len() - 1) as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * position.fract()
}

/// A number with about three significant digits.
///
/// ```
/// assert_eq!(locksley_measure::Figure(9.006).to_string(), "9.01");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Figure(pub f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.0.abs() {
            size if size < 1.0 => 3,
            size if size < 100.0 => 2,
            size if size < 1000.0 => 1,
            _ => 0,
        };
        write!(f, "{:.decimals$}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_five() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(
            summary,
            Summary {
                q1: 2.0,
                median: 3.0,
                q3: 4.0
            }
        );
    }

    #[test]
    fn quartiles_between_samples_are_interpolated() {
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(
            summary,
            Summary {
                q1: 1.75,
                median: 2.5,
                q3: 3.25
            }
        );
    }

    #[test]
    fn one_sample_is_its_own_summary() {
        assert_eq!(
            Summary::of(&[7.0]),
            Summary {
                q1: 7.0,
                median: 7.0,
                q3: 7.0
            }
        );
    }

    #[test]
    fn a_slow_round_leaves_the_ratio_alone() {
        let ratio = Summary::of_ratios(&[1.0, 10.0, 1.0], &[2.0, 20.0, 2.0]);
        assert_eq!(
            ratio,
            Summary {
                q1: 0.5,
                median: 0.5,
                q3: 0.5
            }
        );
    }

    #[test]
    fn figures_keep_three_digits() {
        let shown = [0.0641, 9.006, 12.345, 140.27, 4012.6].map(|x| Figure(x).to_string());
        assert_eq!(shown, ["0.064", "9.01", "12.35", "140.3", "4013"]);
    }
}
