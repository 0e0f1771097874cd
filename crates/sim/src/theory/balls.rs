//! Balls and bins: lemmas 3.1 to 3.5 of the thesis.

use locksley_policy::Source;

use super::{Effort, Finding, Mean};
use crate::CounterRng;

/// How many bins.
const BINS: usize = 500;

/// Tosses so many balls, each of which is discarded with probability `theta`, and counts those in
/// each bin.
fn toss(balls: usize, theta: f64, draw: &mut CounterRng) -> Vec<u32> {
    let mut bins = vec![0; BINS];
    for _ in 0..balls {
        if draw.unit() >= theta {
            bins[draw.below(BINS)] += 1;
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

/// Lemma 3.1: with B / (1 - theta) balls, bins of a share beta of all weight are hit with this
/// probability.
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
        "lemma 3.1, theta {theta}, beta {beta}: P(weight hit)"
    ))
    .sampled(sample(trials))
    .at_least(bound, &often.collect())
}

/// Lemmas 3.2 and 3.3: how many of alpha B balls land in a bin, and whether any does.
fn landing(alpha: f64, theta: f64, trials: usize) -> [Finding; 2] {
    let red = (alpha * BINS as f64) as usize;
    let (mut balls, mut hit) = (Mean::default(), Mean::default());
    for trial in 0..trials {
        // The first bin is as good as any.
        let landed = toss(red, theta, &mut CounterRng::at(32, trial, 0))[0];
        balls.add(f64::from(landed));
        hit.add(f64::from(landed.min(1)));
    }
    let what = format!("alpha {alpha}, theta {theta}");
    [
        Finding::new(format!("lemma 3.2, {what}: balls in a bin"))
            .sampled(sample(trials))
            .equals(alpha * (1.0 - theta), &balls, 0.0),
        Finding::new(format!("lemma 3.3, {what}: P(a bin is hit)"))
            .sampled(sample(trials))
            .at_least(1.0 - (-alpha * (1.0 - theta)).exp(), &hit),
    ]
}

/// How many bins stay red when one is painted green for each of alpha B cubes that lands in a green
/// bin. The first bins are red, and the first of these are painted.
fn painted(red: usize, theta_r: f64, draw: &mut CounterRng) -> usize {
    let cubes = toss(red, theta_r, draw);
    cubes[red..].iter().sum::<u32>() as usize
}

/// Of the bins that are still red, the share, of all bins, that is hit by some of these balls.
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

/// Lemma 3.4.
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
        "lemma 3.4, alpha {alpha}, thetas {theta_r} {theta_s}: red and hit"
    ))
    .sampled(sample(trials))
    .at_least(bound, &hit.collect())
}

/// Lemma 3.5.
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
        "lemma 3.5, alpha {alpha}, thetas {theta_r} {theta_s}: red and hit"
    ))
    .sampled(sample(trials))
    .at_least(bound, &hit.collect())
}

/// Problem 3.1, which the thesis leaves open: the bins that are painted give as many balls, which
/// are tossed once more.
///
/// The number c of painted bins, as a share of all, is concentrated at (1 - a)(1 - e^(-a (1 -
/// theta_r))), by the method of bounded differences: a cube more or less changes it by at most one.
/// Given c, the rest is lemma 3.3 with c (1 - theta_s) balls for each bin. So for many bins the
/// expectation tends to (a - c)(1 - e^(-c (1 - theta_s))).
pub(super) fn check_open(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(200, 5000);
    let cases = [
        (0.3, 0.0, 0.0),
        (0.6, 0.0, 0.0),
        (0.9, 0.0, 0.0),
        (0.6, 0.5, 0.5),
    ];
    let check = |(alpha, theta_r, theta_s): (f64, f64, f64)| {
        let red = (alpha * BINS as f64) as usize;
        let hit = (0..trials).map(|trial| {
            let draw = &mut CounterRng::at(31, trial, red as u64);
            let cubes = toss(red, theta_r, draw);
            let painted = cubes[red..].iter().filter(|cubes| **cubes > 0).count();
            red_and_hit(red, painted, painted, theta_s, draw)
        });
        let painted = (1.0 - alpha) * (1.0 - (-alpha * (1.0 - theta_r)).exp());
        let limit = (alpha - painted) * (1.0 - (-painted * (1.0 - theta_s)).exp());
        Finding::new(format!(
            "problem 3.1, alpha {alpha}, thetas {theta_r} {theta_s}: red and hit"
        ))
        .sampled(sample(trials))
        .equals(limit, &hit.collect(), 0.01)
    };
    cases.into_iter().map(check).collect()
}
