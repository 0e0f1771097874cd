//! `locksley cluster cancel`: the end of a job.

use clap::Args;
use locksley_cluster::leases::{JobId, LeasePool, State};
use serde_json::json;

use super::server::{self, ServerOptions};
use crate::error::Error;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster cancel nightly             its tasks are dropped, wherever they are
  locksley cluster cancel nightly --forget    and its name is free for another job";

/// Ends a job: tasks that wait are dropped, and workers stop those that run. A job that is over
/// stays as it is.
#[derive(Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    server: ServerOptions,
    /// The job.
    #[arg(value_name = "JOB", value_parser = server::job)]
    job: JobId,
    /// Forget it, and what came of it.
    #[arg(long)]
    forget: bool,
}

impl Cancel {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let redis = self.server.connect()?;
        let state = redis.cancel(&self.job, self.forget)?;
        let state = state.ok_or_else(|| server::unknown(&self.job))?;
        let how = match (state, self.forget) {
            (State::Done, false) => "was done before, and stays so",
            (_, false) => "is cancelled",
            (State::Done, true) => "was done before, and is forgotten",
            (_, true) => "is cancelled and forgotten",
        };
        output.say(format!("the job {} {how}", self.job));
        output.document(&json!({
            "command": "cluster cancel", "job": self.job.as_str(), "state": state, "forgotten": self.forget,
        }))
    }
}
