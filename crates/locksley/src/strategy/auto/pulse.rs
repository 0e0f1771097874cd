//! What the workers of a pool under `auto` know together: the mode, and what it is decided by.

use crossbeam_utils::CachePadded;
use locksley_policy::{Auto, Heuristic, Mode, Period, Tuning};

use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering};

/// How many samples make a period at least.
const SAMPLES: u32 = Period::SAMPLES;

/// How many jobs were run in a period at least.
const JOBS: u64 = Period::TASKS;

/// The modes, each by its number.
const MODES: [Mode; 4] = [
    Mode::Stealing,
    Mode::StealHalf,
    Mode::Sharing(Heuristic::GREEDY),
    Mode::Sharing(Heuristic::TIT_FOR_TAT),
];

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Searches.
    pub(super) attempts: u64,
    /// Searches that found something.
    pub(super) successes: u64,
    /// Jobs that were stolen.
    pub(super) stolen: u64,
    /// Jobs that were taken to be run.
    pub(super) executed: u64,
}

/// The same, for others to see. Written by the worker alone.
#[derive(Debug, Default)]
struct Published {
    attempts: AtomicU64,
    successes: AtomicU64,
    stolen: AtomicU64,
    executed: AtomicU64,
}

/// What has been seen since the period began.
#[derive(Debug)]
struct Samples {
    auto: Auto,
    count: u32,
    /// The sum of the ratios of idle processors.
    idle: f64,
    /// What all had done when it began.
    before: Counts,
}

/// The pool's mode.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// An index of [`MODES`].
    mode: CachePadded<AtomicUsize>,
    published: Box<[CachePadded<Published>]>,
    samples: Mutex<Samples>,
}

impl Pulse {
    /// The pulse of a pool with so many places.
    pub(crate) fn new(places: usize, tuning: Tuning) -> Pulse {
        let samples = Samples {
            auto: Auto::new(tuning),
            count: 0,
            idle: 0.0,
            before: Counts::default(),
        };
        Pulse {
            mode: CachePadded::new(AtomicUsize::new(0)),
            published: (0..places).map(|_| CachePadded::default()).collect(),
            samples: Mutex::new(samples),
        }
    }

    /// How to balance now.
    #[inline]
    pub(super) fn mode(&self) -> Mode {
        MODES[self.mode.load(Ordering::Relaxed) % MODES.len()]
    }

    /// Shows what the worker with this index has done.
    pub(super) fn publish(&self, index: usize, counts: &Counts) {
        let Some(published) = self.published.get(index) else {
            return;
        };
        let store = |cell: &AtomicU64, count| cell.store(count, Ordering::Relaxed);
        store(&published.attempts, counts.attempts);
        store(&published.successes, counts.successes);
        store(&published.stolen, counts.stolen);
        store(&published.executed, counts.executed);
    }

    /// What all have done, as far as they have shown.
    fn total(&self) -> Counts {
        let mut total = Counts::default();
        for published in &self.published {
            let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
            total.attempts += load(&published.attempts);
            total.successes += load(&published.successes);
            total.stolen += load(&published.stolen);
            total.executed += load(&published.executed);
        }
        total
    }

    /// Takes a sample of the ratio of idle processors, unless somebody else is at it; and if it was the last
    /// of a period, decides. Has the mode changed?
    pub(super) fn sample(&self, idle: &dyn Fn() -> f64) -> bool {
        let Ok(mut samples) = self.samples.try_lock() else {
            return false;
        };
        samples.count += 1;
        samples.idle += idle();
        if samples.count < SAMPLES {
            return false;
        }
        let total = self.total();
        // Counts that were read one after the other: each grows, so no difference is below 0.
        let period = samples.period(&total);
        if period.executed < JOBS {
            return false;
        }
        let before = samples.auto.mode();
        let mode = samples.auto.feed(&period);
        samples.begin(total);
        let number = MODES.iter().position(|&known| known == mode);
        self.mode.store(number.unwrap_or(0), Ordering::Relaxed);
        mode != before
    }
}

impl Samples {
    fn period(&self, total: &Counts) -> Period {
        Period {
            idle: self.idle / f64::from(self.count),
            attempts: total.attempts - self.before.attempts,
            stolen: total.stolen - self.before.stolen,
            successes: total.successes - self.before.successes,
            executed: total.executed - self.before.executed,
        }
    }

    fn begin(&mut self, total: Counts) {
        self.count = 0;
        self.idle = 0.0;
        self.before = total;
    }
}
