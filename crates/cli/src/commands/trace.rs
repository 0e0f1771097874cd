//! `locksley trace`: a timeline of a run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use locksley::{Pool, Strategy};
use locksley_measure::Progress;
use locksley_measure::runtimes::{OnWorker, Runtime, Worker};
use locksley_report::{LoadCurve, LoadPoint, Results};
use locksley_trace::Trace;
use locksley_workload::catalog::{Spec, Visitor};
use locksley_workload::{FibTask, Program, Task};

use crate::contest;
use crate::failure::Failure;
use crate::names;
use crate::output::{Output, Session};
use crate::ranges;
use crate::tables;
use crate::timeline;
use crate::units::{self, count, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley trace queens                        then open locksley-out/trace.perfetto.json at ui.perfetto.dev
  locksley trace sort --strategy sharing       work that is given away shows as arrows of another kind
  locksley trace uts --workers 4 --capacity 100000";

/// Traces a run: what each worker did when, who took what from whom, and how much was waiting. Writes
/// trace.perfetto.json for ui.perfetto.dev or chrome://tracing, and trace.json, .csv, .txt and .html.
#[derive(Args)]
pub(crate) struct TraceRun {
    /// The workload, with parameters or without: fib, queens:n=11.
    workload: String,
    /// The pool's strategy.
    #[arg(long, default_value = "stealing")]
    strategy: String,
    /// How many workers [default: one per processor].
    #[arg(long, value_name = "N", value_parser = ranges::one_worker)]
    workers: Option<usize>,
    /// How many entries each worker keeps, of 16 bytes; the newest ones are kept.
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(16..=1 << 24))]
    capacity: u32,
    /// How often the loads are looked at; this takes a little of a processor.
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = units::duration)]
    sample: Duration,
    /// A larger workload: a second or a few on one thread.
    #[arg(long)]
    full: bool,
}

/// What came of a traced run.
pub(crate) struct Traced {
    pub(crate) trace: Trace,
    pub(crate) elapsed: Duration,
    pub(crate) loads: Vec<LoadPoint>,
}

/// How a run is traced.
pub(crate) struct Tracer<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) strategy: Strategy,
    pub(crate) workers: usize,
    pub(crate) capacity: usize,
    /// How often the loads are looked at, if at all.
    pub(crate) sample: Option<Duration>,
}

impl Visitor for Tracer<'_> {
    type Output = Result<Traced, Failure>;

    fn visit<P: Program>(self, mut program: P) -> Result<Traced, Failure> {
        let pool = contest::pool(self.strategy, self.workers, self.spec.stack());
        let mut runtime = Worker(pool.trace(self.capacity).build()?);
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
            Failure::wrong(what, &wrong)
        })?;
        Ok(Traced {
            trace,
            elapsed,
            loads,
        })
    }
}

/// Looks at the loads again and again until the run is done.
fn look(pool: &Pool, every: Duration, done: &AtomicBool) -> Vec<LoadPoint> {
    /// More points than a curve shows.
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
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
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
            contest::visit(&spec, tracer)??
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

/// Puts all of it into results.
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
    results.timelines.push(lines);
    results.steals.push(steals);
    if loads.points.len() > 1 {
        results.loads.push(loads);
    }
}

/// Who took how much from whom, and how busy everybody was.
fn text(results: &Results) -> String {
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
pub(crate) fn to_file(trace: &Trace, file: &Path) -> Result<(), Failure> {
    std::fs::write(file, trace.to_json()).map_err(|error| Failure::file("write", file, &error))
}
