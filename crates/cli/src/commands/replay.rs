//! `locksley replay`: predicts the time of a recorded run on other machines.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use locksley::Strategy;
use locksley::policy::{Amount, StealHalf};
use locksley_measure::table::{Style, Table};
use locksley_report::{self as report, ReplayPoint, Results};
use locksley_sim::dag::{Computation, Graph};
use locksley_sim::{Costs, Setup, simulate};
use locksley_workload::catalog::{Scale, Spec};

use crate::error::Error;
use crate::measure::comparison::{self, Candidate, Runtime};
use crate::measure::progress::Progress;
use crate::measure::recorder::{self, Loaded, Run};
use crate::parse::machines::{self, Groups};
use crate::parse::names;
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{Output, Session};
use crate::render::tables;
use crate::render::units::{self, digits, several, time};

pub(crate) const EXAMPLES: &str = "  \
  locksley replay sort                                     recorded now; 1 to 64 processors
  locksley replay locksley-out/queens.recording.json --processors 64,256,1024
  locksley replay mandelbrot --strategies stealing,steal-half,sharing
  locksley replay queens:n=10 --topology cluster:16,500,20000   hosts of 16 processors
  locksley replay my-graph.dag.json --steal 1us                 a graph of format locksley-dag/1";

/// Simulates a recorded run with other numbers of processors, strategies and latencies, and
/// compares the predictions with measured times where this machine has enough processors. Writes
/// replay.json, .csv, .txt and .html.
#[derive(Args)]
pub(crate) struct Replay {
    /// Recording (NAME.recording.json, NAME.dag.json), or a workload, which is recorded first.
    #[arg(value_name = "RECORDING|WORKLOAD")]
    what: String,
    /// Numbers of processors: 64, 1:8, or 1,2,64.
    #[arg(
        long,
        short,
        value_name = "RANGE",
        default_value = "1,2,4,8,16,32,64",
        value_parser = ranges::processors,
    )]
    processors: Numbers,
    /// Strategies of the pool, separated by commas.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "stealing,semi-private,steal-half,sharing,dealing"
    )]
    strategies: String,
    /// Duration of an attempt to steal.
    #[arg(long, value_name = "TIME", default_value = "200ns", value_parser = units::duration)]
    steal: Duration,
    /// Duration of a fence or a compare-and-swap.
    #[arg(long, value_name = "TIME", default_value = "10ns", value_parser = units::duration)]
    fence: Duration,
    /// Distances between processors, latencies in nanoseconds: flat, sockets:CORES,NS,
    /// cluster:CORES,NEAR,FAR, nested:SIZE=NS,..,BEYOND.
    #[arg(long, value_name = "TOPOLOGY", default_value = "flat", value_parser = machines::topology)]
    topology: Groups,
    /// Duration of a step of the graph [default: that of the file, or 200ns].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    unit: Option<Duration>,
    /// Only simulate, do not measure.
    #[arg(long)]
    no_measure: bool,
    /// Samples of each measurement.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    rounds: u32,
    /// A larger workload.
    #[arg(long)]
    full: bool,
}

/// Duration of a step of a graph that does not state it.
const UNIT: Duration = Duration::from_nanos(200);

/// A graph and its origin.
struct Source {
    graph: Graph,
    program: String,
    spec: Option<Spec>,
    workers: usize,
    unit: Duration,
    /// Mean duration of a strand, if it is known.
    strand: Option<f64>,
}

impl Source {
    /// Returns a warning if strands are so short that recording distorts them.
    fn caution(&self) -> Option<String> {
        const SHORT: f64 = 300e-9;
        let strand = self.strand.filter(|strand| *strand < SHORT)?;
        Some(format!(
            "between forks and joins this program runs for {} on average, and recording takes \
             longer than that: predictions are rough",
            time(strand)
        ))
    }
}

impl Replay {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        let strategies = names::strategies(&self.strategies)?;
        let mut source = self.source(output)?;
        let session = Session::start(output, "replay", "Replay", table);
        let name = source
            .spec
            .as_ref()
            .map_or(&*source.program, |spec| spec.entry().name);
        let mut replay = report::Replay::new(name, source.workers);
        replay.parameters = source
            .spec
            .as_ref()
            .map(tables::parameters)
            .unwrap_or_default();
        session.results().replays.push(replay);
        if let Some(note) = source.caution() {
            output.say(format!("note: {note}"));
            session.results().notes.push(note);
        }
        self.predict(&mut source, &strategies, &session)?;
        if let (false, Some(spec)) = (self.no_measure, &source.spec) {
            self.measure(spec, &strategies, &session)?;
        }
        let text = table(&session.results());
        output.say(text);
        session.finish().map(drop)
    }

    /// Reads the recording, or records the workload.
    fn source(&self, output: &Output) -> Result<Source, Error> {
        let path = Path::new(&self.what);
        let is_file = path
            .extension()
            .is_some_and(|extension| extension == "json")
            || path.is_file();
        let Loaded { run, graph } = if is_file {
            recorder::read(path)?
        } else {
            self.record()?
        };
        let graph = Graph::parse(&graph)
            .map_err(|error| Error::System(format!("{} is not a recording: {error}", self.what)))?;
        let spec = |run: &Run| Spec::parse(&run.program, Scale::Quick).ok();
        let size = graph.size();
        let unit = self.unit.or(graph.unit()).unwrap_or_else(|| {
            output.say("note: the file does not state the length of a step: 200 ns; see --unit");
            UNIT
        });
        if graph.unordered() > 0 {
            output.say(format!(
                "note: missing from the graph, because the recorded run did not wait for it: {}",
                several(graph.unordered() as usize, "task")
            ));
        }
        let source = Source {
            graph,
            program: run
                .as_ref()
                .map_or_else(|| self.what.clone(), |run| run.program.clone()),
            spec: run.as_ref().and_then(spec),
            workers: run.as_ref().map_or(0, |run| run.workers),
            unit,
            strand: run.as_ref().map(Run::strand_seconds),
        };
        let seconds = |steps: u64| time(steps as f64 * source.unit.as_secs_f64());
        output.say(format!(
            "{}: work {}, span {}, parallelism {}",
            source.program,
            seconds(size.work),
            seconds(size.span),
            digits(size.parallelism())
        ));
        Ok(source)
    }

    fn record(&self) -> Result<Loaded, Error> {
        let spec = names::workload(&self.what, self.full)?;
        let _progress = Progress::doing(&format!("recording {spec}"), 1);
        let (run, graph) = recorder::record(&spec, 1, None)?;
        let graph = recorder::lighter(&graph, run.overhead_ns / run.unit_ns as f64)?;
        Ok(Loaded {
            run: Some(run),
            graph,
        })
    }

    fn predict(
        &self,
        source: &mut Source,
        strategies: &[Strategy],
        session: &Session,
    ) -> Result<(), Error> {
        let steps = (self.processors.0.len() * strategies.len()) as u64;
        let progress = Progress::doing("simulating", steps);
        for strategy in strategies {
            for &processors in &self.processors.0 {
                let latencies = Latencies {
                    unit: source.unit,
                    steal: self.steal,
                    fence: self.fence,
                };
                let setup = Setup {
                    topology: self.topology.topology(source.unit.as_secs_f64() * 1e9),
                    ..latencies.setup(strategy, processors)
                };
                let report = simulate(&mut source.graph, &setup).map_err(Error::usage)?;
                let point = ReplayPoint {
                    strategy: strategy.to_string(),
                    workers: processors,
                    predicted: report.makespan as f64 * source.unit.as_secs_f64(),
                    measured: Vec::new(),
                };
                session.results().replays[0].points.push(point);
                progress.step();
            }
        }
        Ok(())
    }

    /// Measures the numbers of processors that this machine has.
    fn measure(
        &self,
        spec: &Spec,
        strategies: &[Strategy],
        session: &Session,
    ) -> Result<(), Error> {
        let most = locksley::available_cpus().count();
        let workers: Vec<usize> = self
            .processors
            .0
            .iter()
            .copied()
            .filter(|&p| p <= most)
            .collect();
        let runtimes: Vec<Runtime> = strategies.iter().copied().map(Runtime::Ours).collect();
        let candidates = comparison::candidates(&runtimes, &workers);
        let plan = comparison::plan(self.rounds as usize, None, 1);
        comparison::hold(spec, &candidates, &plan, &mut |index, seconds| {
            let Candidate { runtime, workers } = candidates[index];
            let Runtime::Ours(strategy) = runtime else {
                return;
            };
            let mut results = session.results();
            let mut points = results.replays[0].points.iter_mut();
            let name = strategy.to_string();
            if let Some(point) =
                points.find(|point| point.strategy == name && point.workers == workers)
            {
                point.measured.push(seconds);
            }
        })
    }
}

/// Durations on the simulated machine.
pub(crate) struct Latencies {
    /// A step of the graph.
    pub(crate) unit: Duration,
    /// An attempt to steal.
    pub(crate) steal: Duration,
    /// A fence or a compare-and-swap.
    pub(crate) fence: Duration,
}

impl Latencies {
    /// Returns a flat machine with these durations, in steps of the graph.
    pub(crate) fn setup(&self, strategy: &Strategy, processors: usize) -> Setup {
        let unit = self.unit.as_secs_f64();
        let ticks = |time: Duration| (time.as_secs_f64() / unit).round() as u32;
        // The default strategy's owners issue no fence.
        let fence = match strategy {
            Strategy::Stealing => 0,
            _ => ticks(self.fence),
        };
        Setup {
            costs: Costs {
                steal: ticks(self.steal).max(1),
                cas: ticks(self.fence),
                fence,
                ..Costs::default()
            },
            ..Setup::new(processors, counterpart(strategy))
        }
    }
}

/// Returns the scheduler of the simulator that treats forks and joins as a strategy of the pool
/// does. In the pool, thieves take forked jobs one at a time, also under steal-half, and under
/// dealing on request.
fn counterpart(strategy: &Strategy) -> locksley_sim::Strategy {
    match *strategy {
        Strategy::SemiPrivate | Strategy::Dealing(_) => locksley_sim::Strategy::SemiPrivate,
        Strategy::Flexible(policy) => locksley_sim::Strategy::Flexible(policy),
        Strategy::StealHalf(policy) => locksley_sim::Strategy::StealHalf(StealHalf {
            amount: Amount::One,
            ..policy
        }),
        Strategy::Sharing(policy) => locksley_sim::Strategy::Sharing(policy),
        _ => locksley_sim::Strategy::LockFree,
    }
}

/// Formats predictions and measurements as tables.
pub(crate) fn table(results: &Results) -> String {
    let mut text = String::new();
    for replay in &results.replays {
        let header = [
            "strategy",
            "processors",
            "predicted",
            "speed-up",
            "measured",
            "off by",
        ];
        let mut table = Table::new(replay.heading(), &header);
        let alone = |strategy: &str| {
            let mut points = replay.points.iter();
            points
                .find(|point| point.strategy == strategy && point.workers == 1)
                .map(|point| point.predicted)
        };
        for point in &replay.points {
            let speedup = alone(&point.strategy).map(|alone| digits(alone / point.predicted));
            let measured = report::Summary::of(&point.measured).map(|summary| time(summary.median));
            let error = point.error().map(|error| format!("{:+.0}%", 100.0 * error));
            table.row(vec![
                point.strategy.clone(),
                point.workers.to_string(),
                time(point.predicted),
                speedup.unwrap_or_default(),
                measured.unwrap_or_default(),
                error.unwrap_or_default(),
            ]);
        }
        text += &table.render(Style::Plain);
    }
    text
}
