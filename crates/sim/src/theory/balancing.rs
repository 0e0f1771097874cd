//! Probabilistic balancing: section 3 of Hendler and Shavit's "Non-Blocking Steal-Half Work
//! Queues", the symmetric scheme (3.1 to 3.6) and the lemmas of the asymmetric one (3.7, 3.8).
//!
//! In each step a process with load L initiates balancing with probability mu / L, with a random
//! other process. If several processes would balance with the same process, it chooses one of them;
//! two processes that choose each other balance. In the asymmetric scheme only the process with the
//! smaller load may initiate.

use locksley_policy::{Source, other};

use super::balanced_system::load_ratio;
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

/// Returns the share of selections that the lemmas guarantee to lead to balancing: 1 / (2 e^2).
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

/// A step: the process that each process selects, and the pairs that balance.
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

/// Lemmas 3.3 and 3.7: a constant share of the selections of a pair leads to balancing.
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
    Finding::new(format!(
        "{lemma}: share of a pair's selections that balance"
    ))
    .sampled(format!(
        "{count} processes that all initiate, {trials} steps"
    ))
    .at_least(guaranteed(), &share)
}

/// Theorems 3.4 and 3.8: a process with alpha times the mean load loses in proportion to alpha.
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
        "{theorem}: loss of a process with alpha A in a step, over alpha - 1"
    ))
    .sampled(format!(
        "{counts:?} processes, alpha = 2, 4, 8; the smallest loss"
    ))
    // The others together initiate mu / A times per step, each time for half of the difference.
    .at_least(0.5 * guaranteed(), &least.1)
}

/// Runs a system that balances by the symmetric scheme. See [`load_ratio`].
fn ratio(count: usize, steps: u64, start: impl Fn(usize) -> usize) -> f64 {
    let balance = |processes: &mut [usize], _, draw: &mut CounterRng| {
        let loads: Vec<f64> = processes.iter().map(|&load| load as f64).collect();
        for (p, q) in step(&loads, 1.0, Scheme::Symmetric, draw).pairs {
            let sum = processes[p] + processes[q];
            (processes[p], processes[q]) = (sum / 2, sum.div_ceil(2));
        }
    };
    load_ratio((0..count).map(start).collect(), steps, 35, balance)
}

/// Bound on the ratio: the item that comes in per step must go out through the mu / load attempts
/// of each of the others, each of which takes half of the difference; a factor of two allows for
/// attempts that fail.
const CONSTANT: f64 = 2.0 * 3.0;

fn ratios(effort: Effort, start: impl Fn(usize, usize) -> usize) -> (Vec<f64>, String) {
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
        format!("a constant for all counts, below {CONSTANT}"),
        shown.join(" "),
        most <= CONSTANT,
    )
}

/// Theorem 3.5: the load of a process that gets items is within a constant factor of the mean load.
fn locally_bounded(effort: Effort) -> Finding {
    let claim = "theorem 3.5, symmetric: load of a process that gets 1 item a step, over mean";
    constant(claim, ratios(effort, |_, _| 20))
}

/// Corollary 3.6: this also holds after a start with all items at one process.
fn becomes_bounded(effort: Effort) -> Finding {
    let claim = "corollary 3.6, symmetric: the same, with all items at one process at first";
    let all_at_first = |p, count| if p == 0 { 20 * count } else { 0 };
    constant(claim, ratios(effort, all_at_first))
}
