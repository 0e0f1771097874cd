//! `locksley cluster run`: a program from its start to its end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use locksley::Strategy;
use locksley_cluster::{Local, Usage};
use locksley_measure::{Progress, clock};
use locksley_trace::Trace;
use serde_json::{Value, json};

use super::programs::{Chosen, Job, Visitor};
use crate::commands::trace;
use crate::failure::Failure;
use crate::names;
use crate::output::Output;
use crate::ranges;
use crate::units::{count, digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley cluster run uts --tree T1                 in this process, a worker for each processor
  locksley cluster run uts --tree T1L --workers 2 --strategy steal-half
  locksley cluster run uts --tree T1 --trace t1.json --json";

/// Runs a program to its end, in this process, compares the result where it is known, and tells who did what.
/// Writes no file but that of --trace, and what the program makes.
#[derive(Args)]
pub(crate) struct Run {
    /// How many workers [default: one per processor].
    #[arg(long, value_name = "N", global = true, value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// The pool's strategy.
    #[arg(long, default_value = "asymmetric", global = true)]
    strategy: String,
    /// Write a timeline to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,
    #[command(subcommand)]
    program: Chosen,
}

/// How many entries of a trace a worker keeps.
const ENTRIES: usize = 1 << 18;

impl Run {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let strategy = names::strategy(&self.strategy)?;
        let workers = self
            .workers
            .unwrap_or_else(|| locksley::available_cpus().count());
        let once = Once {
            run: self,
            output,
            strategy,
            workers,
        };
        self.program.visit(once)?
    }
}

struct Once<'a> {
    run: &'a Run,
    output: &'a Output,
    strategy: Strategy,
    workers: usize,
}

/// What came of a run.
struct Outcome<R> {
    result: R,
    usage: Usage,
    elapsed: Duration,
    cpu: Option<Duration>,
    trace: Trace,
}

impl Visitor for Once<'_> {
    type Output = Result<(), Failure>;

    fn visit<J: Job + 'static>(self, job: J) -> Result<(), Failure> {
        let outcome = {
            let _progress = Progress::doing(&format!("running {}", job.title()), 1);
            self.here(&job)?
        };
        let checked = job.check(&outcome.result);
        self.tell(&job, &outcome, matches!(checked, Ok(true)))?;
        checked.map(drop)
    }
}

impl Once<'_> {
    /// Runs the job in this process alone.
    fn here<J: Job>(&self, job: &J) -> Result<Outcome<J::Output>, Failure> {
        let entries = if self.run.trace.is_some() { ENTRIES } else { 0 };
        let builder = locksley::Pool::builder().workers(self.workers);
        let pool = builder.strategy(self.strategy).trace(entries).build()?;
        let local = Local::new(pool, &job.program());
        let (start, before) = (Instant::now(), clock::process());
        for task in job.first() {
            local.submit(Box::new(task));
        }
        while !local.wait(Duration::MAX) {}
        let elapsed = start.elapsed();
        let cpu = before.and_then(|before| Some(clock::process()?.saturating_sub(before)));
        if let Some(fault) = local.fault() {
            return Err(Failure::Check(fault.to_string()));
        }
        Ok(Outcome {
            result: local.take_result(),
            usage: local.usage(),
            elapsed,
            cpu,
            trace: local.pool().take_trace(),
        })
    }

    fn tell<J: Job>(
        &self,
        job: &J,
        outcome: &Outcome<J::Output>,
        known: bool,
    ) -> Result<(), Failure> {
        let (output, elapsed) = (self.output, outcome.elapsed.as_secs_f64());
        let having = several(self.workers, "worker");
        output.say(format!(
            "{} in one process under {} with {having}",
            job.title(),
            self.strategy
        ));
        for (label, line) in job.lines(&outcome.result) {
            output.say(format!("  {label:<7} {line}"));
        }
        if known {
            let right = output.style.good("as published");
            output.say(format!("          {right}"));
        }
        output.say(format!("  time    {}", output.style.bold(&time(elapsed))));
        output.say(format!("  tasks   {}", count(outcome.usage.tasks)));
        let efficiency = self.say_cpu(job, outcome);
        if let Some(file) = &self.run.trace {
            trace::to_file(&outcome.trace, file)?;
            output.say_files(std::slice::from_ref(file));
        }
        output.document(&self.document(job, outcome, known, efficiency))
    }

    /// Says how much processor time was used, and gives the part of it that serial code would need, if that is known.
    fn say_cpu<J: Job>(&self, job: &J, outcome: &Outcome<J::Output>) -> Option<f64> {
        let cpu = outcome.cpu?.as_secs_f64();
        let busy = cpu / outcome.elapsed.as_secs_f64();
        self.output.say(format!(
            "  CPU     {}, {} processors in the mean",
            time(cpu),
            digits(busy)
        ));
        let efficiency = job.serial(&outcome.result)? / cpu;
        self.output.say(format!(
            "          {} of it is what serial code needs, by a sample",
            digits(efficiency)
        ));
        Some(efficiency)
    }

    fn document<J: Job>(
        &self,
        job: &J,
        outcome: &Outcome<J::Output>,
        known: bool,
        efficiency: Option<f64>,
    ) -> Value {
        json!({
            "command": "cluster run",
            "program": job.program().name(),
            "engine": "in-process",
            "strategy": self.strategy.to_string(),
            "workers": self.workers,
            "result": job.document(&outcome.result),
            "verified": known,
            "seconds": outcome.elapsed.as_secs_f64(),
            "cpu_seconds": outcome.cpu.map(|cpu| cpu.as_secs_f64()),
            "efficiency": efficiency,
            "tasks": outcome.usage.tasks,
            "trace": self.run.trace.as_ref().map(|file| file.display().to_string()),
        })
    }
}
