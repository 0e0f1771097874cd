//! A file for each command.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod simulate;
pub(crate) mod theory;
pub(crate) mod topology;
mod tour;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::output::Output;

/// Does what the command line says.
pub(crate) fn dispatch(cli: Cli) -> Result<(), Failure> {
    let output = Output::new(&cli.options);
    match cli.command {
        None => tour::tour(&output),
        Some(Command::Run(run)) => run.run(&output),
        Some(Command::Compare(compare)) => compare.run(&output),
        Some(Command::Simulate(simulate)) => simulate.run(&output),
        Some(Command::Theory(theory)) => theory.run(&output),
        Some(Command::Topology) => topology::topology(&output),
        Some(Command::List) => list::list(&output),
        Some(Command::Completions(completions)) => completions.run(&output),
    }
}
