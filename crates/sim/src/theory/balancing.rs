//! Probabilistic balancing: section 3 of Hendler and Shavit's "Non-Blocking Steal-Half Work
//! Queues", the symmetric scheme (3.1 to 3.6) and the lemmas of the asymmetric one (3.7, 3.8).
//!
//! In a step a process with load L initiates a balancing with probability mu / L, with one of the
//! others that it draws. Where several would balance with the same process, that decides for one of
//! them; two that decide for each other balance. In the asymmetric scheme only the one with less
//! may initiate.

use locksley_policy::{Source, other};

use super::{Effort, Finding, Mean};
use crate::CounterRng;

/// Which processes may initiate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Symmetric,
    Asymmetric,
}

const SCHEMES: [(Scheme, &str, &str); 2] = [
    (
        Scheme::Symmetric,
        "lemma 3.3, symmetric",
        "theorem 3.4, symmetric",
    ),
    (
        Scheme::Asymmetric,
        "lemma 3.7, asymmetric",
        "theorem 3.8, asymmetric",
    ),
];

/// What the lemmas guarantee of the selections: 1 / (2 e^2).
fn guaranteed() -> f64 {
    0.5 * (-2.0_f64).exp()
}

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (scheme, lemma, theorem) in SCHEMES {
        findings.push(balanced_of_selected(scheme, lemma, effort));
        findings.push(contribution(scheme, theorem, effort));
    }
    findings.push(locally_bounded(effort));
    findings.push(becomes_bounded(effort));
    findings
}

/// A step: whom each process selects, and the pairs that balance.
struct Step {
    selected: Vec<Option<usize>>,
    pairs: Vec<(usize, usize)>,
}

fn step(loads: &[f64], mu: f64, scheme: Scheme, draw: &mut CounterRng) -> Step {
    let count = loads.len();
    let mut selected = vec![None; count];
    let mut wishes: Vec<Vec<usize>> = vec![Vec::new(); count];
    for p in 0..count {
        if draw.unit() * loads[p] >= mu {
            continue;
        }
        let Some(q) = other(p, count, draw) else {
            continue;
        };
        selected[p] = Some(q);
        if scheme == Scheme::Symmetric || loads[p] < loads[q] {
            wishes[p].push(q);
            wishes[q].push(p);
        }
    }
    let decided: Vec<Option<usize>> = wishes
        .iter()
        .map(|wishes| match wishes.len() {
            0 => None,
            count => Some(wishes[draw.below(count)]),
        })
        .collect();
    let mutual = |p: usize| {
        let q = decided[p]?;
        (p < q && decided[q] == Some(p)).then_some((p, q))
    };
    Step {
        pairs: (0..count).filter_map(mutual).collect(),
        selected,
    }
}

/// Lemmas 3.3 and 3.7: of the selections of a pair, a constant share leads to balancing.
fn balanced_of_selected(scheme: Scheme, lemma: &str, effort: Effort) -> Finding {
    let (count, trials) = (effort.choose(12, 24), effort.choose(40_000, 400_000));
    // The worst case of the proof: every process initiates in every step.
    let mut loads = vec![1.0; count];
    loads[1] = 2.0;
    let mut share = Mean::default();
    for trial in 0..trials {
        let mut draw = CounterRng::at(33, trial, count as u64);
        let step = step(&loads, 1.0, scheme, &mut draw);
        let is_selected = step.selected[0] == Some(1)
            || scheme == Scheme::Symmetric && step.selected[1] == Some(0);
        if is_selected {
            share.add(f64::from(u8::from(step.pairs.contains(&(0, 1)))));
        }
    }
    Finding::new(format!("{lemma}: P(balance) / P(select) of a pair"))
        .sampled(format!(
            "{count} processes that all initiate, {trials} steps"
        ))
        .at_least(guaranteed(), &share)
}

/// Theorems 3.4 and 3.8: one with alpha times the mean loses in proportion to alpha.
fn contribution(scheme: Scheme, theorem: &str, effort: Effort) -> Finding {
    const MEAN: f64 = 10.0;
    let counts = effort.choose(&[16, 64][..], &[16, 64, 256, 1024]);
    let trials = effort.choose(30_000, 100_000);
    let mut least = (f64::INFINITY, Mean::default());
    for &count in counts {
        for alpha in [2.0, 4.0, 8.0] {
            let rest = MEAN * (count as f64 - alpha) / (count as f64 - 1.0);
            let mut loads = vec![rest; count];
            loads[0] = alpha * MEAN;
            let mut loss = Mean::default();
            for trial in 0..trials / count * 16 {
                let mut draw = CounterRng::at(34, trial, (count * 100) as u64 + alpha as u64);
                let pairs = step(&loads, 1.0, scheme, &mut draw).pairs;
                let own = pairs.iter().find(|pair| pair.0 == 0);
                loss.add(own.map_or(0.0, |&(_, q)| (loads[0] - loads[q]) / 2.0 / (alpha - 1.0)));
            }
            if loss.mean() < least.0 {
                least = (loss.mean(), loss);
            }
        }
    }
    Finding::new(format!(
        "{theorem}: what one with alpha A loses in a step, over alpha - 1"
    ))
    .sampled(format!("{counts:?} processes, alpha = 2, 4, 8; the least"))
    // Others initiate mu / A times in all, each for half of the difference.
    .at_least(0.5 * guaranteed(), &least.1)
}

/// Steps in which the first process gets an item each time, another one loses one, and all balance.
/// The load of the first over the mean, from a quarter of the steps on.
fn ratio(count: usize, steps: u64, start: impl Fn(usize) -> f64) -> f64 {
    let mut loads: Vec<f64> = (0..count).map(start).collect();
    let mean = loads.iter().sum::<f64>() / count as f64;
    let mut ratio = Mean::default();
    for number in 0..steps {
        let mut draw = CounterRng::at(35, count, number);
        loads[0] += 1.0;
        let loser = (0..).map(|_| draw.below(count)).find(|&p| loads[p] >= 1.0);
        loads[loser.unwrap_or(0)] -= 1.0;
        for (p, q) in step(&loads, 1.0, Scheme::Symmetric, &mut draw).pairs {
            let sum = loads[p] + loads[q];
            (loads[p], loads[q]) = ((sum / 2.0).floor(), (sum / 2.0).ceil());
        }
        if number >= steps / 4 {
            ratio.add(loads[0] / mean);
        }
    }
    ratio.mean()
}

/// What comes in, one item, goes out: mu / load of all others' attempts, each for half; a factor of
/// two for those that come to nothing.
const CONSTANT: f64 = 2.0 * 3.0;

fn ratios(effort: Effort, start: impl Fn(usize, usize) -> f64) -> (Vec<f64>, String) {
    let counts = effort.choose(&[16, 64, 256][..], &[16, 64, 256, 1024]);
    let steps = effort.choose(3000, 8000);
    let ratios = counts.iter().map(|&n| ratio(n, steps, |p| start(p, n)));
    (
        ratios.collect(),
        format!("{counts:?} processes, {steps} steps"),
    )
}

fn constant(claim: &str, (ratios, sample): (Vec<f64>, String)) -> Finding {
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let most = ratios.iter().copied().fold(0.0, f64::max);
    Finding::new(claim).sampled(sample).says(
        format!("a constant for all, below {CONSTANT}"),
        shown.join(" "),
        most <= CONSTANT,
    )
}

/// Theorem 3.5.
fn locally_bounded(effort: Effort) -> Finding {
    let claim = "theorem 3.5, symmetric: load of one that gets 1 item a step, over the mean";
    constant(claim, ratios(effort, |_, _| 20.0))
}

/// Corollary 3.6.
fn becomes_bounded(effort: Effort) -> Finding {
    let claim = "corollary 3.6, symmetric: the same after a start with all items at one process";
    let all_at_first = |p, count| if p == 0 { 20.0 * count as f64 } else { 0.0 };
    constant(claim, ratios(effort, all_at_first))
}
