//! A contender's process: this binary with a hidden subcommand.

use std::io;
use std::process::{Command, ExitCode};
use std::thread;

use locksley_workload::Program;

use super::cases::{self, Case, Visitor};
use super::contenders::{
    Chili, Forte, Locksley, LocksleyJoin, Rayon, Runtime, STACK, Serial, TakeAny, Traced,
};
use crate::harness::{Contender, Guest};
use locksley_measure::runtimes::run_sample;

/// Returns a contender in its own process. `runtime` is the name of a runtime, or the text of a
/// strategy of ours.
pub(crate) fn contender(
    name: &'static str,
    runtime: &'static str,
    case: &'static str,
    (workers, quick): (usize, bool),
) -> Contender {
    Guest::contender(name, case, move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([crate::SERVE, runtime, case, &workers.to_string()]);
        command.env("RUST_MIN_STACK", STACK.to_string());
        if quick {
            command.arg("--quick");
        }
        Ok(command)
    })
}

/// Serves turns, in the contender's process, until the input ends. The serving thread may be a
/// worker, so it has the stack size of workers, which the environment sets.
pub(crate) fn serve(runtime: &str, case: &str, workers: usize, quick: bool) -> ExitCode {
    end_with_the_parent();
    type Serve<'a> = Box<dyn FnOnce() -> u8 + Send + 'a>;
    let serve: Serve<'_> = match runtime {
        Serial::NAME => Box::new(|| serve_on::<Serial>(case, workers, quick)),
        Locksley::NAME => Box::new(|| serve_on::<Locksley>(case, workers, quick)),
        LocksleyJoin::NAME => Box::new(|| serve_on::<LocksleyJoin>(case, workers, quick)),
        TakeAny::NAME => Box::new(|| serve_on::<TakeAny>(case, workers, quick)),
        Traced::NAME => Box::new(|| serve_on::<Traced>(case, workers, quick)),
        Rayon::NAME => Box::new(|| serve_on::<Rayon>(case, workers, quick)),
        Chili::NAME => Box::new(|| serve_on::<Chili>(case, workers, quick)),
        Forte::NAME => Box::new(|| serve_on::<Forte>(case, workers, quick)),
        text => match text.parse() {
            Ok(strategy) => Box::new(move || {
                serve_with(case, quick, move || Locksley::under(strategy, workers))
            }),
            Err(_) => return crate::exit::USAGE.into(),
        },
    };
    let served = thread::scope(|scope| scope.spawn(serve).join());
    served.unwrap_or(crate::exit::WRONG).into()
}

fn serve_on<R: Runtime>(case: &str, workers: usize, quick: bool) -> u8 {
    serve_with(case, quick, || R::start(workers))
}

fn serve_with<R: Runtime, S: Fn() -> R>(case: &str, quick: bool, start: S) -> u8 {
    let mut service = Service {
        case,
        start,
        code: crate::exit::USAGE,
    };
    cases::visit(quick, &mut service);
    service.code
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

struct Service<'c, S> {
    case: &'c str,
    /// Starts the runtime.
    start: S,
    code: u8,
}

impl<R: Runtime, S: Fn() -> R> Visitor for Service<'_, S> {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static) {
        if case.name != self.case {
            return;
        }
        // The program is created first, in a heap that is the same for every runtime: earlier
        // allocations determine whether the nodes of a tree straddle cache lines.
        let mut program = make();
        let mut runtime = (self.start)();
        self.code = 0;
        for line in io::stdin().lines() {
            let Some(operations) = line.ok().and_then(|line| line.parse().ok()) else {
                return;
            };
            match run_sample(&mut runtime, &mut program, (R::NAME, case.name), operations) {
                Ok(sample) => {
                    let (seconds, operations) = (sample.elapsed.as_secs_f64(), sample.operations);
                    println!("{seconds} {operations} {}", sample.note);
                }
                Err(wrong) => {
                    eprintln!("error: {wrong}");
                    self.code = crate::exit::WRONG;
                    return;
                }
            }
        }
    }
}
