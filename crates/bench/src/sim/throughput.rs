//! Number of nodes that the simulator executes per second on one core, and the memory it needs.

use locksley_sim::dag::{Fib, Strands};
use locksley_sim::{Setup, Strategy, simulate};

use crate::harness::progress::Progress;
use crate::harness::report::{Figures, Outcome};
use crate::harness::{Bar, Plan, ThreadClock, WrongResult, verify};

pub(super) const NAME: &str = "throughput";

/// Limits of the time of a node in nanoseconds: 50 million nodes per second with 64 processors, 10
/// million with a million processors.
const FEW: f64 = 20.0;
const MANY: f64 = 100.0;

/// Limit of the memory of a run with a million processors and 10^9 nodes, in GiB.
const MEMORY: f64 = 4.0;

/// Every scheduler, on 64 processors.
const STRATEGIES: [&str; 14] = [
    "lock-free",
    "semi-private",
    "flexible:steal-back",
    "lifelines",
    "steal-half",
    "sharing:tit-for-tat",
    "dealing:simple",
    "sending:shortest",
    "auto",
    "asymmetric",
    "split",
    "synchronous",
    "synchronous-sharing:tit-for-tat",
    "greedy",
];

pub(super) fn measure(plan: &Plan, outcome: &mut Outcome) -> Result<(), WrongResult> {
    let progress = Progress::start(NAME, STRATEGIES.len() as u64 + 4);
    let mut rates = Figures::new("Nodes simulated per second and core, in millions (fib, P = 64)");
    let n = if plan.quick { 16 } else { 29 };
    for strategy in STRATEGIES {
        let nanoseconds = nanoseconds(n, 64, strategy)?;
        rates.add(strategy, 1e3 / nanoseconds);
        progress.step();
    }
    outcome.figures.push(rates);
    // The best of three: other load on the machine can only make a run slower.
    let mut few = f64::INFINITY;
    for _ in 0..3 {
        few = few.min(nanoseconds(
            if plan.quick { 20 } else { 38 },
            64,
            "lock-free",
        )?);
        progress.step();
    }
    let (many, memory) = if plan.quick {
        nanoseconds(24, 10_000, "lock-free")?;
        (None, None)
    } else {
        let before = peak();
        // 1.3 * 10^9 nodes.
        let many = nanoseconds(42, 1_000_000, "lock-free")?;
        let after = peak();
        (Some(many), after.filter(|after| Some(*after) > before))
    };
    progress.step();
    let bar = |name: &'static str, limit, measured| Bar {
        name: name.into(),
        limit,
        measured,
    };
    outcome.bars.extend([
        bar("sim ns per node, lock-free, P=64", FEW, Some(few)),
        bar("sim ns per node, lock-free, P=10^6, 10^9 nodes", MANY, many),
        bar("sim GiB, lock-free, P=10^6, 10^9 nodes", MEMORY, memory),
    ]);
    Ok(())
}

/// Returns the core's time per node.
fn nanoseconds(n: u32, processors: usize, strategy: &'static str) -> Result<f64, WrongResult> {
    let wrong =
        |error: String| WrongResult::new(strategy, "a simulation", "a report".into(), error);
    let parsed: Strategy = strategy
        .parse()
        .map_err(|error| wrong(format!("{error}")))?;
    let mut fib = Strands::new(Fib::new(n));
    let clock = ThreadClock::start();
    let report = simulate(&mut fib, &Setup::new(processors, parsed));
    let elapsed = clock.elapsed();
    let report = report.map_err(|error| wrong(error.to_string()))?;
    verify(
        strategy,
        "nodes executed",
        report.size.work,
        report.tally.executed,
    )?;
    Ok(elapsed.as_secs_f64() * 1e9 / report.tally.executed as f64)
}

/// Returns the peak memory of this process in GiB, as reported by Linux.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / f64::from(1 << 20))
}
