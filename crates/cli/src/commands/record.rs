//! `locksley record`: records the task graph of a real run.

use std::time::Duration;

use clap::Args;
use locksley_sim::dag::{Computation, Graph};
use serde_json::json;

use crate::error::Error;
use crate::measure::progress::Progress;
use crate::measure::recorder;
use crate::parse::names;
use crate::parse::ranges;
use crate::render::output::Output;
use crate::render::units::{self, count, digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley record queens:n=10                       a recording for `locksley replay`
  locksley record fib:n=20 --unit 10ns              a step of the graph is 10 ns
  locksley simulate file:locksley-out/queens.dag.json --processors 1000";

/// Records forks, joins and the time between them, and writes NAME.dag.json, which the simulator
/// reads, and NAME.recording.json, which `locksley replay` reads.
#[derive(Args)]
pub(crate) struct Record {
    /// Workload, with parameters or without: fib:n=20, queens:n=10.
    workload: String,
    /// Number of workers; one is the most exact.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = ranges::one_worker)]
    workers: usize,
    /// Duration of a step of the graph, such as 100ns [default: for about five million steps].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    unit: Option<Duration>,
    /// A larger workload.
    #[arg(long)]
    full: bool,
}

impl Record {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let spec = names::workload(&self.workload, self.full)?;
        output.warn_if_busy();
        let (run, graph) = {
            let _progress = Progress::doing(&format!("recording {spec}"), 1);
            recorder::record(&spec, self.workers, self.unit)?
        };
        let size = Graph::parse(&graph)
            .map_err(|error| Error::Check(error.to_string()))?
            .size();
        let about = serde_json::to_string_pretty(&run).unwrap_or_default() + "\n";
        let files = [
            output.write(&format!("{}.recording.json", spec.entry().name), &about)?,
            output.write(&run.graph, &graph)?,
        ];
        output.say(format!(
            "{spec}, recorded with {}",
            several(run.workers, "worker")
        ));
        output.say(format!("  forks        {}", count(run.forks)));
        output.say(format!("  work         {}", time(run.work_seconds)));
        output.say(format!("  parallelism  {}", digits(size.parallelism())));
        output.say(format!(
            "  recording    added {} to each strand, which replay subtracts",
            time(run.overhead_ns * 1e-9)
        ));
        output.say_files(&files);
        output.document(&json!({
            "command": "record",
            "recording": run,
            "parallelism": size.parallelism(),
            "files": files.map(|file| file.display().to_string()),
        }))
    }
}
