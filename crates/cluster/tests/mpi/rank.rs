//! The program under test, which each rank runs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs};

use locksley_cluster::programs::cholesky::{self, Factor};
use locksley_cluster::programs::merge_sort::{self, Sort};
use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::ranks::{self, Options, Outcome, Peer, RankError};
use locksley_cluster::{Program, Reduce, Sum, Task, Tasks};
use locksley_policy::rank::Protocol;
use locksley_workload::UtsTree;
use serde::{Deserialize, Serialize};

/// Environment variable with the name of the program to run.
pub(crate) const PROGRAM: &str = "LOCKSLEY_TEST_PROGRAM";
/// Environment variable with the folder in which ranks write the numbers of their processes.
pub(crate) const FOLDER: &str = "LOCKSLEY_TEST_FOLDER";
/// Environment variable with the file for a trace, if there is to be one.
pub(crate) const TRACE: &str = "LOCKSLEY_TEST_TRACE";

/// Names of the programs.
pub(crate) const SEARCH: &str = "search";
pub(crate) const ENDLESS: &str = "endless";
pub(crate) const HEAVY: &str = "heavy";
pub(crate) const FRAGILE: &str = "fragile";
pub(crate) const SORT: &str = "sort";
pub(crate) const CHOLESKY: &str = "cholesky";

const NUMBERS: Sort = Sort {
    seed: 3,
    from: 0,
    to: 300_000,
    grain: 500,
};

const MATRIX: Factor = Factor {
    tiles: 10,
    size: 24,
    seed: 11,
};

/// What rank 0 prints if the result is right.
pub(crate) const VERIFIED: &str = "result verified";

/// Some 50,000 nodes.
pub(crate) fn tree() -> UtsTree {
    UtsTree::binomial(2000.0, 0.24, 4, 19)
}

/// Runs one rank.
pub(crate) fn run(program: &str) -> ExitCode {
    let ran = match program {
        SEARCH => part(&uts::program(), [Search::whole(tree())]),
        SORT => shown(&merge_sort::program(), [NUMBERS], |sorted| {
            verdict(*sorted == merge_sort::expected(NUMBERS.seed, NUMBERS.to))
        }),
        CHOLESKY => shown(&cholesky::program(), [MATRIX], |factor| {
            verdict(*factor == MATRIX.expected() && MATRIX.residual(factor) < 1e-12)
        }),
        // One and a half billion nodes take an hour.
        ENDLESS => UtsTree::published("T1XL").map_or(Err(RankError::Dead), |tree| {
            part(&uts::program(), [Search::whole(tree)])
        }),
        HEAVY => part(&Program::new("heavy").with::<Heavy>(), [Heavy::first()]),
        FRAGILE => part(&Program::new("fragile").with::<Fragile>(), [Fragile(0)]),
        _ => return ExitCode::from(64),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn verdict(right: bool) -> String {
    let word = if right { "verified" } else { "wrong" };
    word.to_owned()
}

fn part<R: Reduce + std::fmt::Debug, T: Task<Output = R>>(
    program: &Program<R>,
    first: [T; 1],
) -> Result<(), RankError> {
    shown(program, first, |result| format!("{result:?}"))
}

fn shown<R: Reduce, T: Task<Output = R>>(
    program: &Program<R>,
    first: [T; 1],
    show: impl Fn(&R) -> String,
) -> Result<(), RankError> {
    let peer = ranks::mpi()?;
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap_or_default());
    let mark = folder.join(format!("rank.{}", peer.me()));
    // Written under another name first: a test that sees the file finds the complete number in it.
    let unfinished = folder.join(format!("new.{}", peer.me()));
    fs::write(&unfinished, std::process::id().to_string()).map_err(RankError::Executable)?;
    fs::rename(&unfinished, mark).map_err(RankError::Executable)?;
    let trace = env::var_os(TRACE);
    // With little patience, so that a rank that is stopped or cut off ends the job within ten
    // seconds.
    let protocol = Protocol {
        patience: 5_000_000_000,
        ..Protocol::default()
    };
    let options = Options {
        workers: 1,
        protocol,
        trace: trace.as_ref().map(|_| 1 << 14),
        ..Options::default()
    };
    if let Some(outcome) = ranks::run(program, first, &options, peer)? {
        println!("result {}", show(&outcome.result));
        print(&outcome);
        if let (Some(file), Some(trace)) = (trace, &outcome.trace) {
            fs::write(file, trace.to_json()).map_err(RankError::Executable)?;
        }
    }
    Ok(())
}

fn print<R>(outcome: &Outcome<R>) {
    let counts = outcome.counts();
    println!("moved {} {}", counts.given, counts.taken);
    let hosts: Vec<&str> = outcome.ranks.iter().map(|rank| &*rank.host).collect();
    println!("ranks {} hosts {}", hosts.len(), hosts.join(","));
}

/// A task with a payload, far larger than what MPI sends eagerly.
#[derive(Serialize, Deserialize)]
struct Heavy {
    height: u32,
    burden: Vec<u8>,
}

/// Height of the tree of tasks, and size of the payload.
const HEIGHT: u32 = 7;
const BURDEN: usize = 300_000;

impl Heavy {
    fn first() -> Heavy {
        Heavy {
            height: HEIGHT,
            burden: vec![1; BURDEN],
        }
    }
}

impl Task for Heavy {
    const KIND: &'static str = "heavy";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        std::thread::sleep(Duration::from_millis(2));
        if self.height == 0 {
            return Sum(self.burden.iter().map(|&byte| u64::from(byte)).sum());
        }
        for _ in 0..2 {
            tasks.spawn(Heavy {
                height: self.height - 1,
                burden: self.burden.clone(),
            });
        }
        Sum(0)
    }
}

/// Returns what [`HEAVY`] prints.
pub(crate) fn heavy_result() -> String {
    format!("result {:?}", Sum(BURDEN as u64 * (1 << HEIGHT)))
}

/// A task that spawns others, of which one panics.
#[derive(Serialize, Deserialize)]
struct Fragile(u32);

impl Task for Fragile {
    const KIND: &'static str = "fragile";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.0 == 0 {
            for number in 1..=1000 {
                tasks.spawn(Fragile(number));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
        assert!(self.0 != 700, "number {} broke", self.0);
        Sum(1)
    }
}
