//! Events, and the names that pools and simulations share.

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
    /// Waits for work that another worker does. Slices of tasks that it executes meanwhile are
    /// nested in this one.
    Wait,
    /// Has no work.
    Idle,
    /// Sleeps; nested in `Wait` or `Idle`.
    Parked,
}

impl Activity {
    /// All variants.
    pub const ALL: [Activity; 4] = [
        Activity::Work,
        Activity::Wait,
        Activity::Idle,
        Activity::Parked,
    ];

    /// Returns the name of the activity's slices.
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

    /// Returns the category of the activity's slices: work or idle.
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

/// How work moves from one worker to another.
///
/// ```
/// use locksley_trace::Arrow;
///
/// assert_eq!(Arrow::ALL.map(Arrow::name), ["steal", "donation", "dealing", "lifeline"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrow {
    /// A thief stole it.
    Steal,
    /// Its donor offered it, and the receiver accepted the offer.
    Donation,
    /// A worker dealt it, or a rank sent it.
    Dealing,
    /// It was sent to a rank that had asked for work before.
    Lifeline,
}

impl Arrow {
    /// All variants.
    pub const ALL: [Arrow; 4] = [
        Arrow::Steal,
        Arrow::Donation,
        Arrow::Dealing,
        Arrow::Lifeline,
    ];

    /// Returns the name of the arrows, which is also their category.
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
        /// Its name.
        args: Label,
    },
    /// A thread did something for a while.
    #[cfg_attr(feature = "read", serde(rename = "X"))]
    Slice {
        /// The name of the activity.
        name: Cow<'static, str>,
        /// The category.
        cat: Cow<'static, str>,
        /// Start of the slice.
        ts: f64,
        /// Duration of the slice.
        dur: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Something happened on a thread.
    #[cfg_attr(feature = "read", serde(rename = "i"))]
    Instant {
        /// The name of what happened.
        name: Cow<'static, str>,
        /// The category.
        cat: Cow<'static, str>,
        /// The time.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Work left a thread: the start of an arrow.
    #[cfg_attr(feature = "read", serde(rename = "s"))]
    Left {
        /// The name of the arrow.
        name: Cow<'static, str>,
        /// The category: the name of an [`Arrow`].
        cat: Cow<'static, str>,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// The time.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Work arrived at a thread: the end of an arrow, attached to the slice around it.
    #[cfg_attr(feature = "read", serde(rename = "f"))]
    Arrived {
        /// The name of the arrow.
        name: Cow<'static, str>,
        /// The category: the name of an [`Arrow`].
        cat: Cow<'static, str>,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// The time.
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
        /// Time from which on the counters have these values.
        ts: f64,
        /// The process.
        pid: u32,
        /// The counters.
        args: Counters,
    },
}

impl TraceEvent {
    /// Returns the process that the event belongs to.
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

    /// Returns the number of the arrow that the event is an end of.
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

    /// Shifts the event in time, and the number of its arrow.
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

/// Kind of thing that a [`TraceEvent::Name`] names.
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

/// The name of a process or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub struct Label {
    /// The name.
    pub name: Cow<'static, str>,
}

/// The counters that a trace shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "read", derive(serde::Deserialize))]
pub struct Counters {
    /// Number of workers or processors that are busy.
    pub busy: f64,
    /// The mean load.
    pub mean: f64,
    /// The largest load.
    pub max: f64,
}
