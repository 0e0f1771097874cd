//! Balls and bins: lemmas 3.1 to 3.5 of the thesis, and its problem 3.1.

use locksley_policy::Source;

use super::{Effort, Finding, Mean};
use crate::CounterRng;

/// Number of bins.
const BINS: usize = 500;

/// Tosses `balls` balls into [`BINS`] bins. See [`toss_into`].
fn toss(balls: usize, theta: f64, draw: &mut CounterRng) -> Vec<u32> {
    toss_into(BINS, balls, theta, draw)
}

/// Tosses `balls` balls into `count` bins, each of which is discarded with probability `theta`.
/// Returns the number of balls in each bin.
fn toss_into(count: usize, balls: usize, theta: f64, draw: &mut CounterRng) -> Vec<u32> {
    let mut bins = vec![0; count];
    for _ in 0..balls {
        if draw.unit() >= theta {
            bins[draw.below(count)] += 1;
        }
    }
    bins
}

fn sample(trials: usize) -> String {
    format!("{BINS} bins, {trials} trials")
}

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(200, 4000);
    let mut findings = Vec::new();
    for (theta, beta) in [(0.0, 0.5), (0.5, 0.5), (0.75, 0.3)] {
        findings.push(weighted(theta, beta, trials));
    }
    for (alpha, theta) in [(0.3, 0.0), (0.7, 0.25)] {
        findings.extend(landing(alpha, theta, trials));
    }
    for (alpha, theta_r, theta_s) in [(0.5, 0.0, 0.0), (0.75, 0.5, 0.0), (0.9, 0.25, 0.5)] {
        findings.push(cubes(alpha, theta_r, theta_s, trials));
        findings.push(pyramids(alpha, theta_r, theta_s, trials));
    }
    findings
}

/// Lemma 3.1: if B / (1 - theta) balls are tossed, the bins that are hit have a share beta of the
/// total weight with at least this probability.
fn weighted(theta: f64, beta: f64, trials: usize) -> Finding {
    let weights: Vec<f64> = (0..BINS).map(|bin| 0.99_f64.powi(bin as i32)).collect();
    let all: f64 = weights.iter().sum();
    let balls = (BINS as f64 / (1.0 - theta)).ceil() as usize;
    let often = (0..trials).map(|trial| {
        let bins = toss(balls, theta, &mut CounterRng::at(31, trial, 0));
        let hit: f64 = bins
            .iter()
            .zip(&weights)
            .filter(|(n, _)| **n > 0)
            .map(|(_, w)| w)
            .sum();
        f64::from(u8::from(hit >= beta * all))
    });
    let bound = 1.0 - 1.0 / ((1.0 - beta) * std::f64::consts::E);
    Finding::new(format!(
        "lemma 3.1, theta {theta}, beta {beta}: P(a share beta of the weight is hit)"
    ))
    .sampled(sample(trials))
    .at_least(bound, &often.collect())
}

/// Lemmas 3.2 and 3.3: the expected number of alpha B balls that land in a bin, and the probability
/// that at least one does.
fn landing(alpha: f64, theta: f64, trials: usize) -> [Finding; 2] {
    let red = (alpha * BINS as f64) as usize;
    let (mut balls, mut hit) = (Mean::default(), Mean::default());
    for trial in 0..trials {
        // By symmetry, the first bin is as good as any other.
        let landed = toss(red, theta, &mut CounterRng::at(32, trial, 0))[0];
        balls.add(f64::from(landed));
        hit.add(f64::from(landed.min(1)));
    }
    let what = format!("alpha {alpha}, theta {theta}");
    [
        Finding::new(format!("lemma 3.2, {what}: number of balls in a bin"))
            .sampled(sample(trials))
            .equals(alpha * (1.0 - theta), &balls, 0.0),
        Finding::new(format!("lemma 3.3, {what}: P(a bin is hit)"))
            .sampled(sample(trials))
            .at_least(1.0 - (-alpha * (1.0 - theta)).exp(), &hit),
    ]
}

/// Returns the number of bins that are painted: one red bin is painted green for each of alpha B
/// cubes that lands in a green bin. The first bins are red, and the first of these are painted.
fn painted(red: usize, theta_r: f64, draw: &mut CounterRng) -> usize {
    let cubes = toss(red, theta_r, draw);
    cubes[red..].iter().sum::<u32>() as usize
}

/// Tosses `balls` balls, and returns the share of all bins that are still red and hit.
fn red_and_hit(
    red: usize,
    painted: usize,
    balls: usize,
    theta_s: f64,
    draw: &mut CounterRng,
) -> f64 {
    let bins = toss(balls, theta_s, draw);
    let hit = bins[painted.min(red)..red]
        .iter()
        .filter(|balls| **balls > 0)
        .count();
    hit as f64 / BINS as f64
}

/// Lemma 3.4: the share of bins that are still red and hit, if a ball is tossed for each green bin.
fn cubes(alpha: f64, theta_r: f64, theta_s: f64, trials: usize) -> Finding {
    let red = (alpha * BINS as f64) as usize;
    let hit = (0..trials).map(|trial| {
        let draw = &mut CounterRng::at(34, trial, 0);
        let painted = painted(red, theta_r, draw);
        red_and_hit(red, painted, BINS - red, theta_s, draw)
    });
    let balls = 1.0 - (-(1.0 - alpha) * (1.0 - theta_s)).exp();
    let bound = alpha * (1.0 - (1.0 - alpha) * (1.0 - theta_r)) * balls;
    Finding::new(format!(
        "lemma 3.4, alpha {alpha}, thetas {theta_r} {theta_s}: share of bins red and hit"
    ))
    .sampled(sample(trials))
    .at_least(bound, &hit.collect())
}

/// Lemma 3.5: the same, if balls are tossed only for green bins that a pyramid has hit.
fn pyramids(alpha: f64, theta_r: f64, theta_s: f64, trials: usize) -> Finding {
    let red = (alpha * BINS as f64) as usize;
    let hit = (0..trials).map(|trial| {
        let draw = &mut CounterRng::at(35, trial, 0);
        let painted = painted(red, theta_r, draw);
        let pyramids = toss(red, theta_r, draw);
        let collected = pyramids[red..]
            .iter()
            .filter(|pyramids| **pyramids > 0)
            .count();
        red_and_hit(red, painted, collected, theta_s, draw)
    });
    let asked = 1.0 - (-alpha * (1.0 - theta_r)).exp();
    let balls = 1.0 - (-(1.0 - alpha) * (1.0 - theta_s) * asked).exp();
    let bound = alpha * (1.0 - (1.0 - alpha) * (1.0 - theta_r)) * balls;
    Finding::new(format!(
        "lemma 3.5, alpha {alpha}, thetas {theta_r} {theta_s}: share of bins red and hit"
    ))
    .sampled(sample(trials))
    .at_least(bound, &hit.collect())
}

/// Problem 3.1, which the thesis leaves open: for each painted bin a ball is tossed.
///
/// Of B bins R are red and G green. Let p = 1 - (1 - (1 - theta_r) / B)^R, the probability that a
/// green bin is hit by a cube, N the number of green bins that are hit, and q = 1 - (1 - theta_s) /
/// B. Given N, R - N bins are still red, and each is hit with probability 1 - q^N. So the answer is
/// the expectation of f(N), f(n) = (R - n)(1 - q^n).
///
/// f is concave up to R, and N is at most R. So the answer is at most f(G p), by Jensen's
/// inequality; and it is at least f(G p) - max |f''| Var(N) / 2. With l = ln(1/q), |f''| is at most
/// R l^2 + 2 l. The indicators of hit bins are negatively associated, so Var(N) is at most G p (1 -
/// p). Both bounds are less than one bin apart.
struct Painted {
    bins: usize,
    red: usize,
    theta_r: f64,
    theta_s: f64,
}

impl Painted {
    fn new(bins: usize, alpha: f64, theta_r: f64, theta_s: f64) -> Painted {
        Painted {
            bins,
            red: (alpha * bins as f64).round() as usize,
            theta_r,
            theta_s,
        }
    }

    /// Returns the lower and the upper bound on the expectation, in bins.
    fn bounds(&self) -> (f64, f64) {
        let (bins, red) = (self.bins as f64, self.red as f64);
        let green = bins - red;
        let hit = 1.0 - (1.0 - (1.0 - self.theta_r) / bins).powf(red);
        let missed = 1.0 - (1.0 - self.theta_s) / bins;
        let painted = green * hit;
        let most = (red - painted) * (1.0 - missed.powf(painted));
        let l = -missed.ln();
        let bend = red * l * l + 2.0 * l;
        (most - bend * green * hit * (1.0 - hit) / 2.0, most)
    }

    /// Returns the number of bins that are still red and hit, in one trial.
    fn trial(&self, number: usize) -> f64 {
        let draw = &mut CounterRng::at(36, number, (self.bins * 1000 + self.red) as u64);
        let cubes = toss_into(self.bins, self.red, self.theta_r, draw);
        let painted = cubes[self.red..].iter().filter(|cubes| **cubes > 0).count();
        let balls = toss_into(self.bins, painted, self.theta_s, draw);
        let hit = balls[painted..self.red].iter().filter(|balls| **balls > 0);
        hit.count() as f64
    }
}

pub(super) fn check_open(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(1000, 20_000);
    let cases = [
        Painted::new(10, 0.5, 0.0, 0.0),
        Painted::new(BINS, 0.3, 0.0, 0.0),
        Painted::new(BINS, 0.6, 0.0, 0.0),
        Painted::new(BINS, 0.9, 0.0, 0.0),
        Painted::new(BINS, 0.6, 0.5, 0.5),
    ];
    let check = |case: Painted| {
        let hit: Mean = (0..trials).map(|number| case.trial(number)).collect();
        let (least, most) = case.bounds();
        let slack = 5.0 * hit.error();
        Finding::new(format!(
            "problem 3.1, {} of {} bins red, thetas {} {}: number of bins still red and hit",
            case.red, case.bins, case.theta_r, case.theta_s
        ))
        .sampled(format!("{trials} trials; within the bounds + 5 s.e."))
        .says(
            format!("{least:.3} to {most:.3}"),
            hit.to_string(),
            most - least < 1.0 && hit.mean() >= least - slack && hit.mean() <= most + slack,
        )
    };
    cases.into_iter().map(check).collect()
}
