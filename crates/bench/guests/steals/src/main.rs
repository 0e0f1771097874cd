//! What a user of rayon writes whose tasks are worth stealing. Built twice, with rayon's own
//! rayon-core and with Locksley's, it is the two contenders of the benchmark `steals`.
//!
//! ```sh
//! steals-guest calibrate             # prints how many steps of a spin take a microsecond
//! steals-guest CASE THREADS STEPS    # a case, the size of the pool, and steps per microsecond
//! ```
//!
//! It reads a number of calls from a line of its standard input, makes them, checks what came out,
//! and writes a line: seconds, calls, and nanoseconds of processor time for each call.

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

/// What the process tells its caller, as the benchmark itself would.
const WRONG: u8 = 2;
const USAGE: u8 = 64;

/// Before a turn, workers that were started or stopped a moment ago come to rest.
const SETTLE: Duration = Duration::from_millis(1);

/// Something to call again and again.
pub(crate) trait Case: Send {
    /// Gets ready for a call, untimed.
    fn prepare(&mut self) {}
    /// The call, which is timed.
    fn call(&mut self);
    /// Checks the result of the last call, or of all since the last check, untimed.
    fn check(&mut self) -> Result<(), String>;
}

/// Where calls come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A worker, one call right after the other, timed as a whole.
    BackToBack,
    /// A worker, with so many microseconds of its own work before each call; the calls alone are
    /// timed.
    AfterWork(u32),
    /// A worker that prepares before each call; the calls alone are timed.
    Prepared,
    /// A thread outside of the pool, one call right after the other.
    Outside,
    /// A thread outside of the pool, which sleeps for so many milliseconds before each call.
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
    /// The pool whose workers make the calls; nothing if a thread outside calls, for which the
    /// global pool works.
    pool: Option<ThreadPool>,
}

/// What a turn took.
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
            // The first calls of a turn find a pool asleep.
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

/// The time of all calls, as the mean of all but the longest few has it: a call of a microsecond
/// during which the system ran another process for milliseconds would hide all others.
fn undisturbed(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let kept = &times[..times.len() - times.len() / 16];
    kept.iter()
        .sum::<Duration>()
        .mul_f64(times.len() as f64 / kept.len() as f64)
}

/// The processor time that all threads of this process have used, where the system can tell.
fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

/// A stopped process would outlive a parent that was killed.
fn end_with_the_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // If it cannot be had, its absence is no reason not to measure.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}
