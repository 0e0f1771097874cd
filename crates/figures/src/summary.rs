//! Medians and quartiles, which a few disturbed samples hardly change.

use serde::Serialize;

use crate::number;

/// The median, quartiles and extremes of a set of samples.
///
/// Quantiles are interpolated between neighbours: the quantile `q` of n sorted samples is at
/// position `q * (n - 1)`, counted from 0. This is definition 7 of Hyndman and Fan ("Sample
/// quantiles in statistical packages", 1996), which NumPy, R and criterion use.
///
/// ```
/// use locksley_figures::Summary;
///
/// let summary = Summary::of(&[3.0, 1.0, 2.0, 5.0, 4.0]).unwrap();
/// assert_eq!((summary.lower, summary.median, summary.upper), (2.0, 3.0, 4.0));
/// assert_eq!((summary.least, summary.most, summary.count), (1.0, 5.0, 5));
/// assert_eq!(summary.quartiles_text(), "2.00..4.00");
/// assert!(Summary::of(&[]).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The smallest sample.
    pub least: f64,
    /// The lower quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
    /// The largest sample.
    pub most: f64,
    /// The number of samples.
    pub count: usize,
}

impl Summary {
    /// Summarises the samples that are finite. Returns `None` if there are none.
    ///
    /// ```
    /// use locksley_figures::Summary;
    ///
    /// assert_eq!(Summary::of(&[2.0]).unwrap().upper, 2.0);
    /// assert_eq!(Summary::of(&[2.0, f64::NAN]).unwrap().count, 1);
    /// ```
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        Some(Summary {
            least,
            lower: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper: quantile(&sorted, 0.75),
            most,
            count: sorted.len(),
        })
    }

    /// Summarises the ratios of samples that were taken in the same round.
    ///
    /// A disturbance of a whole round, such as a slower clock, cancels out.
    ///
    /// ```
    /// use locksley_figures::Summary;
    ///
    /// let ratio = Summary::of_ratios(&[1.0, 10.0, 1.0], &[2.0, 20.0, 2.0]).unwrap();
    /// assert_eq!((ratio.least, ratio.median, ratio.most), (0.5, 0.5, 0.5));
    /// ```
    pub fn of_ratios(samples: &[f64], reference: &[f64]) -> Option<Summary> {
        let ratios: Vec<f64> = samples.iter().zip(reference).map(|(a, b)| a / b).collect();
        Summary::of(&ratios)
    }

    /// Returns `true` if the ranges between the quartiles have a point in common: then the medians
    /// alone do not tell which of the two is faster.
    ///
    /// ```
    /// use locksley_figures::Summary;
    ///
    /// let [a, b, c] = [[1.0, 2.0, 3.0], [2.0, 2.5, 4.0], [7.0, 8.0, 9.0]]
    ///     .map(|samples| Summary::of(&samples).unwrap());
    /// assert!(a.overlaps(&b) && b.overlaps(&a));
    /// assert!(!a.overlaps(&c) && !c.overlaps(&a));
    /// ```
    pub fn overlaps(&self, other: &Summary) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }

    /// Returns the quartiles as text.
    pub fn quartiles_text(&self) -> String {
        format!("{}..{}", number(self.lower), number(self.upper))
    }
}

/// Returns the median of the finite samples, or NaN if there are none.
///
/// ```
/// assert_eq!(locksley_figures::median(&[9.0, 1.0, 2.0]), 2.0);
/// assert!(locksley_figures::median(&[]).is_nan());
/// ```
pub fn median(samples: &[f64]) -> f64 {
    Summary::of(samples).map_or(f64::NAN, |summary| summary.median)
}

/// Returns a quantile of sorted samples, of which there must be at least one.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quartiles(samples: &[f64]) -> (f64, f64, f64) {
        let summary = Summary::of(samples).unwrap();
        (summary.lower, summary.median, summary.upper)
    }

    #[test]
    fn quartiles_of_one_to_five() {
        assert_eq!(quartiles(&[5.0, 1.0, 3.0, 2.0, 4.0]), (2.0, 3.0, 4.0));
    }

    #[test]
    fn quartiles_between_samples_are_interpolated() {
        assert_eq!(quartiles(&[4.0, 1.0, 3.0, 2.0]), (1.75, 2.5, 3.25));
        assert_eq!(quartiles(&[9.0, 1.0, 2.0]), (1.5, 2.0, 5.5));
        assert_eq!(quartiles(&[7.0]), (7.0, 7.0, 7.0));
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let summary = Summary::of(&[f64::INFINITY, 1.0, f64::NAN, 3.0]).unwrap();
        assert_eq!((summary.least, summary.most, summary.count), (1.0, 3.0, 2));
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }

    #[test]
    fn ranges_that_touch_overlap() {
        let summary = |lower, upper| Summary {
            lower,
            upper,
            ..Summary::of(&[1.0]).unwrap()
        };
        let (low, high) = (summary(1.0, 2.0), summary(2.0, 3.0));
        assert!(low.overlaps(&high) && high.overlaps(&low));
        let higher = summary(2.5, 3.0);
        assert!(!low.overlaps(&higher) && !higher.overlaps(&low));
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let ratio = Summary::of_ratios(&[1.0, 10.0, 3.0], &[2.0, 20.0, 4.0]).unwrap();
        assert_eq!((ratio.least, ratio.median, ratio.most), (0.5, 0.5, 0.75));
        assert_eq!(ratio.quartiles_text(), "0.500..0.625");
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert!(median(&[f64::NAN]).is_nan());
    }
}
