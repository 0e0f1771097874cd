//! The irregular loops on more processors than the machine has: the costs of their items are
//! recorded, and a simulated machine runs them under both rules of splitting.

mod machine;

use std::time::{Duration, Instant};

use machine::{Costs, Rule, simulate};

use super::inputs::work;
use super::irregular::{costly, mandelbrot};
use crate::harness::Plan;
use crate::harness::report::Outcome;
use crate::harness::table::Table;

/// Numbers of simulated processors.
const PROCESSORS: [usize; 5] = [4, 8, 16, 32, 64];

/// Number of seeds over which a row is averaged.
const SEEDS: u64 = 5;

/// The name by which `--only` includes it.
const NAME: &str = "simulated";

/// A loop: the number of its items, the number of items that are recorded together, and the body.
struct Loop {
    name: &'static str,
    len: u64,
    group: u64,
    item: Box<dyn Fn(u64) -> u64>,
}

fn loops(quick: bool) -> [Loop; 6] {
    let scale = if quick { 100 } else { 1 };
    let rows = 800 / scale.min(8);
    let many = 1_000_000 / scale;
    let random = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xffff < 655;
    let new = |name, len, group, item: Box<dyn Fn(u64) -> u64>| Loop {
        name,
        len,
        group,
        item,
    };
    [
        new("equal", many, 64, Box::new(|n| work(n, 40))),
        new(
            "mandelbrot",
            rows,
            1,
            Box::new(move |row| mandelbrot(row, rows)),
        ),
        new("triangular", 6000 / scale, 1, Box::new(|n| work(n, n))),
        new(
            "costly front",
            many,
            64,
            Box::new(move |n| costly(n, n < many / 100)),
        ),
        new(
            "costly end",
            many,
            64,
            Box::new(move |n| costly(n, n >= many - many / 100)),
        ),
        new(
            "costly random",
            many,
            64,
            Box::new(move |n| costly(n, random(n))),
        ),
    ]
}

/// Records the loops and simulates them. There is no limit: the table is the result.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) {
    if !plan.includes(NAME) {
        return;
    }
    let header = [
        "loop",
        "processors",
        "forks on request",
        "steals",
        "efficiency",
        "forks in advance",
        "steals",
        "efficiency",
    ];
    let mut table = Table::new(
        "Simulated from recorded costs: split on request, and in advance as rayon does",
        &header,
    );
    for recorded in loops(plan.quick) {
        let costs = record(&recorded);
        for processors in PROCESSORS {
            let mut row = vec![recorded.name.to_owned(), processors.to_string()];
            for rule in [Rule::OnRequest, Rule::InAdvance] {
                row.extend(mean(rule, &costs, processors));
            }
            table.row(row);
        }
    }
    outcome.tables.push(table);
}

/// Returns forks, steals and efficiency, as means over the seeds.
fn mean(rule: Rule, costs: &Costs, processors: usize) -> [String; 3] {
    let runs: Vec<_> = (0..SEEDS)
        .map(|seed| simulate(rule, costs, processors, 0x5eed + 977 * seed))
        .collect();
    let mean =
        |value: fn(&machine::Run) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
    [
        format!("{:.0}", mean(|run| run.forks as f64)),
        format!("{:.0}", mean(|run| run.steals as f64)),
        format!("{:.3}", mean(|run| run.efficiency)),
    ]
}

/// Records the costs of items, which run in sequence in groups. The items of a group share its
/// cost. The cost of reading the clock is subtracted.
fn record(recorded: &Loop) -> Costs {
    let clock = (0..1000).map(|_| Instant::now().elapsed()).min();
    let clock = clock.unwrap_or_default();
    let groups = recorded.len.div_ceil(recorded.group);
    let cost = |group: u64| {
        let items = group * recorded.group..recorded.len.min((group + 1) * recorded.group);
        // The shorter of two times, to exclude interruptions.
        let times = [(); 2].map(|()| {
            let start = Instant::now();
            std::hint::black_box(items.clone().map(&recorded.item).fold(0, u64::wrapping_add));
            start.elapsed()
        });
        let time = times.into_iter().min().unwrap_or(Duration::ZERO);
        u64::try_from(time.saturating_sub(clock).as_nanos().max(1)).unwrap_or(u64::MAX)
    };
    let mut sums = vec![0];
    let mut sum = 0;
    for group in 0..groups {
        let (all, len) = (cost(group), recorded.group);
        sums.extend((1..=len).map(|item| sum + all * item / len));
        sum += all;
    }
    Costs { sums }
}
