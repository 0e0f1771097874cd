//! Which strategy suits which program, on 64 simulated processors with costs as measured: the share
//! of the processors' time that is work.
//!
//! `cargo run --release -p locksley-sim --example strategies`

use locksley_sim::dag::{Computation, Dag, Visitor};
use locksley_sim::{Costs, Setup, Strategy, Topology, simulate};

const PROCESSORS: usize = 64;

/// In nanoseconds: see docs/DEQUES.md.
const COSTS: Costs = Costs {
    node: 20,
    steal: 100,
    cas: 20,
    fence: 10,
    donation: 50,
    probe: 5,
    fork: 2,
    expose: 20,
    barrier: 10_000,
    interrupt: 1000,
    miss: 0,
};

/// Forks everywhere; one generator that can feed all, and one that cannot; phases; and forks on
/// sockets of 8, between which a message takes 2 us.
const PROGRAMS: [(&str, u32); 5] = [
    ("fib:n=22", 0),
    ("generator:tasks=5000,grain=250,gap=1", 0),
    ("generator:tasks=2000,grain=250,gap=10", 0),
    ("phased:phases=8,items=1000", 0),
    ("fib:n=22", 2000),
];

const STRATEGIES: [&str; 9] = [
    "split",
    "lock-free",
    "flexible:nearest",
    "semi-private",
    "steal-half",
    "sharing:tit-for-tat",
    "private-sharing:tit-for-tat",
    "sharing:greedy",
    "dealing",
];

struct Efficiency<'a>(&'a Setup);

impl Visitor for Efficiency<'_> {
    type Output = Option<f64>;

    fn visit<C: Computation>(self, mut computation: C) -> Option<f64> {
        let report = simulate(&mut computation, self.0).ok()?;
        let work = report.size.work as f64 * f64::from(COSTS.node);
        Some(work / (PROCESSORS as f64 * report.makespan as f64))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (program, far) in PROGRAMS {
        let dag: Dag = program.parse()?;
        println!("{dag}, {far} ns from socket to socket");
        for strategy in STRATEGIES {
            let setup = Setup {
                costs: COSTS,
                topology: Topology::sockets(8, far),
                ..Setup::new(PROCESSORS, strategy.parse::<Strategy>()?)
            };
            if let Some(efficiency) = dag.build(Efficiency(&setup))? {
                println!("  {strategy:<20} {efficiency:.3}");
            }
        }
    }
    Ok(())
}
