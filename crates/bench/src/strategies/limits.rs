//! Limits for the measurements of the strategies.

use super::lineup::{self, CLOSE, DEALING, LOCALITY, SHARING, STEALING};
use super::{affinity, onset, price, programs};
use crate::harness::report::Outcome;
use crate::harness::stats::median;
use crate::harness::{Bar, Measured};

/// Limit of the time of other kinds of stealing, and of sharing, relative to plain stealing's.
const OF_STEALING: f64 = 1.1;

/// Limit of the time of dealing relative to plain stealing's.
const DEALING_OF_STEALING: f64 = 1.5;

/// Limit of the time to all busy under sharing, relative to stealing's, where one worker creates
/// all the work.
const ONSET: f64 = 0.9;

/// Limit of the share of tasks that run elsewhere under locality-guided dealing: 1/L, with its
/// usual L.
const MISSES: f64 = 0.25;

/// Limit of the number of read-modify-writes of a produce and a consume.
const RMWS: f64 = 0.0;

/// Compares the measurements with the limits. Missing measurements are skipped.
pub(super) fn bars(outcome: &Outcome) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (_, name) in programs::PROGRAMS {
        let close = lineup::known(&CLOSE)
            .into_iter()
            .map(|who| (who, OF_STEALING));
        for (who, limit) in close.chain([(DEALING, DEALING_OF_STEALING)]) {
            bars.push(to_stealing(outcome, name, who, limit));
        }
    }
    for name in onset::GENERATOR_BUSY {
        bars.push(to_stealing(outcome, name, SHARING, ONSET));
    }
    let misses = find(outcome, affinity::NAME).and_then(|measured| {
        let mut series = measured.series.iter();
        let series = series.find(|series| series.contender == LOCALITY)?;
        Some(median(&series.notes))
    });
    bars.push(bar(
        format!("misses of affinity {LOCALITY}"),
        MISSES,
        misses,
    ));
    let mut figures = outcome.figures.iter();
    let figures = figures.find(|figures| figures.title == price::PATH);
    let rmws = figures.and_then(|figures| figures.get(DEALING));
    bars.push(bar(price::PATH.to_owned(), RMWS, rmws));
    bars
}

fn bar(name: String, limit: f64, measured: Option<f64>) -> Bar {
    Bar {
        name: name.into(),
        limit,
        measured,
    }
}

fn find<'o>(outcome: &'o Outcome, name: &str) -> Option<&'o Measured> {
    outcome
        .workloads
        .iter()
        .find(|measured| measured.name == name)
}

fn to_stealing(outcome: &Outcome, name: &str, who: &str, limit: f64) -> Bar {
    let ratio = find(outcome, name).and_then(|measured| measured.ratio(who, STEALING));
    let name = format!("{name} {who} / {STEALING}");
    bar(name, limit, ratio.map(|ratio| ratio.median))
}
