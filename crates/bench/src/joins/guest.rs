//! A contender's process: this binary with a hidden subcommand.

use std::io;
use std::marker::PhantomData;
use std::process::{Command, ExitCode};
use std::thread;

use locksley_workload::Program;

use super::cases::{self, Case, Visitor};
use super::contenders::{Chili, Forte, Free, Rayon, Runtime, STACK, Serial, TakeAny, Worker};
use super::turns::turn;
use crate::harness::{Contender, Guest};

/// A contender in a process of its own.
pub(super) fn contender(
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

/// The other side: serves turns until its input ends. The thread that does may be a worker, so it
/// has a worker's stack, which the environment says.
pub(crate) fn serve(runtime: &str, case: &str, workers: usize, quick: bool) -> ExitCode {
    end_with_the_parent();
    let serve = match runtime {
        Serial::NAME => serve_on::<Serial>,
        Worker::NAME => serve_on::<Worker>,
        Free::NAME => serve_on::<Free>,
        TakeAny::NAME => serve_on::<TakeAny>,
        Rayon::NAME => serve_on::<Rayon>,
        Chili::NAME => serve_on::<Chili>,
        Forte::NAME => serve_on::<Forte>,
        _ => return crate::exit::USAGE.into(),
    };
    let served = thread::scope(|scope| scope.spawn(|| serve(case, workers, quick)).join());
    served.unwrap_or(crate::exit::WRONG).into()
}

fn serve_on<R: Runtime>(case: &str, workers: usize, quick: bool) -> u8 {
    let mut service = Service::<R> {
        case,
        workers,
        code: crate::exit::USAGE,
        runtime: PhantomData,
    };
    cases::visit(quick, &mut service);
    service.code
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

struct Service<'c, R> {
    case: &'c str,
    workers: usize,
    code: u8,
    runtime: PhantomData<R>,
}

impl<R: Runtime> Visitor for Service<'_, R> {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static) {
        if case.name != self.case {
            return;
        }
        // The program first, into a heap that is the same for every runtime: whether the nodes of a tree
        // straddle cache lines depends on what was allocated before.
        let mut program = make();
        let mut runtime = R::start(self.workers);
        self.code = 0;
        for line in io::stdin().lines() {
            let Some(operations) = line.ok().and_then(|line| line.parse().ok()) else {
                return;
            };
            match turn(&mut runtime, &mut program, case.name, operations) {
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
