//! Records runs, and reads recordings.
//!
//! A recording is two files: the graph, which the simulator reads (`NAME.dag.json`,
//! `locksley-dag/1`), and a description of the run (`NAME.recording.json`), which refers to it.

use std::cell::Cell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use locksley::{Pool, Recording, Strategy};
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Fork, Program, Task};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::measure::comparison;
use crate::render::units::count;

/// Format of a recording's description.
pub(crate) const FORMAT: &str = "locksley-recording/1";

/// Largest number of forks of a recording: each takes about 100 bytes, and as many again as text.
const MOST_FORKS: u64 = 1_000_000;

/// Default number of steps of a graph: few enough for a fast simulation, enough to tell most
/// strands apart.
const STEPS: f64 = 5e6;

/// Description of a recorded run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) format: String,
    /// The workload.
    pub(crate) program: String,
    /// Number of workers of the recorded run.
    pub(crate) workers: usize,
    /// Duration of a step of the graph.
    pub(crate) unit_ns: u64,
    pub(crate) forks: u64,
    /// Time of all strands together.
    pub(crate) work_seconds: f64,
    /// Time that recording added to each strand, from a calibration.
    pub(crate) overhead_ns: f64,
    /// File of the graph, in the same folder.
    pub(crate) graph: String,
}

/// Panic payload of a run that forks too often.
struct TooMany;

/// Returns `true` if a run of the program forks at most [`MOST_FORKS`] times.
fn forks_few_times<P: Program>(program: &mut P) -> bool {
    let forks = Cell::new(0);
    // The state of an abandoned run is not read: the program makes a new task, or is dropped.
    let run = AssertUnwindSafe(|| drop(program.task().run(Counter(&forks))));
    match catch_unwind(run) {
        Ok(()) => true,
        Err(payload) if payload.is::<TooMany>() => false,
        Err(payload) => resume_unwind(payload),
    }
}

/// Returns an error for programs that fork too often: recording takes memory for each fork.
pub(crate) fn refuse_many_forks<P: Program>(spec: &Spec, program: &mut P) -> Result<(), Error> {
    if forks_few_times(program) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{spec} forks more than {} times, which is too much to record: give smaller parameters",
        count(MOST_FORKS)
    )))
}

/// Runs tasks serially and counts forks, until there are too many.
struct Counter<'c>(&'c Cell<u64>);

impl Fork for Counter<'_> {
    type Reborrowed<'a>
        = Counter<'a>
    where
        Self: 'a;

    fn reborrow(&mut self) -> Counter<'_> {
        Counter(self.0)
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        self.0.set(self.0.get() + 1);
        if self.0.get() > MOST_FORKS {
            resume_unwind(Box::new(TooMany));
        }
        let a = a.run(Counter(self.0));
        (a, b.run(Counter(self.0)))
    }

    /// Counts no forks: a loop forks only when it is stolen from, which is rare.
    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        locksley_workload::Serial.sum(len, item)
    }
}

struct Recorded<'a> {
    spec: &'a Spec,
    workers: usize,
}

impl Run {
    /// Returns the mean duration of a strand, without the overhead of recording.
    pub(crate) fn strand_seconds(&self) -> f64 {
        (self.work_seconds / strands(self.forks) - self.overhead_ns * 1e-9).max(0.0)
    }
}

impl Visitor for Recorded<'_> {
    type Output = Result<Recording, Error>;

    fn visit<P: Program>(self, mut program: P) -> Result<Recording, Error> {
        refuse_many_forks(self.spec, &mut program)?;
        // Frames of recorded joins need larger stacks.
        let pool = comparison::pool(Strategy::default(), self.workers, 4 * self.spec.stack());
        let pool = pool.record(true).build()?;
        let task = program.task();
        let output = Locksley(pool);
        let (output, recording) = run_recorded(output, task);
        program
            .check(output)
            .map_err(|wrong| Error::wrong(self.spec, &wrong))?;
        recording.ok_or_else(|| Error::Check(format!("nothing of {} was recorded", self.spec)))
    }
}

fn run_recorded<T: Task>(mut runtime: Locksley, task: T) -> (T::Output, Option<Recording>) {
    let output = runtime.run(task);
    let recording = runtime.0.take_recording();
    (output, recording)
}

/// Records a run of a workload. Returns its description and its graph as text.
pub(crate) fn record(
    spec: &Spec,
    workers: usize,
    unit: Option<Duration>,
) -> Result<(Run, String), Error> {
    let overhead_ns = overhead()?;
    let recording = comparison::visit(spec, Recorded { spec, workers })??;
    let (work, forks) = (recording.work(), recording.forks() as u64);
    // A node has at least one step, so a step must be short compared to a strand without the
    // overhead.
    let own = work.as_secs_f64() * 1e9 - overhead_ns * strands(forks);
    let unit_ns = match unit {
        Some(unit) => u64::try_from(unit.as_nanos()).unwrap_or(u64::MAX),
        None => ((own / STEPS) as u64).max(1),
    };
    let run = Run {
        format: FORMAT.to_owned(),
        program: spec.to_string(),
        workers,
        unit_ns,
        forks,
        work_seconds: work.as_secs_f64(),
        overhead_ns,
        graph: format!("{}.dag.json", spec.entry().name),
    };
    Ok((run, recording.to_json(Duration::from_nanos(unit_ns))))
}

/// Returns the number of strands of a run: a fork ends one strand and begins two, and its join
/// begins a third.
fn strands(forks: u64) -> f64 {
    3.0 * forks as f64 + 1.0
}

/// Measures the nanoseconds that recording adds to a strand: runs `fib`, whose strands are short,
/// with and without recording. Takes the minimum of several runs, since noise only lengthens them.
fn overhead() -> Result<f64, Error> {
    const N: u64 = 18;
    const TIMES: usize = 9;
    let recorded = Pool::builder().workers(1).record(true).build()?;
    let mut plain = Locksley(Pool::builder().workers(1).build()?);
    let (mut with, mut without, mut strands_seen) = (f64::INFINITY, f64::INFINITY, 1.0);
    let mut recorded = Locksley(recorded);
    for _ in 0..TIMES {
        recorded.run(FibTask(N));
        if let Some(recording) = recorded.0.take_recording() {
            with = recording.work().as_secs_f64().min(with);
            strands_seen = strands(recording.forks() as u64);
        }
        let start = Instant::now();
        plain.run(FibTask(N));
        without = start.elapsed().as_secs_f64().min(without);
    }
    Ok(((with - without) / strands_seen * 1e9).max(0.0))
}

/// A recording that was read from files.
pub(crate) struct Loaded {
    /// Description of the run, if it was recorded by `locksley record`.
    pub(crate) run: Option<Run>,
    /// The graph as text, without the overhead of recording.
    pub(crate) graph: String,
}

/// Reads a recording from the file of its description, or a graph without a description.
pub(crate) fn read(path: &Path) -> Result<Loaded, Error> {
    let text =
        |path: &Path| fs::read_to_string(path).map_err(|error| Error::file("read", path, &error));
    let given = text(path)?;
    match serde_json::from_str::<Run>(&given) {
        Ok(run) if run.format == FORMAT => {
            let graph = text(&path.with_file_name(&run.graph))?;
            let graph = lighter(&graph, run.overhead_ns / run.unit_ns as f64)?;
            Ok(Loaded {
                run: Some(run),
                graph,
            })
        }
        Ok(run) => Err(Error::System(format!(
            "{} has the format {}, and this version reads {FORMAT}: record it again",
            path.display(),
            run.format
        ))),
        Err(_) => Ok(Loaded {
            run: None,
            graph: given,
        }),
    }
}

/// Removes `steps` steps from each node of a graph, which keeps at least one.
pub(crate) fn lighter(graph: &str, steps: f64) -> Result<String, Error> {
    with_steps(graph, 1.0, |had| had - steps)
}

/// Coarsens a graph of `work` steps to about `wanted` if it has more: the time of a simulation is
/// proportional to the steps.
pub(crate) fn coarser(graph: &str, work: u64, wanted: u64) -> Result<String, Error> {
    let factor = work as f64 / wanted as f64;
    if factor <= 1.0 {
        return Ok(graph.to_owned());
    }
    with_steps(graph, factor, |had| had / factor)
}

/// Replaces the number of steps of each node that states one, and multiplies the unit. A node keeps
/// at least one step.
fn with_steps(graph: &str, unit: f64, replace: impl Fn(f64) -> f64) -> Result<String, Error> {
    let damaged =
        |error: serde_json::Error| Error::System(format!("the graph is damaged: {error}"));
    let mut graph: Value = serde_json::from_str(graph).map_err(damaged)?;
    if let Some(had) = graph.get("unit_ns").and_then(Value::as_f64) {
        graph["unit_ns"] = ((had * unit).round() as u64).into();
    }
    let nodes = graph.get_mut("nodes").and_then(Value::as_array_mut);
    for node in nodes.into_iter().flatten() {
        if let Some(had) = node.get("steps").and_then(Value::as_f64) {
            node["steps"] = (replace(had).round().max(1.0) as u64).into();
        }
    }
    Ok(graph.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_recording_costs_is_taken_out() {
        let graph = r#"{"format": "locksley-dag/1", "unit_ns": 20, "nodes": [
            {"id": "0", "steps": 70, "next": ["1"]}, {"id": "1"}]}"#;
        let lighter = |steps| lighter(graph, steps).unwrap();
        assert!(lighter(60.0).contains(r#""steps":10"#));
        assert!(lighter(100.0).contains(r#""steps":1"#));
        assert!(coarser(graph, 71, 100).unwrap().contains(r#""steps": 70"#));
        let coarser = coarser(graph, 700, 100).unwrap();
        assert!(coarser.contains(r#""steps":10"#));
        let graph = locksley_sim::dag::Graph::parse(&coarser).unwrap();
        assert_eq!(graph.unit(), Some(Duration::from_nanos(140)));
    }
}
