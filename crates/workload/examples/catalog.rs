//! Lists every program of the catalogue, with its time on one thread.
//!
//! ```text
//! cargo run --release -p locksley-workload --example catalog            the quick sizes
//! cargo run --release -p locksley-workload --example catalog full       the full ones
//! cargo run --release -p locksley-workload --example catalog uts:T1     these programs
//! ```

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use locksley_workload::catalog::{self, Scale, Spec, Visitor};
use locksley_workload::{Mismatch, Program, Serial, Task};

/// Runs a program three times, and takes the shortest time.
struct Timed;

impl Visitor for Timed {
    type Output = Result<Duration, Mismatch>;

    fn visit<P: Program>(self, mut program: P) -> Self::Output {
        let mut shortest = Duration::MAX;
        for _ in 0..3 {
            let task = program.task();
            let start = Instant::now();
            // Keeps the compiler from moving the computation out of the timed part.
            let output = black_box(black_box(task).run(Serial));
            shortest = shortest.min(start.elapsed());
            program.check(output)?;
        }
        Ok(shortest)
    }
}

fn specs() -> Result<Vec<Spec>, catalog::SpecError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let defaults = |scale| {
        let entries = catalog::all().iter();
        Ok(entries
            .map(|entry| Spec::default_of(entry, scale))
            .collect())
    };
    match arguments.as_slice() {
        [] => defaults(Scale::Quick),
        [scale] if scale == "quick" => defaults(Scale::Quick),
        [scale] if scale == "full" => defaults(Scale::Full),
        texts => texts
            .iter()
            .map(|text| Spec::parse(text, Scale::Quick))
            .collect(),
    }
}

fn run(spec: Spec) -> Result<(), String> {
    let name = spec.to_string();
    let start = Instant::now();
    // Deep trees need more stack than a main thread has.
    let thread = std::thread::Builder::new().stack_size(spec.stack());
    let thread = thread
        .spawn(move || spec.visit(Timed))
        .map_err(|error| format!("no thread could be started: {error}"))?;
    let time = thread.join().map_err(|_| format!("{name} panicked"))?;
    let time = time.map_err(|error| error.to_string())?;
    let time = time.map_err(|error| format!("{name} gave a wrong result: {error}"))?;
    let (run, all) = (time.as_secs_f64() * 1e3, start.elapsed().as_secs_f64());
    println!("{run:9.1} ms  {name}  ({all:.1} s with preparation and checks)");
    Ok(())
}

fn main() -> ExitCode {
    let specs = match specs() {
        Ok(specs) => specs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for spec in specs {
        if let Err(error) = run(spec) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
