//! Shows the progress of a run on stderr.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one workload: a bar on a terminal, a line anywhere else.
///
/// ```
/// let progress = locksley_measure::Progress::start("counting", 3);
/// (0..3).for_each(|_| progress.step());
/// ```
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Starts the progress of a measurement with `steps` steps.
    pub fn start(name: &str, steps: u64) -> Progress {
        Progress::of(name, &format!("measuring {name}"), steps)
    }

    /// Starts the progress of something other than a measurement.
    pub fn doing(what: &str, steps: u64) -> Progress {
        Progress::of(what, what, steps)
    }

    fn of(name: &str, line: &str, steps: u64) -> Progress {
        if !stderr().is_terminal() {
            eprintln!("{line}");
            return Progress(None);
        }
        let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        Progress(Some(
            ProgressBar::new(steps)
                .with_style(style)
                .with_message(name.to_owned()),
        ))
    }

    /// Advances by one step.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
