//! Medians and quartiles.

/// What is said of a set of samples: its median, quartiles and extremes.
///
/// Quartiles are the medians of the lower and the upper half, the middle sample left out of both, so that
/// they are robust with as few as three samples.
///
/// ```
/// use locksley_report::Summary;
///
/// let summary = Summary::of(&[3.0, 1.0, 2.0, 5.0, 4.0]).unwrap();
/// assert_eq!((summary.lower, summary.median, summary.upper), (1.5, 3.0, 4.5));
/// assert_eq!((summary.least, summary.most, summary.count), (1.0, 5.0, 5));
/// assert!(Summary::of(&[]).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// How many samples there are.
    pub count: usize,
}

impl Summary {
    /// Summarises the samples that are finite; `None` if there are none.
    ///
    /// ```
    /// use locksley_report::Summary;
    ///
    /// assert_eq!(Summary::of(&[2.0]).unwrap().upper, 2.0);
    /// assert_eq!(Summary::of(&[2.0, f64::NAN]).unwrap().count, 1);
    /// ```
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let half = sorted.len() / 2;
        let median = middle(&sorted);
        let (lower, upper) = match half {
            0 => (median, median),
            _ => (
                middle(&sorted[..half]),
                middle(&sorted[sorted.len() - half..]),
            ),
        };
        Some(Summary {
            least,
            lower,
            median,
            upper,
            most,
            count: sorted.len(),
        })
    }

    /// Whether the ranges between the quartiles have a point in common, in which case the medians alone do
    /// not tell who is faster.
    ///
    /// ```
    /// use locksley_report::Summary;
    ///
    /// let [a, b, c] = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [7.0, 8.0, 9.0]].map(|s| Summary::of(&s).unwrap());
    /// assert!(a.overlaps(&b) && !a.overlaps(&c));
    /// ```
    pub fn overlaps(&self, other: &Summary) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }
}

/// The median of a sorted slice that is not empty.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        f64::midpoint(sorted[half - 1], sorted[half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_an_even_number_split_it_in_halves() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            (summary.lower, summary.median, summary.upper),
            (1.5, 2.5, 3.5)
        );
    }

    #[test]
    fn three_samples_are_their_own_quartiles() {
        let summary = Summary::of(&[9.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (summary.lower, summary.median, summary.upper),
            (1.0, 2.0, 9.0)
        );
    }
}
