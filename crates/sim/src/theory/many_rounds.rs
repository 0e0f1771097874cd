//! Sharing over many rounds, for all four heuristics: future work in section 5.4 of the thesis.
//!
//! The analysis of section 5.3 starts each round with all flags in their initial state. Here the
//! flags keep their values from earlier rounds. The idle processors, a share a of all, are drawn
//! anew for each round.
//!
//! **Prediction.** For many processors, let f be the share of flags that are set before a round,
//! and h the probability that a thief sets a given one in it. After the thieves the share is
//! f' = f + (1 - f) h. Thieves take (1 - a)(1 - e^-a) nodes, so that r = a - (1 - a)(1 - e^-a) of
//! the processors can be given one. There are d = (1 - a) f' donors, and r (1 - e^-d) of them
//! succeed. A flag is cleared when its processor is busy and its heuristic says so:
//!
//! | heuristic | h | f of the next round |
//! |---|---|---|
//! | Greedy | 1 | 1 |
//! | Tit-for-tat | 1 - e^-a | a f' |
//! | Continuous Tit-for-tat | 1 - e^-a | a f' + r (1 - e^-d) |
//! | Continuous Abort-for-tat | 1 - e^-A, A = a (1 - a) - (1 - a)(1 - e^-a) attempts abort | the same |
//!
//! The fixed point gives the nodes that leave a busy processor, 1 - e^-a + r (1 - e^-d) / (1 - a);
//! the threshold is the least share of idle processors for which that is 1.

use locksley_policy::{Heuristic, Source};

use super::gains::{PROCESSORS, sharing};
use super::{Effort, Finding, Mean};
use crate::CounterRng;
use crate::rounds::{Endless, Rounds};

/// Tolerance of a measured threshold.
const NEAR: f64 = 0.01;

/// Number of rounds before the first that is counted. Under Abort-for-tat few flags are set in a
/// round, and they stay set for long.
const WARM: usize = 100;

const HEURISTICS: [(&str, Heuristic); 4] = [
    ("Greedy", Heuristic::GREEDY),
    ("Tit-for-tat", Heuristic::TIT_FOR_TAT),
    ("Continuous Tit-for-tat", Heuristic::CONTINUOUS_TIT_FOR_TAT),
    (
        "Continuous Abort-for-tat",
        Heuristic::CONTINUOUS_ABORT_FOR_TAT,
    ),
];

/// Returns the predicted number of nodes that leave a busy processor in a round, after many rounds:
/// the fixed point of the recurrence in the module's table.
fn predicted_leaving(a: f64, heuristic: Heuristic) -> f64 {
    let taken = 1.0 - (-a).exp();
    let available = a - (1.0 - a) * taken;
    let given = |donors: f64| available * (1.0 - (-donors).exp());
    if heuristic == Heuristic::GREEDY {
        return taken + given(1.0 - a) / (1.0 - a);
    }
    let setting = if heuristic == Heuristic::CONTINUOUS_ABORT_FOR_TAT {
        a * (1.0 - a) - (1.0 - a) * taken
    } else {
        a
    };
    let set = 1.0 - (-setting).exp();
    let is_continuous = heuristic != Heuristic::TIT_FOR_TAT;
    let mut flags = 0.0;
    let mut donors = 0.0;
    // The share of flags grows from 0 to its fixed point; each iteration reduces the distance by a
    // factor below 1.
    for _ in 0..10_000 {
        let after = flags + (1.0 - flags) * set;
        donors = (1.0 - a) * after;
        flags = a * after + if is_continuous { given(donors) } else { 0.0 };
    }
    taken + given(donors) / (1.0 - a)
}

/// Returns the measured number of nodes that leave a busy processor in a round, averaged over many
/// rounds.
fn leaving(alpha: f64, heuristic: Heuristic, count: usize) -> f64 {
    let idle = (alpha * PROCESSORS as f64).round() as usize;
    let mut rounds = Rounds::new(Endless, PROCESSORS, sharing(heuristic, 0.0, 0.0), 54);
    let mut left = Mean::default();
    for number in 0..WARM + count {
        let start = CounterRng::at(54, idle, number as u64).below(PROCESSORS);
        for p in 0..PROCESSORS {
            if (p + PROCESSORS - start) % PROCESSORS < idle {
                rounds.place(p, None, []);
            } else {
                rounds.place(p, Some(()), [(), ()]);
            }
        }
        let round = rounds.round();
        if number >= WARM {
            left.add((round.stolen + round.donated) as f64 / round.busy as f64);
        }
    }
    left.mean()
}

/// Returns the smallest share of idle processors from which on at least one node leaves per round,
/// if there is one.
fn threshold(leaving: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (0.5, 0.95);
    if leaving(high) < 1.0 {
        return None;
    }
    while high - low > 0.002 {
        let middle = (low + high) / 2.0;
        if leaving(middle) < 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// Returns the number of rounds until all processors are busy, starting with one busy processor.
fn onset(heuristic: Option<Heuristic>, runs: u64) -> Mean {
    let sharing = heuristic.and_then(|heuristic| sharing(heuristic, 0.0, 0.0));
    let run = |seed| {
        let mut rounds = Rounds::new(Endless, PROCESSORS, sharing, seed);
        let mut count = 0;
        while rounds.round().busy < PROCESSORS as u64 {
            count += 1;
        }
        f64::from(count)
    };
    (0..runs).map(run).collect()
}

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let (count, runs) = (effort.choose(60, 600), effort.choose(10, 100));
    let mut findings = Vec::new();
    for (name, heuristic) in HEURISTICS {
        let predicted = threshold(|share| predicted_leaving(share, heuristic));
        let measured = threshold(|share| leaving(share, heuristic, count));
        let holds = predicted
            .zip(measured)
            .is_some_and(|(predicted, measured)| (predicted - measured).abs() <= NEAR);
        let show = |threshold: Option<f64>| {
            threshold.map_or("none".to_owned(), |share| format!("{share:.3}"))
        };
        findings.push(
            Finding::new(format!("{name}: share of idle processors at the threshold"))
                .sampled(format!(
                    "{PROCESSORS} processors, {count} rounds for each share; within {NEAR}"
                ))
                .says(show(predicted), show(measured), holds),
        );
    }
    let alone = onset(None, runs);
    for (name, heuristic) in HEURISTICS {
        findings.push(
            Finding::new(format!(
                "{name}: rounds until all processors are busy, over those of stealing"
            ))
            .sampled(format!(
                "{PROCESSORS} processors, one generator, {runs} runs"
            ))
            .at_most(1.0, onset(Some(heuristic), runs).mean() / alone.mean()),
        );
    }
    findings
}
