//! Compares strategies for several programs on 64 simulated processors with measured costs. Prints
//! the share of the processors' time that is work.
//!
//! `cargo run --release -p locksley-sim --example strategies`

use locksley_sim::dag::Dag;
use locksley_sim::{Costs, Report, Setup, Simulate, Strategy, Topology};

const PROCESSORS: usize = 64;

/// Costs in nanoseconds.
const COSTS: Costs = Costs {
    node: 20,
    fence: 10,
    donation: 50,
    probe: 5,
    ..Costs::MEASURED
};

/// A computation, and the machine on which it runs.
struct Program {
    name: &'static str,
    dag: &'static str,
    /// Latency of a message between sockets of 8 cores, in nanoseconds.
    far: u32,
    /// Extra time of an item that is executed away from its data, in nanoseconds.
    miss: u32,
}

const fn program(name: &'static str, dag: &'static str, far: u32, miss: u32) -> Program {
    Program {
        name,
        dag,
        far,
        miss,
    }
}

/// The extra time of an item whose 64 KiB of data another core has written was measured as 1.6 to 2
/// us, on cores that share a third-level cache. The latency between sockets is an assumption.
const PROGRAMS: [Program; 6] = [
    program("forks everywhere", "fib:n=22", 0, 0),
    program(
        "a generator for all",
        "generator:tasks=5000,grain=250,gap=1",
        0,
        0,
    ),
    program(
        "a generator for a third",
        "generator:tasks=2000,grain=250,gap=10",
        0,
        0,
    ),
    program("phases", "phased:phases=8,items=1000", 0, 0),
    program(
        "phases with data",
        "phased:phases=32,items=1000,shortest=200,longest=300",
        0,
        2000,
    ),
    program("forks, far sockets", "fib:n=22", 2000, 0),
];

const STRATEGIES: [&str; 11] = [
    "split",
    "lock-free",
    "flexible:nearest",
    "semi-private",
    "steal-half",
    "sharing:tit-for-tat",
    "private-sharing:tit-for-tat",
    "sharing:greedy",
    "dealing",
    "dealing:locality,l=4",
    "dealing:locality,l=inf",
];

/// Returns the share of the processors' time that was work.
fn efficiency(report: &Report) -> f64 {
    let work = report.size.work as f64 * f64::from(COSTS.node);
    work / (PROCESSORS as f64 * report.makespan as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for program in PROGRAMS {
        let dag: Dag = program.dag.parse()?;
        println!("{} ({dag})", program.name);
        for strategy in STRATEGIES {
            let setup = Setup {
                costs: Costs {
                    miss: program.miss,
                    ..COSTS
                },
                topology: Topology::sockets(8, program.far),
                // As in the pool, for tasks that have a preferred processor.
                mailbox: if program.miss > 0 { 64 } else { 0 },
                ..Setup::new(PROCESSORS, strategy.parse::<Strategy>()?)
            };
            let report = dag.build(Simulate(&setup))??;
            println!("  {strategy:<27} {:.3}", efficiency(&report));
        }
    }
    Ok(())
}
