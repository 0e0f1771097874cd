//! `locksley cluster`: runs one task program over threads, processes and hosts.

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
  locksley cluster run uts --tree T1               counts a tree in this process
  mpirun -n 4 locksley cluster run uts --tree T1L  on ranks that steal by messages (feature mpi)
  locksley cluster worker                          runs tasks from a Redis server (feature redis)
  locksley cluster submit uts --tree T1L           submits a job, and waits for its result
  locksley cluster run --help                      all programs, and all options
  locksley cluster simulate                        how it scales, up to 10,000 hosts and more";

/// Arguments of `locksley cluster`, which is described in `cli`.
#[derive(Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

/// Error of the commands that need a server, in a build without Redis.
#[cfg(not(feature = "redis"))]
const NO_REDIS: &str = "this build cannot use a Redis server: build one that can, with \
    cargo build --release -p locksley-cli --features redis";

/// Arguments of a command that this build does not have.
#[cfg(not(feature = "redis"))]
#[derive(Args)]
struct Left {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program to its end, check its result, and show what each rank did.
    #[command(after_help = help(run::EXAMPLES))]
    Run(run::Run),
    /// Simulate the protocol between processes, on up to a million hosts.
    #[command(after_help = help(simulate::EXAMPLES))]
    Simulate(simulate::Simulate),
    /// Run tasks from a server.
    #[cfg(feature = "redis")]
    #[command(after_help = served(worker::EXAMPLES))]
    Worker(worker::Worker),
    /// Submit a program to the workers of a server, and wait for the result.
    #[cfg(feature = "redis")]
    #[command(after_help = served(submit::EXAMPLES))]
    Submit(submit::Submit),
    /// Show the jobs and the workers of a server.
    #[cfg(feature = "redis")]
    #[command(after_help = served(status::EXAMPLES))]
    Status(status::ShowStatus),
    /// Cancel a job.
    #[cfg(feature = "redis")]
    #[command(after_help = served(cancel::EXAMPLES))]
    Cancel(cancel::Cancel),
    /// List, show or retry tasks that were set aside.
    #[cfg(feature = "redis")]
    #[command(after_help = served(dead::EXAMPLES))]
    Dead(dead::DeadTasks),
    /// Run tasks from a server (needs a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Worker(Left),
    /// Submit a program to the workers of a server (needs a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Submit(Left),
    /// Show the jobs and the workers of a server (needs a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Status(Left),
    /// Cancel a job (needs a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Cancel(Left),
    /// List, show or retry tasks that were set aside (needs a build with the feature redis).
    #[cfg(not(feature = "redis"))]
    #[command(disable_help_flag = true)]
    Dead(Left),
}

/// Returns the help of a command that needs a server.
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
