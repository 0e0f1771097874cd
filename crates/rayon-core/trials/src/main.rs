//! Programs that rayon may not finish, sums of floating-point numbers, and ticks.
//!
//!     trials PROGRAM RUNS THREADS
//!
//! Runs a program `RUNS` times in a pool of `THREADS` threads, and prints a line after each run:
//! `done`, or the result. A missing line tells scripts/rayon-trials that a run stands still.

mod hangs;
mod sums;
mod ticks;

use std::io::Write;

/// A program that is run many times. What it returns is printed.
type Program = fn(&rayon::ThreadPool) -> String;

/// The programs by name, with the stack size of the threads.
const PROGRAMS: &[(&str, Program, usize)] = &[
    ("mutex", hangs::mutex, 2 << 20),
    ("spawns", hangs::spawns, 64 << 10),
    ("bridge", hangs::bridge, 2 << 20),
    ("rwlock", hangs::rwlock, 2 << 20),
    ("once", hangs::once, 2 << 20),
    ("readers", hangs::readers, 2 << 20),
    ("driver", hangs::driver, 2 << 20),
    ("sum", sums::sum, 2 << 20),
    ("statistics", sums::statistics, 2 << 20),
    ("tick", ticks::tick, 2 << 20),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match &arguments[..] {
        [name, runs, threads] => {
            let program = PROGRAMS.iter().find(|(known, _, _)| known == name);
            program
                .zip(runs.parse::<u64>().ok())
                .zip(threads.parse::<usize>().ok())
        }
        _ => None,
    };
    let Some(((&(_, program, stack), runs), threads)) = parsed else {
        let names: Vec<&str> = PROGRAMS.iter().map(|&(name, _, _)| name).collect();
        eprintln!("usage: trials {} RUNS THREADS", names.join("|"));
        std::process::exit(2);
    };
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder
        .stack_size(stack)
        .build()
        .expect("a pool can be built");
    let mut out = std::io::stdout();
    for _ in 0..runs {
        let result = program(&pool);
        writeln!(out, "{result}")
            .and_then(|()| out.flush())
            .expect("the reader is there");
    }
}
