//! `locksley run`: one run, checked, with what the workers did.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use locksley::{Stats, Strategy, WorkerStats};
use locksley_measure::Progress;
use locksley_measure::runtimes::{Runtime, Worker};
use locksley_trace::Trace;
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Program};
use serde_json::{Map, Value, json};

use crate::commands::trace;
use crate::contest;
use crate::failure::Failure;
use crate::names;
use crate::output::Output;
use crate::ranges;
use crate::units::{count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley run fib                                    the default strategy, one worker per processor
  locksley run queens:n=13 --stats                    and the counters of each worker
  locksley run uts --strategy steal-half --workers 4  another strategy, four workers
  locksley run queens --trace queens.json             and a timeline for ui.perfetto.dev
  locksley run sort --full --json                     for a program";

/// Runs a workload once in a pool, compares the result with the serial oracle, and tells what the workers did.
/// Writes no file but that of --trace.
#[derive(Args)]
pub(crate) struct Run {
    /// The workload, with parameters or without: fib, queens:n=11.
    workload: String,
    /// The pool's strategy.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// How many workers [default: one per processor].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// Write a timeline to this file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print all counters of each worker.
    #[arg(long)]
    stats: bool,
    /// A larger workload: a second or a few on one thread.
    #[arg(long)]
    full: bool,
}

/// How many entries of a trace a worker keeps.
const ENTRIES: usize = 1 << 18;

/// What came of a run whose result was right.
struct Outcome {
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
    type Output = Result<Outcome, Failure>;

    fn visit<P: Program>(self, mut program: P) -> Result<Outcome, Failure> {
        let pool = contest::pool(self.strategy, self.workers, self.spec.stack());
        let capacity = if self.traced { ENTRIES } else { 0 };
        let mut runtime = Worker(pool.trace(capacity).build()?);
        runtime.run(FibTask(16));
        drop(runtime.0.take_trace());
        let before = runtime.0.stats();
        let task = program.task();
        let start = Instant::now();
        let output = runtime.run(task);
        let elapsed = start.elapsed();
        let stats = runtime.0.stats() - before;
        let trace = runtime.0.take_trace();
        program.check(output).map_err(|wrong| {
            let what = format!("{} under {}", self.spec, self.strategy);
            Failure::wrong(what, &wrong)
        })?;
        Ok(Outcome {
            elapsed,
            stats,
            trace,
        })
    }
}

impl Run {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
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
        let outcome = {
            let _progress = Progress::doing(&format!("running {spec}"), 1);
            contest::visit(&spec, once)??
        };
        let seconds = outcome.elapsed.as_secs_f64();
        let having = several(workers, "worker");
        output.say(format!("{spec} under {strategy} with {having}"));
        self.say(output, &outcome);
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
            "verified": true,
            "trace": self.trace.as_ref().map(|file| file.display().to_string()),
            "stats": stats(&outcome.stats),
        }))
    }

    fn say(&self, output: &Output, outcome: &Outcome) {
        let (style, stats) = (output.style, &outcome.stats);
        let elapsed = time(outcome.elapsed.as_secs_f64());
        output.say(format!("  time    {}", style.bold(&elapsed)));
        let right = style.good("as the serial oracle says");
        output.say(format!("  result  {right}"));
        output.say(format!("  moved   {}", moved(&stats.total())));
        if self.stats {
            output.say(format!("\n{}", narrowed(&stats.to_string())));
        }
    }
}

/// How tasks went from worker to worker.
fn moved(total: &WorkerStats) -> String {
    let ways = [
        (total.steals, "stolen"),
        (total.batch_stolen, "hauled along"),
        (total.accepted, "accepted as offers"),
        (total.collected, "dealt"),
    ];
    let ways: Vec<String> = ways
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, how)| format!("{} {how}", count(*number)))
        .collect();
    match ways.is_empty() {
        true => "no task went to another worker".to_owned(),
        false => format!(
            "tasks: {} (attempts to steal: {})",
            ways.join(", "),
            count(total.steal_attempts)
        ),
    }
}

/// The table of counters without the columns in which nothing was counted.
fn narrowed(table: &str) -> String {
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let columns = rows.first().map_or(0, Vec::len);
    let cell = |row: &Vec<&str>, column: usize| row.get(column).copied().unwrap_or("").to_owned();
    let kept: Vec<usize> = (0..columns)
        .filter(|&column| column == 0 || rows[1..].iter().any(|row| cell(row, column) != "."))
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| cell(row, column).len())
            .max()
            .unwrap_or(0)
    };
    let line = |row: &Vec<&str>| {
        let cells = kept
            .iter()
            .map(|&column| format!("{:>1$}", cell(row, column), width(column)));
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The counters, for programs.
pub(crate) fn stats(stats: &Stats) -> Value {
    let workers: Vec<Value> = stats.workers().iter().map(counts).collect();
    json!({ "total": counts(&stats.total()), "outside": counts(&stats.outside()), "workers": workers })
}

fn counts(stats: &WorkerStats) -> Value {
    let counts = stats.counts().into_iter();
    Value::Object(
        counts
            .map(|(name, number)| (name.to_owned(), number.into()))
            .collect::<Map<_, _>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out() {
        let table =
            "worker  tasks  tried  got\n     0      3      .    .\n total      3      .    1\n";
        assert_eq!(
            narrowed(table),
            "worker  tasks  got\n     0      3    .\n total      3    1"
        );
    }
}
