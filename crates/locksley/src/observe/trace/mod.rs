//! Traces: what each worker does and when, noted for a timeline.
//!
//! ```text
//!   worker ── begins, ends, gets something ──> | ring of the newest entries |
//!                                                       │ at any time
//!   Pool::take_trace ────────── reads, and draws <──────┘
//! ```
//!
//! A worker notes when it begins and ends an [`Activity`], and from which worker it got a job, in a
//! ring of its own ([`Ring`]), in which new entries overwrite the oldest. A caller that wants the
//! trace reads the rings while the workers go on, and makes slices and arrows of the entries
//! ([`Timeline`]). Entries that were overwritten before they were read are counted as lost.
//!
//! **What is noted**: jobs from a worker's queue, the pool's queue or the targeted jobs, but not
//! those that a join takes back and runs inlined; waits; the time without work, from the first
//! search in vain on; parking; and each job that came from another worker: stolen, donated or
//! dealt. An entry takes a reading of the clock and a few stores.
//!
//! **The fast path of a join has no check.** Elsewhere a pool without a trace pays a branch on
//! whether there is a tracer.

mod ring;

use std::cell::Cell;

use locksley_trace::timeline::{self, Entry, EntryKind, Timeline};
use locksley_trace::{Activity, Arrow, Trace};

use ring::Ring;

use crate::machine::clock::{Instant, wall_clock};
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{Mutex, lock};

const _: () = assert!(crate::pool::config::MOST_WORKERS < timeline::MOST_INDEX);

/// What a pool needs to trace its workers.
pub(crate) struct Tracing {
    capacity: usize,
    start: Instant,
    /// The time of `start`, in microseconds since 1970.
    origin: Option<u64>,
    /// Entries that have been read.
    timeline: Mutex<Timeline>,
}

impl Tracing {
    /// Creates a trace with `capacity` entries for each worker.
    pub(crate) fn new(capacity: usize) -> Tracing {
        Tracing {
            capacity,
            start: Instant::now(),
            origin: wall_clock(),
            timeline: Mutex::new(Timeline::default()),
        }
    }

    pub(crate) fn tracer(&self) -> Tracer {
        Tracer {
            ring: Ring::new(self.capacity),
            start: self.start,
            written: Cell::new(0),
            depth: Cell::new(0),
            idle: Cell::new(false),
        }
    }

    /// Returns what the workers have noted since the last call.
    pub(crate) fn take(&self, registry: &Registry) -> Trace {
        let mut timeline = lock(&self.timeline);
        let now = self.start.elapsed().as_nanos() as u64;
        let workers = (0..registry.workers()).map(|index| registry.worker(index));
        let tracers = workers.filter_map(|worker| worker.tracer.as_ref());
        let runs = tracers.enumerate();
        let runs = runs.map(|(index, tracer)| tracer.ring.read(timeline.next(index)));
        let (runs, workers) = (runs.collect(), registry.size());
        let strategy = registry.config.strategy.shown();
        let names = timeline::Names {
            process: format!("locksley {strategy}, {workers} workers"),
            pid: std::process::id(),
            workers,
        };
        let mut trace = Trace::new();
        trace.source.origin = self.origin;
        timeline.draw(runs, now, names, &mut trace);
        trace
    }
}

/// Notes what a worker does. Any thread may read the ring; the rest is accessed by the owner only.
pub(crate) struct Tracer {
    ring: Ring,
    start: Instant,
    /// Number of entries that were written.
    written: Cell<u64>,
    /// Number of activities under way, one inside of another.
    depth: Cell<u16>,
    /// Set while the worker is idle in its main loop.
    idle: Cell<bool>,
}

impl Tracer {
    fn note(&self, what: EntryKind, load: usize) {
        let time = self.start.elapsed().as_nanos() as u64;
        let entry = Entry {
            what,
            depth: self.depth.get(),
            load: load.try_into().unwrap_or(u16::MAX),
        };
        let number = self.written.get();
        self.ring.push(number, [time, entry.to_word()]);
        self.written.set(number + 1);
    }

    fn begin(&self, activity: Activity, load: usize) {
        self.note(EntryKind::Begin(activity), load);
        self.depth.set(self.depth.get().saturating_add(1));
    }

    fn end(&self, activity: Activity, load: usize) {
        self.depth.set(self.depth.get().saturating_sub(1));
        self.note(EntryKind::End(activity), load);
    }

    fn end_idle(&self) {
        if self.idle.replace(false) {
            self.end(Activity::Idle, 0);
        }
    }
}

/// An activity that ends when this is dropped.
#[must_use = "it ends when this is dropped"]
pub(crate) struct Traced<'w> {
    /// `None` if nothing is traced.
    worker: Option<&'w Worker>,
    activity: Activity,
}

impl Drop for Traced<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(worker) = self.worker {
            worker.end_traced(self.activity);
        }
    }
}

impl Worker {
    /// Notes that the worker begins an activity.
    #[inline]
    pub(crate) fn traced(&self, activity: Activity) -> Traced<'_> {
        let worker = self.tracer.is_some().then_some(self);
        if let Some(worker) = worker {
            worker.begin_traced(activity);
        }
        Traced { worker, activity }
    }

    #[cold]
    #[inline(never)]
    fn begin_traced(&self, activity: Activity) {
        let Some(tracer) = &self.tracer else { return };
        if activity != Activity::Parked {
            tracer.end_idle();
        }
        tracer.begin(activity, self.load());
    }

    #[cold]
    #[inline(never)]
    fn end_traced(&self, activity: Activity) {
        if let Some(tracer) = &self.tracer {
            tracer.end(activity, self.load());
        }
    }

    /// Notes that the worker has found nothing to do in its main loop. It is idle until it begins
    /// an activity.
    #[inline]
    pub(crate) fn trace_idle(&self) {
        let Some(tracer) = &self.tracer else { return };
        if !tracer.idle.replace(true) {
            tracer.begin(Activity::Idle, 0);
        }
    }

    /// Notes that the worker is about to block or sleep, and has left its jobs to others. Unless it
    /// is inside of a job, it is idle from here on.
    pub(crate) fn trace_resting(&self) {
        let tracer = self.tracer.as_ref();
        if tracer.is_some_and(|tracer| tracer.depth.get() == 0) {
            self.trace_idle();
        }
    }

    pub(crate) fn trace_leaving(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.end_idle();
        }
    }

    /// Notes that a job has come from another worker.
    #[inline]
    pub(crate) fn trace_move(&self, how: Arrow, from: usize) {
        if let Some(tracer) = &self.tracer {
            // This worker has accessed the other's queue just now, so reading it is cheap.
            let left = self.registry().worker(from).load();
            tracer.note(EntryKind::Moved(how, from), left);
        }
    }
}
