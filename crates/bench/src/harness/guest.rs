//! A contender has a process of its own, which is stopped while others have their turn. So no
//! contender's idle threads disturb another (forte's never sleep), no heap is full of what others
//! left, and a busy machine's scheduler treats all alike.
//!
//! Which pages of memory a process got shows in how fast it walks through a large tree. So no
//! contender keeps them: after a few turns all processes end, and start again in another order.
//!
//! The process reads a number of operations from a line of its standard input, does them, and
//! writes a line with what it did and how long it took.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Contender, Sample, Wrong};

/// How many turns a process has.
const LIFE: u32 = 5;

/// The other process, between or in its turns.
pub(crate) struct Guest {
    /// How many turns it has left.
    left: u32,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Guest {
    /// A contender whose process is started when its turn comes, and ended when it has had its
    /// share of them: all contenders' end in the same round, and start in the order of the next.
    pub(crate) fn contender(
        name: &'static str,
        case: &'static str,
        command: impl Fn() -> io::Result<Command> + 'static,
    ) -> Contender {
        let mut guest = None;
        Contender::new(name, move |operations| {
            let failed = |error: io::Error| {
                let expected = "an answer from its process".to_owned();
                Wrong::new(name, case, expected, error.to_string())
            };
            let mut present = match guest.take() {
                Some(present) => present,
                None => command().and_then(Guest::start).map_err(failed)?,
            };
            let sample = present.turn(operations).map_err(failed)?;
            present.left -= 1;
            guest = (present.left > 0).then_some(present);
            Ok(sample)
        })
    }

    fn start(mut command: Command) -> io::Result<Guest> {
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
        // Its first steps are not shown.
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
