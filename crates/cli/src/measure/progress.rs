//! Progress on standard error: a bar on a terminal, otherwise a line now and then.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Time before the first line. The pause doubles after each line, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// Progress of an activity with a number of steps.
pub(crate) struct Progress {
    bar: locksley_measure::Progress,
    ticker: Ticker,
}

impl Progress {
    /// Announces a measurement of `name` with `steps` to go.
    pub(crate) fn start(name: &str, steps: u64) -> Progress {
        Progress {
            bar: locksley_measure::Progress::start(name, steps),
            ticker: Ticker::start(format!("measuring {name}"), steps),
        }
    }

    /// Announces another activity.
    pub(crate) fn doing(what: &str, steps: u64) -> Progress {
        Progress {
            bar: locksley_measure::Progress::doing(what, steps),
            ticker: Ticker::start(what.to_owned(), steps),
        }
    }

    /// Notes that a step is done.
    pub(crate) fn step(&self) {
        self.bar.step();
        self.ticker.step();
    }
}

/// Prints a line now and then if standard error is not a terminal. Stops when dropped.
pub(crate) struct Ticker {
    done: Arc<AtomicU64>,
    /// Dropped first, which ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(what: String, steps: u64) -> Ticker {
        let done = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = channel::<()>();
        let counted = done.clone();
        let print = move || {
            let (start, mut pause) = (Instant::now(), FIRST);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let line = line(
                    &what,
                    counted.load(Ordering::Relaxed),
                    steps,
                    start.elapsed(),
                );
                let _ = writeln!(stderr(), "{line}");
                pause = (2 * pause).min(LONGEST);
            }
        };
        // If the thread cannot be created, only the lines are missing.
        let thread = (!stderr().is_terminal())
            .then(|| Builder::new().name("progress".into()).spawn(print).ok())
            .flatten();
        Ticker {
            done,
            stop: Some(stop),
            thread,
        }
    }

    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn line(what: &str, done: u64, steps: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if steps > 1 {
        format!("{what}: {done} of {steps} after {seconds} s")
    } else {
        format!("{what}: {seconds} s so far")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let after = Duration::from_secs(5);
        assert_eq!(
            line("simulating", 3, 10, after),
            "simulating: 3 of 10 after 5 s"
        );
        assert_eq!(line("running fib", 0, 1, after), "running fib: 5 s so far");
    }

    #[test]
    fn it_ends_at_once() {
        let start = Instant::now();
        let ticker = Ticker::start("nothing".into(), 1);
        ticker.step();
        drop(ticker);
        assert!(
            start.elapsed() < FIRST,
            "it does not wait for the next line"
        );
    }
}
