//! `locksley cluster cancel`: cancels a job.

use clap::Args;
use locksley_cluster::leases::{JobId, LeasePool, State};
use serde_json::json;

use super::server::{self, ServerOptions};
use crate::error::Error;
use crate::render::output::Output;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster cancel nightly             drops its tasks, wherever they are
  locksley cluster cancel nightly --forget    also frees its name for another job";

/// Cancels a job: waiting tasks are dropped, and workers stop running ones. A job that is over is
/// not changed.
#[derive(Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    server: ServerOptions,
    /// The job.
    #[arg(value_name = "JOB", value_parser = server::job)]
    job: JobId,
    /// Also delete the job and its result from the server.
    #[arg(long)]
    forget: bool,
}

impl Cancel {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let redis = self.server.connect()?;
        let state = redis.cancel(&self.job, self.forget)?;
        let state = state.ok_or_else(|| server::unknown(&self.job))?;
        let how = match (state, self.forget) {
            (State::Done, false) => "was already done",
            (_, false) => "is cancelled",
            (State::Done, true) => "was already done, and is forgotten",
            (_, true) => "is cancelled and forgotten",
        };
        output.say(format!("the job {} {how}", self.job));
        output.document(&json!({
            "command": "cluster cancel",
            "job": self.job.as_str(),
            "state": state,
            "forgotten": self.forget,
        }))
    }
}
