//! Run times: T1/P + O(Tinf / (1 - theta_r)), with one constant for all computations.
//!
//! The thesis bounds the expected number of phases, of P / (1 - theta_r) idle iterations each, by
//! 32 Tinf (CFLFWS, theorem 4.8, and CFWSS, theorem 6.7) and 48 Tinf (WSSPD, lemma 6.15). So the
//! makespan is at most T1/P + c Tinf / (1 - theta_r) with c = 32 or 48. The measured constants are
//! far below.

use locksley_policy::{Heuristic, Sharing, Theta, Victims};

use super::statistics::largest;
use super::{Effort, Finding, Mean};
use crate::dag::{Dag, Generator, Strands};
use crate::{Costs, NOMINAL, Report, Setup, Simulate, Speed, Speeds, Strategy, simulate};

/// Computations of all kinds: with much and with little parallelism, nested and not nested.
const DAGS: [&str; 10] = [
    "fib:n=20",
    "balanced:depth=10,grain=20",
    "random:nodes=20000,fork=0.5",
    "random:nodes=20000,fork=0.05,seed=2",
    "sort:k=10",
    "sort:k=11,merge=parallel",
    "chain:periods=50,serial=20,parallel=20",
    "generator:tasks=500,grain=20,gap=2",
    "wavefront:rows=60,columns=60,grain=2",
    "stencil:width=50,steps=50",
];

/// Runs all computations on several numbers of processors with several seeds. Returns no reports if
/// one of the runs fails.
fn runs(effort: Effort, setup: impl Fn(usize) -> Setup) -> Vec<Report> {
    try_runs(effort, setup).unwrap_or_default()
}

fn try_runs(effort: Effort, setup: impl Fn(usize) -> Setup) -> Option<Vec<Report>> {
    let seeds = effort.choose(1, 3);
    let mut reports = Vec::new();
    for dag in DAGS {
        let dag: Dag = dag.parse().ok()?;
        for processors in effort.choose(&[3, 40][..], &[2, 8, 64, 400]) {
            for seed in 0..seeds {
                let setup = Setup {
                    seed: 100 + seed,
                    ..setup(*processors)
                };
                reports.push(dag.build(Simulate(&setup)).ok()?.ok()?);
            }
        }
    }
    Some(reports)
}

fn sample(reports: &[Report]) -> String {
    format!("{} computations, {} runs", DAGS.len(), reports.len())
}

fn most(reports: &[Report], of: impl Fn(&Report) -> f64) -> f64 {
    largest(reports.iter().map(of))
}

/// Returns P Tinf.
fn area(report: &Report) -> f64 {
    report.processors as f64 * report.size.span as f64
}

/// Returns (makespan - T1/P) / Tinf.
fn excess(report: &Report) -> f64 {
    let ideal = report.size.work as f64 / report.processors as f64;
    (report.makespan as f64 - ideal) / report.size.span as f64
}

pub(super) fn check_stealing(effort: Effort) -> Vec<Finding> {
    let mut findings = Vec::new();
    for theta in [0.0, 0.5, 0.75] {
        let victims = Victims::SKIP.with_theta(Theta::new(theta).unwrap_or(Theta::ZERO));
        let strategy = Strategy::Flexible(locksley_policy::Flexible { victims });
        let reports = runs(effort, |processors| Setup::new(processors, strategy));
        let c = most(&reports, |report| excess(report) * (1.0 - theta));
        findings.push(
            Finding::new(format!(
                "CFLFWS, theta_r {theta}: c in T1/P + c Tinf / (1 - theta_r)"
            ))
            .sampled(sample(&reports))
            .at_most(32.0, c),
        );
        let phases = most(&reports, |report| {
            report.tally.idle_iterations as f64 * (1.0 - theta) / area(report)
        });
        findings.push(
            Finding::new(format!(
                "CFLFWS, theta_r {theta}: idle iterations over P Tinf / (1 - theta_r)"
            ))
            .sampled(sample(&reports))
            .at_most(32.0, phases),
        );
        if theta == 0.0 {
            findings.push(
                Finding::new("LFWS: steals over P Tinf")
                    .sampled(sample(&reports))
                    .at_most(
                        32.0,
                        most(&reports, |report| report.tally.stolen as f64 / area(report)),
                    ),
            );
        }
    }
    findings
}

pub(super) fn check_semi_private(effort: Effort) -> Vec<Finding> {
    let reports = runs(effort, |processors| {
        Setup::new(processors, Strategy::SemiPrivate)
    });
    let lock_free = runs(effort, |processors| {
        Setup::new(processors, Strategy::LockFree)
    });
    let fences =
        |reports: &[Report]| most(reports, |report| report.tally.fences as f64 / area(report));
    vec![
        Finding::new("WSSPD: c in T1/P + c Tinf")
            .sampled(sample(&reports))
            .at_most(48.0, most(&reports, excess)),
        Finding::new("WSSPD, lemma 6.9: fences over (3 idle iterations + P)")
            .sampled(sample(&reports))
            .at_most(
                1.0,
                most(&reports, |report| {
                    let bound = 3 * report.tally.idle_iterations + report.processors as u64;
                    report.tally.fences as f64 / bound as f64
                }),
            ),
        Finding::new(format!(
            "WSSPD, theorem 6.17: fences over P Tinf (LFWS: {:.1})",
            fences(&lock_free)
        ))
        .sampled(sample(&reports))
        .at_most(3.0 * 48.0, fences(&reports)),
    ]
}

/// The closing problem of the thesis: sharing on semi-private deques.
pub(super) fn check_private_sharing(effort: Effort) -> Vec<Finding> {
    let sharing = Sharing::default();
    let reports = runs(effort, |processors| {
        Setup::new(processors, Strategy::PrivateSharing(sharing))
    });
    let public = runs(effort, |processors| {
        Setup::new(processors, Strategy::Sharing(sharing))
    });
    let fences =
        |reports: &[Report]| most(reports, |report| report.tally.fences as f64 / area(report));
    let per_idle = |report: &Report| {
        let (tally, count) = (&report.tally, report.processors as u64);
        let bound = 3 * tally.idle_iterations + tally.offered + count;
        tally.fences as f64 / bound as f64
    };
    let alone = runs(effort, |_| Setup::new(1, Strategy::PrivateSharing(sharing)));
    vec![
        Finding::new("WSSPD inside CFWSS: c in T1/P + c Tinf")
            .sampled(sample(&reports))
            .at_most(48.0, most(&reports, excess)),
        Finding::new("the same: fences over (3 idle iterations + offers + P)")
            .sampled(sample(&reports))
            .at_most(1.0, most(&reports, per_idle)),
        Finding::new(format!(
            "the same: fences over P Tinf (CFWSS: {:.1})",
            fences(&public)
        ))
        .sampled(sample(&reports))
        .at_most(4.0 * 48.0, fences(&reports)),
        Finding::new("the same: fences where no thief requests work")
            .sampled(sample(&alone))
            .at_most(0.0, most(&alone, |report| report.tally.fences as f64)),
    ]
}

pub(super) fn check_sharing(effort: Effort) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, heuristic) in [
        ("Greedy", Heuristic::GREEDY),
        ("Tit-for-tat", Heuristic::TIT_FOR_TAT),
        ("Continuous Tit-for-tat", Heuristic::CONTINUOUS_TIT_FOR_TAT),
        (
            "Continuous Abort-for-tat",
            Heuristic::CONTINUOUS_ABORT_FOR_TAT,
        ),
    ] {
        let sharing = Sharing {
            heuristic,
            ..Sharing::default()
        };
        for strategy in [
            Strategy::Sharing(sharing),
            Strategy::SynchronousSharing(sharing),
        ] {
            let which = match strategy {
                Strategy::Sharing(_) => "CFWSS",
                _ => "CFSAWSS",
            };
            let reports = runs(effort, |processors| Setup::new(processors, strategy));
            let ghosts = most(&reports, |report| report.tally.ghosts as f64 / area(report));
            findings.push(
                Finding::new(format!(
                    "{which}, {name}: c in T1/P + c Tinf (ghosts: {ghosts:.3} P Tinf)"
                ))
                .sampled(sample(&reports))
                .at_most(32.0, most(&reports, excess)),
            );
        }
    }
    findings
}

/// One processor generates all the work: compares the time until the others are busy with and
/// without sharing. This is the thesis's reason for sharing (section 1.3.1), which it does not
/// measure.
pub(super) fn check_generator(effort: Effort) -> Vec<Finding> {
    let seeds = effort.choose(20, 200);
    let sample = format!("one generator, 64 processors, {seeds} runs each; 5 s.e.");
    let stealing = all_busy(Strategy::LockFree, seeds);
    let sharing = |heuristic| {
        let policy = Sharing {
            heuristic,
            ..Sharing::default()
        };
        all_busy(Strategy::Sharing(policy), seeds)
    };
    // Thieves set the flags of random processors, and hit that of the generator as rarely as they
    // hit its deque, so only Greedy gains much.
    [
        ("Greedy", Heuristic::GREEDY, 0.9),
        ("Tit-for-tat", Heuristic::TIT_FOR_TAT, 1.0),
        (
            "Continuous Tit-for-tat",
            Heuristic::CONTINUOUS_TIT_FOR_TAT,
            1.0,
        ),
    ]
    .into_iter()
    .map(|(name, heuristic, most)| {
        let ratio = sharing(heuristic).scaled(1.0 / stealing.mean());
        let claim = format!("{name}: ticks until nine of ten are busy, over stealing's");
        Finding::new(claim).sampled(sample.clone()).says(
            format!("<= {most}"),
            ratio.to_string(),
            ratio.mean() - 5.0 * ratio.error() <= most,
        )
    })
    .collect()
}

/// Returns the time at which nine of ten processors are busy for the first time; infinity if they
/// never are.
fn all_busy(strategy: Strategy, seeds: u64) -> Mean {
    let first = |seed| {
        // No task ends before all processors have one, so there are enough tasks.
        let mut generator = Strands::new(Generator::new(100, 1000, 1));
        let setup = Setup {
            seed,
            sample: 1,
            ..Setup::new(64, strategy)
        };
        let report = simulate(&mut generator, &setup).ok()?;
        let busy = report.loads.iter().find(|load| load.busy >= 58)?;
        Some(busy.time as f64)
    };
    (0..seeds)
        .map(|seed| first(seed).unwrap_or(f64::INFINITY))
        .collect()
}

/// Returns machines whose processors are alternately slow and fast, or taken away and given back.
fn changing_machines() -> [(&'static str, Speeds); 2] {
    let half = NOMINAL / 2;
    let changing = vec![
        Speed::constant(NOMINAL),
        Speed::repeating(9700, &[(0, half), (5000, 2 * NOMINAL)]),
        Speed::repeating(6100, &[(0, 2 * NOMINAL), (2000, half)]),
    ];
    let multiprogrammed = vec![
        Speed::repeating(8000, &[(0, NOMINAL), (4000, 0)]),
        Speed::repeating(8000, &[(0, 0), (4000, NOMINAL)]),
    ];
    [
        ("changing speeds", Speeds::of(changing)),
        ("multiprogrammed", Speeds::of(multiprogrammed)),
    ]
}

/// Checks that the makespan is (W + c P D) over the total mean speed of all processors.
pub(super) fn check_changing(effort: Effort) -> Vec<Finding> {
    // Ticks are so short that rounding times up to the next tick does not matter.
    let node = 100;
    let costs = Costs {
        node,
        steal: node,
        ..Costs::default()
    };
    let check = |(name, speeds): (&str, Speeds)| {
        let reports = runs(effort, |processors| Setup {
            costs,
            speeds: speeds.clone(),
            ..Setup::new(processors, Strategy::LockFree)
        });
        let c = most(&reports, |report| {
            let ticks = capacity(&speeds, report.processors, report.makespan);
            let done = ticks / f64::from(node);
            (done - report.size.work as f64) / area(report)
        });
        Finding::new(format!("LFWS, {name}: c in (W + c P D) / total speed"))
            .sampled(sample(&reports))
            .at_most(32.0, c)
    };
    changing_machines().into_iter().map(check).collect()
}

/// Returns the capacity of all processors up to a time, in ticks at nominal speed.
fn capacity(speeds: &Speeds, processors: usize, until: u64) -> f64 {
    let done = |p: usize| {
        let Some(speed) = speeds.get(p) else {
            return until as f64;
        };
        let (mut now, mut done) = (0, 0.0);
        while now < until {
            let next = speed.next_change(now).unwrap_or(until).min(until);
            done += (next - now) as f64 * f64::from(speed.at(now)) / f64::from(NOMINAL);
            now = next;
        }
        done
    };
    (0..processors).map(done).sum()
}
