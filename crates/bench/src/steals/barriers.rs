//! Number of `membarrier` calls per successful steal, according to the pool's own statistics.

use locksley::WorkerStats;
use locksley_measure::runtimes::{Locksley, Runtime};
use locksley_workload::Program;

use super::bar;
use super::grid::shown;
use super::spin::{self, Rate, spin};
use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::table::Table;
use crate::harness::{Bar, Plan, WrongResult, verify};
use crate::joins::{self, Case, Visitor};

const LIMIT: f64 = 0.05;

const NAME: &str = "membarriers";

const WORKERS: usize = 2;

/// Names of the programs, as in the suite `joins`.
const PROGRAMS: [&str; 4] = ["fib", "queens", "uts T1", "uts T3"];

/// Scopes of the grid: number of tasks, and duration of each in microseconds.
const SCOPES: [(u32, f64); 6] = [
    (8, 5.0),
    (30, 2.0),
    (100, 1.0),
    (100, 5.0),
    (100, 20.0),
    (1000, 0.5),
];

/// Approximate duration of the measurement of one size of scopes, in microseconds.
const TIME: f64 = 100_000.0;
const QUICK_TIME: f64 = 1000.0;

/// Number of runs of a program.
const RUNS: u32 = 5;

/// Counts of a program's run.
struct Counted {
    name: String,
    stats: WorkerStats,
}

impl Counted {
    /// Returns the number of calls per steal, or `None` if there was no steal.
    fn per_steal(&self) -> Option<f64> {
        let steals = self.stats.steals;
        (steals > 0).then(|| self.stats.membarriers as f64 / steals as f64)
    }
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let mut programs = Programs {
        plan,
        counted: Ok(Vec::new()),
    };
    joins::visit(plan.quick, &mut programs);
    let mut counted = programs.counted?;
    let scopes = SCOPES.map(|scope| (scope_name(scope), scope));
    if scopes.iter().any(|(name, _)| plan.includes(name)) {
        let rate = spin::calibrate();
        for (name, scope) in scopes {
            if plan.includes(&name) {
                counted.push(open(name, scope, rate, plan.quick)?);
            }
        }
    }
    if !counted.is_empty() {
        outcome.tables.push(table(&counted));
    }
    outcome.bars.extend(bars(&counted));
    Ok(())
}

fn bars(counted: &[Counted]) -> impl Iterator<Item = Bar> {
    let names = PROGRAMS.map(name).into_iter().chain(SCOPES.map(scope_name));
    names.map(|name| {
        let found = counted.iter().find(|counted| counted.name == name);
        let per_steal = found.and_then(Counted::per_steal);
        bar(format!("{name} per steal"), LIMIT, per_steal)
    })
}

fn scope_name((tasks, length): (u32, f64)) -> String {
    name(&format!("scope {tasks}x{length}us"))
}

/// Returns the name of a measurement.
fn name(what: &str) -> String {
    format!("{NAME} {what}")
}

fn table(counted: &[Counted]) -> Table {
    let header = ["program", "steals", "membarriers", "per steal"];
    let title = "membarriers: calls by all workers, and successful steals, P=2";
    let mut table = Table::new(title, &header);
    for counted in counted {
        table.row(vec![
            counted.name.clone(),
            counted.stats.steals.to_string(),
            counted.stats.membarriers.to_string(),
            shown(counted.per_steal()),
        ]);
    }
    table
}

/// Runs `program` and returns the counts of all workers.
fn count<R>(pool: &mut Locksley, program: impl FnOnce(&mut Locksley) -> R) -> (WorkerStats, R) {
    // A worker publishes its counts when it takes a job.
    let tell = |pool: &Locksley| {
        pool.0.broadcast(|_| ());
        pool.0.stats().total()
    };
    let before = tell(pool);
    let result = program(pool);
    (tell(pool) - before, result)
}

/// Runs the programs.
struct Programs<'p> {
    plan: &'p Plan,
    counted: Result<Vec<Counted>, WrongResult>,
}

impl Visitor for Programs<'_> {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static) {
        let name = name(case.name);
        if !PROGRAMS.contains(&case.name) || !self.plan.includes(&name) {
            return;
        }
        if let Ok(counted) = &mut self.counted {
            let _progress = Progress::start(&name, 1);
            match run(&name, make()) {
                Ok(stats) => counted.push(Counted { name, stats }),
                Err(wrong) => self.counted = Err(wrong),
            }
        }
    }
}

fn run(name: &str, mut program: impl Program) -> Result<WorkerStats, WrongResult> {
    let mut pool = Locksley::start(WORKERS);
    let (stats, result) = count(&mut pool, |pool| {
        (0..RUNS).try_for_each(|_| {
            let output = pool.run(program.task());
            program.check(output)
        })
    });
    result.map_err(|wrong| WrongResult::new(Locksley::NAME, name, wrong.expected, wrong.got))?;
    Ok(stats)
}

/// Opens scopes of one size, one immediately after the other.
fn open(
    name: String,
    (tasks, length): (u32, f64),
    rate: Rate,
    quick: bool,
) -> Result<Counted, WrongResult> {
    let _progress = Progress::start(&name, 1);
    let (tasks, steps) = (u64::from(tasks), rate.steps(length));
    let time = if quick { QUICK_TIME } else { TIME };
    let calls = (time / (tasks as f64 * length)).ceil() as u64;
    let mut results = vec![0_u64; tasks as usize];
    let mut pool = Locksley::start(WORKERS);
    let (stats, ()) = count(&mut pool, |pool| {
        pool.0.install(|| {
            for _ in 0..calls {
                locksley::scope(|scope| {
                    for (seed, result) in (0..).zip(&mut results) {
                        scope.spawn(move |_| *result = result.wrapping_add(spin(steps, seed)));
                    }
                });
            }
        });
    });
    let sum = |results: &[u64]| {
        results
            .iter()
            .fold(0_u64, |sum, result| sum.wrapping_add(*result))
    };
    let once: Vec<u64> = (0..tasks).map(|seed| spin(steps, seed)).collect();
    verify(
        Locksley::NAME,
        &name,
        sum(&once).wrapping_mul(calls),
        sum(&results),
    )?;
    Ok(Counted { name, stats })
}
