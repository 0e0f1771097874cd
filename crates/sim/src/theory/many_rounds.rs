//! Sharing over many rounds, for all four heuristics: what section 5.4 of the thesis leaves to be
//! studied.
//!
//! The analysis of section 5.3 begins each round with all flags as they are at first. Here the
//! flags stay as the rounds before have left them; who is idle is drawn anew for each round, a
//! share alpha of all.

use locksley_policy::{Heuristic, Source};

use super::gains::{PROCESSORS, sharing};
use super::{Effort, Finding, Mean};
use crate::CounterRng;
use crate::rounds::{Endless, Rounds};

/// The thresholds of a first round, sharper than the thesis's: see `gains`.
const FIRST_GREEDY: f64 = 0.7117;
const FIRST_TIT_FOR_TAT: f64 = 0.8549;

/// How far a measured threshold may be off.
const NEAR: f64 = 0.01;

/// Rounds that are played before any is counted. Under Abort-for-tat few flags are set in a round,
/// and they stay long.
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

/// How many nodes leave a busy processor in a round, on average over many.
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

/// The least share of idle processors from which on as many nodes leave as come, if there is one.
fn threshold(heuristic: Heuristic, count: usize) -> Option<f64> {
    let (mut low, mut high) = (0.5, 0.95);
    if leaving(high, heuristic, count) < 1.0 {
        return None;
    }
    while high - low > 0.002 {
        let middle = (low + high) / 2.0;
        if leaving(middle, heuristic, count) < 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// Rounds until all processors are busy, from one that is.
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
    let thresholds = HEURISTICS.map(|(_, heuristic)| threshold(heuristic, count));
    // Under Greedy nothing changes from round to round; under Tit-for-tat flags that were set while
    // their processor was idle stay, so that more is given than in a first round.
    let bounds = [
        (FIRST_GREEDY - NEAR, FIRST_GREEDY + NEAR),
        (FIRST_GREEDY - NEAR, FIRST_TIT_FOR_TAT + NEAR),
        (FIRST_GREEDY - NEAR, FIRST_TIT_FOR_TAT + NEAR),
        (FIRST_GREEDY - NEAR, 1.0),
    ];
    let mut findings = Vec::new();
    for (((name, _), threshold), (from, to)) in HEURISTICS.into_iter().zip(thresholds).zip(bounds) {
        let holds = threshold.is_some_and(|threshold| (from..=to).contains(&threshold));
        findings.push(
            Finding::new(format!("{name}: threshold over many rounds"))
                .sampled(format!(
                    "{PROCESSORS} processors, {count} rounds for each share"
                ))
                .says(
                    format!("from {from:.3} to {to:.3}"),
                    threshold.map_or("none".to_owned(), |threshold| format!("{threshold:.3}")),
                    holds,
                ),
        );
    }
    let alone = onset(None, runs);
    for (name, heuristic) in HEURISTICS {
        findings.push(
            Finding::new(format!(
                "{name}: rounds until all are busy, over those of stealing"
            ))
            .sampled(format!(
                "{PROCESSORS} processors, one generator, {runs} runs"
            ))
            .at_most(1.0, onset(Some(heuristic), runs).mean() / alone.mean()),
        );
    }
    findings
}
