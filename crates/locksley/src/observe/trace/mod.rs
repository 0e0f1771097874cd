//! What each worker does when, noted for a timeline.
//!
//! ```text
//!   worker ── begins, ends, gets something ──> | ring of the newest entries |
//!                                                       │ at any time
//!   Pool::take_trace ────────── reads, and draws <──────┘
//! ```
//!
//! A worker notes when it begins and ends an [`Activity`], and from whom it got work, in a ring of
//! its own ([`Ring`]), over the oldest entries. A caller that wants the trace reads the rings while
//! the workers go on, and makes slices and arrows of the entries
//! ([`Timeline`]). What was overwritten
//! before it was read is counted as lost.
//!
//! **What is noted**: jobs that came from a queue, the pool's queue or the mail, not what a join
//! takes back and runs inlined; waits for what others do; the time without work, from the first
//! search in vain on; parking. And each job that came from another worker: stolen, donated, dealt.
//! An entry takes a reading of the clock and a few stores.
//!
//! **Nothing is asked on the fast path** of a join. Elsewhere a pool without a trace pays a branch
//! on whether there is a tracer.

mod ring;

use std::cell::Cell;

use locksley_trace::timeline::{self, Entry, Timeline, What};
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
    /// When that was, in microseconds since 1970.
    origin: Option<u64>,
    /// What has been read.
    timeline: Mutex<Timeline>,
}

impl Tracing {
    /// Traces with so many entries for each worker.
    pub(crate) fn new(capacity: usize) -> Tracing {
        Tracing {
            capacity,
            start: Instant::now(),
            origin: wall_clock(),
            timeline: Mutex::new(Timeline::default()),
        }
    }

    /// A tracer for a worker.
    pub(crate) fn tracer(&self) -> Tracer {
        Tracer::new(self.capacity, self.start)
    }

    /// What the workers have noted since the last call.
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

/// Notes what a worker does. Any thread may read the ring; the rest is the owner's alone.
pub(crate) struct Tracer {
    ring: Ring,
    start: Instant,
    /// How many entries it has written.
    written: Cell<u64>,
    /// How many activities are under way, one inside of another.
    depth: Cell<u16>,
    /// Set if it is idle, in its main loop.
    idle: Cell<bool>,
}

impl Tracer {
    /// The tracer of one worker.
    fn new(capacity: usize, start: Instant) -> Tracer {
        Tracer {
            ring: Ring::new(capacity),
            start,
            written: Cell::new(0),
            depth: Cell::new(0),
            idle: Cell::new(false),
        }
    }

    fn note(&self, what: What, load: usize) {
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
        self.note(What::Begin(activity), load);
        self.depth.set(self.depth.get().saturating_add(1));
    }

    fn end(&self, activity: Activity, load: usize) {
        self.depth.set(self.depth.get().saturating_sub(1));
        self.note(What::End(activity), load);
    }

    fn end_idle(&self) {
        if self.idle.replace(false) {
            self.end(Activity::Idle, 0);
        }
    }
}

/// An activity, until this is dropped.
#[must_use = "it ends when this is dropped"]
pub(crate) struct Traced<'w> {
    /// Not there if nothing is traced.
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
    /// The worker begins something.
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

    /// The worker, in its main loop, has found nothing to do. It is idle until it begins something.
    #[inline]
    pub(crate) fn trace_idle(&self) {
        let Some(tracer) = &self.tracer else { return };
        if !tracer.idle.replace(true) {
            tracer.begin(Activity::Idle, 0);
        }
    }

    /// The worker is about to rest, and leaves what it has to others. Unless it is inside of a job,
    /// it is idle now.
    pub(crate) fn trace_resting(&self) {
        if self
            .tracer
            .as_ref()
            .is_some_and(|tracer| tracer.depth.get() == 0)
        {
            self.trace_idle();
        }
    }

    /// The worker leaves its main loop.
    pub(crate) fn trace_leaving(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.end_idle();
        }
    }

    /// A job has come from another worker.
    #[inline]
    pub(crate) fn trace_move(&self, how: Arrow, from: usize) {
        if let Some(tracer) = &self.tracer {
            // The thief has touched it just now.
            let left = self.registry().worker(from).load();
            tracer.note(What::Moved(how, from), left);
        }
    }
}
