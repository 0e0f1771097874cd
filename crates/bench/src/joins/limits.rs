//! The bars of the pool.

use locksley_workload::Program;

use super::cases::{self, Case, Visitor};
use super::contenders::{
    Chili, Forte, Locksley, LocksleyJoin, Rayon, Runtime, Serial, TakeAny, Traced,
};
use super::turns::{CROWDED, TRACED};
use super::{instructions, positions, probes, spawning, wake_up};
use crate::harness::report::{Figures, Instructions};
use crate::harness::{Bar, Measured};

/// A workload, another runtime, and the limit of our time relative to that runtime's.
const TIMES: [(&str, &str, f64); 15] = [
    ("fib P=1", Chili::NAME, 0.85),
    ("fib P=1", Rayon::NAME, 0.36),
    ("fib P=2", Chili::NAME, 0.85),
    ("fib P=2", Rayon::NAME, 0.3),
    ("tree preorder P=1", Serial::NAME, 1.6),
    ("tree preorder P=2", Serial::NAME, 1.0),
    ("tree preorder P=2", Rayon::NAME, 1.0),
    ("tree preorder P=2", Chili::NAME, 1.0),
    ("tree preorder P=2", Forte::NAME, 1.0),
    ("tree postorder P=1", Serial::NAME, 1.6),
    ("tree postorder P=2", Rayon::NAME, 1.0),
    ("queens P=2", Rayon::NAME, 1.0),
    ("uts T1 P=2", Rayon::NAME, 1.0),
    ("uts T3 P=2", Rayon::NAME, 1.0),
    (wake_up::NAME, Rayon::NAME, 0.5),
];

/// Limit of our time relative to the fastest rival's, in the cases that are not measured with one
/// worker as well.
const OF_THE_FASTEST: f64 = 1.03;

/// Limit of the time with the default waiting rule relative to the other one, in every case.
const OF_TAKE_ANY: f64 = 1.03;

/// Limit of the time with sixteen workers relative to two, in every case.
const OF_TWO_WORKERS: f64 = 1.15;

/// Limit of the time with a trace relative to the time without.
const OF_UNTRACED: f64 = 1.05;

/// Limits of the instructions of a join.
const INSTRUCTIONS: [(&str, f64); 2] = [(Locksley::NAME, 47.0), (LocksleyJoin::NAME, 60.0)];

/// Limit of the processor time of an idle pool, in percent of a core.
const IDLE: f64 = 0.5;

/// Limit of the memory of an idle pool of 64 workers beyond its stacks, in KiB.
const IDLE_POOL: f64 = 4096.0;

/// Compares the measurements with the limits. Missing measurements are skipped.
pub(super) fn bars(
    workloads: &[Measured],
    instructions: &[Instructions],
    figures: &[Figures],
) -> Vec<Bar> {
    let mut bars = count_bars(instructions);
    bars.extend(time_bars(&Times(workloads)));
    bars.extend(figure_bars(figures));
    bars
}

fn bar(name: String, limit: f64, measured: Option<f64>) -> Bar {
    Bar {
        name: name.into(),
        limit,
        measured,
    }
}

fn count_bars(counts: &[Instructions]) -> Vec<Bar> {
    let joins = INSTRUCTIONS.map(|(contender, limit)| (instructions::FORK, contender, limit));
    let spawns = spawning::COUNTED.map(|counted| (counted.name, Locksley::NAME, counted.limit));
    let limits = joins.into_iter().chain(spawns);
    let bars = limits.map(|(workload, contender, limit)| {
        let of = |count: &&Instructions| (count.workload, count.contender) == (workload, contender);
        let count = counts.iter().find(of);
        let name = format!("instructions of {workload} {contender}");
        bar(name, limit, count.map(|count| count.instructions))
    });
    bars.collect()
}

struct Times<'m>(&'m [Measured]);

impl Times<'_> {
    /// Returns the median ratio of two contenders' times.
    fn ratio(&self, workload: &str, contender: &str, to: &str) -> Option<f64> {
        let measured = self.0.iter().find(|measured| measured.name == workload)?;
        Some(measured.ratio(contender, to)?.median)
    }

    /// Returns the largest ratio of our time to a rival's, and the rival.
    fn to_the_fastest(&self, workload: &str) -> Option<(f64, &'static str)> {
        let rivals = [Rayon::NAME, Chili::NAME, Forte::NAME];
        let ratios =
            rivals.map(|rival| Some((self.ratio(workload, Locksley::NAME, rival)?, rival)));
        let ratios: Vec<_> = ratios.into_iter().collect::<Option<_>>()?;
        ratios.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

fn time_bars(times: &Times<'_>) -> Vec<Bar> {
    let ours = Locksley::NAME;
    let mut bars: Vec<Bar> = TIMES
        .iter()
        .map(|&(workload, to, limit)| {
            let name = format!("{workload} {ours} / {to}");
            bar(name, limit, times.ratio(workload, ours, to))
        })
        .collect();
    let cases = Cases::all();
    for case in cases.iter().filter(|case| !case.alone) {
        let fastest = times.to_the_fastest(case.two);
        let rival = fastest.map_or("unknown", |(_, rival)| rival);
        let name = format!("{} {ours} / fastest rival ({rival})", case.two);
        bars.push(bar(name, OF_THE_FASTEST, fastest.map(|(ratio, _)| ratio)));
    }
    for case in &cases {
        let name = format!("{} {ours} / {}", case.two, TakeAny::NAME);
        let ratio = times.ratio(case.two, ours, TakeAny::NAME);
        bars.push(bar(name, OF_TAKE_ANY, ratio));
    }
    for case in &cases {
        let name = format!("{} {CROWDED} / {ours}", case.two);
        let ratio = times.ratio(case.two, CROWDED, ours);
        bars.push(bar(name, OF_TWO_WORKERS, ratio));
    }
    let name = format!("{} {} / {ours}", TRACED.1, Traced::NAME);
    let ratio = times.ratio(TRACED.1, Traced::NAME, ours);
    bars.push(bar(name, OF_UNTRACED, ratio));
    bars
}

fn figure_bars(figures: &[Figures]) -> Vec<Bar> {
    let find = |title: &str, name: &str| figures.iter().find(|f| f.title == title)?.get(name);
    let (fib, rayons) = (
        find(probes::FIB, Locksley::NAME),
        find(probes::FIB, Rayon::NAME),
    );
    let name = |what: &str| format!("{what} {}", Locksley::NAME);
    vec![
        bar(
            name("idle percent of a core"),
            IDLE,
            find(probes::IDLE, Locksley::NAME),
        ),
        bar(
            format!("{} / {}", name("memory of fib(30)"), Rayon::NAME),
            1.0,
            fib.zip(rayons).map(|(ours, rayons)| ours / rayons),
        ),
        bar(
            name("KiB beyond stacks of 64 idle workers"),
            IDLE_POOL,
            find(probes::POOL, probes::BEYOND_STACKS),
        ),
        bar(
            name("dearest position of a deque / median"),
            positions::LIMIT,
            find(positions::TITLE, Locksley::NAME),
        ),
    ]
}

/// Collects the cases.
#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    fn all() -> Vec<Case> {
        let mut cases = Cases::default();
        cases::visit(true, &mut cases);
        cases.0
    }
}

impl Visitor for Cases {
    fn visit<P: Program + 'static>(&mut self, case: Case, _: impl Fn() -> P + 'static) {
        self.0.push(case);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bar for a workload that does not exist would always be skipped.
    #[test]
    fn every_bar_is_about_a_workload_that_there_is() {
        let cases = Cases::all();
        for (workload, ..) in TIMES {
            let alone = |case: &Case| case.alone && case.one == workload;
            let known = cases.iter().any(|case| alone(case) || case.two == workload);
            assert!(known || workload == wake_up::NAME, "{workload}");
        }
    }
}
