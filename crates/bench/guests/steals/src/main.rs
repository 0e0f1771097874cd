//! Programs that use rayon, with tasks that are worth stealing. Built twice, with rayon's own
//! rayon-core and with Locksley's, they are the two contenders of the benchmark `steals`.
//!
//! ```sh
//! steals-guest calibrate             # prints how many steps of a spin take a microsecond
//! steals-guest CASE THREADS STEPS    # a case, the size of the pool, and steps per microsecond
//! ```
//!
//! The process reads a number of calls from a line of standard input, makes them, checks the
//! results, and writes a line: seconds, calls, and nanoseconds of processor time per call.

#![forbid(unsafe_code)]

mod grid;
mod programs;
mod spin;

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

use spin::{Rate, spin};

/// Exit codes, the same as those of the benchmark.
const WRONG: u8 = 2;
const USAGE: u8 = 64;

/// Pause before a turn, in which workers that were just started or stopped come to rest.
const SETTLE: Duration = Duration::from_millis(1);

/// A program that is called repeatedly.
pub(crate) trait Case: Send {
    /// Prepares a call, untimed.
    fn prepare(&mut self) {}
    /// Makes the call, timed.
    fn call(&mut self);
    /// Checks the results since the last check, untimed.
    fn check(&mut self) -> Result<(), String>;
}

/// The thread that makes the calls, and what it does in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A worker without pauses; all calls are timed together.
    BackToBack,
    /// A worker that works for some microseconds before each call; only the calls are timed.
    AfterWork(u32),
    /// A worker that prepares each call; only the calls are timed.
    Prepared,
    /// A thread outside of the pool, without pauses.
    Outside,
    /// A thread outside of the pool, which sleeps for some milliseconds before each call.
    AfterSleep(u64),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, threads, steps) = match arguments[..] {
        ["calibrate"] => {
            println!("{}", spin::calibrate().0);
            return ExitCode::SUCCESS;
        }
        [name, threads, steps] => (name, threads.parse(), steps.parse()),
        _ => return USAGE.into(),
    };
    let (Ok(threads), Ok(rate)) = (threads, steps.map(Rate)) else {
        return USAGE.into();
    };
    let Some((caller, case)) = grid::find(name, rate).or_else(|| programs::find(name, rate)) else {
        return USAGE.into();
    };
    end_with_the_parent();
    Server::new(caller, case, rate, threads).serve()
}

struct Server {
    caller: Caller,
    case: Box<dyn Case>,
    rate: Rate,
    /// Pool whose workers make the calls; `None` if a thread outside makes them, which uses the
    /// global pool.
    pool: Option<ThreadPool>,
}

/// Wall time and processor time of a turn.
#[derive(Clone, Copy, Default)]
struct Used {
    elapsed: Duration,
    processor: Duration,
}

impl Server {
    fn new(caller: Caller, case: Box<dyn Case>, rate: Rate, threads: usize) -> Server {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        let pool = match caller {
            Caller::Outside | Caller::AfterSleep(_) => {
                pool.build_global().expect("nothing has used the pool yet");
                None
            }
            _ => Some(pool.build().expect("the machine has room for a pool")),
        };
        Server {
            caller,
            case,
            rate,
            pool,
        }
    }

    fn serve(mut self) -> ExitCode {
        for line in io::stdin().lines() {
            let Some(calls) = line.ok().and_then(|line| line.parse().ok()) else {
                return USAGE.into();
            };
            match self.turn(calls) {
                Ok(used) => {
                    let each = used.processor.as_secs_f64() * 1e9 / calls as f64;
                    println!("{} {calls} {each}", used.elapsed.as_secs_f64());
                }
                Err(wrong) => {
                    eprintln!("error: a wrong result: {wrong}");
                    return WRONG.into();
                }
            }
        }
        ExitCode::SUCCESS
    }

    fn turn(&mut self, calls: u64) -> Result<Used, String> {
        thread::sleep(SETTLE);
        let Server {
            caller, case, rate, ..
        } = self;
        let (caller, case, rate) = (*caller, &mut **case, *rate);
        let mut turn = || {
            // Warms up: at the first calls of a turn, the pool is asleep.
            if calls > 1 {
                run(caller, case, rate, calls.div_ceil(16))?;
            }
            run(caller, case, rate, calls)
        };
        match &self.pool {
            Some(pool) => pool.install(turn),
            None => turn(),
        }
    }
}

fn run(caller: Caller, case: &mut dyn Case, rate: Rate, calls: u64) -> Result<Used, String> {
    let (start, before) = (Instant::now(), processor_time());
    let mut times = Vec::new();
    for _ in 0..calls {
        match caller {
            Caller::BackToBack | Caller::Outside => {
                case.call();
                continue;
            }
            Caller::AfterWork(microseconds) => {
                std::hint::black_box(spin(rate.steps(microseconds.into()), 1));
            }
            Caller::Prepared => case.prepare(),
            Caller::AfterSleep(milliseconds) => thread::sleep(Duration::from_millis(milliseconds)),
        }
        let start = Instant::now();
        case.call();
        times.push(start.elapsed());
        if caller == Caller::Prepared {
            case.check()?;
        }
    }
    let elapsed = start.elapsed();
    let processor = processor_time() - before;
    if caller != Caller::Prepared {
        case.check()?;
    }
    let elapsed = if times.is_empty() {
        elapsed
    } else {
        undisturbed(times)
    };
    Ok(Used { elapsed, processor })
}

/// Returns the time of all calls, extrapolated from all but the longest sixteenth: a short call
/// that the system interrupts for milliseconds would hide all others.
fn undisturbed(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let kept = &times[..times.len() - times.len() / 16];
    kept.iter()
        .sum::<Duration>()
        .mul_f64(times.len() as f64 / kept.len() as f64)
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
