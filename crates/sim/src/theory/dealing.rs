//! Work dealing as published: theorems 2 to 11 of Hendler and Shavit's "Work Dealing".
//!
//! Theorem 1, that a buffer is a FIFO queue, is about an implementation: `crates/queue` checks it.

use locksley_policy::{DealRule, Dealing, Source};

use super::statistics::largest;
use super::{Effort, Finding, Mean};
use crate::dag::{Computation, Phased, Strands};
use crate::{CounterRng, Setup, Strategy, simulate};

/// Creates the dealers of `count` processes.
fn dealers(rule: DealRule, count: usize) -> Vec<locksley_policy::Dealer> {
    let dealing = Dealing {
        rule,
        ..Dealing::default()
    };
    (0..count).map(|p| dealing.dealer(p, count)).collect()
}

/// Returns `true` if every value is within a share `alpha` of the mean.
fn is_balanced(values: &[f64], alpha: f64) -> bool {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values
        .iter()
        .all(|value| (value - mean).abs() <= alpha * mean)
}

pub(super) fn check_balance(effort: Effort) -> Vec<Finding> {
    let mut findings = vec![round_robin(effort)];
    findings.extend(work(effort));
    findings.extend(affinity(effort));
    findings
}

/// Theorem 3: under the simple policy, the numbers of items of two processes differ by at most n.
fn round_robin(effort: Effort) -> Finding {
    let items = effort.choose(20_000, 1_000_000);
    let mut worst = 0.0_f64;
    for count in [2, 7, 32] {
        let mut dealers = dealers(DealRule::Simple, count);
        let mut got = vec![0_i64; count];
        for item in 0..items {
            let mut draw = CounterRng::at(3, count, item);
            // Processes produce at very different rates.
            let producer = draw
                .below(count)
                .min(draw.below(count))
                .min(draw.below(count));
            got[dealers[producer].deal(None, |_| 0, &mut draw)] += 1;
            let (most, least) = (got.iter().max(), got.iter().min());
            let gap = most.zip(least).map_or(0, |(most, least)| most - least);
            worst = worst.max(gap as f64 / count as f64);
        }
    }
    Finding::new("theorem 3, simple: difference between two processes' items, over n")
        .sampled(format!("n = 2, 7, 32; {items} items, after each item"))
        .at_most(1.0, worst)
}

/// Theorem 4: after K = n CV^2 / ((1 - p^(1/n)) alpha^2) items, work is alpha-balanced with
/// probability p.
fn work(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(100, 1000);
    let (n, p, alpha) = (8_usize, 0.9_f64, 0.1);
    // Uniform from 0 to 1: the coefficient of variation is sigma / mu = 1 / sqrt(3).
    let variation = 1.0 / 3.0;
    let k = n as f64 * variation / ((1.0 - p.powf(1.0 / n as f64)) * alpha * alpha);
    let balanced = (0..trials).map(|trial| {
        let mut draw = CounterRng::at(4, trial, 0);
        let mut dealers = dealers(DealRule::Simple, n);
        let mut got = vec![0.0; n];
        for _ in 0..k.ceil() as usize {
            let producer = draw.below(n);
            got[dealers[producer].deal(None, |_| 0, &mut draw)] += draw.unit();
        }
        f64::from(u8::from(is_balanced(&got, alpha)))
    });
    vec![
        Finding::new(format!(
            "theorem 4 with CV = sigma/mu: P({alpha}-balanced) after K = {k:.0}"
        ))
        .sampled(format!("n = {n}, uniform work, {trials} trials"))
        .at_least(p, &balanced.collect()),
    ]
}

/// Theorem 5: if an item takes one process at most C times as long as another, the work of every
/// process is within a factor C (1 + alpha) of the mean. Theorem 9: if items go to the processes
/// that they have affinity to, their work too is alpha-balanced after K items. The paper gives no K
/// for theorem 9; the variance of the work of a binomial number of items gives n (CV^2 + 1) / ((1 -
/// p^(1/n)) alpha^2).
pub(super) fn check_unequal(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(100, 1000);
    let (n, p, alpha, most) = (8_usize, 0.9_f64, 0.1, 2.0);
    let chebyshev = n as f64 / ((1.0 - p.powf(1.0 / n as f64)) * alpha * alpha);
    let (uneven, affine) = (chebyshev / 3.0, chebyshev * (1.0 / 3.0 + 1.0));
    let infinite = DealRule::Locality {
        l: DealRule::INFINITE,
    };
    // For theorem 5, processes are slower by factors from 1 to C.
    let share = |rule: DealRule, k: f64, slowest: f64, allowed: f64| -> Mean {
        let trial = |trial| {
            let mut draw = CounterRng::at(5, trial, k as u64);
            let mut dealers = dealers(rule, n);
            let mut got = vec![0.0; n];
            for _ in 0..k.ceil() as usize {
                let (producer, wanted) = (draw.below(n), draw.below(n));
                let process = dealers[producer].deal(Some(wanted), |_| 0, &mut draw);
                let slower = 1.0 + (slowest - 1.0) * process as f64 / (n - 1) as f64;
                got[process] += draw.unit() * slower;
            }
            f64::from(u8::from(is_balanced(&got, allowed)))
        };
        (0..trials).map(trial).collect()
    };
    let allowed = most * (1.0 + alpha) - 1.0;
    vec![
        Finding::new(format!(
            "theorem 5, C = {most}: P(within C (1 + {alpha}) of the mean) after K = {uneven:.0}"
        ))
        .sampled(format!("n = {n}, uniform work, {trials} trials"))
        .at_least(p, &share(DealRule::Simple, uneven, most, allowed)),
        Finding::new(format!(
            "theorem 9, L = infinity: P({alpha}-balanced) after K = {affine:.0}"
        ))
        .sampled(format!(
            "n = {n}, uniform work and affinity, {trials} trials"
        ))
        .at_least(p, &share(infinite, affine, 1.0, alpha)),
    ]
}

/// Theorem 8: after K items with uniform affinity, the numbers of items are alpha-balanced with
/// probability p. The K of the paper has alpha instead of alpha squared, and is too small.
fn affinity(effort: Effort) -> Vec<Finding> {
    let trials = effort.choose(300, 1000);
    let (n, p, alpha) = (4_usize, 0.9_f64, 0.05);
    let printed = n as f64 / (alpha * (1.0 - p.powf(1.0 / n as f64)));
    let infinite = DealRule::Locality {
        l: DealRule::INFINITE,
    };
    let probability = |k: f64| -> Mean {
        let trial = |trial| {
            let mut draw = CounterRng::at(8, trial, k as u64);
            let mut dealers = dealers(infinite, n);
            let mut got = vec![0.0; n];
            for _ in 0..k.ceil() as usize {
                let (producer, wanted) = (draw.below(n), draw.below(n));
                got[dealers[producer].deal(Some(wanted), |_| 0, &mut draw)] += 1.0;
            }
            f64::from(u8::from(is_balanced(&got, alpha)))
        };
        (0..trials).map(trial).collect()
    };
    let (wrong, right) = (probability(printed), probability(printed / alpha));
    let sample = format!("n = {n}, {trials} trials");
    vec![
        Finding::new(format!(
            "theorem 8, corrected: P({alpha}-balanced) after K = {:.0}",
            printed / alpha
        ))
        .sampled(sample.clone())
        .at_least(p, &right),
        Finding::new(format!(
            "theorem 8 as printed is wrong: after K = {printed:.0}"
        ))
        .sampled(sample + "; 5 s.e.")
        .says(
            format!("below {p}"),
            wrong.to_string(),
            wrong.mean() + 5.0 * wrong.error() < p,
        ),
    ]
}

/// Theorem 11: an item gets to the process that it has affinity to with probability at least 1 -
/// 1/L.
pub(super) fn check_locality(effort: Effort) -> Vec<Finding> {
    let items = effort.choose(20_000, 1_000_000);
    const N: usize = 16;
    let uniform = [1.0 / N as f64; N];
    let zipf: Vec<f64> = (1..=N).map(|rank| 1.0 / rank as f64).collect();
    let sum: f64 = zipf.iter().sum();
    let zipf: Vec<f64> = zipf.iter().map(|share| share / sum).collect();
    let mut hot = [0.0; N];
    hot[3] = 1.0;
    let mut findings = Vec::new();
    for l in [3, 4] {
        let ratio = hit_ratio(&uniform, l, items);
        findings.push(
            Finding::new(format!(
                "theorem 11, L = {l}: share of hits, uniform affinity"
            ))
            .sampled(format!("n = {N}, {items} items"))
            .at_least(1.0 - 1.0 / f64::from(l), &ratio),
        );
        for (name, shares) in [("one hot process", &hot[..]), ("Zipf", &zipf)] {
            let most = f64::from(l) / N as f64;
            let predicted = shares.iter().map(|share| share.min(most)).sum();
            findings.push(
                Finding::new(format!(
                    "L = {l}: share of hits, {name}: sum of min(pi, L/n)"
                ))
                .sampled(format!("n = {N}, {items} items"))
                .equals(predicted, &hit_ratio(shares, l, items), 0.01),
            );
        }
    }
    findings
}

/// Returns the share of items that are dealt to the process that they have affinity to, if the
/// affinities have the distribution `shares`. There is one producer: every producer has its own
/// table, so more producers would give the same result.
fn hit_ratio(shares: &[f64], l: u32, items: u64) -> Mean {
    let Some(mut dealer) = dealers(DealRule::Locality { l }, shares.len())
        .into_iter()
        .next()
    else {
        return Mean::default();
    };
    let hit = |item| {
        let mut draw = CounterRng::at(11, l as usize, item);
        let mut at = draw.unit();
        let wanted = shares.iter().position(|share| {
            at -= share;
            at < 0.0
        });
        let wanted = wanted.unwrap_or(shares.len() - 1);
        let dealt = dealer.deal(Some(wanted), |_| 0, &mut draw);
        f64::from(u8::from(dealt == wanted))
    };
    (0..items).map(hit).collect()
}

/// Theorem 2, with the dummies that it leaves out: ceil(M/G) + 2n lists of G items, and n^2
/// dummies, are enough for M items.
pub(super) fn check_memory(effort: Effort) -> Vec<Finding> {
    let operations = effort.choose(50_000, 2_000_000);
    let mut findings = Vec::new();
    for (n, most, g) in [(4, 100, 8), (8, 1000, 32)] {
        let lists = usize::div_ceil(most, g) + 2 * n;
        let least = recycle(n, most, g, lists, operations);
        let overhead = lists * g + n * n - most;
        findings.push(
            Finding::new(format!(
                "theorem 2: overhead (2n + 1) G + n^2, n = {n}, G = {g}, M = {most}"
            ))
            .sampled(format!("{operations} operations; no exception"))
            .says(
                format!(
                    "overhead <= {}, never out of lists",
                    (2 * n + 1) * g + n * n
                ),
                format!("overhead {overhead}, at least {least} lists left"),
                overhead <= (2 * n + 1) * g + n * n && least >= 0,
            ),
        );
    }
    findings
}

/// Runs the recycling scheme: processes take lists of `g` free items from a pool for producing, and
/// return lists that they have filled by consuming. Returns the smallest number of lists that were
/// in the pool; negative if it ran out.
fn recycle(n: usize, most: usize, g: usize, lists: usize, operations: u64) -> i64 {
    let (mut pool, mut least) = (lists as i64, lists as i64);
    let (mut produce, mut consume) = (vec![0; n], vec![0; n]);
    let mut live = 0;
    for operation in 0..operations {
        let mut draw = CounterRng::at(2, n, operation);
        // Half of the processes produce and all consume, so lists accumulate at processes that do
        // not need them.
        let phase = operation / 1000 % 3;
        let producing = draw.below(10) < [8, 2, 5][phase as usize];
        if producing && live < most {
            let p = draw.below(n / 2);
            if produce[p] == 0 {
                pool -= 1;
                least = least.min(pool);
                produce[p] = g;
            }
            produce[p] -= 1;
            live += 1;
        } else if live > 0 {
            let p = draw.below(n);
            consume[p] += 1;
            if consume[p] == g {
                pool += 1;
                consume[p] = 0;
            }
            live -= 1;
        }
    }
    least
}

/// Theorems 6 and 7: a phased application takes at most 3 + alpha times the optimum under the
/// simple policy; theorem 10, the same under the locality-guided one.
pub(super) fn check_run_time(effort: Effort) -> Vec<Finding> {
    let (n, p, alpha) = (8_usize, 0.9_f64, 0.25_f64);
    // Lengths from 10 to 30 nodes, and the first: mean 21, sigma sqrt((21^2 - 1) / 12).
    let variation = (440.0 / 12.0) / (21.0 * 21.0);
    let q = p.powf(1.0 / n as f64);
    let k = n as f64 * variation / ((1.0 - q.powf(1.0 / n as f64)) * alpha * alpha);
    let trials = effort.choose(2, 20);
    let mut findings = Vec::new();
    for (name, rule) in [
        ("simple", DealRule::Simple),
        (
            "locality-guided, L = infinity",
            DealRule::Locality {
                l: DealRule::INFINITE,
            },
        ),
    ] {
        let mut ratios = Vec::new();
        for seed in 0..trials {
            let mut phased = Strands::new(Phased::new(n as u32, k.ceil() as u32, 10, 30, seed));
            let dealing = Dealing {
                rule,
                ..Dealing::default()
            };
            let setup = Setup {
                seed,
                ..Setup::new(n, Strategy::Dealing(dealing))
            };
            let optimum = phased.size().work as f64 / n as f64;
            let makespan =
                simulate(&mut phased, &setup).map_or(f64::NAN, |report| report.makespan as f64);
            ratios.push(makespan / optimum);
        }
        findings.push(
            Finding::new(format!("theorems 6, 7, 10, {name}: makespan over W/n"))
                .sampled(format!("(n, K)-phased, n = {n}, K = {k:.0}, {trials} runs"))
                .at_most(3.0 + alpha, largest(ratios)),
        );
    }
    findings
}
