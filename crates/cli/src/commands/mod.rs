//! The commands, a file for each.

mod arrivals;
mod claims;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod experiment;
pub(crate) mod list;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod simulate;
pub(crate) mod theory;
pub(crate) mod topology;
mod tour;
pub(crate) mod trace;

use crate::cli::{Cli, Command};
use crate::error::Error;
use crate::render::output::Output;

/// Runs the command of the command line.
pub(crate) fn dispatch(cli: Cli) -> Result<(), Error> {
    let output = Output::new(&cli.options);
    match cli.command {
        None => tour::tour(&output),
        Some(Command::Run(run)) => run.run(&output),
        Some(Command::Compare(compare)) => compare.run(&output),
        Some(Command::Profile(profile)) => profile.run(&output),
        Some(Command::Trace(trace)) => trace.run(&output),
        Some(Command::Record(record)) => record.run(&output),
        Some(Command::Replay(replay)) => replay.run(&output),
        Some(Command::Report(report)) => report.run(&output),
        Some(Command::Experiment(experiment)) => experiment.run(&output),
        Some(Command::Simulate(simulate)) => simulate.run(&output),
        Some(Command::Theory(theory)) => theory.run(&output),
        Some(Command::Cluster(cluster)) => cluster.run(&output),
        Some(Command::Topology) => topology::topology(&output),
        Some(Command::List) => list::list(&output),
        Some(Command::Completions(completions)) => completions.run(&output),
    }
}
