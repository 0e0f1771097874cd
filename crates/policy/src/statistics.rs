//! Statistical checks for tests of random choices. The seeds of these tests are fixed, so none of
//! them fails by chance.

/// Returns `true` if a count of successes is within five standard deviations of what a probability
/// predicts.
pub(crate) fn fits(count: usize, of: usize, probability: f64) -> bool {
    let mean = of as f64 * probability;
    let deviation = (mean * (1.0 - probability)).sqrt();
    (count as f64 - mean).abs() <= 5.0 * deviation
}

/// Returns the statistic of a chi-squared test: how far counts are from the expected ones. It is
/// infinite if a count of probability 0 is not 0.
pub(crate) fn chi_squared(counts: &[usize], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total = counts.iter().sum::<usize>() as f64;
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "probabilities add up to {sum}");
    counts
        .iter()
        .zip(probabilities)
        .map(|(&count, probability)| {
            let expected = total * probability;
            match count {
                0 if expected == 0.0 => 0.0,
                _ => (count as f64 - expected).powi(2) / expected,
            }
        })
        .sum()
}

/// Returns the limit that the statistic exceeds once in a thousand times, by Wilson and Hilferty's
/// approximation; 3.0902 is the quantile of the normal distribution.
fn limit(freedom: usize) -> f64 {
    let spread = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - spread + 3.0902 * spread.sqrt()).powi(3)
}

/// Returns `true` if counts fit probabilities: a chi-squared test that a right distribution fails
/// once in a thousand seeds.
pub(crate) fn distributed(counts: &[usize], probabilities: &[f64]) -> bool {
    let cases = probabilities.iter().filter(|&&p| p > 0.0).count();
    chi_squared(counts, probabilities) < limit(cases - 1)
}

#[test]
fn a_loaded_die_is_found_out() {
    let fair = [1.0 / 6.0; 6];
    assert!(distributed(&[1010, 990, 1000, 1020, 980, 1000], &fair));
    assert!(!distributed(&[1200, 960, 960, 960, 960, 960], &fair));
    assert!(!distributed(&[500, 500, 1], &[0.5, 0.5, 0.0]));
    // Values from published tables.
    for (freedom, exact) in [(4, 18.467), (5, 20.515), (9, 27.877), (15, 37.697)] {
        assert!((limit(freedom) - exact).abs() < 0.3, "{}", limit(freedom));
    }
}
