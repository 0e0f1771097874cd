//! The time until a task that is submitted to a sleeping pool starts.

use std::cell::OnceCell;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::contenders::{Locksley, Rayon, Runtime};
use crate::harness::stats::median;
use crate::harness::{Contender, Sample, Workload, WrongResult};

/// Name in tables, bars and JSON.
pub(super) const NAME: &str = "wake-up";

/// Pause before a task, after which the pool sleeps.
const PAUSE: Duration = Duration::from_millis(4);

/// Largest number of wake-ups in a sample, which is their median.
const WAKE_UPS: u64 = 9;

/// A runtime to which a task can be submitted from outside.
trait Spawn: Runtime {
    fn spawn(&self, task: impl FnOnce() + Send + 'static);
}

impl Spawn for Locksley {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        drop(self.0.spawn(task));
    }
}

impl Spawn for Rayon {
    fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(task);
    }
}

/// Returns the workload: two sleeping workers get a task.
pub(super) fn workload() -> Workload {
    Workload {
        name: NAME,
        about: "from handing a task to two sleeping workers to its start",
        reference: Rayon::NAME,
        note: None,
        contenders: vec![contender::<Locksley>(), contender::<Rayon>()],
    }
}

fn contender<R: Spawn>() -> Contender {
    let runtime = OnceCell::new();
    Contender::new(R::NAME, move |operations| {
        let runtime = runtime.get_or_init(|| R::start(2));
        let samples: Vec<f64> = (0..operations.min(WAKE_UPS))
            .map(|_| wake(runtime))
            .collect();
        let median = Duration::from_secs_f64(median(&samples));
        Ok::<_, WrongResult>(Sample {
            elapsed: median,
            operations: 1,
            note: 0.0,
        })
    })
}

fn wake(runtime: &impl Spawn) -> f64 {
    let (answer, started): (Sender<Instant>, _) = channel();
    thread::sleep(PAUSE);
    let submitted = Instant::now();
    runtime.spawn(move || {
        // The receiver below exists until this is sent.
        let _ = answer.send(Instant::now());
    });
    let started = started.recv().expect("a spawned task runs");
    started.saturating_duration_since(submitted).as_secs_f64()
}
