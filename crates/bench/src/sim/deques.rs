//! Compares the deque whose thieves interrupt all processors with the split deque, on simulated
//! machines that are larger than this one.
//!
//! The efficiency is T1 / (P * makespan), where T1 is without forks. Forks are free on both deques;
//! they differ in the effect of a steal on other workers. On the asymmetric deque every steal
//! interrupts all processors, so that the loss grows with P and with the rate of steals. On the
//! split deque a thief interrupts only the victim, and only if it does not answer.

use locksley_sim::dag::{Computation, Fib, Generator, Strands, Uts};
use locksley_sim::{Costs, Report, Setup, Strategy, simulate};
use locksley_workload::UtsTree;

use crate::harness::progress::Progress;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Bar, Plan, WrongResult, verify};

pub(super) const NAME: &str = "deques";

const PROCESSORS: [(&str, usize); 8] = [
    ("P=2", 2),
    ("P=4", 4),
    ("P=8", 8),
    ("P=16", 16),
    ("P=32", 32),
    ("P=64", 64),
    ("P=128", 128),
    ("P=256", 256),
];

/// Limits of the split deque with 64 processors: the share of the processors that it may leave
/// idle, and its time relative to the asymmetric deque's.
const IDLE: f64 = 0.25;
const OF_ASYMMETRIC: f64 = 0.5;

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let quick = plan.quick;
    let progress = Progress::start(NAME, 3);
    let titles = [
        "Efficiency, asymmetric deque: fib(27), 5 ns a node",
        "Efficiency, split deque: fib(27), 5 ns a node",
    ];
    let mut fib = Strands::new(Fib::new(if quick { 14 } else { 27 }));
    let fib = curves(titles, &mut fib, 5, quick, outcome)?;
    progress.step();
    let titles = [
        "Efficiency, asymmetric deque: UTS T3, 100 ns a node",
        "Efficiency, split deque: UTS T3, 100 ns a node",
    ];
    if let (false, Some((tree, _))) = (quick, UtsTree::published_with_size("T3")) {
        curves(
            titles,
            &mut Strands::new(Uts::new(tree)),
            100,
            quick,
            outcome,
        )?;
    }
    progress.step();
    let titles = [
        "Efficiency, asymmetric deque: one generator, tasks of 5 us",
        "Efficiency, split deque: one generator, tasks of 5 us",
    ];
    let tasks = if quick { 200 } else { 20_000 };
    let mut generator = Strands::new(Generator::new(tasks, 250, 1));
    let generator = curves(titles, &mut generator, 20, quick, outcome)?;
    progress.step();
    let bar = |name: &'static str, limit, measured: f64| Bar {
        name: name.into(),
        limit,
        measured: (!quick).then_some(measured),
    };
    let [_, idle] = fib.map(|split| 1.0 - split);
    let [asymmetric, split] = generator;
    outcome.bars.extend([
        bar("sim fib P=64: idle share, split", IDLE, idle),
        bar(
            "sim generator P=64: time split / asymmetric",
            OF_ASYMMETRIC,
            asymmetric / split,
        ),
    ]);
    Ok(())
}

/// Simulates a program with both deques, adds their curves, and returns the efficiencies with 64
/// processors.
fn curves<C: Computation>(
    titles: [&'static str; 2],
    computation: &mut C,
    node: u32,
    quick: bool,
    outcome: &mut Outcome,
) -> Result<[f64; 2], WrongResult> {
    let mut at_64 = [0.0; 2];
    let strategies = [Strategy::Asymmetric, Strategy::Split];
    for ((title, strategy), at_64) in titles.into_iter().zip(strategies).zip(&mut at_64) {
        let mut figures = Figures::new(title);
        for (label, processors) in PROCESSORS {
            if quick && processors > 8 {
                continue;
            }
            let setup = Setup {
                costs: Costs {
                    node,
                    ..Costs::MEASURED
                },
                ..Setup::new(processors, strategy)
            };
            let report = simulate(computation, &setup);
            let report = report.map_err(|error| {
                WrongResult::new(title, "a simulation", "a report".into(), error.to_string())
            })?;
            let (work, executed) = (report.size.work, report.tally.executed);
            verify(title, "nodes executed", work, executed)?;
            let efficiency = efficiency(&report, node);
            figures.add(label, efficiency);
            if processors == 64 {
                *at_64 = efficiency;
            }
        }
        outcome.figures.push(figures);
    }
    Ok(at_64)
}

fn efficiency(report: &Report, node: u32) -> f64 {
    let work = (report.size.work * u64::from(node)) as f64;
    work / (report.processors as f64 * report.makespan as f64)
}
