//! Counts the instructions of a join, on one worker.

use std::process::ExitCode;

use locksley_workload::{Fib, Program};

use super::contenders::{Chili, Forte, Locksley, LocksleyJoin, Rayon, Runtime, Serial};
use crate::harness::Plan;
use crate::harness::callgrind::{self, Unavailable};
use crate::harness::progress::Progress;
use crate::harness::report::Instructions;
use locksley_measure::runtimes::run_sample;

/// Name of the counted operation, in tables and in the hidden subcommand.
pub(crate) const FORK: &str = "fib join";

/// Indices of two Fibonacci numbers, whose difference in instructions is due to joins alone.
const FEW: u64 = 20;
const MANY: u64 = 25;

const COUNTED: [&str; 6] = [
    Serial::NAME,
    Locksley::NAME,
    LocksleyJoin::NAME,
    Rayon::NAME,
    Chili::NAME,
    Forte::NAME,
];

/// Counts everything.
pub(super) fn count(plan: &Plan) -> Result<Vec<Instructions>, Unavailable> {
    if !plan.includes(FORK) {
        return Ok(Vec::new());
    }
    count_on(&COUNTED)
}

/// Counts the joins of `contenders`, each a runtime or the text of a strategy.
pub(crate) fn count_on(contenders: &[&'static str]) -> Result<Vec<Instructions>, Unavailable> {
    let progress = Progress::start("instructions", contenders.len() as u64);
    let joins = [FEW, MANY].map(|n| Fib::new(n).operations());
    contenders
        .iter()
        .map(|&contender| {
            progress.step();
            let subcommand = [crate::TURN, FORK, contender];
            Ok(Instructions {
                workload: FORK,
                contender,
                instructions: callgrind::per_operation_of(&subcommand, joins)?,
            })
        })
        .collect()
}

/// Runs `joins` joins under valgrind, on a runtime or under a strategy.
pub(crate) fn run(contender: &str, joins: u64) -> Option<ExitCode> {
    let n = (1..90).find(|&n| Fib::new(n).operations() >= joins)?;
    Some(match contender {
        Serial::NAME => run_on::<Serial>(n),
        Locksley::NAME => run_on::<Locksley>(n),
        LocksleyJoin::NAME => run_on::<LocksleyJoin>(n),
        Rayon::NAME => run_on::<Rayon>(n),
        Chili::NAME => run_on::<Chili>(n),
        Forte::NAME => run_on::<Forte>(n),
        text => run_in(&mut Locksley::under(text.parse().ok()?, 1), n),
    })
}

fn run_on<R: Runtime>(n: u64) -> ExitCode {
    run_in(&mut R::start(1), n)
}

fn run_in<R: Runtime>(runtime: &mut R, n: u64) -> ExitCode {
    match run_sample(runtime, &mut Fib::new(n), (R::NAME, FORK), 1) {
        Ok(_) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            crate::exit::WRONG.into()
        }
    }
}
