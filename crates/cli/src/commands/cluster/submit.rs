//! `locksley cluster submit`: submits a job to the workers and follows it to its end.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use locksley_cluster::leases::{
    Aside, Ended, JobId, JobInfo, LeaseError, LeasePool, Progress, Redis, State, Status,
    Submission, Submitted, Terms, follow,
};
use serde_json::json;

use super::programs::{Chosen, Job, Visitor};
use super::server::{self, ServerOptions};
use super::status;
use crate::error::Error;
use crate::interrupt;
use crate::render::output::Output;
use crate::render::units::{self, count, digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster submit uts --tree T1L                   shows progress, and prints the result
  locksley cluster submit --job nightly uts --tree T1XL    named; if it is running, waits for it
  locksley cluster submit --again --job nightly uts        runs it again if it is over
  locksley cluster submit --detach --job nightly uts       does not wait
  locksley cluster submit --urgent --after 6h uts          in six hours, before other jobs";

/// Submits a program to the workers, shows their progress, and prints the result. The job continues
/// if this command is interrupted.
#[derive(Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    server: ServerOptions,
    /// Name of the job. If the same program was submitted under this name before and is running,
    /// the command waits for that job; if it is over, that is an error without --again or --attach
    /// [default: a new name].
    #[arg(long, value_name = "NAME", global = true, value_parser = server::job)]
    job: Option<JobId>,
    /// If the job is over, discard its result and run it again.
    #[arg(long, global = true, requires = "job", conflicts_with = "attach")]
    again: bool,
    /// If the job is over, print its result, for example after the submitter was interrupted.
    #[arg(long, global = true, requires = "job")]
    attach: bool,
    /// Do not wait for the end.
    #[arg(long, global = true)]
    detach: bool,
    /// Time without a sign of life after which a worker's tasks are given to others.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "15s",
        global = true,
        value_parser = units::duration,
    )]
    lease: Duration,
    /// Number of times that a task may fail, or kill its worker, before it is set aside.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        global = true,
        value_parser = clap::value_parser!(u32).range(1..=1000),
    )]
    tries: u32,
    /// Run its tasks before those of jobs that are not urgent.
    #[arg(long, global = true)]
    urgent: bool,
    /// Delay between submission and start [default: none].
    #[arg(long, value_name = "TIME", global = true, value_parser = units::duration)]
    after: Option<Duration>,
    /// How long to retry while the server is unavailable.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "300s",
        global = true,
        value_parser = units::duration,
    )]
    patience: Duration,
    #[command(subcommand)]
    program: Chosen,
}

impl Submit {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        self.program.visit(Once {
            submit: self,
            output,
        })?
    }
}

struct Once<'a> {
    submit: &'a Submit,
    output: &'a Output,
}

impl Visitor for Once<'_> {
    type Output = Result<(), Error>;

    fn visit<J: Job + 'static>(self, job: J) -> Result<(), Error> {
        let (submit_options, output) = (self.submit, self.output);
        let redis = Redis::later(submit_options.server.find()?);
        let info = submit_options.info(job.program().name())?;
        let id = info.id.clone();
        let began = Instant::now();
        let (mut submission, mut told) =
            (Submission::new(&redis, &info, submit_options.again), false);
        let submitted = loop {
            match submission.attempt(|| job.first()) {
                // Repeating a request that may have been lost is safe: the job is the same.
                Err(error) if error.passes() && began.elapsed() < submit_options.patience => {
                    if !std::mem::replace(&mut told, true) {
                        eprintln!("{error}; trying again");
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
                submitted => break submitted?,
            }
        };
        eprintln!("{}", greeting(&job.title(), &id, submitted));
        if matches!(submitted, Submitted::Over(_)) && !submit_options.attach {
            return Err(over(&redis, &id)?);
        }
        if submit_options.detach {
            output.say(format!("{id}"));
            return output.document(&json!({
                "command": "cluster submit",
                "job": id.as_str(),
                "new": submitted == Submitted::New,
            }));
        }
        interrupt::keep(move || {
            format!(
                "the job continues; `locksley cluster status {id}` shows its progress, `locksley \
                 cluster cancel {id}` cancels it"
            )
        });
        let mut shown = Shown::new(output.json);
        let ended = follow(&redis, &info.id, submit_options.patience, |progress| {
            shown.tell(progress)
        })?;
        shown.bar.finish_and_clear();
        interrupt::finish(|| tell(output, &job, &ended, submitted))
    }
}

impl Submit {
    fn info(&self, program: &str) -> Result<JobInfo, Error> {
        let terms = Terms {
            lease: self.lease.max(Duration::from_millis(100)),
            tries: self.tries,
            urgent: self.urgent,
            delay: self.after.unwrap_or_default(),
            ..Terms::default()
        };
        let fresh = || {
            let chance = RandomState::new().hash_one(Instant::now()) as u32;
            server::job(&format!("{program}-{chance:08x}")).map_err(Error::usage)
        };
        Ok(JobInfo {
            id: self.job.clone().map_or_else(fresh, Ok)?,
            build: server::build()?,
            program: program.to_owned(),
            terms,
        })
    }
}

fn greeting(title: &str, id: &JobId, submitted: Submitted) -> String {
    match submitted {
        Submitted::New => format!("{title} is submitted as {id}"),
        Submitted::Attached => {
            format!("{title} was submitted as {id} before: this is the same job")
        }
        Submitted::Over(_) => format!("{title} was submitted as {id} before, and is over"),
    }
}

/// Returns the error for a job that was already over.
fn over(redis: &Redis, id: &JobId) -> Result<Error, Error> {
    let status = redis.status(id)?.ok_or_else(|| server::unknown(id))?;
    let how = match status.state {
        State::Cancelled => "was cancelled",
        _ if status.aside > 0 => "ended without some of its tasks",
        _ => "was done",
    };
    Ok(Error::Check(format!(
        "nothing was run: the job {id} {how} before, after {}; --again runs it again, --attach \
         prints its result, `locksley cluster status {id}` shows its state",
        time(status.age.as_secs_f64())
    )))
}

/// Progress on standard error: one line that is updated on a terminal, else a line every two
/// seconds.
struct Shown {
    bar: ProgressBar,
    last: Option<Instant>,
    away: bool,
}

impl Shown {
    fn new(quiet: bool) -> Shown {
        let bar = if quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Shown {
            bar,
            last: None,
            away: false,
        }
    }

    fn tell(&mut self, progress: Result<&Progress, &LeaseError>) {
        let line = match progress {
            Err(error) => {
                if !std::mem::replace(&mut self.away, true) {
                    self.bar.suspend(|| eprintln!("{error}; trying again"));
                }
                return;
            }
            Ok(progress) => line(progress),
        };
        self.away = false;
        self.bar.set_message(line.clone());
        self.bar.tick();
        let due = self
            .last
            .is_none_or(|last| last.elapsed() >= Duration::from_secs(2));
        if self.bar.is_hidden() && due {
            self.last = Some(Instant::now());
            eprintln!("{line}");
        }
    }
}

/// Describes the progress of a job in one line.
fn line(Progress { status, rate }: &Progress) -> String {
    let mut line = format!(
        "{} done, {} in flight, {} waiting, {} a second",
        several(status.done as usize, "lease"),
        count(status.in_flight),
        count(status.ready()),
        digits(*rate)
    );
    if status.delayed > 0 {
        line += &format!(", {} begin later", count(status.delayed));
    }
    if status.aside > 0 {
        line += &format!(", {} set aside", count(status.aside));
    }
    if let Some(refusal) = status.refusal {
        line += &format!(", {refusal}");
    }
    let mut shares: Vec<_> = status.shares.iter().collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.done));
    let shown: Vec<String> = shares
        .iter()
        .take(4)
        .map(|share| format!("{} {}", share.worker, count(share.done)))
        .collect();
    if shares.is_empty() {
        return line + "; no worker has begun";
    }
    let more = (status.workers as usize).saturating_sub(shown.len());
    line += &format!("; {}", shown.join(", "));
    if more > 0 {
        line += &format!(", and {more} more");
    }
    line
}

/// Prints the outcome of a job.
fn tell<J: Job>(
    output: &Output,
    job: &J,
    ended: &Ended,
    submitted: Submitted,
) -> Result<(), Error> {
    let status = &ended.status;
    if status.state == State::Cancelled {
        return Err(Error::Check(format!(
            "the job {} was cancelled",
            status.job.id
        )));
    }
    let result = ended.result(&job.program()).map_err(|why| {
        Error::Check(format!(
            "the server does not have a result of {}: {why}",
            job.title()
        ))
    })?;
    // Without the tasks that were set aside, the result may differ from the right one.
    let checked = match status.aside {
        0 => job.check(&result),
        _ => Err(set_aside(status)),
    };
    output.say(format!(
        "{} as the job {}, by {}",
        job.title(),
        status.job.id,
        several(status.workers as usize, "worker")
    ));
    for (label, line) in job.lines(&result) {
        output.say(format!("  {label:<7} {line}"));
    }
    if matches!(checked, Ok(true)) {
        output.say(format!("          {}", output.style.good("as published")));
    }
    output.say(format!(
        "  time    {}",
        output.style.bold(&time(status.age.as_secs_f64()))
    ));
    output.say(format!(
        "  tasks   {} in {}",
        count(status.tasks),
        several(status.done as usize, "lease")
    ));
    let mut document = status::document(status);
    document["command"] = "cluster submit".into();
    document["new"] = (submitted == Submitted::New).into();
    document["result"] = job.document(&result);
    document["verified"] = matches!(checked, Ok(true)).into();
    output.document(&document)?;
    checked.map(drop)
}

fn set_aside(status: &Status) -> Error {
    let reason = |aside: &Aside| {
        let (task, why) = (&aside.entry, &aside.reason);
        let tries = several(aside.attempts as usize, "time");
        format!("\n  task {task}, tried {tries}: {why}")
    };
    let reasons = status.reasons.iter().map(reason);
    Error::Check(format!(
        "the result lacks {}, which no worker could do:{}",
        several(status.aside as usize, "task"),
        reasons.collect::<String>()
    ))
}
