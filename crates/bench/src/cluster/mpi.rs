//! UTS on two ranks of one worker, compared with the serial program.
//!
//! The processor time of all threads of a rank is measured, which does not depend on other programs
//! on the machine, from the end of the handshake until all work is done. The busier rank is
//! compared with half of the serial time, which includes both overhead and imbalance.

use std::io;
use std::process::{Command, ExitCode};
use std::time::Duration;

use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::ranks::{self, Options, Outcome as Ran};
use locksley_workload::{Size, UtsTree};
use serde::{Deserialize, Serialize};

use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::stats::median;
use crate::harness::table::Table;
use crate::harness::{Plan, ThreadClock, WrongResult, verify};

pub(super) const NAME: &str = "mpi";

/// Number of ranks.
const RANKS: usize = 2;

/// Number of runs of each program.
const ROUNDS: usize = 3;

/// Settings by which MPI runs in a container, as root, with more ranks than processors, and without
/// pinning threads.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
];

/// The report of the ranks.
#[derive(Serialize, Deserialize)]
struct Told {
    size: Size,
    /// Processor time of each rank, in seconds.
    processor: Vec<f64>,
    wall: f64,
    steals: u64,
    bytes: u64,
}

/// The columns of the table.
const HEADER: [&str; 9] = [
    "round",
    "serial s",
    "rank 0 s",
    "rank 1 s",
    "wall s",
    "efficiency",
    "of the sum",
    "steals",
    "KiB sent",
];

/// Measures the busier rank's processor time, relative to half of the serial time. Returns `None`
/// if the system does not tell processor times, or has no `mpirun`.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<Option<f64>, WrongResult> {
    let name = if plan.quick { "T1" } else { "T1L" };
    let published = UtsTree::published_with_size(name);
    let (tree, published) = published.ok_or_else(|| wrong("a tree", name.to_owned()))?;
    let title = format!("UTS {name} on {RANKS} ranks of one worker: processor times");
    let mut table = Table::new(title, &HEADER);
    let rounds = if plan.quick { 1 } else { ROUNDS };
    let progress = Progress::start(NAME, 2 * rounds as u64);
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let (size, serial) = alone(tree);
        verify("serial", "tree", published, size)?;
        progress.step();
        let told = match together(name) {
            Ok(told) => told,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                eprintln!("there is no mpirun: apt install openmpi-bin");
                return Ok(None);
            }
            Err(error) => return Err(wrong("an answer", error.to_string())),
        };
        verify("mpi", "tree", published, told.size)?;
        progress.step();
        ratios.push(row(&mut table, round, serial.as_secs_f64(), &told));
    }
    outcome.tables.push(table);
    // The ranks report zero if the system does not tell processor times.
    let median = median(&ratios);
    Ok((median > 0.0).then_some(median))
}

/// Adds a round to the table. Returns the busier rank's time relative to half of the serial time.
fn row(table: &mut Table, round: usize, serial: f64, told: &Told) -> f64 {
    let half = serial / RANKS as f64;
    let busiest = told.processor.iter().copied().fold(0.0, f64::max);
    let sum: f64 = told.processor.iter().sum();
    table.row(vec![
        round.to_string(),
        format!("{serial:.2}"),
        format!("{:.2}", told.processor[0]),
        format!("{:.2}", told.processor[1]),
        format!("{:.2}", told.wall),
        format!("{:.3}", half / busiest),
        format!("{:.3}", serial / sum),
        told.steals.to_string(),
        format!("{:.1}", told.bytes as f64 / 1024.0),
    ]);
    busiest / half
}

fn wrong(expected: &str, got: String) -> WrongResult {
    WrongResult::new("mpi", "a run of two ranks", expected.to_owned(), got)
}

/// Runs the serial program: depth first with a stack, as in the tasks. The recursive one is slower.
fn alone(tree: UtsTree) -> (Size, Duration) {
    let clock = ThreadClock::start();
    let size = uts::serial(tree, u64::MAX);
    (size, clock.elapsed())
}

/// Runs the program on ranks, which are processes of this binary.
fn together(tree: &str) -> io::Result<Told> {
    let mut command = Command::new("mpirun");
    command.envs(ENVIRONMENT);
    command.arg("-n").arg(RANKS.to_string());
    command.arg(std::env::current_exe()?);
    let output = command.args([crate::RANK, tree]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("{}: {text}{said}", output.status))
    })
}

/// Runs one rank.
pub(crate) fn rank(tree: &str) -> ExitCode {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let ran = UtsTree::published(tree).map(|tree| {
        ranks::run(
            &uts::program(),
            [Search::whole(tree)],
            &options,
            ranks::mpi()?,
        )
    });
    match ran {
        Some(Ok(Some(outcome))) => match serde_json::to_string(&told(&outcome)) {
            Ok(line) => println!("{line}"),
            Err(_) => return ExitCode::FAILURE,
        },
        Some(Ok(None)) => {}
        Some(Err(error)) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
        None => return crate::exit::USAGE.into(),
    }
    ExitCode::SUCCESS
}

fn told(outcome: &Ran<uts::Counted>) -> Told {
    let seconds = |rank: &ranks::Report| rank.processor_time.unwrap_or_default().as_secs_f64();
    Told {
        size: outcome.result.0,
        processor: outcome.ranks.iter().map(seconds).collect(),
        wall: outcome.wall.as_secs_f64(),
        steals: outcome.counts().gifts,
        bytes: outcome.bytes(),
    }
}
