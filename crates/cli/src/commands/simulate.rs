//! `locksley simulate`: runs the simulator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use locksley::Pool;
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_measure::table::{Style, Table};
use locksley_report::{LoadCurve, LoadPoint, Results, TimeUnit};
use locksley_sim::dag::Dag;
use locksley_sim::{Report, Setup, Sweep};
use locksley_workload::catalog::nearest;
use serde_json::json;

use crate::commands::arrivals;
use crate::commands::theory::Theory;
use crate::error::Error;
use crate::interrupt;
use crate::measure::progress::Progress;
use crate::parse::machines::{self, Costly, Groups, Pace};
use crate::parse::names::{self, meant};
use crate::parse::ranges::{self, Numbers};
use crate::render::output::{self, Output};
use crate::render::units::{count, digits};

pub(crate) const EXAMPLES: &str = "  \
  locksley simulate fib:n=25                                  several schedulers on 64 processors
  locksley simulate sort:k=20,merge=parallel --processors 1,16,256 --strategies lock-free,steal-half
  locksley simulate uts:T3 --topology cluster:16,20,1000 --costs node=50,steal=100 --seeds 5
  locksley simulate fib:n=25 --speeds 1,1,1,0.25               every fourth processor is slow
  locksley simulate fib:n=18 --processors 8 --trace            a timeline for ui.perfetto.dev
  locksley simulate generator --sample 100                     loads over time
  locksley simulate arrivals:load=0.9,generators=1             items arrive at a rate, and wait
  locksley simulate file:locksley-out/queens.dag.json          a recorded run (`locksley record`)
  locksley simulate theory                                     the same as `locksley theory`";

/// Default schedulers.
const STRATEGIES: &str = "greedy,split,lock-free,flexible,semi-private,steal-half,sharing,dealing";

/// Simulates a computation under schedulers, on machines of any size. Writes simulate.json; with
/// --sample also the loads over time, with --trace a timeline.
#[derive(Args)]
pub(crate) struct Simulate {
    /// Computation: fib:n=25, uts:T3, sort:k=16,merge=parallel, file:graph.json (see `locksley
    /// list`); or arrivals:load=0.8 for items that arrive at a rate.
    computation: String,
    /// Schedulers, separated by commas; `all` stands for one of each kind [default:
    /// greedy,split,lock-free,flexible,semi-private,steal-half,sharing,dealing].
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    /// Numbers of processors: 64, 1:8, 16:64:16, or 1,16,256.
    #[arg(
        long,
        short,
        value_name = "RANGE",
        default_value = "64",
        value_parser = ranges::processors,
    )]
    processors: Numbers,
    /// Costs of operations, in ticks: node, steal, cas, fence, donation, probe, fork, expose,
    /// barrier, interrupt, miss.
    #[arg(
        long,
        value_name = "NAME=TICKS,..",
        default_value = "node=1,steal=1",
        value_parser = machines::costs
    )]
    costs: Costly,
    /// Distances between processors: flat, sockets:CORES,TICKS, cluster:CORES,NEAR,FAR, or
    /// nested:SIZE=TICKS,..,BEYOND.
    #[arg(long, value_name = "TOPOLOGY", default_value = "flat", value_parser = machines::topology)]
    topology: Groups,
    /// Speeds of the processors, 1 being nominal: 1,0.5 makes every second one half as fast.
    #[arg(long, value_name = "LIST", default_value = "1", value_parser = machines::speeds)]
    speeds: Pace,
    /// Number of runs of each setup, with different random numbers.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=10_000),
    )]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of tasks that a mailbox holds under sharing; 0 for no mailboxes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    mailbox: u32,
    /// Number of ticks between samples of the loads; 0 for no samples.
    #[arg(long, value_name = "TICKS", default_value_t = 0)]
    sample: u64,
    /// Write the timeline of the first run of each scheduler, for ui.perfetto.dev.
    #[arg(long)]
    trace: bool,
}

/// Reports, in the order in which the simulations ended.
type Reports = Arc<Mutex<Vec<Report>>>;

fn lock(reports: &Reports) -> MutexGuard<'_, Vec<Report>> {
    reports.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulate {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Error> {
        if self.computation == "theory" {
            return Theory::default().run(output);
        }
        if self.computation.split(':').next() == Some(arrivals::NAME) {
            let named = self.strategies.as_deref().unwrap_or(arrivals::STRATEGIES);
            let strategies = names::simulated(named)?;
            let processors = &self.processors.0;
            return arrivals::run(
                &self.computation,
                output,
                &strategies,
                processors,
                self.seed,
            );
        }
        let dag = computation(&self.computation)?;
        let setups = self.setups()?;
        let reports = Reports::default();
        let kept = (output.clone(), reports.clone(), dag.to_string());
        interrupt::keep(move || {
            let (output, reports, dag) = &kept;
            match write(output, dag, &lock(reports), true) {
                Ok(file) => format!("the simulations so far are kept in {file}"),
                Err(error) => format!("the simulations are lost: {error}"),
            }
        });
        self.sweep(&dag, &setups, &reports)?;
        interrupt::finish(|| self.finish(output, &dag, &setups, &reports))
    }

    fn setups(&self) -> Result<Vec<Setup>, Error> {
        let strategies = names::simulated(self.strategies.as_deref().unwrap_or(STRATEGIES))?;
        let mut setups = Vec::new();
        for &processors in &self.processors.0 {
            for &strategy in &strategies {
                for seed in self.seed..self.seed.saturating_add(self.seeds) {
                    let first = seed == self.seed;
                    let setup = Setup {
                        costs: self.costs.0,
                        topology: self.topology.topology(1.0),
                        speeds: self.speeds.0.clone(),
                        seed,
                        sample: if first { self.sample } else { 0 },
                        timeline: self.trace && first,
                        mailbox: self.mailbox,
                        ..Setup::new(processors, strategy)
                    };
                    setup.check().map_err(Error::usage)?;
                    setups.push(setup);
                }
            }
        }
        Ok(setups)
    }

    /// Runs the simulations on all processors of this machine.
    fn sweep(&self, dag: &Dag, setups: &[Setup], reports: &Reports) -> Result<(), Error> {
        let progress = Progress::doing(&format!("simulating {dag}"), setups.len() as u64);
        let one = |setup: &Setup| {
            let report = dag
                .build(locksley_sim::Simulate(setup))
                .map_err(|error| Error::System(error.to_string()))?;
            lock(reports).push(report.map_err(Error::usage)?);
            progress.step();
            Ok(())
        };
        let mut runtime = Locksley(Pool::builder().build()?);
        runtime.run(Sweep::new(setups, &one)).into_iter().collect()
    }

    fn finish(
        &self,
        output: &Output,
        dag: &Dag,
        setups: &[Setup],
        reports: &Reports,
    ) -> Result<(), Error> {
        let reports = in_order(setups, lock(reports).clone());
        let mut files = vec![write(output, &dag.to_string(), &reports, false)?];
        if self.sample > 0 {
            let loads = loads(dag, &reports);
            let written = locksley_report::write(&output.folder, "simulate-loads", &loads)?;
            files.extend(written.map(|file| file.display().to_string()));
        }
        for report in reports.iter().filter(|report| report.timeline.is_some()) {
            let name = format!(
                "simulate-{}-{}.trace.json",
                plain(&report.strategy),
                report.processors
            );
            let file = output.write(&name, &report.trace().to_json())?;
            files.push(file.display().to_string());
        }
        say(output, dag, &reports);
        files
            .iter()
            .for_each(|file| output.say(format!("  written: {}", output.style.bold(file))));
        output.document(&json!({
            "command": "simulate",
            "computation": dag.to_string(),
            "reports": reports.iter().map(slim).collect::<Vec<_>>(),
            "files": files,
        }))
    }
}

/// Sorts reports, which are in the order in which the simulations ended, by their setups.
fn in_order(setups: &[Setup], mut reports: Vec<Report>) -> Vec<Report> {
    reports.sort_by_key(|report| {
        setups.iter().position(|setup| {
            setup.strategy.to_string() == report.strategy
                && (setup.processors, setup.seed) == (report.processors, report.seed)
        })
    });
    reports
}

/// Parses a computation. An error suggests similar names.
fn computation(text: &str) -> Result<Dag, Error> {
    text.parse::<Dag>().map_err(|error| {
        let name = text.split(':').next().unwrap_or(text);
        let all: Vec<String> = Dag::all().iter().map(ToString::to_string).collect();
        let names = all.iter().filter_map(|dag| dag.split(':').next());
        let near = nearest(name, names.filter(|known| *known != name));
        Error::usage(format!("{error}{}", meant(&near)))
    })
}

/// Returns a report without its timeline, which has a file of its own.
fn slim(report: &Report) -> Report {
    Report {
        timeline: None,
        ..report.clone()
    }
}

fn write(
    output: &Output,
    dag: &str,
    reports: &[Report],
    interrupted: bool,
) -> Result<String, Error> {
    let document = json!({
        "format": "locksley-simulation/1",
        "computation": dag,
        "interrupted": interrupted,
        "reports": reports.iter().map(slim).collect::<Vec<_>>(),
    });
    let file = output.write("simulate.json", &format!("{document:#}\n"))?;
    Ok(file.display().to_string())
}

/// Replaces characters that cannot be part of a file's name.
fn plain(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).collect()
}

fn say(output: &Output, dag: &Dag, reports: &[Report]) {
    let Some(size) = reports.first().map(|report| report.size) else {
        return;
    };
    let title = format!(
        "{dag}: work {} ticks, span {} ticks, parallelism {}",
        count(size.work),
        count(size.span),
        digits(size.parallelism())
    );
    let header = [
        "scheduler",
        "processors",
        "time, ticks",
        "speed-up",
        "steals",
        "attempts",
        "given away",
        "as the pool's",
    ];
    let mut table = Table::new(title, &header);
    let mut rest = reports;
    while let Some(first) = rest.first() {
        let same = |report: &&Report| {
            (&report.strategy, report.processors) == (&first.strategy, first.processors)
        };
        let (group, others) = rest.split_at(rest.iter().take_while(same).count());
        rest = others;
        let mean = |of: fn(&Report) -> f64| group.iter().map(of).sum::<f64>() / group.len() as f64;
        table.row(vec![
            first.strategy.clone(),
            first.processors.to_string(),
            count(mean(|report| report.makespan as f64) as u64),
            digits(mean(Report::speedup)),
            count(mean(|report| report.tally.stolen as f64) as u64),
            count(mean(|report| report.tally.attempts() as f64) as u64),
            count(mean(|report| report.tally.donated as f64) as u64),
            format!("{:<20}", pool_name(&first.strategy)),
        ]);
    }
    output.say(table.render(Style::Plain));
    output.say(output.style.faint(LEGEND));
}

/// Explanation of the columns.
const LEGEND: &str = "  \
  tick         the unit of time; an instruction takes one, unless --costs says otherwise
  speed-up     work over time
  steals       tasks that a processor took from another; attempts includes those that failed
  given away   tasks that a processor gave to another (sharing, dealing)
  greedy       not a real scheduler: every processor sees all ready tasks; a bound for the others";

/// Returns the pool's strategy that corresponds to a scheduler of the simulator.
fn pool_name(scheduler: &str) -> &'static str {
    match scheduler.split(':').next().unwrap_or_default() {
        "split" => "stealing (default)",
        "lock-free" => "chase-lev",
        "flexible" => "flexible",
        "semi-private" => "semi-private",
        "steal-half" => "steal-half",
        "sharing" | "private-sharing" => "sharing",
        "dealing" => "dealing",
        _ => "",
    }
}

/// Returns the loads over time, for the page.
fn loads(dag: &Dag, reports: &[Report]) -> Results {
    let mut results = Results::new("Simulated loads", output::machine());
    for report in reports.iter().filter(|report| !report.loads.is_empty()) {
        let mut curve = LoadCurve::new(dag.to_string(), &report.strategy, report.processors);
        curve.unit = TimeUnit::Ticks;
        curve.percentiles = vec![50.0, 90.0, 99.0];
        let point = |load: &locksley_sim::Load| LoadPoint {
            time: load.time as f64,
            mean: load.mean,
            max: load.max as f64,
            percentiles: vec![
                load.median as f64,
                load.quantile_90 as f64,
                load.quantile_99 as f64,
            ],
        };
        curve.points = report.loads.iter().map(point).collect();
        results.loads.push(curve);
    }
    results
}
