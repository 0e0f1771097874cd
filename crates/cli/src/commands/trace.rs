//! `locksley trace`: records a timeline of a run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use locksley::{Pool, Strategy};
use locksley_measure::runtimes::{Locksley, OnWorker, Runtime};
use locksley_report::{LoadCurve, LoadPoint, Results};
use locksley_trace::Trace;
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Program, Task};

use crate::error::Error;
use crate::measure::comparison;
use crate::measure::progress::Progress;
use crate::parse::names;
use crate::parse::ranges;
use crate::render::output::{self, Output, Session};
use crate::render::tables;
use crate::render::timeline;
use crate::render::units::{self, count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley trace queens                        a timeline for ui.perfetto.dev
  locksley trace sort --strategy sharing       arrows show what is given away
  locksley trace uts --workers 4 --capacity 100000";

/// Traces a run: what each worker did when, which tasks moved between workers, and the lengths of
/// the queues. Writes trace.perfetto.json for ui.perfetto.dev or chrome://tracing, and trace.json,
/// .csv, .txt and .html.
#[derive(Args)]
pub(crate) struct TraceRun {
    /// Workload, with parameters or without: fib, queens:n=11.
    workload: String,
    /// Strategy of the pool.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// Number of workers [default: one per processor].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// Number of entries, of 16 bytes, that each worker keeps; the newest ones are kept.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(16..=1 << 24),
    )]
    capacity: u32,
    /// Time between samples of the loads; sampling takes a little processor time.
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = units::duration)]
    sample: Duration,
    /// A larger workload, which takes a second or a few on one thread.
    #[arg(long)]
    full: bool,
}

/// The outcome of a traced run.
pub(crate) struct Traced {
    pub(crate) trace: Trace,
    pub(crate) elapsed: Duration,
    pub(crate) loads: Vec<LoadPoint>,
}

/// Runs a program with a trace.
pub(crate) struct Tracer<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) strategy: Strategy,
    pub(crate) workers: usize,
    pub(crate) capacity: usize,
    /// Time between two samples of the loads; `None` for no samples.
    pub(crate) sample: Option<Duration>,
}

impl Visitor for Tracer<'_> {
    type Output = Result<Traced, Error>;

    fn visit<P: Program>(self, mut program: P) -> Result<Traced, Error> {
        let pool = comparison::pool(self.strategy, self.workers, self.spec.stack());
        let mut runtime = Locksley(pool.trace(self.capacity).build()?);
        runtime.run(FibTask(16));
        drop(runtime.0.take_trace());
        let task = program.task();
        let done = AtomicBool::new(false);
        let (output, elapsed, loads) = thread::scope(|scope| {
            let pool = &runtime.0;
            let sampler = self.sample.map(|every| {
                let done = &done;
                scope.spawn(move || look(pool, every, done))
            });
            let start = Instant::now();
            let output = pool.run(|worker| task.run(OnWorker(worker)));
            let elapsed = start.elapsed();
            done.store(true, Ordering::Relaxed);
            let loads = sampler
                .and_then(|sampler| sampler.join().ok())
                .unwrap_or_default();
            (output, elapsed, loads)
        });
        let trace = runtime.0.take_trace();
        program.check(output).map_err(|wrong| {
            let what = format!("{} under {}", self.spec, self.strategy);
            Error::wrong(what, &wrong)
        })?;
        Ok(Traced {
            trace,
            elapsed,
            loads,
        })
    }
}

/// Samples the loads until the run is done.
fn look(pool: &Pool, every: Duration, done: &AtomicBool) -> Vec<LoadPoint> {
    /// Largest number of samples: more than a curve can show.
    const MOST: usize = 20_000;
    let (start, mut points) = (Instant::now(), Vec::new());
    while !done.load(Ordering::Relaxed) && points.len() < MOST {
        let loads = pool.loads();
        points.push(LoadPoint {
            time: start.elapsed().as_secs_f64(),
            mean: loads.iter().sum::<usize>() as f64 / loads.len().max(1) as f64,
            max: loads.iter().copied().max().unwrap_or(0) as f64,
            percentiles: Vec::new(),
        });
        thread::sleep(every);
    }
    points
}

impl TraceRun {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let spec = names::workload(&self.workload, self.full)?;
        let strategy = names::strategy(&self.strategy)?;
        let workers = self
            .workers
            .unwrap_or_else(|| locksley::available_cpus().count());
        let session = Session::start(output, "trace", "Trace", text);
        let tracer = Tracer {
            spec: &spec,
            strategy,
            workers,
            capacity: self.capacity as usize,
            sample: Some(self.sample),
        };
        let traced = {
            let _progress = Progress::doing(&format!("tracing {spec}"), 1);
            comparison::visit(&spec, tracer)??
        };
        output.say(format!(
            "{spec} under {strategy} with {}",
            several(workers, "worker")
        ));
        output.say(format!("  time  {}", time(traced.elapsed.as_secs_f64())));
        if traced.trace.source.lost > 0 {
            output.say(format!(
                "  lost  {} entries, the oldest: --capacity keeps more",
                count(traced.trace.source.lost)
            ));
        }
        let file = output.write("trace.perfetto.json", &traced.trace.to_json())?;
        fill(&mut session.results(), &spec, strategy, workers, traced);
        output.say(text(&session.results()));
        output.say_files(&[file]);
        output.say("  open it at https://ui.perfetto.dev, or in chrome://tracing");
        session.finish().map(drop)
    }
}

/// Adds timeline, steal map and loads to the results.
pub(crate) fn fill(
    results: &mut Results,
    spec: &Spec,
    strategy: Strategy,
    workers: usize,
    traced: Traced,
) {
    let (mut lines, mut steals) = timeline::of(&traced.trace, workers);
    (lines.program, lines.strategy) = (spec.entry().name.to_owned(), strategy.to_string());
    (steals.program, steals.strategy) = (lines.program.clone(), lines.strategy.clone());
    let mut loads = LoadCurve::new(spec.entry().name, strategy.to_string(), workers);
    loads.points = traced.loads;
    for parameters in [
        &mut lines.parameters,
        &mut steals.parameters,
        &mut loads.parameters,
    ] {
        *parameters = tables::parameters(spec);
    }
    let size = (timeline::WORKERS.to_owned(), workers.to_string());
    lines.parameters.extend([size]);
    results.timelines.push(lines);
    results.steals.push(steals);
    if loads.points.len() > 1 {
        results.loads.push(loads);
    }
}

/// Describes how busy each worker was, and how many tasks moved.
pub(crate) fn text(results: &Results) -> String {
    let mut text = String::new();
    for timeline in &results.timelines {
        text += &timeline::busy(timeline);
    }
    for steals in &results.steals {
        text += &format!(
            "  {} went to another worker\n",
            several(steals.total() as usize, "task")
        );
    }
    text
}

/// Writes a trace of one run to a file.
pub(crate) fn to_file(trace: &Trace, file: &Path) -> Result<(), Error> {
    output::write_whole(file, &trace.to_json())
}
