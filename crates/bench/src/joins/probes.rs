//! Measurements that need a process of their own: processor time and memory of an idle runtime.
//!
//! The process is this binary with a hidden subcommand, which prints its figures on one line.

use std::io;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use locksley_workload::FibTask;

use super::contenders::{Chili, Forte, Locksley, Rayon, Runtime, Serial};
use super::memory;
use crate::harness::report::Figures;
use crate::harness::stats;
use crate::harness::{Plan, WallClock};

/// The runtimes that are probed.
const PROBED: [&str; 4] = [Locksley::NAME, Rayon::NAME, Chili::NAME, Forte::NAME];

/// Number of workers of the idle pool whose memory is limited.
const MANY: usize = 64;

/// The quantity that a probe measures.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Probe {
    /// Processor time of an idle runtime with two workers, in percent of a core.
    Idle,
    /// Memory of fib(30) with two workers: anonymous and all resident KiB.
    Fib,
    /// Memory of an idle pool of 64 workers: resident KiB, and the part of them in stacks.
    Pool,
}

/// Runs all probes. The bars look up the figures by title and name.
pub(super) fn figures(plan: &Plan) -> Vec<Figures> {
    let (quick, times) = (plan.quick, |times| if plan.quick { 1 } else { times });
    let all: [(&str, &dyn Fn() -> io::Result<Figures>); 4] = [
        (IDLE, &|| idle(quick)),
        (FIB, &|| fib(times(11))),
        (FIB_WITH_CODE, &|| fib_with_code(times(11))),
        (POOL, &|| pool(times(5))),
    ];
    all.into_iter()
        .filter(|(title, _)| plan.includes(title))
        .map(|(_, probe)| probe())
        .filter_map(|figures| {
            figures
                .map_err(|error| eprintln!("not probed: {error}"))
                .ok()
        })
        .collect()
}

pub(super) const IDLE: &str = "Idle for 5 s with 2 workers, percent of a core";
pub(super) const FIB: &str =
    "Resident growth of starting 2 workers and running fib(30), stacks, heaps and data, KiB";
const FIB_WITH_CODE: &str = "The same with the pages of code that were mapped meanwhile, KiB";
pub(super) const POOL: &str = "Resident growth of an idle pool of 64 workers, KiB";
pub(super) const BEYOND_STACKS: &str = "locksley beyond stacks";

/// Probes all runtimes at once, since idling needs no processor.
fn idle(quick: bool) -> io::Result<Figures> {
    let milliseconds = if quick { "50" } else { "5000" };
    let start = |name| Ok((name, start(Probe::Idle, name, milliseconds)?));
    let children = PROBED
        .map(start)
        .into_iter()
        .collect::<io::Result<Vec<_>>>()?;
    let mut figures = Figures::new(IDLE);
    for (name, child) in children {
        figures.add(name, first(&answer(child)?)?);
    }
    Ok(figures)
}

fn fib(times: usize) -> io::Result<Figures> {
    let mut figures = Figures::new(FIB);
    for name in PROBED {
        figures.add(name, median(Probe::Fib, name, times, first)?);
    }
    Ok(figures)
}

fn fib_with_code(times: usize) -> io::Result<Figures> {
    let mut figures = Figures::new(FIB_WITH_CODE);
    let last = |numbers: &[f64]| numbers.last().copied().ok_or_else(said_nothing);
    for name in PROBED {
        figures.add(name, median(Probe::Fib, name, times, last)?);
    }
    Ok(figures)
}

fn pool(times: usize) -> io::Result<Figures> {
    let mut figures = Figures::new(POOL);
    for name in [Locksley::NAME, Rayon::NAME] {
        figures.add(name, median(Probe::Pool, name, times, first)?);
    }
    let beyond = |numbers: &[f64]| match numbers {
        [all, stacks] => Ok(all - stacks),
        _ => Err(io::Error::other("two figures were expected")),
    };
    figures.add(
        BEYOND_STACKS,
        median(Probe::Pool, Locksley::NAME, times, beyond)?,
    );
    Ok(figures)
}

fn median(
    probe: Probe,
    name: &str,
    times: usize,
    of: impl Fn(&[f64]) -> io::Result<f64>,
) -> io::Result<f64> {
    let samples = (0..times)
        .map(|_| of(&answer(start(probe, name, "0")?)?))
        .collect::<io::Result<Vec<f64>>>()?;
    Ok(stats::median(&samples))
}

fn start(probe: Probe, name: &str, milliseconds: &str) -> io::Result<Child> {
    let probe = format!("{probe:?}").to_lowercase();
    Command::new(std::env::current_exe()?)
        .args([crate::PROBE, &probe, name, milliseconds])
        .stdout(Stdio::piped())
        .spawn()
}

fn answer(child: Child) -> io::Result<Vec<f64>> {
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.split_whitespace().map(str::parse);
    numbers
        .collect::<Result<_, _>>()
        .map_err(|_| io::Error::other(format!("a probe said {text:?}")))
}

fn first(numbers: &[f64]) -> io::Result<f64> {
    let first = numbers.first().copied();
    first.ok_or_else(said_nothing)
}

fn said_nothing() -> io::Error {
    io::Error::other("a probe said nothing")
}

/// Measures and prints figures, in the probe's process.
pub(crate) fn probe(probe: Probe, contender: &str, milliseconds: u64) -> ExitCode {
    let figures = match (probe, contender) {
        (Probe::Pool, Locksley::NAME) => idle_pool(),
        (Probe::Pool, Rayon::NAME) => growth(|| Rayon::start(MANY)).map(|(_, all)| vec![all, 0.0]),
        (_, Locksley::NAME) => figures_of::<Locksley>(probe, milliseconds),
        (_, Rayon::NAME) => figures_of::<Rayon>(probe, milliseconds),
        (_, Chili::NAME) => figures_of::<Chili>(probe, milliseconds),
        (_, Forte::NAME) => figures_of::<Forte>(probe, milliseconds),
        _ => None,
    };
    let Some(figures) = figures else {
        eprintln!("error: {contender} cannot be probed like that, or not on this system");
        return crate::exit::USAGE.into();
    };
    let figures: Vec<String> = figures.iter().map(f64::to_string).collect();
    println!("{}", figures.join(" "));
    ExitCode::SUCCESS
}

fn figures_of<R: Runtime>(probe: Probe, milliseconds: u64) -> Option<Vec<f64>> {
    match probe {
        Probe::Idle => Some(vec![idle_percent::<R>(milliseconds)?]),
        _ => {
            let run = || {
                let mut runtime = R::start(2);
                assert_eq!(runtime.run(FibTask(30)), 832_040);
                runtime
            };
            growth(run).map(|(own, all)| vec![own, all])
        }
    }
}

/// Returns the percentage of a core that a runtime uses when it is idle after some work.
fn idle_percent<R: Runtime>(milliseconds: u64) -> Option<f64> {
    let mut runtime = R::start(2);
    assert_eq!(runtime.run(FibTask(25)), 75_025);
    thread::sleep(Duration::from_millis(milliseconds.min(200)));
    let (used, start) = (crate::harness::clock::process()?, WallClock::now());
    thread::sleep(Duration::from_millis(milliseconds));
    let used = crate::harness::clock::process()?.saturating_sub(used);
    Some(100.0 * used.as_secs_f64() / start.elapsed().as_secs_f64())
}

/// Returns the growth of anonymous and of all resident memory by `f`, in KiB, while its result is
/// alive.
fn growth<T>(f: impl FnOnce() -> T) -> Option<(f64, f64)> {
    let (own, all, _kept) = kept_growth(f)?;
    Some((own, all))
}

fn kept_growth<T>(f: impl FnOnce() -> T) -> Option<(f64, f64, T)> {
    // Maps code and stack of this thread that all contenders use.
    assert_eq!(Serial::start(1).run(FibTask(20)), 6765);
    let before = memory::resident()?;
    let kept = f();
    thread::sleep(Duration::from_millis(100));
    let after = memory::resident()?;
    let own = after.own.saturating_sub(before.own);
    let all = after.all.saturating_sub(before.all);
    Some((own as f64, all as f64, kept))
}

/// Returns the memory of an idle pool, and the part of it in the workers' stacks. The workers
/// report an address of their stacks; a mapping larger than a stack is not counted as one.
fn idle_pool() -> Option<Vec<f64>> {
    const STACK: usize = 1 << 20;
    let addresses = Arc::new(Mutex::new(Vec::with_capacity(2 * MANY)));
    let told = addresses.clone();
    let tell = move |_| {
        let here = 0_u8;
        lock(&told).push((&raw const here).addr());
    };
    let builder = locksley::Pool::builder().workers(MANY).stack_size(STACK);
    let builder = builder.start_handler(tell);
    let start = || builder.build().expect("the machine has room for a pool");
    let (_, all, _pool) = kept_growth(start)?;
    let stacks = memory::resident_around(&lock(&addresses), STACK)?;
    Some(vec![all, stacks as f64])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
