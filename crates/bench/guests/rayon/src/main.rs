//! Programs that use rayon. Built twice, with rayon's own rayon-core and with Locksley's, they are
//! the two contenders of the benchmark `rayon`.
//!
//! ```sh
//! rayon-guest CASE THREADS [--quick]
//! ```
//!
//! The process reads a number of operations from a line of standard input, does at least that many,
//! checks the results, and writes a line: seconds, operations, and nanoseconds of processor time
//! per operation.

#![forbid(unsafe_code)]

mod cases;
mod inputs;

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use cases::Case;

/// Exit codes, the same as those of the benchmark.
const WRONG: u8 = 2;
const USAGE: u8 = 64;

/// Pause before a sample, in which workers that were just started or stopped come to rest.
const SETTLE: Duration = Duration::from_millis(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, threads, quick) = match &arguments[..] {
        [name, threads] => (name, threads.parse(), false),
        [name, threads, quick] if quick == "--quick" => (name, threads.parse(), true),
        _ => return USAGE.into(),
    };
    let (Some(mut case), Ok(threads)) = (cases::find(name, quick), threads) else {
        return USAGE.into();
    };
    end_with_the_parent();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().expect("nothing has used the pool yet");
    serve(&mut *case)
}

fn serve(case: &mut dyn Case) -> ExitCode {
    for line in io::stdin().lines() {
        let Some(operations) = line.ok().and_then(|line| line.parse().ok()) else {
            return USAGE.into();
        };
        match turn(case, operations) {
            Ok((elapsed, operations, used)) => {
                let each = used.as_secs_f64() * 1e9 / operations as f64;
                println!("{} {operations} {each}", elapsed.as_secs_f64());
            }
            Err(wrong) => {
                eprintln!("error: a wrong result: {wrong}");
                return WRONG.into();
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs a case as often as necessary. Returns wall time, operations and processor time.
fn turn(case: &mut dyn Case, operations: u64) -> Result<(Duration, u64, Duration), String> {
    let runs = operations.div_ceil(case.operations()).max(1);
    let (mut elapsed, mut used) = (Duration::ZERO, Duration::ZERO);
    thread::sleep(SETTLE);
    for _ in 0..runs {
        case.prepare();
        let (start, before) = (Instant::now(), processor_time());
        case.run();
        elapsed += start.elapsed();
        used += processor_time() - before;
        case.check()?;
    }
    Ok((elapsed, runs * case.operations(), used))
}

/// Returns the processor time of all threads of this process, or 0 if the system does not tell.
fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

/// Ends this process when its parent ends: a stopped process would outlive a killed parent.
fn end_with_the_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // The measurement works without it, too.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}
