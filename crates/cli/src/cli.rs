//! The command line.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    cluster, compare, completions, experiment, list, profile, record, replay, report, run,
    simulate, theory, topology, trace,
};
use crate::error::EXIT_CODES;
use crate::render::output;

const EXAMPLES: &str = "  \
  locksley                                  a tour: three programs under every strategy
  locksley run queens --stats               one run, verified, with counters of each worker
  locksley compare fib sort --workers 1:4   strategies and rivals side by side, as a page
  locksley replay sort -p 1,2,64            a forecast for 64 processors
  locksley list                             workloads, strategies, rivals";

/// Runs, compares, profiles and simulates programs under the scheduling strategies of Locksley, a
/// task runtime.
///
/// Without a command: a short tour.
#[derive(Parser)]
#[command(name = "locksley", version, after_help = help(EXAMPLES))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Folder for the files that are written [default: locksley-out].
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a workload once, check its result, and show what the workers did.
    #[command(after_help = help(run::EXAMPLES))]
    Run(run::Run),
    /// Compare strategies, other runtimes and serial code.
    #[command(after_help = help(compare::EXAMPLES))]
    Compare(compare::Compare),
    /// Measure how parallel a program is: work, span, possible and measured speed-ups.
    #[command(after_help = help(profile::EXAMPLES))]
    Profile(profile::ProfileRun),
    /// Trace a run: a timeline for Perfetto, steals between workers, and queue lengths.
    #[command(after_help = help(trace::EXAMPLES))]
    Trace(trace::TraceRun),
    /// Record a run: forks, joins, and the time between them.
    #[command(after_help = help(record::EXAMPLES))]
    Record(record::Record),
    /// Simulate a recorded run with other numbers of processors, strategies and latencies.
    #[command(after_help = help(replay::EXAMPLES))]
    Replay(replay::Replay),
    /// Repeat the papers' experiments.
    #[command(after_help = help(experiment::EXAMPLES))]
    Experiment(experiment::Experiments),
    /// Simulate a computation under the papers' schedulers, on any number of processors.
    #[command(after_help = help(simulate::EXAMPLES))]
    Simulate(simulate::Simulate),
    /// Check the papers' claims, and draw their figures with measured points.
    #[command(after_help = help(theory::EXAMPLES))]
    Theory(theory::Theory),
    /// Run a task program over threads, processes and hosts.
    #[command(after_help = help(cluster::EXAMPLES))]
    Cluster(cluster::Cluster),
    /// Show the processors, caches and limits that a pool finds on this machine.
    #[command(after_help = help(topology::EXAMPLES))]
    Topology,
    /// Make one page of all results in a folder.
    #[command(after_help = help(report::EXAMPLES))]
    Report(report::Report),
    /// List workloads, strategies, rivals, and what can be simulated.
    #[command(after_help = help(list::EXAMPLES))]
    List,
    /// Print a script that completes commands in a shell.
    #[command(after_help = help(completions::EXAMPLES))]
    Completions(completions::Completions),
}

/// Commands by purpose, in the order of `--help`.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["run", "compare", "experiment"]),
    ("Understand", &["profile", "trace", "record", "topology"]),
    ("Simulate", &["simulate", "replay", "theory"]),
    ("Cluster", &["cluster"]),
    ("Other", &["report", "list", "completions", "help"]),
];

impl Cli {
    /// Reads the arguments of the process.
    pub(crate) fn read() -> Cli {
        let matches = grouped(Cli::command()).try_get_matches();
        let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
        cli.unwrap_or_else(|error| stop(&error))
    }
}

/// Prints help, the version, or what is wrong with the arguments, and ends the process.
fn stop(error: &clap::Error) -> ! {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        output::printed(printed);
    }
    std::process::exit(error.exit_code())
}

/// Returns the command with its subcommands in groups; clap has a single list.
fn grouped(mut command: clap::Command) -> clap::Command {
    command.build();
    let mut list = String::new();
    for (group, names) in GROUPS {
        list += &format!("\u{1b}[1m\u{1b}[4m{group}:\u{1b}[0m\n");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list += &format!("  \u{1b}[1m{name:<12}\u{1b}[0m {about}\n");
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
         {list}\u{1b}[1m\u{1b}[4mOptions:\u{1b}[0m\n\
         {{options}}{{after-help}}"
    );
    command.help_template(template)
}

pub(crate) fn help(examples: &str) -> String {
    format!("Examples:\n{examples}\n\n{EXIT_CODES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        for name in command.get_subcommands().map(clap::Command::get_name) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        let help = grouped(Cli::command()).render_help().to_string();
        let places = [
            "Measure:",
            "Understand:",
            "Simulate:",
            "Cluster:",
            "Examples:",
        ];
        let places = places.map(|heading| help.find(heading).expect(heading));
        assert!(places.is_sorted(), "{help}");
    }

    #[test]
    fn every_command_has_examples_and_exit_codes() {
        for command in Cli::command().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let example = format!("  locksley {}", command.get_name());
            assert!(help.contains(&example), "{}", command.get_name());
            assert!(help.contains(EXIT_CODES), "{}", command.get_name());
        }
    }
}
