//! Timelines of what each worker of a pool, or each processor of a simulation, did.
//!
//! ```text
//!   worker 0  |██████ work ██████████████████████|  wait  |███ work ███|░ idle ░░░░░|
//!                   └── steal ──>                              ^
//!   worker 1  |░ idle ░|████████████ work ████████████|── ... ─┘     |░ idle [parked] ░|
//!   load      ▁▁▁▁▁▁▁▁▁████████████████████████████████████████████▄▄▄▁▁▁▁▁▁▁
//! ```
//!
//! A [`Trace`] is written as JSON for <https://ui.perfetto.dev> and `chrome://tracing`. Every
//! worker or processor is a thread. Its activities are slices ([`Activity`]), work that moves from
//! one thread to another is an arrow ([`Arrow`]), and loads are counters ([`Counters`]). Traces of
//! several processes can be [merged](Trace::merge), and arrows can lead from one process to
//! [another](Trace::arrow_between).
//!
//! ```
//! use locksley_trace::{Activity, Arrow, Trace};
//!
//! let mut trace = Trace::new();
//! trace.name_process(1, "example");
//! trace.name_thread(1, 0, "worker 0");
//! trace.name_thread(1, 1, "worker 1");
//! trace.slice(Activity::Work, (1, 0), 0.0, 40.0);
//! trace.arrow(Arrow::Steal, 1, (0, 9.5), (1, 10.0));
//! trace.slice(Activity::Work, (1, 1), 10.0, 20.0);
//! let json = trace.to_json();
//! assert!(json.starts_with(r#"{"displayTimeUnit":"ns","traceEvents":["#));
//! assert_eq!(json.matches("\"ph\"").count(), 7);
//! ```
//!
//! Writing needs no dependency, so that a runtime can include it. The feature `read` adds
//! `Trace::from_json`, with serde.

#![forbid(unsafe_code)]

mod event;
mod json;
mod profile;
#[cfg(feature = "read")]
mod read;
pub mod recording;
pub mod stats;
#[cfg(test)]
mod tests;
pub mod timeline;

use std::borrow::Cow;
use std::io;

pub use event::{Activity, Arrow, Counters, Label, Subject, TraceEvent};
pub use profile::{Bounds, Profile};
#[cfg(feature = "read")]
pub use read::ReadError;

/// A trace: events, and metadata about their source.
///
/// Times are in microseconds, or in another unit that viewers show as microseconds.
///
/// ```
/// use locksley_trace::{Activity, Trace, TraceEvent};
///
/// let mut trace = Trace::new();
/// trace.slice(Activity::Idle, (0, 3), 1.5, 2.0);
/// assert!(matches!(trace.events[..], [TraceEvent::Slice { tid: 3, .. }]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub struct Trace {
    /// The events, in any order.
    #[cfg_attr(feature = "read", serde(rename = "traceEvents"))]
    pub events: Vec<TraceEvent>,
    /// Metadata about the source.
    #[cfg_attr(feature = "read", serde(rename = "otherData", default))]
    pub source: Source,
}

/// Metadata about the source of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize), serde(default))]
pub struct Source {
    /// Number of events that were recorded and then lost, because a ring buffer was too small for
    /// them.
    pub lost: u64,
    /// The time of timestamp 0, in microseconds since 1970, if it is known.
    pub origin: Option<u64>,
}

impl Trace {
    /// Creates an empty trace.
    ///
    /// ```
    /// use locksley_trace::Trace;
    ///
    /// assert!(Trace::new().is_empty());
    /// ```
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Returns `true` if the trace has no events.
    ///
    /// ```
    /// use locksley_trace::Trace;
    ///
    /// let mut trace = Trace::new();
    /// trace.name_process(0, "pool");
    /// assert!(!trace.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Names a process.
    ///
    /// ```
    /// use locksley_trace::{Subject, Trace, TraceEvent};
    ///
    /// let mut trace = Trace::new();
    /// trace.name_process(7, "pool");
    /// assert!(matches!(trace.events[0], TraceEvent::Name { name: Subject::Process, pid: 7, .. }));
    /// ```
    pub fn name_process(&mut self, pid: u32, name: impl Into<Cow<'static, str>>) {
        self.name(Subject::Process, pid, 0, name.into());
    }

    /// Names a thread.
    ///
    /// ```
    /// use locksley_trace::{Subject, Trace, TraceEvent};
    ///
    /// let mut trace = Trace::new();
    /// trace.name_thread(7, 2, "worker 2");
    /// assert!(matches!(trace.events[0], TraceEvent::Name { name: Subject::Thread, tid: 2, .. }));
    /// ```
    pub fn name_thread(&mut self, pid: u32, tid: u32, name: impl Into<Cow<'static, str>>) {
        self.name(Subject::Thread, pid, tid, name.into());
    }

    fn name(&mut self, subject: Subject, pid: u32, tid: u32, name: Cow<'static, str>) {
        self.events.push(TraceEvent::Name {
            name: subject,
            pid,
            tid,
            args: Label { name },
        });
    }

    /// Adds a slice: a thread, given as `(pid, tid)`, did something from `ts` on for `dur`.
    ///
    /// ```
    /// use locksley_trace::{Activity, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.slice(Activity::Parked, (1, 0), 3.0, 4.0);
    /// assert!(trace.to_json().contains(r#""name":"parked","cat":"idle","ts":3,"dur":4"#));
    /// ```
    pub fn slice(&mut self, activity: Activity, (pid, tid): (u32, u32), ts: f64, dur: f64) {
        self.events.push(TraceEvent::Slice {
            name: activity.name().into(),
            cat: activity.category().into(),
            ts,
            dur,
            pid,
            tid,
        });
    }

    /// Adds an arrow: work left a thread of a process at a time, and arrived at another thread.
    /// Both ends are given as `(tid, time)`.
    ///
    /// ```
    /// use locksley_trace::{Arrow, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.arrow(Arrow::Donation, 1, (0, 3.0), (2, 4.0));
    /// assert_eq!(trace.events.len(), 2, "an end at each of them");
    /// ```
    pub fn arrow(&mut self, how: Arrow, pid: u32, left: (u32, f64), arrived: (u32, f64)) {
        self.arrow_between(how, ((pid, left.0), left.1), ((pid, arrived.0), arrived.1));
    }

    /// Adds an arrow between processes: work left a thread at a time, and arrived at a thread of
    /// another process. Both ends are given as `((pid, tid), time)`.
    ///
    /// ```
    /// use locksley_trace::{Arrow, Trace, TraceEvent};
    ///
    /// let mut trace = Trace::new();
    /// trace.arrow_between(Arrow::Steal, ((1, 0), 3.0), ((2, 5), 4.0));
    /// assert!(matches!(trace.events[0], TraceEvent::Left { id: 0, pid: 1, tid: 0, .. }));
    /// assert!(matches!(trace.events[1], TraceEvent::Arrived { id: 0, pid: 2, tid: 5, .. }));
    /// ```
    pub fn arrow_between(
        &mut self,
        how: Arrow,
        left: ((u32, u32), f64),
        arrived: ((u32, u32), f64),
    ) {
        // Unique in this trace: both ends are pushed together.
        let id = self.events.len() as u64;
        let name = || Cow::Borrowed(how.name());
        let ((pid, tid), ts) = left;
        self.events.push(TraceEvent::Left {
            name: name(),
            cat: name(),
            id,
            ts,
            pid,
            tid,
        });
        let ((pid, tid), ts) = arrived;
        self.events.push(TraceEvent::Arrived {
            name: name(),
            cat: name(),
            id,
            ts,
            pid,
            tid,
        });
    }

    /// Moves all events to one process, with this number and this name.
    ///
    /// ```
    /// use locksley_trace::{Activity, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.name_process(4711, "pool");
    /// trace.slice(Activity::Work, (4711, 0), 0.0, 10.0);
    /// trace.replace_process(3, "rank 3");
    /// assert!(trace.events.iter().all(|event| event.pid() == 3));
    /// assert!(trace.to_json().contains("rank 3") && !trace.to_json().contains("pool"));
    /// ```
    pub fn replace_process(&mut self, pid: u32, name: impl Into<Cow<'static, str>>) {
        let label = Label { name: name.into() };
        let mut named = false;
        for event in &mut self.events {
            event.set_pid(pid);
            if let TraceEvent::Name {
                name: Subject::Process,
                args,
                ..
            } = event
            {
                *args = label.clone();
                named = true;
            }
        }
        if !named {
            self.name_process(pid, label.name);
        }
    }

    /// Adds the loads of a process's threads from a time on.
    ///
    /// ```
    /// use locksley_trace::{Counters, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.load(1, 0.5, Counters { busy: 2.0, mean: 1.5, max: 3.0 });
    /// assert!(trace.to_json().contains(r#""args":{"busy":2,"mean":1.5,"max":3}"#));
    /// ```
    pub fn load(&mut self, pid: u32, ts: f64, args: Counters) {
        self.events.push(TraceEvent::Counter {
            name: "load".into(),
            ts,
            pid,
            args,
        });
    }

    /// Adds an instant: something happened on a thread, given as `(pid, tid)`, at a time.
    ///
    /// ```
    /// use locksley_trace::Trace;
    ///
    /// let mut trace = Trace::new();
    /// trace.instant("lost", "trace", (1, 0), 0.5);
    /// assert!(trace.to_json().contains(r#""ph":"i","s":"t""#));
    /// ```
    pub fn instant(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        category: impl Into<Cow<'static, str>>,
        (pid, tid): (u32, u32),
        ts: f64,
    ) {
        self.events.push(TraceEvent::Instant {
            name: name.into(),
            cat: category.into(),
            ts,
            pid,
            tid,
        });
    }

    /// Adds the trace of another process or of another pool.
    ///
    /// If both origins are known, the times of `other` are shifted to the origin of this trace. A
    /// process of `other` whose number is taken in this trace gets a new one.
    ///
    /// ```
    /// use locksley_trace::{Activity, Trace};
    ///
    /// let (mut one, mut other) = (Trace::new(), Trace::new());
    /// one.slice(Activity::Work, (7, 0), 0.0, 10.0);
    /// one.source.origin = Some(1_000_000);
    /// other.slice(Activity::Work, (7, 0), 0.0, 10.0);
    /// other.source.origin = Some(1_000_005);
    /// one.merge(other);
    /// assert!(one.to_json().contains(r#""ts":5,"dur":10,"pid":8"#));
    /// ```
    pub fn merge(&mut self, mut other: Trace) {
        let mut taken: Vec<u32> = Vec::new();
        for pid in self.events.iter().map(TraceEvent::pid) {
            if !taken.contains(&pid) {
                taken.push(pid);
            }
        }
        let mut numbers: Vec<(u32, u32)> = Vec::new();
        for event in &mut other.events {
            let pid = event.pid();
            let known = numbers.iter().find(|(old, _)| *old == pid);
            let new = known.map(|(_, new)| *new).unwrap_or_else(|| {
                let mut new = pid;
                while taken.contains(&new) {
                    new = new.wrapping_add(1);
                }
                taken.push(new);
                numbers.push((pid, new));
                new
            });
            event.set_pid(new);
        }
        self.append(other);
    }

    /// Adds a later or earlier trace of the same processes.
    ///
    /// If both origins are known, the times of `other` are shifted to the origin of this trace.
    ///
    /// ```
    /// use locksley_trace::{Arrow, Trace};
    ///
    /// let (mut one, mut other) = (Trace::new(), Trace::new());
    /// one.arrow(Arrow::Steal, 1, (0, 3.0), (2, 4.0));
    /// other.arrow(Arrow::Steal, 1, (0, 5.0), (2, 6.0));
    /// one.append(other);
    /// assert_eq!(one.events.len(), 4, "two arrows, with numbers of their own");
    /// assert_eq!(one.to_json().matches("\"id\":0").count(), 2);
    /// ```
    pub fn append(&mut self, other: Trace) {
        let shift = match (self.source.origin, other.source.origin) {
            (Some(ours), Some(theirs)) => theirs as f64 - ours as f64,
            _ => 0.0,
        };
        let arrows = self.events.iter().filter_map(TraceEvent::id);
        let arrows = arrows.max().map_or(0, |last| last + 1);
        for mut event in other.events {
            event.shift(shift, arrows);
            self.events.push(event);
        }
        self.source.lost = self.source.lost.saturating_add(other.source.lost);
    }

    /// Returns the trace as JSON in the format of Chrome's trace events.
    ///
    /// ```
    /// use locksley_trace::Trace;
    ///
    /// assert_eq!(
    ///     Trace::new().to_json(),
    ///     r#"{"displayTimeUnit":"ns","traceEvents":[],"otherData":{"lost":0}}"#
    /// );
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory does not fail, and the output is valid UTF-8.
        let _ = self.write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Writes [`to_json`](Trace::to_json) to a file or another writer, event by event. A file
    /// should be [buffered](io::BufWriter).
    ///
    /// ```
    /// use locksley_trace::Trace;
    ///
    /// let mut out = Vec::new(); // or a file
    /// Trace::new().write(&mut out)?;
    /// assert!(!out.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `out` returns an error.
    pub fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        json::write(self, json::exact, &mut out)
    }

    /// Returns [`to_json`](Trace::to_json) with all numbers rounded to three decimal places, which
    /// means times to a nanosecond. Its code is 20 KB smaller, which matters to programs for which
    /// tracing is a side issue.
    ///
    /// ```
    /// use locksley_trace::{Activity, Trace};
    ///
    /// let mut trace = Trace::new();
    /// trace.slice(Activity::Work, (7, 0), 1.5, 1.0 / 3.0);
    /// assert!(trace.to_rounded_json().contains(r#""ts":1.5,"dur":0.333,"#));
    /// ```
    pub fn to_rounded_json(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory does not fail, and the output is valid UTF-8.
        let _ = json::write(self, json::rounded, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}
