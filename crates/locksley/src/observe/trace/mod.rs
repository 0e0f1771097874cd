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
//! the workers go on, and makes slices and arrows of the entries (`render`). What was overwritten
//! before it was read is counted as lost.
//!
//! **What is noted**: jobs that came from a queue, the pool's queue or the mail, not what a join
//! takes back and runs inlined; waits for what others do; the time without work, from the first
//! search in vain on; parking. And each job that came from another worker: stolen, donated, dealt.
//! An entry takes a reading of the clock and a few stores.
//!
//! **Nothing is asked on the fast path** of a join. Elsewhere a pool without a trace pays a branch
//! on whether there is a tracer.

mod render;
mod ring;

use std::cell::Cell;

use locksley_trace::{Activity, Arrow};

pub(crate) use render::Tracing;
use ring::Ring;

use crate::machine::clock::Instant;
use crate::scheduler::worker::Worker;

/// One thing that a worker noted. As a word:
///
/// | bits | meaning |
/// |---|---|
/// | 0-1 | begin, end or move |
/// | 2-3 | the activity, or how something moved |
/// | 8-23 | how many activities are around this one |
/// | 24-39 | the load of the worker, or of the one it moved from; at most 65535 |
/// | 40-63 | the worker that it moved from |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    what: What,
    depth: u16,
    load: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Begin(Activity),
    End(Activity),
    /// A job came from this worker.
    Moved(Arrow, usize),
}

const BEGIN: u64 = 0;
const END: u64 = 1;
const UNKNOWN_OWNER: u64 = 2;

/// The most that a worker's index can be in an entry: far beyond what a pool can start.
const MOST_INDEX: usize = (1 << 24) - 1;

const _: () = assert!(Activity::ALL.len() <= 4 && Arrow::ALL.len() <= 4);
const _: () = assert!(crate::pool::config::MOST_WORKERS < MOST_INDEX);

impl Entry {
    fn to_word(self) -> u64 {
        let (kind, which, who) = match self.what {
            What::Begin(activity) => (BEGIN, activity as u64, 0),
            What::End(activity) => (END, activity as u64, 0),
            What::Moved(how, from) => (UNKNOWN_OWNER, how as u64, from.min(MOST_INDEX) as u64),
        };
        let (depth, load) = (u64::from(self.depth), u64::from(self.load));
        kind | which << 2 | depth << 8 | load << 24 | who << 40
    }

    fn from_word(word: u64) -> Entry {
        let which = (word >> 2 & 3) as usize;
        Entry {
            what: match word & 3 {
                BEGIN => What::Begin(Activity::ALL[which]),
                END => What::End(Activity::ALL[which]),
                _ => What::Moved(Arrow::ALL[which], (word >> 40) as usize),
            },
            depth: (word >> 8) as u16,
            load: (word >> 24) as u16,
        }
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

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/observe/trace.rs"]
mod tests;
