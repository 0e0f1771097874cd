//! Bounds with high probability: theorem 4.8 of the thesis, second half, as quantiles.
//!
//! With probability at least 1 - epsilon there are at most 64 Tinf + 16 ln(1/epsilon) phases of P /
//! (1 - theta_r) idle iterations. The first term does not depend on epsilon, and is far above what
//! is measured; so a sharper claim is checked too, which the theorem does not make: the quantiles
//! exceed the median by less than the second term.

use locksley_policy::{Flexible, Theta, Victims};

use super::{Effort, Finding};
use crate::dag::{Computation, Fib, Strands};
use crate::{Setup, Strategy, simulate};

const PROCESSORS: usize = 16;

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let runs = effort.choose(400, 20_000);
    let sample = format!("fib(14), P = {PROCESSORS}, {runs} runs");
    let span = Strands::new(Fib::new(14)).size().span as f64;
    let mut findings = Vec::new();
    for theta in [0.0, 0.5] {
        let phases = sorted_phases(theta, runs);
        let rank = |q: f64| ((phases.len() as f64 * q).ceil() as usize).saturating_sub(1);
        let quantile = |q: f64| phases.get(rank(q)).copied().unwrap_or(f64::NAN);
        for epsilon in [0.1, 0.01] {
            let tail = 16.0 * (1.0_f64 / epsilon).ln();
            findings.push(
                Finding::new(format!(
                    "theorem 4.8, theta_r {theta}: phases, quantile 1 - {epsilon}"
                ))
                .sampled(sample.clone())
                .at_most(64.0 * span + tail, quantile(1.0 - epsilon)),
            );
            let above = quantile(1.0 - epsilon) - quantile(0.5);
            findings.push(
                Finding::new(format!(
                    "the same, theta_r {theta}: phases above the median, quantile 1 - {epsilon}"
                ))
                .sampled(sample.clone())
                .at_most(tail, above),
            );
        }
    }
    findings
}

/// Returns the number of phases of each run, sorted; an empty vector if a run fails.
fn sorted_phases(theta: f64, runs: u64) -> Vec<f64> {
    let victims = Victims::SKIP.with_theta(Theta::new(theta).unwrap_or(Theta::ZERO));
    let strategy = Strategy::Flexible(Flexible { victims });
    let mut fib = Strands::new(Fib::new(14));
    let phases: Option<Vec<f64>> = (0..runs)
        .map(|seed| {
            let setup = Setup {
                seed: 48_000 + seed,
                ..Setup::new(PROCESSORS, strategy)
            };
            let report = simulate(&mut fib, &setup).ok()?;
            let iterations = report.tally.idle_iterations as f64;
            Some(iterations * (1.0 - theta) / PROCESSORS as f64)
        })
        .collect();
    let mut phases = phases.unwrap_or_default();
    phases.sort_by(f64::total_cmp);
    phases
}
