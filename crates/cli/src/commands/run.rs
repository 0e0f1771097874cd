//! `locksley run`: runs a workload once, checks its result, and shows what the workers did.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use locksley::{Stats, Strategy, WorkerStats};
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_trace::Trace;
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Program};
use serde_json::{Map, Value, json};

use crate::commands::trace;
use crate::error::Error;
use crate::measure::comparison;
use crate::measure::progress::Progress;
use crate::parse::names;
use crate::parse::ranges;
use crate::render::answer::{self, Answer};
use crate::render::counters;
use crate::render::output::Output;
use crate::render::units::{count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley run fib                                    the default strategy, one worker per processor
  locksley run queens:n=13 --stats                    and the counters of each worker
  locksley run uts --strategy steal-half --workers 4  another strategy, four workers
  locksley run loop:triangular                        a parallel loop whose item i costs i
  locksley run queens --trace queens.json             and a timeline for ui.perfetto.dev
  locksley run sort --full --json                     as JSON";

/// Runs a workload once in a pool, compares the result with that of the serial program, and shows
/// what the workers did. Writes only the file of --trace.
#[derive(Args)]
pub(crate) struct Run {
    /// Workload, with parameters or without: fib, queens:n=11.
    workload: String,
    /// Strategy of the pool.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// Number of workers [default: one per processor].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// Write a timeline to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print all counters of each worker.
    #[arg(long)]
    stats: bool,
    /// A larger workload, which takes a second or a few on one thread.
    #[arg(long)]
    full: bool,
}

/// Number of trace entries that each worker keeps.
const ENTRIES: usize = 1 << 18;

/// Outcome of a run whose result was right.
struct Outcome {
    answer: Answer,
    elapsed: Duration,
    stats: Stats,
    trace: Trace,
}

struct Once<'a> {
    spec: &'a Spec,
    strategy: Strategy,
    workers: usize,
    traced: bool,
}

impl Visitor for Once<'_> {
    type Output = Result<Outcome, Error>;

    fn visit<P: Program>(self, mut program: P) -> Result<Outcome, Error> {
        let pool = comparison::pool(self.strategy, self.workers, self.spec.stack());
        let capacity = if self.traced { ENTRIES } else { 0 };
        let mut runtime = Locksley(pool.trace(capacity).build()?);
        runtime.run(FibTask(16));
        drop(runtime.0.take_trace());
        let before = runtime.0.stats();
        let task = program.task();
        let start = Instant::now();
        let output = runtime.run(task);
        let elapsed = start.elapsed();
        let stats = runtime.0.stats() - before;
        let trace = runtime.0.take_trace();
        let answer = answer::of(self.spec.entry().name, &output, program.operations());
        program.check(output).map_err(|wrong| {
            let what = format!("{} under {}", self.spec, self.strategy);
            Error::wrong(what, &wrong)
        })?;
        Ok(Outcome {
            answer,
            elapsed,
            stats,
            trace,
        })
    }
}

impl Run {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let spec = names::workload(&self.workload, self.full)?;
        let strategy = names::strategy(&self.strategy)?;
        let workers = self
            .workers
            .unwrap_or_else(|| locksley::available_cpus().count());
        let once = Once {
            spec: &spec,
            strategy,
            workers,
            traced: self.trace.is_some(),
        };
        output.warn_if_busy();
        let outcome = {
            let _progress = Progress::doing(&format!("running {spec}"), 1);
            comparison::visit(&spec, once)??
        };
        let seconds = outcome.elapsed.as_secs_f64();
        let having = several(workers, "worker");
        output.say(format!("{spec} under {strategy} with {having}"));
        self.say(output, &outcome, workers);
        if let Some(file) = &self.trace {
            trace::to_file(&outcome.trace, file)?;
            output.say_files(std::slice::from_ref(file));
        }
        output.document(&json!({
            "command": "run",
            "workload": spec.to_string(),
            "strategy": strategy.to_string(),
            "workers": workers,
            "seconds": seconds,
            "result": outcome.answer.value,
            "verified": true,
            "trace": self.trace.as_ref().map(|file| file.display().to_string()),
            "stats": stats(&outcome.stats),
        }))
    }

    fn say(&self, output: &Output, outcome: &Outcome, workers: usize) {
        let (style, stats) = (output.style, &outcome.stats);
        let elapsed = time(outcome.elapsed.as_secs_f64());
        output.say(format!("  time    {}", style.bold(&elapsed)));
        let right = style.good("as in the serial program");
        output.say(format!("  result  {}, {right}", outcome.answer.text));
        output.say(format!("  moved   {}", moved(&stats.total())));
        if self.stats {
            output.say(format!("\n{}", counters::table(stats, workers)));
        }
    }
}

/// Describes how tasks moved between workers.
fn moved(total: &WorkerStats) -> String {
    let ways = [
        (total.steals, "stolen"),
        (total.batch_stolen, "moved along with a stolen one"),
        (total.accepted, "accepted as offers"),
        (total.collected, "dealt"),
    ];
    let ways: Vec<String> = ways
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, how)| format!("{} {how}", count(*number)))
        .collect();
    if ways.is_empty() {
        return "no task went to another worker".to_owned();
    }
    let attempts = count(total.steal_attempts);
    format!("tasks: {} (attempts to steal: {attempts})", ways.join(", "))
}

/// Returns the counters as JSON.
pub(crate) fn stats(stats: &Stats) -> Value {
    let workers: Vec<Value> = stats.workers().iter().map(counts).collect();
    json!({
        "total": counts(&stats.total()),
        "outside": counts(&stats.outside()),
        "workers": workers,
    })
}

fn counts(stats: &WorkerStats) -> Value {
    let counts = stats.counts().into_iter();
    Value::Object(
        counts
            .map(|(name, number)| (name.to_owned(), number.into()))
            .collect::<Map<_, _>>(),
    )
}
