//! Compares the simulator with the pool: steals and times of the same programs under the same
//! strategies.
//!
//! The simulator gets two parameters of this machine: the time of a node, which is the pool's time
//! with one worker divided by the number of nodes, and the [costs](COSTS) of all other operations.
//! Its predictions of steals and times are compared with the pool's counters and the clock.

use std::cmp::Ordering;
use std::thread;
use std::time::Duration;

use locksley::Pool;
use locksley_sim::dag::{self, Computation, Merge, Strands};
use locksley_sim::{Costs, Report, Setup, simulate};
use locksley_workload::{Fib, Fork, Program, Sort, Task, Uts, UtsTree};

use crate::harness::progress::Progress;
use crate::harness::report::Outcome;
use crate::harness::table::Table;
use crate::harness::{Plan, WallClock, WrongResult};

pub(super) const NAME: &str = "agreement";

/// Strategies of the pool, with the corresponding ones of the simulator. If waiters leapfrog, as
/// they do by default, the pool's steal-half takes jobs of joins one by one. Under work dealing, a
/// job of a join is given to a worker only when that worker asks for it, as a semi-private deque
/// does.
const STRATEGIES: [(&str, &str); 7] = [
    ("chase-lev", "lock-free"),
    ("semi-private", "semi-private"),
    ("flexible:steal-back", "flexible:steal-back"),
    ("steal-half:empty", "steal-half:empty,amount=one"),
    ("sharing:tit-for-tat", "sharing:tit-for-tat"),
    ("dealing:simple", "semi-private"),
    AS_PRINTED,
];

/// Work dealing as in its paper, in which every item is dealt to the next worker in turn. It is
/// shown to explain why the pool differs, and is not ranked.
const AS_PRINTED: (&str, &str) = ("dealing:simple", "dealing:simple");

/// The differences, and their reasons.
const REASONS: [(&str, &str); 8] = [
    (
        "P above the cores",
        "the pool lets as many work as there are cores; compare with the last column",
    ),
    (
        "fences",
        "10 ns each in the simulator; in the pool's fib mostly hidden behind other instructions",
    ),
    (
        "forks",
        "dearer with sharing, which is not inlined; a node costs the same under all",
    ),
    (
        "waiting",
        "a worker waits where it forked, and takes only what descends from it; none waits in the \
         simulator",
    ),
    (
        "idle workers",
        "spin, yield, sleep, and try all others in turn; in the simulator they draw a victim every \
         200 ns",
    ),
    (
        "semi-private",
        "a worker looks for requests at every fork, in the simulator at every node",
    ),
    (
        "sharing",
        "a join's job is offered only if it is the oldest; in the simulator every second node of a \
         fork",
    ),
    (
        "dealing",
        "forks are dealt on demand, the oldest; as printed every one is dealt, and executed where \
         it was dealt to",
    ),
];

const WORKERS: [usize; 3] = [2, 4, 8];

/// Number of ticks in a nanosecond.
const FINE: f64 = 10.0;

/// Costs in ticks. An attempt to steal takes about 200 ns (cache misses and a pause), a fence or a
/// compare-and-swap about 10 ns, giving away a job about 50 ns.
const COSTS: Costs = Costs {
    node: 1,
    steal: 2000,
    cas: 100,
    fence: 100,
    donation: 500,
    probe: 20,
    fork: 0,
    expose: 0,
    barrier: 0,
    interrupt: 0,
    miss: 0,
};

/// Stack size of a worker in bytes, sufficient for UTS T3.
const STACK: usize = 64 << 20;

/// Forks in the pool that runs the current job.
#[derive(Clone, Copy)]
struct OnPool;

impl Fork for OnPool {
    type Reborrowed<'a> = OnPool;

    fn reborrow(&mut self) -> OnPool {
        OnPool
    }

    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        locksley::join(move || a.run(OnPool), move || b.run(OnPool))
    }
}

/// Measurements of a program under a strategy.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Number of steals, including accepted offers and collected dealings.
    steals: f64,
    milliseconds: f64,
}

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let header = [
        "program",
        "P",
        "strategy",
        "simulated as",
        "steals/Tinf",
        "simulated",
        "ms",
        "simulated ",
        "on these cores",
    ];
    let mut table = Table::new("The pool, and what the simulator says of it", &header);
    let header = ["program", "P", "by steals", "by time"];
    let title = "Pairs of strategies: same order in both, opposite, too close to tell in one (10%)";
    let mut ranks = Table::new(title, &header);
    let progress = Progress::start(NAME, 9);
    let (n, k) = if plan.quick { (16, 12) } else { (31, 20) };
    let tree = if plan.quick {
        UtsTree::binomial(50.0, 0.2, 4, 42)
    } else {
        UtsTree::published("T3").unwrap_or(UtsTree::binomial(2000.0, 0.124_875, 8, 42))
    };
    let fib = Strands::new(dag::Fib::new(n));
    let uts = Strands::new(dag::Uts::new(tree));
    let sort = Strands::new(dag::Sort::with_base(k, 6, Merge::Serial));
    let tables = (&mut table, &mut ranks);
    compare(
        "fib",
        &mut Fib::new(u64::from(n)),
        fib,
        plan,
        tables,
        &progress,
    )?;
    let tables = (&mut table, &mut ranks);
    compare("uts T3", &mut Uts::new(tree), uts, plan, tables, &progress)?;
    let tables = (&mut table, &mut ranks);
    compare(
        "sort",
        &mut Sort::new(1 << k, 7),
        sort,
        plan,
        tables,
        &progress,
    )?;
    outcome.tables.extend([table, ranks, reasons()]);
    Ok(())
}

/// Explains why the pool and the simulator differ.
fn reasons() -> Table {
    let mut table = Table::new("What differs, and why", &["where", "why"]);
    for (place, why) in REASONS {
        table.row(vec![place.into(), why.into()]);
    }
    table
}

/// Runs a program in the pool and in the simulator, under all strategies that both have.
fn compare<P: Program, C: Computation>(
    name: &'static str,
    program: &mut P,
    mut computation: C,
    plan: &Plan,
    (table, ranks): (&mut Table, &mut Table),
    progress: &Progress,
) -> Result<(), WrongResult> {
    let span = computation.size().span as f64;
    // The strategy in which an owner has no other costs.
    let alone = in_pool(name, program, "semi-private", 1, plan)?;
    let nanoseconds = alone.map_or(1.0, |alone| alone.milliseconds * 1e6);
    let node = nanoseconds / computation.size().work as f64 * FINE;
    let costs = Costs {
        node: (node.round() as u32).max(1),
        ..COSTS
    };
    // Simulations with the number of processors of this machine, which many rows need.
    let mut known = [None; STRATEGIES.len()];
    for workers in WORKERS {
        let mut both = Vec::new();
        let mut last = None;
        for ((ours, theirs), known) in STRATEGIES.into_iter().zip(&mut known) {
            // A strategy that is simulated in two ways is measured once. The pool may lack a
            // strategy.
            let pool = match last {
                Some((strategy, pool)) if strategy == ours => Some(pool),
                _ => in_pool(name, program, ours, workers, plan)?,
            };
            let Some(pool) = pool else { continue };
            last = Some((ours, pool));
            let sim = simulated(&mut computation, theirs, workers, costs)?;
            let here = match (workers.cmp(&cores()), *known) {
                (Ordering::Less | Ordering::Equal, _) => sim,
                (Ordering::Greater, Some(here)) => here,
                (Ordering::Greater, None) => simulated(&mut computation, theirs, cores(), costs)?,
            };
            if workers >= cores() {
                *known = Some(here);
            }
            if (ours, theirs) != AS_PRINTED {
                both.push((pool, sim));
            }
            let numbers = row(span, [pool, sim, here]);
            let head = [name.into(), workers.to_string(), ours.into(), theirs.into()];
            table.row(head.into_iter().chain(numbers).collect());
        }
        ranks.row(vec![
            name.into(),
            workers.to_string(),
            agreeing(&both, |seen| seen.steals),
            agreeing(&both, |seen| seen.milliseconds),
        ]);
        progress.step();
    }
    Ok(())
}

/// Returns the table's entries for the pool, for its simulation, and for the simulation on this
/// machine's processors.
fn row(span: f64, [pool, sim, here]: [Seen; 3]) -> [String; 5] {
    let milliseconds = |seen: Seen| format!("{:.2}", seen.milliseconds);
    [
        short(pool.steals / span),
        short(sim.steals / span),
        milliseconds(pool),
        milliseconds(sim),
        milliseconds(here),
    ]
}

/// Returns the number of pairs of strategies that have the same order in the pool and in the
/// simulator, that have opposite orders, and that have neither.
fn agreeing(both: &[(Seen, Seen)], of: impl Fn(&Seen) -> f64) -> String {
    let order = |a: &Seen, b: &Seen| {
        let (a, b) = (of(a), of(b));
        let close = (a - b).abs() <= 0.1 * a.max(b);
        if close {
            Ordering::Equal
        } else {
            a.total_cmp(&b)
        }
    };
    let (mut same, mut opposite, mut close) = (0, 0, 0);
    for (number, (pool, sim)) in both.iter().enumerate() {
        for (other_pool, other_sim) in &both[..number] {
            match (order(pool, other_pool), order(sim, other_sim)) {
                (a, b) if a == b => same += 1,
                (a, b) if a == b.reverse() => opposite += 1,
                _ => close += 1,
            }
        }
    }
    format!("{same}, {opposite}, {close}")
}

/// Returns the number of processors of this machine.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the medians of some runs, or `None` if the pool has no such strategy.
fn in_pool<P: Program>(
    name: &'static str,
    program: &mut P,
    strategy: &str,
    workers: usize,
    plan: &Plan,
) -> Result<Option<Seen>, WrongResult> {
    let Ok(strategy) = strategy.parse() else {
        return Ok(None);
    };
    let builder = Pool::builder()
        .workers(workers)
        .strategy(strategy)
        .stack_size(STACK);
    let Ok(pool) = builder.build() else {
        return Ok(None);
    };
    let (mut steals, mut times) = (Vec::new(), Vec::new());
    for _ in 0..if plan.quick { 1 } else { 5 } {
        let before = pool.stats();
        let task = program.task();
        let clock = WallClock::now();
        let output = pool.install(|| task.run(OnPool));
        times.push(milliseconds(clock.elapsed()));
        let total = (pool.stats() - before).total();
        steals.push((total.steals + total.accepted + total.collected) as f64);
        let wrong = |error| {
            WrongResult::new(
                name,
                "its result",
                "the oracle's".into(),
                format!("{error:?}"),
            )
        };
        program.check(output).map_err(wrong)?;
    }
    Ok(Some(Seen {
        steals: median(steals),
        milliseconds: median(times),
    }))
}

fn simulated<C: Computation>(
    computation: &mut C,
    strategy: &'static str,
    processors: usize,
    costs: Costs,
) -> Result<Seen, WrongResult> {
    let wrong =
        |error: String| WrongResult::new(strategy, "a simulation", "a report".into(), error);
    let parsed = strategy
        .parse()
        .map_err(|error| wrong(format!("{error}")))?;
    let setup = Setup {
        costs,
        ..Setup::new(processors, parsed)
    };
    let report: Report = simulate(computation, &setup).map_err(|error| wrong(error.to_string()))?;
    Ok(Seen {
        steals: (report.tally.stolen + report.tally.donated) as f64,
        milliseconds: report.makespan as f64 / FINE / 1e6,
    })
}

/// Formats a ratio with two decimals, or in scientific notation if it is below 0.01.
fn short(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        ratio if ratio < 0.01 => format!("{ratio:.1e}"),
        ratio => format!("{ratio:.2}"),
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
