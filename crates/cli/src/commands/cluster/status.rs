//! `locksley cluster status`: shows the jobs and the workers of a server.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stdout};
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use locksley_cluster::leases::{JobId, LeaseError, LeasePool, State, Status, WorkerInfo};
use serde_json::{Value, json};

use super::server::{self, ServerOptions};
use crate::error::Error;
use crate::interrupt;
use crate::render::output::Output;
use crate::render::units::{self, count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster status            all running jobs, and all workers
  locksley cluster status nightly    one job, running or over, and each worker's share of it
  locksley cluster status --watch    every two seconds, until Ctrl-C";

/// Shows the jobs that are running and the workers that are alive, or one job.
#[derive(Args)]
pub(crate) struct ShowStatus {
    #[command(flatten)]
    server: ServerOptions,
    /// Job to show, running or over.
    #[arg(value_name = "JOB", value_parser = server::job)]
    job: Option<JobId>,
    /// Repeat every 2 s, or at the interval of `--watch=TIME`; for one job, until it is over.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2s",
        value_parser = units::duration,
    )]
    watch: Option<Duration>,
}

impl ShowStatus {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let redis = self.server.connect()?;
        let Some(every) = self.watch else {
            return self.show(&redis, output).map(drop);
        };
        if output.json {
            return Err(Error::usage(
                "--watch cannot be used with --json: call `status --json` repeatedly instead",
            ));
        }
        interrupt::keep(|| "the jobs continue".to_owned());
        loop {
            if stdout().is_terminal() {
                // Clears the screen, and goes to its top.
                print!("\u{1b}[2J\u{1b}[H");
            }
            match self.show(&redis, output) {
                Ok(true) => sleep(every),
                Ok(false) => return Ok(()),
                // The server may become available again.
                Err(Error::System(why)) => {
                    output.say(why);
                    sleep(every);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Shows all jobs and workers, or one job. Returns `true` if the state may still change.
    fn show(&self, redis: &dyn LeasePool, output: &Output) -> Result<bool, Error> {
        let workers = redis.workers()?;
        if let Some(id) = &self.job {
            let status = redis.status(id)?.ok_or_else(|| server::unknown(id))?;
            output.say(text(&status, &workers));
            let mut document = document(&status);
            document["command"] = "cluster status".into();
            output.document(&document)?;
            return Ok(status.state == State::Running);
        }
        let mut jobs = Vec::new();
        for (id, _) in redis.running()? {
            match redis.status(&id) {
                // A damaged job does not hide the others.
                Err(error @ LeaseError::Vanished(_)) => output.say(error.to_string()),
                status => jobs.extend(status?),
            }
        }
        if jobs.is_empty() {
            output.say("no job is running");
        }
        for status in &jobs {
            output.say(text(status, &workers));
        }
        output.say(crew(&workers));
        output.document(&json!({
            "command": "cluster status",
            "jobs": jobs.iter().map(document).collect::<Vec<_>>(),
            "workers": workers.iter().map(|present| json!({
                "worker": present.worker.name,
                "build": present.worker.build.to_string(),
                "leases": present.slots,
            })).collect::<Vec<_>>(),
        }))?;
        Ok(true)
    }
}

/// Formats a job as text.
fn text(status: &Status, workers: &[WorkerInfo]) -> String {
    let state = match status.state {
        State::Running => "running for",
        State::Done => "done after",
        State::Cancelled => "cancelled after",
    };
    let mut text = format!(
        "{}: {}, {state} {}, build {}\n  {} done ({}), {} in flight, {} waiting",
        status.job.id,
        status.job.program,
        time(status.age.as_secs_f64()),
        status.job.build,
        several(status.done as usize, "lease"),
        several(status.tasks as usize, "task"),
        count(status.in_flight),
        count(status.ready()),
    );
    if status.delayed > 0 {
        text += &format!(", {} begin later", count(status.delayed));
    }
    if status.job.terms.urgent {
        text += ", urgent";
    }
    let able = workers
        .iter()
        .any(|present| present.worker.build == status.job.build);
    if status.state == State::Running && !able {
        text +=
            "\n  no worker of its build is alive: start some with the executable that submitted it";
    }
    if status.state == State::Running && !status.sealed {
        text += "\n  its first tasks are incomplete: it is still being submitted, or the submitter \
                 was interrupted and can submit it again";
    }
    if let Some(refusal) = status.refusal {
        text += &format!("\n  {refusal}");
    }
    for share in &status.shares {
        let (done, held) = (count(share.done), count(share.in_flight));
        text += &format!("\n  {}: {done} done, {held} in flight", share.worker);
    }
    if status.aside > 0 {
        text += &format!("\n  {} set aside:", several(status.aside as usize, "task"));
    }
    for aside in &status.reasons {
        text += &format!(
            "\n    {} (tried {}): {}",
            aside.entry,
            several(aside.attempts as usize, "time"),
            aside.reason
        );
    }
    text
}

/// Formats the workers as text, by build.
fn crew(workers: &[WorkerInfo]) -> String {
    let mut builds: BTreeMap<String, Vec<&WorkerInfo>> = BTreeMap::new();
    for present in workers {
        builds
            .entry(present.worker.build.to_string())
            .or_default()
            .push(present);
    }
    let mut text = several(workers.len(), "worker");
    for (build, present) in builds {
        text += &format!("\n  build {build}:");
        for present in present {
            text += &format!(
                "\n    {}, {} at once",
                present.worker.name,
                several(present.slots as usize, "lease")
            );
        }
    }
    text
}

/// Returns a job as JSON.
pub(crate) fn document(status: &Status) -> Value {
    json!({
        "job": status.job.id.as_str(),
        "program": status.job.program,
        "build": status.job.build.to_string(),
        "state": status.state,
        "done": status.done,
        "tasks": status.tasks,
        "outstanding": status.outstanding,
        "in_flight": status.in_flight,
        "delayed": status.delayed,
        "urgent": status.job.terms.urgent,
        "set_aside": status.aside,
        "reasons": status.reasons,
        "shares": status.shares,
        "workers": status.workers,
        "complete": status.sealed,
        "server_refuses": status.refusal,
        "seconds": status.age.as_secs_f64(),
    })
}
