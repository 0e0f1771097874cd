//! A contender that lives in another process, because its threads do not sleep when they are idle.
//! The process is stopped between its turns.
//!
//! The process is this binary with a hidden subcommand. It reads a number of operations from a line of
//! its standard input, does them, and writes a line with what it did and how long it took.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use locksley_workload::Program;

use super::cases::{self, Case, Visitor};
use super::contenders::{Forte, Kept, Runtime};
use super::turns::turn;
use crate::harness::{Contender, Sample, Wrong};

/// The other process, between or in its turns.
pub(super) struct Guest {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Guest {
    /// A contender whose process is started when its first turn comes.
    pub(super) fn contender(
        name: &'static str,
        case: &'static str,
        workers: usize,
        quick: bool,
    ) -> Contender {
        let mut guest = None;
        Contender::new(name, move |operations| {
            let failed = |error: io::Error| {
                let expected = "an answer from its process".to_owned();
                Wrong::new(name, case, expected, error.to_string())
            };
            if guest.is_none() {
                guest = Some(Guest::start(case, workers, quick).map_err(failed)?);
            }
            let guest: &mut Guest = guest.as_mut().expect("it was just started");
            guest.turn(operations).map_err(failed)
        })
    }

    fn start(case: &str, workers: usize, quick: bool) -> io::Result<Guest> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([crate::SERVE, case, &workers.to_string()]);
        if quick {
            command.arg("--quick");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, answers) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Guest {
            child,
            orders,
            answers: BufReader::new(answers),
        })
    }

    fn turn(&mut self, operations: u64) -> io::Result<Sample> {
        signal(&self.child, Wish::Continue)?;
        writeln!(self.orders, "{operations}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        signal(&self.child, Wish::Stop)?;
        let mut numbers = line.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(nanoseconds)), Some(Ok(operations))) => Ok(Sample {
                elapsed: Duration::from_nanos(nanoseconds),
                operations,
                note: 0.0,
            }),
            _ => Err(io::Error::other(format!("it said {line:?}"))),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It holds nothing that ending it in the middle could spoil.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Wish {
    Stop,
    Continue,
}

#[cfg(unix)]
fn signal(child: &Child, wish: Wish) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match wish {
        Wish::Stop => Signal::STOP,
        Wish::Continue => Signal::CONT,
    };
    Ok(kill_process(Pid::from_child(child), signal)?)
}

/// Where a process cannot be stopped, it disturbs the others a little.
#[cfg(not(unix))]
fn signal(_: &Child, _: Wish) -> io::Result<()> {
    Ok(())
}

/// The other side: serves turns until its input ends.
pub(crate) fn serve(case: &str, workers: usize, quick: bool) -> ExitCode {
    end_with_the_parent();
    let mut service = Service {
        case: case.to_owned(),
        workers,
        code: crate::exit::USAGE.into(),
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

struct Service {
    case: String,
    workers: usize,
    code: ExitCode,
}

impl Visitor for Service {
    fn visit<P: Program + 'static>(&mut self, case: Case, make: impl Fn() -> P + 'static) {
        if case.name != self.case {
            return;
        }
        let (runtime, mut program) = (Kept::<Forte>::new(self.workers), make());
        self.code = ExitCode::SUCCESS;
        for line in io::stdin().lines() {
            let Some(operations) = line.ok().and_then(|line| line.parse().ok()) else {
                return;
            };
            let names = (Forte::NAME, case.name);
            match turn(&mut *runtime.get(), &mut program, names, operations) {
                Ok(sample) => println!("{} {}", sample.elapsed.as_nanos(), sample.operations),
                Err(wrong) => {
                    eprintln!("error: {wrong}");
                    self.code = crate::exit::WRONG.into();
                    return;
                }
            }
        }
    }
}
