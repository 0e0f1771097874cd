//! The counterpart of `guests/onetbb/main.cpp` on Locksley, for `scripts/onetbb`.
//!
//! ```sh
//! cargo run --release -p locksley-bench --example onetbb -- PROGRAM N THREADS
//! ```
//!
//! Runs a program once to warm up and once timed, and prints its result and its seconds.

use std::process::ExitCode;
use std::time::Instant;

use locksley::Pool;
use locksley_measure::runtimes::OnWorker;
use locksley_workload::{Fib, Program, Queens, Skynet, Task};

fn timed<P: Program>(pool: &Pool, mut program: P) -> (u64, f64)
where
    for<'p> P::Task<'p>: Task<Output = u64> + Send,
{
    let mut run = || {
        let task = program.task();
        let start = Instant::now();
        let result = pool.run(|worker| task.run(OnWorker(worker)));
        (result, start.elapsed().as_secs_f64())
    };
    run();
    run()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, n, threads] = &arguments[..] else {
        eprintln!("usage: onetbb fib|queens|skynet N THREADS");
        return ExitCode::from(64);
    };
    let (Ok(n), Ok(threads)) = (n.parse::<u32>(), threads.parse()) else {
        eprintln!("error: N and THREADS are numbers");
        return ExitCode::from(64);
    };
    let pool = Pool::builder().workers(threads).build().expect("a pool");
    let (result, seconds) = match program.as_str() {
        "fib" => timed(&pool, Fib::new(n.into())),
        "queens" => timed(&pool, Queens::new(n)),
        "skynet" => timed(&pool, Skynet::new(n)),
        other => {
            eprintln!("error: no program {other}");
            return ExitCode::from(64);
        }
    };
    println!("{result} {seconds:.9}");
    ExitCode::SUCCESS
}
