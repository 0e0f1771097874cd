//! Records fib and a merge sort in the pool, and simulates them on more processors than the machine
//! has.
//!
//! ```sh
//! cargo run --release -p locksley-sim --example recorded            # on 64 processors
//! cargo run --release -p locksley-sim --example recorded -- 1000    # on so many
//! cargo run --release -p locksley-sim --example recorded -- 64 DIR  # leaves the recordings there
//! ```
//!
//! Exits with 2 if the arguments are invalid, or if a recording cannot be written.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use locksley::{Pool, Recording};
use locksley_measure::runtimes::FreeJoin;
use locksley_sim::dag::{Computation, Graph};
use locksley_sim::{Setup, Strategy, simulate};
use locksley_workload::{Fib, Program, Sort, Task};

/// A step of the simulation: about the time of an attempt to steal in the pool on a small machine.
const UNIT: Duration = Duration::from_nanos(200);

const STRATEGIES: [&str; 7] = [
    "greedy",
    "lock-free",
    "flexible:steal-back",
    "semi-private",
    "steal-half",
    "sharing:tit-for-tat",
    "dealing",
];

fn record<P: Program>(mut program: P) -> Result<Recording, Box<dyn Error>> {
    // With as many workers as cores, the system need not preempt workers. The time of a preempted
    // worker would count as work.
    let pool = Pool::builder().record(true).build()?;
    let task = program.task();
    let output = pool.install(move || task.run(FreeJoin));
    program
        .check(output)
        .map_err(|wrong| format!("{wrong:?}"))?;
    Ok(pool.take_recording().ok_or("nothing was recorded")?)
}

fn show(name: &str, recording: &Recording, processors: usize) -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::parse(&recording.to_json(UNIT))?;
    let size = graph.size();
    println!(
        "\n{name}: {} forks, {:.2?} of work, parallelism {:.1}; a step is {UNIT:?}: T1 = {}, Tinf \
         = {}",
        recording.forks(),
        recording.work(),
        size.parallelism(),
        size.work,
        size.span
    );
    println!(
        "{:>24} {:>10} {:>9} {:>8}",
        "scheduler", "steps", "speed-up", "steals"
    );
    for strategy in STRATEGIES {
        let strategy: Strategy = strategy.parse()?;
        let report = simulate(&mut graph, &Setup::new(processors, strategy))?;
        println!(
            "{:>24} {:>10} {:>9.1} {:>8}",
            report.strategy,
            report.makespan,
            report.speedup(),
            report.tally.stolen
        );
    }
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let processors = match arguments.next() {
        None => 64,
        Some(text) => text
            .parse()
            .map_err(|_| format!("`{text}` is no number of processors: say for example 64"))?,
    };
    let directory = arguments.next();
    let programs = [
        ("fib", record(Fib::new(20))?),
        ("sort", record(Sort::new(1 << 18, 1))?),
    ];
    for (name, recording) in &programs {
        show(name, recording, processors)?;
        if let Some(directory) = &directory {
            fs::create_dir_all(directory)?;
            let path = Path::new(directory).join(format!("{name}.json"));
            recording.write(File::create(&path)?, UNIT)?;
            println!("{} is the computation file:{0}", path.display());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recorded: {error}");
            ExitCode::from(2)
        }
    }
}
