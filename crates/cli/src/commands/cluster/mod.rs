//! `locksley cluster`: one task program over threads, processes and hosts.

mod engine;
mod programs;
mod run;
#[cfg(feature = "thumbnails")]
mod thumbnails;
mod waiting;

use clap::{Args, Subcommand};

use crate::cli::help;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster run uts --tree T1         counts a tree in this process: nothing to install
  locksley cluster run thumbnails photos small   thumbnails of all images below a folder
  locksley cluster run --help                all programs, and all options";

/// See the command's description in `cli`.
#[derive(Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program to its end, check its result, and tell who did what.
    #[command(after_help = help(run::EXAMPLES))]
    Run(run::Run),
}

impl Cluster {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match &self.command {
            Command::Run(run) => run.run(output),
        }
    }
}
