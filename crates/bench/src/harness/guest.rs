//! Contenders in their own processes, which are stopped while others have their turn. So no
//! contender's idle threads disturb another (forte's never sleep), no contender uses a heap that
//! others have fragmented, and a busy machine's scheduler treats all alike.
//!
//! The pages of memory that a process gets affect the time to traverse a large tree. So after a few
//! turns all processes end, and start again in another order.
//!
//! The process reads a number of operations from a line of standard input, executes them, and
//! writes a line with the operations and the time.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Contender, Sample, WrongResult};

/// Number of turns of a process.
const LIFE: u32 = 5;

/// A contender's process.
pub(crate) struct Guest {
    /// Number of turns that are left.
    left: u32,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Guest {
    /// Returns a contender whose process starts with its turn, and ends after [`LIFE`] turns: the
    /// processes of all contenders end in the same round, and start in the order of the next one.
    pub(crate) fn contender(
        name: &'static str,
        case: &'static str,
        command: impl Fn() -> io::Result<Command> + 'static,
    ) -> Contender {
        let mut guest = None;
        Contender::new(name, move |operations| {
            let failed = |error: io::Error| {
                let expected = "an answer from its process".to_owned();
                WrongResult::new(name, case, expected, error.to_string())
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
        // A first turn to warm up, which is not measured.
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
        // The process has no state that killing it could damage.
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

/// Does nothing: processes that cannot be stopped disturb the others a little.
#[cfg(not(unix))]
fn signal(_: &Child, _: Wish) -> io::Result<()> {
    Ok(())
}
