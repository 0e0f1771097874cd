//! Arrivals at a rate: section 1.2 of Hendler and Shavit's "Non-Blocking Steal-Half Work Queues",
//! after Berenbrink, Friedetzky and Goldberg; and Eager, Lazowska and Zahorjan's policies.

use locksley_policy::{Amount, StealHalf, Target, When};

use super::{Effort, Finding, Mean};
use crate::Strategy;
use crate::open::{Arrivals, ArrivalsReport, simulate};

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    vec![
        one_server(effort),
        one_queue(effort),
        stealing_waits(effort),
        probing(effort),
        stealing_one(effort),
        stealing_half(effort),
    ]
}

fn run(arrivals: Arrivals) -> Option<ArrivalsReport> {
    simulate(&arrivals).ok()
}

/// Returns the mean wait over the mean service time, in several runs.
fn mean_wait(arrivals: &Arrivals, runs: u64) -> Mean {
    let one = |seed| {
        let report = run(Arrivals {
            seed,
            ..arrivals.clone()
        });
        report.map(|report| report.mean_wait / arrivals.service as f64)
    };
    (1..=runs).filter_map(one).collect()
}

/// Returns the mean wait over the mean service time in M/M/c: Erlang's C over c (1 - load).
fn erlang(count: usize, load: f64) -> f64 {
    let offered = load * count as f64;
    // The probability that an item is blocked, by the recurrence of Erlang's B.
    let blocked = (1..=count).fold(1.0, |b, k| offered * b / (k as f64 + offered * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    waits / (count as f64 * (1.0 - load))
}

fn one_server(effort: Effort) -> Finding {
    let items = effort.choose(40_000, 400_000);
    let arrivals = Arrivals {
        items,
        load: 0.6,
        ..Arrivals::new(1, Strategy::LockFree)
    };
    Finding::new("one processor: mean wait, load / (1 - load) mean service times")
        .sampled(format!("10 runs of {items} items, load 0.6"))
        .equals(1.5, &mean_wait(&arrivals, 10), 0.02)
}

fn one_queue(effort: Effort) -> Finding {
    let items = effort.choose(40_000, 400_000);
    let arrivals = Arrivals {
        items,
        ..Arrivals::new(8, Strategy::Greedy)
    };
    Finding::new("one queue for 8 processors: mean wait, by Erlang's formula")
        .sampled(format!("10 runs of {items} items, load 0.8"))
        .equals(erlang(8, 0.8), &mean_wait(&arrivals, 10), 0.02)
}

/// Under stealing, items wait longer than in one queue for all, and far less than without
/// balancing.
fn stealing_waits(effort: Effort) -> Finding {
    let items = effort.choose(40_000, 400_000);
    let (count, load) = (16, 0.8);
    let wait = mean_wait(
        &Arrivals {
            items,
            load,
            ..Arrivals::new(count, Strategy::LockFree)
        },
        5,
    );
    let (least, most) = (erlang(count, load), load / (1.0 - load));
    Finding::new("stealing: mean wait, between that of one queue and that without balancing")
        .sampled(format!(
            "5 runs of {items} items, {count} processors, load {load}"
        ))
        .says(
            format!("from {least:.3} to half of {most:.3}"),
            wait.to_string(),
            wait.mean() >= least && wait.mean() <= most / 2.0,
        )
}

/// Eager et al.: a few probes gain most; sending to the shortest queue among them gains little
/// more.
fn probing(effort: Effort) -> Finding {
    let items = effort.choose(40_000, 400_000);
    let wait = |target| {
        let arrivals = Arrivals {
            items,
            ..Arrivals::new(32, Strategy::Sending(target))
        };
        mean_wait(&arrivals, 5).mean()
    };
    let [random, threshold, shortest] =
        [Target::Random, Target::THRESHOLD, Target::SHORTEST].map(wait);
    let alone = 0.8 / (1.0 - 0.8);
    Finding::new("sending (Eager et al.): mean waits under random, threshold, shortest, L_p = 3")
        .sampled(format!("5 runs of {items} items, 32 processors, load 0.8"))
        .says(
            format!("{alone:.2} without sending > random > threshold >= shortest"),
            format!("{random:.3} {threshold:.3} {shortest:.3}"),
            alone > random && random > threshold && 1.05 * threshold >= shortest,
        )
}

/// Runs a system in which one processor generates all items and the others steal from it.
fn one_generator(amount: Amount, effort: Effort) -> Option<ArrivalsReport> {
    let items = effort.choose(60_000, 1_000_000);
    run(Arrivals {
        items,
        load: 0.6,
        generators: 1,
        ..Arrivals::new(
            64,
            Strategy::StealHalf(StealHalf {
                when: When::Empty,
                amount,
            }),
        )
    })
}

fn stability(claim: &str, amount: Amount, grows: bool, effort: Effort) -> Finding {
    let report = one_generator(amount, effort);
    let shown = report.as_ref().map_or(String::new(), |report| {
        report.backlog.map(|items| format!("{items:.0}")).join(" ")
    });
    let holds = report.is_some_and(|report| report.is_stable() != grows);
    Finding::new(claim)
        .sampled("64 processors, load 0.6, one generates; waiting items, by quarters of the time")
        .says(if grows { "grows" } else { "bounded" }, shown, holds)
}

fn stealing_one(effort: Effort) -> Finding {
    let claim = "section 1.2 (Berenbrink et al.): stealing one item at a time is not stable";
    stability(claim, Amount::One, true, effort)
}

fn stealing_half(effort: Effort) -> Finding {
    let claim = "section 1.2 (Berenbrink et al.): stealing half is stable";
    stability(claim, Amount::Half, false, effort)
}
