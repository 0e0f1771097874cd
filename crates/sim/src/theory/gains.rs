//! The gain of sharing over stealing, and the conditions under which queues stop growing: section
//! 5.3 of the thesis.
//!
//! Each trial is a single round from the state that the analysis assumes: a share alpha of the
//! processors is idle, the others have deques that are not empty, and each of them enables two
//! nodes.

use locksley_policy::{
    GREEDY_STABLE, Heuristic, Sharing, TIT_FOR_TAT_STABLE, Theta, gain_of_greedy,
    gain_of_tit_for_tat, leaving_greedy, leaving_tit_for_tat,
};

use super::{Effort, Finding, Mean};
use crate::rounds::{Endless, Rounds};

/// Number of nodes that leave a busy processor in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaving {
    pub(super) stolen: Mean,
    pub(super) donated: Mean,
    pub(super) both: Mean,
}

/// Number of processors of a round.
pub(super) const PROCESSORS: usize = 1000;

/// Runs `trials` rounds in which a share `alpha` of the processors is idle.
pub(super) fn run_rounds(alpha: f64, sharing: Option<Sharing>, trials: usize) -> Leaving {
    let idle = (alpha * PROCESSORS as f64).round() as usize;
    let busy = (PROCESSORS - idle) as f64;
    let mut leaving = Leaving::default();
    for trial in 0..trials {
        let seed = trial as u64 + 1000 * idle as u64;
        let mut rounds = Rounds::new(Endless, PROCESSORS, sharing, seed);
        for p in 0..PROCESSORS {
            if p < idle {
                rounds.place(p, None, [])
            } else {
                rounds.place(p, Some(()), [(), ()])
            }
        }
        let round = rounds.round();
        leaving.stolen.add(round.stolen as f64 / busy);
        leaving.donated.add(round.donated as f64 / busy);
        leaving
            .both
            .add((round.stolen + round.donated) as f64 / busy);
    }
    leaving
}

/// Creates a sharing policy with these thetas.
pub(super) fn sharing(heuristic: Heuristic, theta_r: f64, theta_s: f64) -> Option<Sharing> {
    Some(Sharing {
        heuristic,
        theta_r: Theta::new(theta_r).unwrap_or(Theta::ZERO),
        theta_s: Theta::new(theta_s).unwrap_or(Theta::ZERO),
        ..Sharing::default()
    })
}

/// Returns the gain of a heuristic: the nodes that leave a busy processor over those that leave it
/// under stealing alone.
pub(super) fn gain(alpha: f64, heuristic: Heuristic, trials: usize) -> Mean {
    let alone = run_rounds(alpha, None, trials).stolen.mean();
    run_rounds(alpha, sharing(heuristic, 0.0, 0.0), trials)
        .both
        .scaled(1.0 / alone)
}

/// Returns the number of processors that are idle and have stolen nothing, over that of busy
/// processors. This is sharper than the thesis, which bounds steals by attempts.
fn available_per_busy(alpha: f64) -> f64 {
    (alpha - (1.0 - alpha) * stolen(alpha)) / (1.0 - alpha)
}

fn stolen(alpha: f64) -> f64 {
    1.0 - (-alpha).exp()
}

/// Returns the donations per busy processor if a share `attempts` of the busy processors makes an
/// attempt.
fn donated(alpha: f64, attempts: f64) -> f64 {
    available_per_busy(alpha) * (1.0 - (-(1.0 - alpha) * attempts).exp())
}

fn sharper_donations(alpha: f64, heuristic: Heuristic) -> f64 {
    match heuristic {
        Heuristic::GREEDY => donated(alpha, 1.0),
        _ => donated(alpha, stolen(alpha)),
    }
}

/// The name of a heuristic, the heuristic, and the gain that the thesis predicts.
type Predicted = (&'static str, Heuristic, fn(f64) -> f64);

const TWO: [Predicted; 2] = [
    ("Greedy, psi", Heuristic::GREEDY, gain_of_greedy),
    (
        "Tit-for-tat, delta",
        Heuristic::TIT_FOR_TAT,
        gain_of_tit_for_tat,
    ),
];

pub(super) fn check_gains(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(20, 400);
    let sample = || format!("{PROCESSORS} processors, {trials} rounds");
    let mut findings = Vec::new();
    for (name, heuristic, bound) in TWO {
        for alpha in [0.2, 0.5, 0.6, 0.75, 0.8, 0.9] {
            let gain = gain(alpha, heuristic, trials);
            findings.push(
                Finding::new(format!("gain of {name}({alpha})"))
                    .sampled(sample())
                    .at_least(bound(alpha), &gain),
            );
            if [0.5, 0.75].contains(&alpha) {
                let sharp = 1.0 + sharper_donations(alpha, heuristic) / stolen(alpha);
                findings.push(
                    Finding::new(format!("the same at {alpha}, by the sharper formula"))
                        .sampled(sample())
                        .equals(sharp, &gain, 0.02),
                );
            }
        }
    }
    findings
}

/// Checks that at least phi or sigma nodes leave a busy processor, for all thetas of the figures of
/// the thesis.
pub(super) fn check_stability(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(10, 150);
    let mut findings = Vec::new();
    for (theta_r, theta_s) in super::figures::THETAS {
        for (name, heuristic, bound) in [
            (
                "Greedy, phi",
                Heuristic::GREEDY,
                leaving_greedy as fn(f64, f64, f64) -> f64,
            ),
            (
                "Tit-for-tat, sigma",
                Heuristic::TIT_FOR_TAT,
                leaving_tit_for_tat,
            ),
        ] {
            // The largest shortfall, in standard errors, over all ratios of idle processors.
            let mut worst = f64::NEG_INFINITY;
            let mut at = 0.0;
            for step in 1..20 {
                let alpha = f64::from(step) * 0.05;
                let leaving = run_rounds(alpha, sharing(heuristic, theta_r, theta_s), trials).both;
                let shortfall = (bound(alpha, theta_r, theta_s) - leaving.mean()) / leaving.error();
                if shortfall > worst {
                    (worst, at) = (shortfall, alpha);
                }
            }
            findings.push(
                Finding::new(format!(
                    "nodes leaving a processor, {name}(a, {theta_r}, {theta_s}), all a"
                ))
                .sampled(format!(
                    "{PROCESSORS} processors, {trials} rounds for each of a = .05 .. .95; 5 s.e."
                ))
                .says(
                    ">= the formula",
                    format!("shortfall at most {worst:.1} s.e., at a = {at:.2}"),
                    worst <= 5.0,
                ),
            );
        }
    }
    findings
}

/// Checks the thresholds: the ratios of idle processors at which one node per round leaves a busy
/// processor, so that its queue stops growing.
pub(super) fn check_thresholds(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(40, 600);
    let mut findings = vec![unique(
        "claim 5.1: phi(a, 0, 0) = 1 for one a only, .7375",
        |alpha| leaving_greedy(alpha, 0.0, 0.0),
        0.7375,
    )];
    findings.push(unique(
        "claim 5.2: sigma(a, 0, 0) = 1 for one a only, .8674",
        |alpha| leaving_tit_for_tat(alpha, 0.0, 0.0),
        0.8674,
    ));
    for (name, heuristic, bound, sharp) in [
        ("Greedy", Heuristic::GREEDY, GREEDY_STABLE, 0.7117),
        (
            "Tit-for-tat",
            Heuristic::TIT_FOR_TAT,
            TIT_FOR_TAT_STABLE,
            0.8549,
        ),
    ] {
        let at_bound = run_rounds(bound, sharing(heuristic, 0.0, 0.0), trials).both;
        findings.push(
            Finding::new(format!(
                "{name}: nodes leaving a processor at the threshold {bound:.4}"
            ))
            .sampled(format!("{PROCESSORS} processors, {trials} rounds"))
            .at_least(1.0, &at_bound),
        );
        let measured = crossing(heuristic, sharp, trials);
        findings.push(
            Finding::new(format!("{name}: measured threshold"))
                .sampled(format!(
                    "{PROCESSORS} processors, 2 x {trials} rounds; within .005"
                ))
                .says(
                    format!("{sharp}, below {bound:.4}"),
                    format!("{measured:.4}"),
                    (measured - sharp).abs() < 0.005 && measured < bound,
                ),
        );
    }
    findings
}

/// Returns the ratio at which the measured curve crosses 1, by a line through two points around the
/// prediction.
fn crossing(heuristic: Heuristic, near: f64, trials: usize) -> f64 {
    let at = |alpha: f64| {
        let leaving = run_rounds(alpha, sharing(heuristic, 0.0, 0.0), trials).both;
        (
            (alpha * PROCESSORS as f64).round() / PROCESSORS as f64,
            leaving.mean(),
        )
    };
    let ((a, fa), (b, fb)) = (at(near - 0.03), at(near + 0.03));
    a + (1.0 - fa) * (b - a) / (fb - fa)
}

/// Checks that a function crosses 1 exactly once between 0 and 1, at `root`.
fn unique(claim: &str, function: impl Fn(f64) -> f64, root: f64) -> Finding {
    let grid: Vec<f64> = (1..10_000).map(|step| f64::from(step) / 10_000.0).collect();
    let rises = grid
        .windows(2)
        .filter(|pair| function(pair[0]) < 1.0 && function(pair[1]) >= 1.0);
    let falls = grid
        .windows(2)
        .filter(|pair| function(pair[0]) >= 1.0 && function(pair[1]) < 1.0);
    let crossings: Vec<f64> = rises.map(|pair| pair[1]).collect();
    let once = crossings.len() == 1 && falls.count() == 0;
    let found = crossings.first().copied().unwrap_or(f64::NAN);
    Finding::new(claim)
        .sampled("10^4 values of a; within 2 * 10^-4")
        .says(
            format!("{root}"),
            format!("{found:.4}"),
            once && (found - root).abs() < 2e-4,
        )
}
