//! Events, and the words that pools and simulations have in common.

use std::borrow::Cow;

/// What a worker or a processor does.
///
/// ```
/// use locksley_trace::Activity;
///
/// assert_eq!(Activity::ALL.map(Activity::name), ["work", "wait", "idle", "parked"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Executes tasks.
    Work,
    /// Waits for something that another one does. What it executes meanwhile is inside of it.
    Wait,
    /// Has nothing to do.
    Idle,
    /// Sleeps: inside of waiting or being idle.
    Parked,
}

impl Activity {
    /// All of them.
    pub const ALL: [Activity; 4] = [
        Activity::Work,
        Activity::Wait,
        Activity::Idle,
        Activity::Parked,
    ];

    /// The name of its slices.
    ///
    /// ```
    /// assert_eq!(locksley_trace::Activity::Work.name(), "work");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Activity::Work => "work",
            Activity::Wait => "wait",
            Activity::Idle => "idle",
            Activity::Parked => "parked",
        }
    }

    /// The category of its slices: work, or idle.
    ///
    /// ```
    /// use locksley_trace::Activity;
    ///
    /// assert_eq!(Activity::ALL.map(Activity::category), ["work", "idle", "idle", "idle"]);
    /// ```
    pub fn category(self) -> &'static str {
        match self {
            Activity::Work => "work",
            Activity::Wait | Activity::Idle | Activity::Parked => "idle",
        }
    }
}

/// How work gets from one to another.
///
/// ```
/// use locksley_trace::Arrow;
///
/// assert_eq!(Arrow::ALL.map(Arrow::name), ["steal", "donation", "dealing", "lifeline"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrow {
    /// It was stolen.
    Steal,
    /// It was offered, and the offer was accepted.
    Donation,
    /// It was dealt or sent.
    Dealing,
    /// It was sent to one that had asked before.
    Lifeline,
}

impl Arrow {
    /// All of them.
    pub const ALL: [Arrow; 4] = [
        Arrow::Steal,
        Arrow::Donation,
        Arrow::Dealing,
        Arrow::Lifeline,
    ];

    /// The name of its arrows, and their category.
    ///
    /// ```
    /// assert_eq!(locksley_trace::Arrow::Steal.name(), "steal");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Arrow::Steal => "steal",
            Arrow::Donation => "donation",
            Arrow::Dealing => "dealing",
            Arrow::Lifeline => "lifeline",
        }
    }
}

/// One event of a [`Trace`](crate::Trace).
///
/// ```
/// use locksley_trace::{Activity, Trace, TraceEvent};
///
/// let mut trace = Trace::new();
/// trace.slice(Activity::Work, (1, 0), 0.0, 10.0);
/// let TraceEvent::Slice { name, dur, .. } = &trace.events[0] else { unreachable!() };
/// assert_eq!((name.as_ref(), *dur), ("work", 10.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize), serde(tag = "ph"))]
pub enum TraceEvent {
    /// The name of a process or of a thread.
    #[cfg_attr(feature = "read", serde(rename = "M"))]
    Name {
        /// What is named.
        name: Subject,
        /// The process.
        pid: u32,
        /// The thread.
        #[cfg_attr(feature = "read", serde(default))]
        tid: u32,
        /// What it is called.
        args: Label,
    },
    /// A thread did something for a while.
    #[cfg_attr(feature = "read", serde(rename = "X"))]
    Slice {
        /// What.
        name: Cow<'static, str>,
        /// What kind of thing.
        cat: Cow<'static, str>,
        /// Since when.
        ts: f64,
        /// For how long.
        dur: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Something happened on a thread.
    #[cfg_attr(feature = "read", serde(rename = "i"))]
    Instant {
        /// What.
        name: Cow<'static, str>,
        /// What kind of thing.
        cat: Cow<'static, str>,
        /// When.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Something left a thread: the start of an arrow.
    #[cfg_attr(feature = "read", serde(rename = "s"))]
    Left {
        /// What.
        name: Cow<'static, str>,
        /// How: an [`Arrow`]'s name.
        cat: Cow<'static, str>,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// When.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// It arrived at another: the end of an arrow, at the slice around it.
    #[cfg_attr(feature = "read", serde(rename = "f"))]
    Arrived {
        /// What.
        name: Cow<'static, str>,
        /// How: an [`Arrow`]'s name.
        cat: Cow<'static, str>,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// When.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// The value of some counters from a time on.
    #[cfg_attr(feature = "read", serde(rename = "C"))]
    Counter {
        /// What is counted.
        name: Cow<'static, str>,
        /// From when on.
        ts: f64,
        /// The process.
        pid: u32,
        /// The counters.
        args: Counters,
    },
}

impl TraceEvent {
    /// The process that it belongs to.
    ///
    /// ```
    /// let mut trace = locksley_trace::Trace::new();
    /// trace.name_process(7, "pool");
    /// assert_eq!(trace.events[0].pid(), 7);
    /// ```
    pub fn pid(&self) -> u32 {
        match self {
            TraceEvent::Name { pid, .. }
            | TraceEvent::Slice { pid, .. }
            | TraceEvent::Instant { pid, .. }
            | TraceEvent::Left { pid, .. }
            | TraceEvent::Arrived { pid, .. }
            | TraceEvent::Counter { pid, .. } => *pid,
        }
    }

    /// The number of an arrow.
    pub(crate) fn id(&self) -> Option<u64> {
        match self {
            TraceEvent::Left { id, .. } | TraceEvent::Arrived { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Moves the event to a process.
    pub(crate) fn set_pid(&mut self, to: u32) {
        match self {
            TraceEvent::Name { pid, .. }
            | TraceEvent::Slice { pid, .. }
            | TraceEvent::Instant { pid, .. }
            | TraceEvent::Left { pid, .. }
            | TraceEvent::Arrived { pid, .. }
            | TraceEvent::Counter { pid, .. } => *pid = to,
        }
    }

    /// Moves the event by a time, and its arrow by a number.
    pub(crate) fn shift(&mut self, time: f64, arrows: u64) {
        match self {
            TraceEvent::Name { .. } => {}
            TraceEvent::Slice { ts, .. }
            | TraceEvent::Instant { ts, .. }
            | TraceEvent::Counter { ts, .. } => *ts += time,
            TraceEvent::Left { ts, id, .. } | TraceEvent::Arrived { ts, id, .. } => {
                *ts += time;
                *id += arrows;
            }
        }
    }
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub enum Subject {
    /// A process.
    #[cfg_attr(feature = "read", serde(rename = "process_name"))]
    Process,
    /// A thread.
    #[cfg_attr(feature = "read", serde(rename = "thread_name"))]
    Thread,
}

/// What a process or a thread is called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub struct Label {
    /// This.
    pub name: Cow<'static, str>,
}

/// The counters that a trace shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub struct Counters {
    /// Workers or processors that are busy.
    pub busy: f64,
    /// The mean load.
    pub mean: f64,
    /// The largest load.
    pub max: f64,
}
