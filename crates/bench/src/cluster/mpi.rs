//! UTS on two ranks of one worker, beside the serial program.
//!
//! Processor time is compared, of all threads of a rank, so that it does not matter what else the machine does. It counts from when all ranks
//! have said hello until all work is done. The busier rank is held against the half of the serial time: so both what the ranks do
//! besides their work and what one of them does more than the other count.

use std::io;
use std::process::{Command, ExitCode};
use std::time::Duration;

use locksley_cluster::programs::uts::{self, Search};
use locksley_cluster::ranks::{self, Options, Outcome as Ran};
use locksley_workload::{Size, UtsTree};
use serde::{Deserialize, Serialize};

use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::stats::Summary;
use crate::harness::table::Table;
use crate::harness::{Plan, ThreadClock, Wrong, verify};

pub(super) const NAME: &str = "mpi";

/// How many ranks there are.
const RANKS: usize = 2;

/// How often each of the two runs.
const ROUNDS: usize = 3;

/// So that MPI runs in a container, as root, on as few processors as there are; and its threads where there is room.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
];

/// What the ranks tell.
#[derive(Serialize, Deserialize)]
struct Told {
    size: Size,
    /// Seconds of the processor, for each rank.
    processor: Vec<f64>,
    wall: f64,
    steals: u64,
    bytes: u64,
}

/// Measures the busier rank's processor time, in halves of the serial time; nothing if the system cannot tell, or has no `mpirun`.
pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<Option<f64>, Wrong> {
    let name = if plan.quick { "T1" } else { "T1L" };
    let published = UtsTree::published(name);
    let (tree, published) = published.ok_or_else(|| wrong("a tree", name.to_owned()))?;
    let header = [
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
    let title = format!("UTS {name} on {RANKS} ranks of one worker: processor times");
    let mut table = Table::new(title, &header);
    let rounds = if plan.quick { 1 } else { ROUNDS };
    let progress = Progress::start(NAME, 2 * rounds as u64);
    let mut ratios = Vec::new();
    for round in 0..rounds {
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
        progress.step();
        verify("mpi", "tree", published, told.size)?;
        let half = serial.as_secs_f64() / RANKS as f64;
        let busiest = told.processor.iter().copied().fold(0.0, f64::max);
        let sum: f64 = told.processor.iter().sum();
        table.row(vec![
            (round + 1).to_string(),
            format!("{:.2}", serial.as_secs_f64()),
            format!("{:.2}", told.processor[0]),
            format!("{:.2}", told.processor[1]),
            format!("{:.2}", told.wall),
            format!("{:.3}", half / busiest),
            format!("{:.3}", half * RANKS as f64 / sum),
            told.steals.to_string(),
            format!("{:.1}", told.bytes as f64 / 1024.0),
        ]);
        ratios.push(busiest / half);
    }
    outcome.tables.push(table);
    Ok(Some(Summary::of(&ratios).median))
}

fn wrong(expected: &str, got: String) -> Wrong {
    Wrong::new("mpi", "a run of two ranks", expected.to_owned(), got)
}

/// The serial program: depth first with a stack, as the tasks go, and nothing besides. The recursive one is slower.
fn alone(tree: UtsTree) -> (Size, Duration) {
    let clock = ThreadClock::start();
    let mut size = Size::default();
    let mut stack = vec![tree.root()];
    while let Some(node) = stack.pop() {
        let children = tree.children(&node);
        size.nodes += 1;
        size.leaves += u64::from(children == 0);
        size.depth = size.depth.max(node.depth());
        stack.extend((0..children).map(|number| node.child(number)));
    }
    (size, clock.elapsed())
}

/// The program on ranks, which are this binary.
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

/// One rank of it.
pub(crate) fn rank(tree: &str) -> ExitCode {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let ran = UtsTree::named(tree).map(|tree| {
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
