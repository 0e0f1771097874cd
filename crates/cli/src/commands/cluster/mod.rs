//! `locksley cluster`: one task program over threads, processes and hosts.

#[cfg(feature = "redis")]
mod cancel;
#[cfg(feature = "redis")]
mod dead;
mod engine;
mod programs;
mod run;
#[cfg(feature = "redis")]
mod server;
mod simulate;
#[cfg(feature = "redis")]
mod status;
#[cfg(feature = "redis")]
mod submit;
mod waiting;
#[cfg(feature = "redis")]
mod worker;

use clap::{Args, Subcommand};

use crate::cli::help;
use crate::error::Error;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster run uts --tree T1               counts a tree in this process: nothing to install
  mpirun -n 4 locksley cluster run uts --tree T1L  on ranks that steal from each other (a build with the feature mpi)
  locksley cluster worker                          takes tasks from a Redis server, and may come and go (feature redis)
  locksley cluster submit uts --tree T1L           hands such tasks out, and waits for the result
  locksley cluster run --help                      all programs, and all options
  locksley cluster simulate                        how far would it scale? Up to 10,000 hosts and more";

/// See the command's description in `cli`.
#[derive(Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

/// How to get a build that has the commands for a server.
#[cfg(not(feature = "redis"))]
const NO_REDIS: &str = "this build cannot use a Redis server: build one that can, with \
    cargo build --release -p locksley-cli --features redis";

/// The command line of a command that this build does not have.
#[cfg(not(feature = "redis"))]
#[derive(Args)]
struct Left {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program to its end, check its result, and tell who did what.
    #[command(after_help = help(run::EXAMPLES))]
    Run(run::Run),
    /// Simulate the protocol between processes, on up to a million hosts.
    #[command(after_help = help(simulate::EXAMPLES))]
    Simulate(simulate::Simulate),
    /// Take tasks from a server, and run them.
    #[cfg(feature = "redis")]
    #[command(after_help = served(worker::EXAMPLES))]
    Worker(worker::Worker),
    /// Hand a program to the workers at a server, and wait for the result.
    #[cfg(feature = "redis")]
    #[command(after_help = served(submit::EXAMPLES))]
    Submit(submit::Submit),
    /// Show what a server has to do, and who does it.
    #[cfg(feature = "redis")]
    #[command(after_help = served(status::EXAMPLES))]
    Status(status::ShowStatus),
    /// End a job.
    #[cfg(feature = "redis")]
    #[command(after_help = served(cancel::EXAMPLES))]
    Cancel(cancel::Cancel),
    /// List tasks that were set aside, show one, or let them be tried again.
    #[cfg(feature = "redis")]
    #[command(after_help = served(dead::EXAMPLES))]
    Dead(dead::DeadTasks),
    /// Take tasks from a server (a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Worker(Left),
    /// Hand a program to the workers at a server (a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Submit(Left),
    /// Show what a server has to do (a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Status(Left),
    /// End a job (a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Cancel(Left),
    /// Tasks that were set aside (a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Dead(Left),
}

/// Help for what needs a server.
#[cfg(feature = "redis")]
fn served(examples: &str) -> String {
    help(&format!("{examples}\n\n{}", server::ENVIRONMENT))
}

impl Cluster {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        match &self.command {
            Command::Run(run) => run.run(output),
            Command::Simulate(simulate) => simulate.run(output),
            #[cfg(feature = "redis")]
            Command::Worker(worker) => worker.run(output),
            #[cfg(feature = "redis")]
            Command::Submit(submit) => submit.run(output),
            #[cfg(feature = "redis")]
            Command::Status(status) => status.run(output),
            #[cfg(feature = "redis")]
            Command::Cancel(cancel) => cancel.run(output),
            #[cfg(feature = "redis")]
            Command::Dead(dead) => dead.run(output),
            #[cfg(not(feature = "redis"))]
            Command::Worker(_)
            | Command::Submit(_)
            | Command::Status(_)
            | Command::Cancel(_)
            | Command::Dead(_) => Err(Error::usage(NO_REDIS)),
        }
    }
}
