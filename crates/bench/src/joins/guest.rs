//! A contender has a process of its own, which is stopped while others have their turn. So nobody's
//! idle threads disturb anybody (forte's never sleep), nobody's heap is full of what others left, and a
//! busy machine's scheduler treats all alike.
//!
//! Which pages of memory a process got shows in how fast it walks through a large tree. So nobody
//! keeps them: after a few turns all processes end, and start again in another order.
//!
//! The process is this binary with a hidden subcommand. It reads a number of operations from a line of
//! its standard input, does them, and writes a line with what it did and how long it took.

use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use locksley_workload::Program;

use super::cases::{self, Case, Visitor};
use super::contenders::{Chili, Forte, Free, Rayon, Runtime, STACK, Serial, TakeAny, Worker};
use super::turns::turn;
use crate::harness::{Contender, Sample, Wrong};

/// How many turns a process has.
const LIFE: u32 = 5;

/// The other process, between or in its turns.
pub(super) struct Guest {
    /// How many turns it has left.
    left: u32,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Guest {
    /// A contender whose process is started when its turn comes, and ended when it has had its share
    /// of them: all contenders' end in the same round, and start in the order of the next.
    pub(super) fn contender(
        name: &'static str,
        runtime: &'static str,
        case: &'static str,
        (workers, quick): (usize, bool),
    ) -> Contender {
        let mut guest = None;
        Contender::new(name, move |operations| {
            let failed = |error: io::Error| {
                let expected = "an answer from its process".to_owned();
                Wrong::new(name, case, expected, error.to_string())
            };
            let mut present = match guest.take() {
                Some(present) => present,
                None => Guest::start(runtime, case, (workers, quick)).map_err(failed)?,
            };
            let sample = present.turn(operations).map_err(failed)?;
            present.left -= 1;
            guest = (present.left > 0).then_some(present);
            Ok(sample)
        })
    }

    fn start(runtime: &str, case: &str, (workers, quick): (usize, bool)) -> io::Result<Guest> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([crate::SERVE, runtime, case, &workers.to_string()]);
        command.env("RUST_MIN_STACK", STACK.to_string());
        if quick {
            command.arg("--quick");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, answers) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut guest = Guest {
            left: LIFE,
            child,
            orders,
            answers: BufReader::new(answers),
        };
        // Nobody looks at its first steps.
        guest.turn(1)?;
        Ok(guest)
    }

    fn turn(&mut self, operations: u64) -> io::Result<Sample> {
        signal(&self.child, Wish::Continue)?;
        writeln!(self.orders, "{operations}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        signal(&self.child, Wish::Stop)?;
        let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[seconds, operations, note]) => Ok(Sample {
                elapsed: Duration::from_secs_f64(seconds),
                operations: operations as u64,
                note,
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
