//! Benchmarks: Locksley and other runtimes in one interleaved run, with limits ("bars").

#![forbid(unsafe_code)]

mod cluster;
mod flow;
mod harness;
mod joins;
mod loops;
mod queues;
mod rayon_core;
mod sim;
mod steals;
mod strategies;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Parser, Subcommand};

use harness::bars::Verdict;
use harness::machine::Machine;
use harness::report::{Outcome, Report};
use harness::table::Style;
use harness::{Plan, WrongResult};

/// Exit codes.
mod exit {
    /// A bar is short.
    pub(crate) const SHORT: u8 = 1;
    /// A contender gave a wrong result.
    pub(crate) const WRONG: u8 = 2;
    /// The report could not be written.
    pub(crate) const UNWRITTEN: u8 = 3;
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = 64;
}

/// Libraries whose versions the report names.
const RIVALS: [&str; 7] = [
    "chili",
    "crossbeam-deque",
    "crossbeam-queue",
    "forte",
    "rayon",
    "rtrb",
    "st3",
];

/// Hidden subcommand by which the binary runs itself under valgrind.
const TURN: &str = "turn";

/// Hidden subcommand of a contender's process.
const SERVE: &str = "serve";

/// Hidden subcommand that probes an idle contender.
const PROBE: &str = "probe";

/// Hidden subcommand of a rank.
#[cfg(feature = "mpi")]
const RANK: &str = "rank";

const EXAMPLES: &str = "\
Examples:
  locksley-bench queues                     the queues beside their rivals, about a minute
  locksley-bench joins                      the pool beside its rivals, about ten minutes
  locksley-bench strategies                 the pool's strategies beside each other, minutes
  locksley-bench rayon                      rayon's own code on Locksley and on rayon, minutes
  locksley-bench steals                     tasks that are worth stealing, about ten minutes
  locksley-bench steals --only scope/in     the same, only scopes that a worker opens back to back
  locksley-bench loops                      loops that split on request, about five minutes
  locksley-bench sim                        the simulator, about three minutes
  locksley-bench flow                       dataflow beside fork-join and barriers, seconds
  locksley-bench cluster                    several processes, about a minute
  locksley-bench queues --json queues.json  the same, raw samples kept
  locksley-bench queues --markdown          tables to paste into a README
  locksley-bench all --quick                a check that everything works, bars not enforced

Exit codes:
  0  every bar is kept, or --quick
  1  a bar is short
  2  a contender gave a wrong result
  3  the report could not be written
  64 the command line is wrong";

/// Compares Locksley with other runtimes and libraries. Contenders take turns in one run, every
/// result is verified, and one line for each bar says whether it is kept.
#[derive(Parser)]
#[command(name = "locksley-bench", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    /// The queues, and crossbeam-deque, crossbeam-queue, st3 and rtrb.
    Queues,
    /// The pool, and rayon, chili and forte.
    Joins,
    /// The pool's strategies, and the papers' claims about them.
    Strategies,
    /// Programs that use rayon, with its own rayon-core and with ours.
    Rayon,
    /// Tasks that are worth stealing, with rayon's own rayon-core and with ours; the cost of a
    /// steal.
    Steals,
    /// Loops that split on request, sequential iterators and rayon's.
    Loops,
    /// The simulator: its speed, and its predictions compared with the pool's counters.
    Sim,
    /// Dataflow: the cost of a task, and flows compared with fork-join and barriers.
    Flow,
    /// One and several processes.
    Cluster,
    /// All suites.
    All,
    /// One untimed turn of one contender, whose instructions valgrind counts.
    #[command(name = TURN, hide = true)]
    Turn {
        workload: String,
        contender: String,
        operations: u64,
    },
    /// Turns of a contender, on demand of standard input.
    #[command(name = SERVE, hide = true)]
    Serve {
        runtime: String,
        case: String,
        workers: usize,
    },
    /// Processor time or memory of a contender.
    #[command(name = PROBE, hide = true)]
    Probe {
        probe: joins::Probe,
        contender: String,
        milliseconds: u64,
    },
    /// One rank of a job that `mpirun` has started.
    #[cfg(feature = "mpi")]
    #[command(name = RANK, hide = true)]
    Rank { tree: String },
}

#[derive(Args)]
struct Options {
    /// Write machine, raw samples and bars to this file.
    #[arg(long, value_name = "FILE", global = true)]
    json: Option<PathBuf>,
    /// Print the tables as Markdown.
    #[arg(long, global = true)]
    markdown: bool,
    /// Few and short rounds, for CI: results are verified, bars are printed but not enforced.
    #[arg(long, global = true)]
    quick: bool,
    /// Rounds; in each, every contender gives one sample.
    #[arg(long, global = true, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Only measurements with this in their name; the bars of the others are skipped.
    #[arg(long, global = true, value_name = "NAME")]
    only: Option<String>,
    /// Seed for shuffling the rounds [default: from the clock].
    #[arg(long, global = true)]
    seed: Option<u64>,
}

impl Options {
    fn plan(&self) -> Plan {
        let (rounds, milliseconds) = if self.quick { (5, 1) } else { (80, 3) };
        let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Plan {
            rounds: self.rounds.map_or(rounds, |rounds| rounds as usize),
            sample: Duration::from_millis(milliseconds),
            first: 64,
            seed: self.seed.unwrap_or(clock.as_secs()),
            limit: None,
            quick: self.quick,
            only: self.only.clone(),
        }
    }
}

/// A suite of measurements.
type Suite = fn(&Plan) -> Result<Outcome, WrongResult>;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { 0 };
            let _ = error.print();
            return code.into();
        }
    };
    let suites: &[Suite] = match cli.command {
        Command::Queues => &[queues::run],
        Command::Joins => &[joins::run],
        Command::Strategies => &[strategies::run],
        Command::Rayon => &[rayon_core::run],
        Command::Steals => &[steals::run],
        Command::Loops => &[loops::run],
        Command::Sim => &[sim::run],
        Command::Flow => &[flow::run],
        Command::Cluster => &[cluster::run],
        Command::All => &[
            queues::run,
            joins::run,
            strategies::run,
            rayon_core::run,
            steals::run,
            loops::run,
            sim::run,
            flow::run,
            cluster::run,
        ],
        Command::Turn {
            workload,
            contender,
            operations,
        } => return turn(&workload, &contender, operations),
        Command::Serve {
            runtime,
            case,
            workers,
        } => return joins::serve(&runtime, &case, workers, cli.options.quick),
        Command::Probe {
            probe,
            contender,
            milliseconds,
        } => return joins::probe(probe, &contender, milliseconds),
        #[cfg(feature = "mpi")]
        Command::Rank { tree } => return cluster::mpi::rank(&tree),
    };
    match measure(suites, &cli.options) {
        Ok(code) => code,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            exit::WRONG.into()
        }
    }
}

fn measure(suites: &[Suite], options: &Options) -> Result<ExitCode, WrongResult> {
    let plan = options.plan();
    let style = if options.markdown {
        Style::Markdown
    } else {
        Style::Plain
    };
    let machine = Machine::here(&RIVALS);
    println!("{machine}\n");
    let mut report = Report::new(machine, &plan, options.quick);
    let mut kept = true;
    for suite in suites {
        let outcome = suite(&plan)?;
        for table in outcome.tables() {
            println!("{}", table.render(style));
        }
        for bar in &outcome.bars {
            println!("{bar}");
            kept &= bar.verdict() != Verdict::Short;
        }
        report.add(outcome);
    }
    if let Some(file) = &options.json
        && let Err(error) = report.write(file)
    {
        eprintln!("error: {} could not be written: {error}", file.display());
        return Ok(exit::UNWRITTEN.into());
    }
    Ok(if kept || options.quick {
        ExitCode::SUCCESS
    } else {
        exit::SHORT.into()
    })
}

fn turn(workload: &str, contender: &str, operations: u64) -> ExitCode {
    if workload == joins::FORK
        && let Some(code) = joins::run_counted(contender, operations)
    {
        return code;
    }
    if let Some(code) = joins::run_spawning(workload, contender, operations) {
        return code;
    }
    let found = queues::find(workload);
    match found.and_then(|mut workload| workload.turn(contender, operations)) {
        Some(Ok(_)) => ExitCode::SUCCESS,
        Some(Err(wrong)) => {
            eprintln!("error: {wrong}");
            exit::WRONG.into()
        }
        None => {
            eprintln!("error: there is no {workload} of {contender}");
            exit::USAGE.into()
        }
    }
}
