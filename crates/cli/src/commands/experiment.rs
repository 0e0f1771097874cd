//! `locksley experiment`: repeats experiments of the papers.

use std::time::SystemTime;

use clap::{Args, Subcommand, ValueEnum};
use locksley_measure::table::{Style, Table};
use locksley_report::{Arrival, Experiment, Load, Results};

use crate::cli::help;
use crate::error::Error;
use crate::measure::experiment::batch::{self, Plan};
use crate::measure::experiment::conclusions::conclusions;
use crate::measure::progress::Progress;
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{Output, Session};
use crate::render::units::{count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley experiment batch --quick                    fewer threads and tasks: 15 seconds
  locksley experiment batch                            4 to 128 threads with 100 tasks each: minutes
  locksley experiment batch --arrival running          tasks that arrive while others run
  locksley experiment batch --threads 2:8 --tasks 50 --rounds 9 --json";

/// Limit of the number of threads.
const MOST_THREADS: usize = 1024;

/// Arguments of `locksley experiment`, which is described in `cli`.
#[derive(Args)]
pub(crate) struct Experiments {
    #[command(subcommand)]
    which: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Batches of tasks with and without stealing, from bounded and from unbounded deques.
    #[command(after_help = help(EXAMPLES))]
    Batch(BatchArgs),
}

/// When tasks arrive.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Arrivals {
    /// All before the start.
    Batch,
    /// While others run.
    Running,
    /// Measure both.
    Both,
}

/// The experiments of the report on work-stealing deques. Each of N threads has a deque with K
/// tasks, evenly heavy or half of them light; a thread without tasks steals, or does not. Counts
/// steals, and measures the total time and the mean time that a task waits. Writes experiment.json,
/// .csv, .txt and .html.
#[derive(Args)]
struct BatchArgs {
    /// Numbers of threads N: 4, 1:8, 1:8:2, or 4,8,16 [default: 4,8,16,32,64,128; quick: 4,8,16].
    #[arg(long, value_name = "RANGE", value_parser = threads)]
    threads: Option<Numbers>,
    /// Tasks for each thread K [default: 100; quick: 50].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tasks: Option<u32>,
    /// Number of repetitions.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000),
    )]
    rounds: u32,
    /// Index of the Fibonacci number that a heavy task computes.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 25,
        value_parser = clap::value_parser!(u32).range(1..=36),
    )]
    heavy: u32,
    /// When tasks arrive.
    #[arg(long, value_enum, default_value = "batch")]
    arrival: Arrivals,
    /// Use fewer threads and tasks by default.
    #[arg(long)]
    quick: bool,
    /// Seed of the random tasks and of their order [default: from the clock].
    #[arg(long)]
    seed: Option<u64>,
}

fn threads(text: &str) -> Result<Numbers, String> {
    ranges::numbers(text, MOST_THREADS).map(Numbers)
}

impl Experiments {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        match &self.which {
            Which::Batch(arguments) => arguments.run(output),
        }
    }
}

impl BatchArgs {
    fn plan(&self) -> Plan {
        let defaults: (&[usize], u32) = if self.quick {
            (&[4, 8, 16], 50)
        } else {
            (&[4, 8, 16, 32, 64, 128], 100)
        };
        let threads = self
            .threads
            .as_ref()
            .map(|Numbers(threads)| threads.clone());
        let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Plan {
            loads: vec![Load::Even, Load::Skewed],
            arrivals: match self.arrival {
                Arrivals::Batch => vec![Arrival::Batch],
                Arrivals::Running => vec![Arrival::Running],
                Arrivals::Both => vec![Arrival::Batch, Arrival::Running],
            },
            threads: threads.unwrap_or(defaults.0.to_vec()),
            tasks: self.tasks.unwrap_or(defaults.1) as usize,
            heavy: self.heavy.into(),
            rounds: self.rounds as usize,
            seed: self.seed.unwrap_or(clock.as_secs()),
            processors: locksley::available_cpus().count(),
        }
    }

    fn run(&self, output: &Output) -> Result<(), Error> {
        let plan = self.plan();
        let heavy = batch::calibrate(plan.heavy);
        let estimate = plan.estimate(heavy).as_secs_f64();
        if estimate > 24.0 * 3600.0 {
            return Err(Error::usage(format!(
                "this would take about {} hours on this machine: give smaller --threads, --tasks, \
                 --heavy or --rounds",
                count((estimate / 3600.0) as u64)
            )));
        }
        let repetitions = several(plan.steps(), "repetition");
        output.say(format!("{repetitions}, about {} in all", time(estimate)));
        let session = Session::start(
            output,
            "experiment",
            "Batches with and without stealing",
            text,
        );
        session.results().experiments.push(plan.experiment());
        let progress = Progress::start("batch", plan.steps() as u64);
        plan.measure(heavy, |variant, once| {
            let results = &mut *session.results();
            if let [experiment] = &mut results.experiments[..] {
                experiment.batches[variant].repetitions.push(once);
                experiment.conclusions = conclusions(experiment, plan.processors);
            }
            progress.step();
        })?;
        drop(progress);
        output.say(text(&session.results()).trim_end());
        session.finish().map(drop)
    }
}

/// Formats all experiments of `results`.
fn text(results: &Results) -> String {
    let mut text = String::new();
    if results.interrupted {
        text += "interrupted: these are the results until then\n\n";
    }
    for experiment in &results.experiments {
        for load in [Load::Even, Load::Skewed] {
            for arrival in [Arrival::Batch, Arrival::Running] {
                text += &table(experiment, load, arrival).unwrap_or_default();
            }
        }
        for conclusion in &experiment.conclusions {
            text += &format!("- {conclusion}\n");
        }
    }
    text
}

/// Returns a table of the batches with one load and one kind of arrival, or `None` if there are
/// none.
fn table(experiment: &Experiment, load: Load, arrival: Arrival) -> Option<String> {
    let title = format!(
        "{load} load, {arrival}, {} a thread: medians, and quartiles of the time",
        several(experiment.tasks, "task")
    );
    let header = [
        "",
        "threads",
        "steals",
        "total time",
        "quartiles",
        "average waiting",
    ];
    let mut table = Table::new(title, &header);
    let mut rows = 0;
    for batch in &experiment.batches {
        let summaries = (batch.seconds(), batch.waiting(), batch.steals());
        let (Some(seconds), Some(waiting), Some(steals)) = summaries else {
            continue;
        };
        if (batch.load, batch.arrival) != (load, arrival) {
            continue;
        }
        rows += 1;
        let stolen = count(steals.median as u64);
        table.row(vec![
            batch.series(),
            batch.threads.to_string(),
            if batch.stealing { stolen } else { "-".into() },
            time(seconds.median),
            format!("{} to {}", time(seconds.lower), time(seconds.upper)),
            time(waiting.median),
        ]);
    }
    (rows > 0).then(|| table.render(Style::Plain) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley_report::Machine;

    fn arguments(quick: bool) -> BatchArgs {
        BatchArgs {
            threads: None,
            tasks: None,
            rounds: 1,
            heavy: 25,
            arrival: Arrivals::Batch,
            quick,
            seed: Some(1),
        }
    }

    #[test]
    fn the_defaults_are_the_reports() {
        let plan = arguments(false).plan();
        assert_eq!(plan.threads, [4, 8, 16, 32, 64, 128]);
        assert_eq!((plan.tasks, plan.heavy), (100, 25));
        assert!(arguments(true).plan().steps() < plan.steps());
    }

    #[test]
    fn what_was_measured_is_in_the_text() {
        let mut plan = arguments(true).plan();
        (plan.threads, plan.tasks, plan.heavy, plan.rounds) = (vec![2], 3, 5, 1);
        let mut experiment = plan.experiment();
        assert_eq!(table(&experiment, Load::Even, Arrival::Batch), None);
        plan.measure(batch::calibrate(5), |variant, once| {
            experiment.batches[variant].repetitions.push(once);
        })
        .unwrap();
        experiment.conclusions = conclusions(&experiment, 2);
        let mut results = Results::new("", Machine::default());
        results.experiments.push(experiment);
        let text = text(&results);
        assert!(
            text.contains("skewed load, batch, 3 tasks a thread"),
            "{text}"
        );
        assert!(
            text.contains("no stealing, unbounded") && text.contains("- Batch: \""),
            "{text}"
        );
    }
}
