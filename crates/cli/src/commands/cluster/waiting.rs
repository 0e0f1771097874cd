//! Progress of a long run, on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::render::units::time;

/// Time between updates on a terminal.
const TURN: Duration = Duration::from_millis(250);

/// Time between lines if standard error is not a terminal.
const LINE: Duration = Duration::from_secs(15);

/// Prints the progress of a run until it is dropped.
pub(crate) struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

impl Waiting {
    /// Prints `doing`, and from time to time the elapsed time and `state`.
    pub(crate) fn while_running(
        doing: String,
        state: impl Fn() -> String + Send + 'static,
    ) -> Waiting {
        let (stop, stopped) = channel::<()>();
        let start = Instant::now();
        let tell = move || {
            let bar = stderr().is_terminal().then(ProgressBar::new_spinner);
            if bar.is_none() {
                eprintln!("{doing}");
            }
            let every = if bar.is_some() { TURN } else { LINE };
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let elapsed = time(start.elapsed().as_secs_f64());
                let line = format!("{doing}: {elapsed}{}", state());
                match &bar {
                    Some(bar) => {
                        bar.set_message(line);
                        bar.tick();
                    }
                    None => eprintln!("{line}"),
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        };
        Waiting(Some((stop, thread::spawn(tell))))
    }

    /// Prints nothing.
    pub(crate) fn quietly() -> Waiting {
        Waiting(None)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A panic of the thread does not affect the run.
            let _ = thread.join();
        }
    }
}
