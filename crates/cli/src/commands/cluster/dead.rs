//! `locksley cluster dead`: lists, shows and retries tasks that were set aside.

use clap::{Args, Subcommand};
use locksley_cluster::leases::{AsideTask, JobId, LeasePool};
use serde_json::{Value, json};

use super::server::{self, ServerOptions};
use crate::error::Error;
use crate::render::output::Output;
use crate::render::units::several;

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster dead list nightly                 tasks of a job that were set aside, and why
  locksley cluster dead show nightly 1700000000-7    one of them, with its bytes
  locksley cluster dead retry nightly 1700000000-7   queues it again, with its attempts reset
  locksley cluster dead retry nightly --all          queues all of them again";

/// Lists the tasks of a job that were set aside, shows one, or retries them.
#[derive(Args)]
pub(crate) struct DeadTasks {
    #[command(flatten)]
    server: ServerOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the first thousand of them.
    List {
        /// The job.
        #[arg(value_name = "JOB", value_parser = server::job)]
        job: JobId,
    },
    /// Show one of them, with its bytes.
    Show {
        /// The job.
        #[arg(value_name = "JOB", value_parser = server::job)]
        job: JobId,
        /// The task, as it is listed.
        #[arg(value_name = "TASK")]
        task: String,
    },
    /// Retry some or all of them; a job that is done runs again.
    Retry {
        /// The job.
        #[arg(value_name = "JOB", value_parser = server::job)]
        job: JobId,
        /// The tasks, as they are listed.
        #[arg(value_name = "TASK", required_unless_present = "all")]
        tasks: Vec<String>,
        /// Retry all of them.
        #[arg(long, conflicts_with = "tasks")]
        all: bool,
    },
}

impl DeadTasks {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let redis = self.server.connect()?;
        match &self.command {
            Command::List { job } => list(&redis, job, output),
            Command::Show { job, task } => show(&redis, job, task, output),
            Command::Retry { job, tasks, .. } => retry(&redis, job, tasks, output),
        }
    }
}

/// Returns the tasks of a job that were set aside.
fn dead(redis: &dyn LeasePool, job: &JobId) -> Result<Vec<AsideTask>, Error> {
    redis.status(job)?.ok_or_else(|| server::unknown(job))?;
    Ok(redis.aside_tasks(job)?)
}

fn line(dead: &AsideTask) -> String {
    let kind = dead.kind().unwrap_or_else(|| "no task".to_owned());
    let tries = several(dead.aside.attempts as usize, "time");
    let urgent = if dead.urgent { ", urgent" } else { "" };
    format!(
        "{} ({kind}{urgent}), tried {tries}: {}",
        dead.aside.entry, dead.aside.reason
    )
}

fn document(dead: &AsideTask) -> Value {
    json!({
        "task": dead.aside.entry,
        "kind": dead.kind(),
        "attempts": dead.aside.attempts,
        "reason": dead.aside.reason,
        "bytes": dead.task.len(),
        "whole": dead.whole,
        "urgent": dead.urgent,
    })
}

fn list(redis: &dyn LeasePool, job: &JobId, output: &Output) -> Result<(), Error> {
    let dead = dead(redis, job)?;
    if dead.is_empty() {
        output.say(format!("no task of the job {job} was set aside"));
    }
    dead.iter().for_each(|dead| output.say(line(dead)));
    output.document(&json!({
        "command": "cluster dead list",
        "job": job.as_str(),
        "tasks": dead.iter().map(document).collect::<Vec<_>>(),
    }))
}

fn show(redis: &dyn LeasePool, job: &JobId, task: &str, output: &Output) -> Result<(), Error> {
    let all = dead(redis, job)?;
    let found = all.iter().find(|dead| dead.aside.entry == task);
    let found = found.ok_or_else(|| {
        Error::usage(format!(
            "no task {task} of the job {job} was set aside; `locksley cluster dead list {job}` \
             lists those that were"
        ))
    })?;
    output.say(line(found));
    let hex: Vec<String> = found
        .task
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    for (row, bytes) in hex.chunks(16).enumerate() {
        output.say(format!("  {:06x}  {}", 16 * row, bytes.join(" ")));
    }
    if !found.whole {
        output.say("  only the beginning of the task was kept, so it cannot be retried");
    }
    let mut document = document(found);
    document["command"] = "cluster dead show".into();
    document["job"] = job.as_str().into();
    document["hex"] = hex.concat().into();
    output.document(&document)
}

fn retry(
    redis: &dyn LeasePool,
    job: &JobId,
    tasks: &[String],
    output: &Output,
) -> Result<(), Error> {
    redis.status(job)?.ok_or_else(|| server::unknown(job))?;
    let again = redis.retry_aside(job, tasks)?;
    let again = again.ok_or_else(|| Error::usage(format!("the job {job} was cancelled")))?;
    if again == 0 && !tasks.is_empty() {
        return Err(Error::usage(format!(
            "none of these tasks of the job {job} was set aside, or kept as a whole; `locksley \
             cluster dead list {job}` lists those that were"
        )));
    }
    if again < tasks.len() as u64 {
        output.say("some of these tasks are not listed, or too large to be kept");
    }
    let what = several(again as usize, "task");
    output.say(format!("{what} of the job {job} will be retried"));
    output.document(&json!({
        "command": "cluster dead retry", "job": job.as_str(), "retried": again,
    }))
}
