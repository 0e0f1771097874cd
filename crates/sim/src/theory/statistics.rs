//! Means and their standard errors.

use std::fmt;

/// A mean of samples, and its standard error (by Welford's recurrence).
///
/// ```
/// use locksley_sim::theory::Mean;
///
/// let mean: Mean = [1.0, 2.0, 3.0, 4.0].into_iter().collect();
/// assert_eq!(mean.mean(), 2.5);
/// assert!((mean.error() - 0.6455).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    count: f64,
    mean: f64,
    squares: f64,
    most: f64,
}

impl Mean {
    /// Adds a sample.
    pub fn add(&mut self, sample: f64) {
        self.count += 1.0;
        let before = sample - self.mean;
        self.mean += before / self.count;
        self.squares += before * (sample - self.mean);
        self.most = if self.count == 1.0 {
            sample
        } else {
            self.most.max(sample)
        };
    }

    /// Returns the mean; 0 if there are no samples.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the largest sample.
    pub fn max(&self) -> f64 {
        self.most
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Returns the mean of the samples multiplied by a factor.
    pub fn scaled(&self, factor: f64) -> Mean {
        Mean {
            count: self.count,
            mean: self.mean * factor,
            squares: self.squares * factor * factor,
            most: self.most * factor,
        }
    }

    /// Returns the standard error of the mean; 0 if there are fewer than two samples.
    pub fn error(&self) -> f64 {
        if self.count < 2.0 {
            return 0.0;
        }
        (self.squares / (self.count - 1.0) / self.count).sqrt()
    }
}

/// Returns the largest value. Returns NaN if there are no values, or if one is NaN, as for a run
/// that has failed: no bound holds for NaN.
pub(super) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |most: f64, value: f64| if value <= most { most } else { value };
    let worse = |most: f64, value: f64| {
        if most.is_nan() {
            most
        } else {
            larger(most, value)
        }
    };
    values.into_iter().reduce(worse).unwrap_or(f64::NAN)
}

impl FromIterator<f64> for Mean {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Mean {
        let mut mean = Mean::default();
        samples.into_iter().for_each(|sample| mean.add(sample));
        mean
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} +- {:.4}", self.mean, self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_is_never_within_a_bound() {
        assert_eq!(largest([1.0, 3.0, 2.0]), 3.0);
        for values in [&[][..], &[f64::NAN, 1.0], &[1.0, f64::NAN, 2.0]] {
            assert!(largest(values.iter().copied()).is_nan(), "{values:?}");
        }
    }
}
