//! Programs that use rayon, run on rayon and on Locksley: the same source (`guests/rayon`) is built
//! once with rayon's own rayon-core and once with ours in its place. Ours runs with its defaults
//! and in its two modes.

use std::process::Command;

use crate::harness::report::Outcome;
use crate::harness::{Bar, Build, Contender, Guest, Measured, Plan, Workload, WrongResult};

/// The two programs.
const BUILDS: [Build; 2] = Build::both("rayon");

/// A way to run our rayon-core: with its defaults, or with an environment variable set.
struct Mode {
    /// Its name in tables, bars and JSON.
    name: &'static str,
    variable: Option<(&'static str, &'static str)>,
    /// Limit of its time relative to rayon's; `None` if the case sets the limit.
    limit: Option<f64>,
}

const MODES: [Mode; 3] = [
    Mode {
        name: Build::LOCKSLEY,
        variable: None,
        limit: None,
    },
    Mode {
        name: "locksley, own",
        variable: Some(("LOCKSLEY_WAITING", "own")),
        limit: Some(1.10),
    },
    Mode {
        name: "locksley, reproducible",
        variable: Some(("LOCKSLEY_REPRODUCIBLE", "64")),
        limit: Some(1.05),
    },
];

/// Number of threads.
const THREADS: &str = "2";

/// Limit of our time relative to rayon's.
const EVERYWHERE: f64 = 1.02;

/// Limit of our time relative to rayon's in programs with little work between forks.
const FINE: f64 = 0.8;

/// One program.
struct Case {
    /// Name in the guest, in tables, bars and JSON.
    name: &'static str,
    about: &'static str,
    limit: f64,
    /// Number of rounds as a multiple of the plan's: more if the program is short and its accesses
    /// to memory make it noisy, fewer if it takes long.
    rounds: f64,
}

const fn case(name: &'static str, about: &'static str, limit: f64, rounds: f64) -> Case {
    Case {
        name,
        about,
        limit,
        rounds,
    }
}

impl Case {
    fn plan(&self, plan: &Plan) -> Plan {
        // A quick run only shows that the program works.
        let factor = if plan.quick {
            self.rounds.min(1.0)
        } else {
            self.rounds
        };
        let rounds = (plan.rounds as f64 * factor).ceil() as usize;
        crate::joins::shorter(
            &Plan {
                rounds,
                ..plan.clone()
            },
            1,
        )
    }
}

const CASES: [Case; 15] = [
    case("sum", "10^7 u64, per number", EVERYWHERE, 10.0),
    case(
        "map",
        "of 10^7 u64, and their sum, per number",
        EVERYWHERE,
        10.0,
    ),
    case(
        "filter",
        "of 10^7 u64, and their count, per number",
        EVERYWHERE,
        10.0,
    ),
    case(
        "collect",
        "10^7 u64, mapped, into a vector, per number",
        EVERYWHERE,
        5.0,
    ),
    case("sort", "par_sort of 10^7 u64, per number", EVERYWHERE, 0.5),
    case(
        "sort unstable",
        "par_sort_unstable of 10^7 u64, per number",
        EVERYWHERE,
        1.0,
    ),
    case(
        "sort strings",
        "par_sort of 10^6 strings, per string",
        EVERYWHERE,
        1.0,
    ),
    case(
        "sort strings unstable",
        "par_sort_unstable of 10^6 strings, per string",
        EVERYWHERE,
        1.0,
    ),
    case(
        "chunks",
        "par_chunks of 1000 of 10^7 u64, per number",
        EVERYWHERE,
        10.0,
    ),
    case(
        "bridge",
        "par_bridge of 10^5 items of a tenth of a microsecond, per item",
        EVERYWHERE,
        1.0,
    ),
    case("flat map", "uneven inner loops, per item", EVERYWHERE, 0.5),
    case(
        "nested",
        "10^4 parallel loops over 64 items, in a parallel loop, per item",
        FINE,
        0.5,
    ),
    case(
        "tiny",
        "10^4 parallel loops over 64 items, in the pool, per loop",
        FINE,
        0.5,
    ),
    case(
        "tiny outside",
        "5000 parallel loops over 64 items, on a thread outside, per loop",
        FINE,
        0.5,
    ),
    case(
        "spawns",
        "a scope with 10^5 tasks, per task",
        EVERYWHERE,
        0.5,
    ),
];

/// Runs every measurement of the suite.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, WrongResult> {
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| plan.includes(case.name))
        .collect();
    if !cases.is_empty() {
        for build in BUILDS {
            build.make()?;
        }
    }
    let workloads: Vec<Measured> = cases
        .into_iter()
        .map(|case| workload(case, plan.quick).run(&case.plan(plan)))
        .collect::<Result<_, _>>()?;
    let bars = MODES
        .iter()
        .flat_map(|mode| CASES.iter().map(|case| bar(case, mode, &workloads)))
        .collect();
    Ok(Outcome {
        workloads,
        bars,
        ..Outcome::default()
    })
}

fn workload(case: &Case, quick: bool) -> Workload {
    let [rayon, locksley] = BUILDS;
    let ours = MODES.map(|mode| contender(case.name, mode.name, locksley, mode.variable, quick));
    let theirs = contender(case.name, rayon.name, rayon, None, quick);
    Workload {
        name: case.name,
        about: case.about,
        reference: Build::RAYON,
        note: Some("processor ns"),
        contenders: std::iter::once(theirs).chain(ours).collect(),
    }
}

/// Returns a program that runs a case with an environment variable set.
fn contender(
    case: &'static str,
    name: &'static str,
    build: Build,
    variable: Option<(&'static str, &'static str)>,
    quick: bool,
) -> Contender {
    Guest::contender(name, case, move || {
        let mut command = Command::new(build.binary()?);
        command.args([case, THREADS]);
        if quick {
            command.arg("--quick");
        }
        for mode in MODES {
            if let Some((variable, _)) = mode.variable {
                command.env_remove(variable);
            }
        }
        command.envs(variable);
        Ok(command)
    })
}

fn bar(case: &Case, mode: &Mode, workloads: &[Measured]) -> Bar {
    let (ours, theirs) = (mode.name, Build::RAYON);
    let measured = workloads.iter().find(|measured| measured.name == case.name);
    let ratio = measured.and_then(|measured| measured.ratio(ours, theirs));
    Bar {
        name: format!("rayon {} {ours} / {theirs}", case.name).into(),
        limit: mode.limit.unwrap_or(case.limit),
        measured: ratio.map(|ratio| ratio.median),
    }
}
