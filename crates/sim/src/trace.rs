//! Timelines for people: the trace format of Chrome and Perfetto.
//!
//! A trace is JSON that <https://ui.perfetto.dev> and `chrome://tracing` open. Every worker or
//! processor is a thread; what it executes is a slice; work that moves from one to another is an
//! arrow; loads are counters.

use serde::{Deserialize, Serialize};

use crate::engine::{Happening, Load, Move};
use crate::report::Report;

/// A trace, in the JSON object format of Chrome's trace events.
///
/// ```
/// use locksley_sim::dag::{Fib, Strands};
/// use locksley_sim::{Setup, Strategy, Trace, simulate};
///
/// let setup = Setup { timeline: true, ..Setup::new(4, Strategy::LockFree) };
/// let report = simulate(&mut Strands::new(Fib::new(10)), &setup)?;
/// let trace = Trace::of(&report);
/// let json = trace.to_json();
/// assert!(json.starts_with("{\"traceEvents\":[{\"ph\":\"M\""));
/// let back: Trace = serde_json::from_str(&json).unwrap();
/// assert_eq!(back, trace);
/// # Ok::<(), locksley_sim::SimError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// What happened, in any order.
    pub trace_events: Vec<TraceEvent>,
    /// The unit in which viewers show times: `ns` or `ms`.
    pub display_time_unit: String,
}

/// One event of a [`Trace`]. Times are in microseconds, or in whatever else is to be shown as such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ph")]
pub enum TraceEvent {
    /// The name of a thread.
    #[serde(rename = "M")]
    Name {
        /// Always `thread_name`.
        name: String,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// What it is called.
        args: ThreadName,
    },
    /// A thread did something for a while.
    #[serde(rename = "X")]
    Slice {
        /// What.
        name: String,
        /// What kind of thing.
        cat: String,
        /// Since when.
        ts: f64,
        /// For how long.
        dur: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Something left a thread: the start of an arrow.
    #[serde(rename = "s")]
    Left {
        /// What.
        name: String,
        /// How: `steal`, `donation`, `dealing`, `lifeline`.
        cat: String,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// When.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// It arrived at another: the end of an arrow.
    #[serde(rename = "f")]
    Arrived {
        /// What.
        name: String,
        /// How.
        cat: String,
        /// The number that the arrow's two ends have in common.
        id: u64,
        /// When.
        ts: f64,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// `e`: the arrow ends at the slice around it.
        bp: String,
    },
    /// The value of some counters from a time on.
    #[serde(rename = "C")]
    Counter {
        /// What is counted.
        name: String,
        /// From when on.
        ts: f64,
        /// The process.
        pid: u32,
        /// The counters.
        args: Counters,
    },
}

/// What a thread is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadName {
    /// This.
    pub name: String,
}

/// The counters that a trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Processors that are busy.
    pub busy: f64,
    /// The mean load.
    pub mean: f64,
    /// The largest load.
    pub max: f64,
}

impl Trace {
    /// What a simulation noted, a tick as a microsecond. Empty if it was not told to note a
    /// timeline.
    pub fn of(report: &Report) -> Trace {
        let happenings = report.timeline.as_deref().unwrap_or_default();
        let mut threads: Vec<u32> = happenings.iter().flat_map(threads_of).collect();
        threads.sort_unstable();
        threads.dedup();
        let names = threads.into_iter().map(|tid| TraceEvent::Name {
            name: "thread_name".to_owned(),
            pid: 0,
            tid,
            args: ThreadName {
                name: format!("processor {tid}"),
            },
        });
        let told = happenings
            .iter()
            .zip(0..)
            .flat_map(|(happening, id)| tell(happening, id));
        Trace {
            trace_events: names
                .chain(told)
                .chain(report.loads.iter().map(count))
                .collect(),
            display_time_unit: "ns".to_owned(),
        }
    }

    /// The trace as a viewer wants it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn threads_of(happening: &Happening) -> impl Iterator<Item = u32> + use<> {
    let (a, b) = match *happening {
        Happening::Busy { processor, .. } => (processor, processor),
        Happening::Moved { from, to, .. } => (from, to),
    };
    [a, b].into_iter()
}

fn tell(happening: &Happening, id: u64) -> Vec<TraceEvent> {
    match *happening {
        Happening::Busy {
            processor,
            from,
            to,
        } => vec![TraceEvent::Slice {
            name: "busy".to_owned(),
            cat: "work".to_owned(),
            ts: from as f64,
            dur: (to - from) as f64,
            pid: 0,
            tid: processor,
        }],
        Happening::Moved {
            how,
            from,
            to,
            left,
            arrived,
        } => arrow(how, id, (from, left), (to, arrived)).into(),
    }
}

/// From a thread at a time to another.
fn arrow(
    how: Move,
    id: u64,
    (from, left): (u32, u64),
    (to, arrived): (u32, u64),
) -> [TraceEvent; 2] {
    let name = match how {
        Move::Steal => "steal",
        Move::Donation => "donation",
        Move::Dealing => "dealing",
        Move::Lifeline => "lifeline",
    };
    [
        TraceEvent::Left {
            name: name.to_owned(),
            cat: name.to_owned(),
            id,
            ts: left as f64,
            pid: 0,
            tid: from,
        },
        TraceEvent::Arrived {
            name: name.to_owned(),
            cat: name.to_owned(),
            id,
            ts: arrived as f64,
            pid: 0,
            tid: to,
            bp: "e".to_owned(),
        },
    ]
}

fn count(load: &Load) -> TraceEvent {
    TraceEvent::Counter {
        name: "load".to_owned(),
        ts: load.time as f64,
        pid: 0,
        args: Counters {
            busy: load.busy as f64,
            mean: load.mean,
            max: load.max as f64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::{Generator, Strands};
    use crate::{Setup, simulate};

    #[test]
    fn every_arrow_has_two_ends_and_every_thread_a_name() {
        let setup = Setup {
            timeline: true,
            sample: 50,
            ..Setup::new(4, "sharing:greedy".parse().unwrap())
        };
        let report = simulate(&mut Strands::new(Generator::new(50, 20, 3)), &setup).unwrap();
        let trace = Trace::of(&report);
        let (mut left, mut arrived, mut names, mut counters) = (Vec::new(), Vec::new(), 0, 0);
        for event in &trace.trace_events {
            match event {
                TraceEvent::Left { id, ts, .. } => left.push((*id, *ts)),
                TraceEvent::Arrived { id, ts, .. } => arrived.push((*id, *ts)),
                TraceEvent::Name { .. } => names += 1,
                TraceEvent::Counter { .. } => counters += 1,
                TraceEvent::Slice { dur, .. } => assert!(*dur >= 0.0),
            }
        }
        assert_eq!((names, counters), (4, report.loads.len()));
        assert!(!left.is_empty());
        let pairs = left.iter().zip(&arrived);
        assert!(
            pairs
                .clone()
                .all(|(left, arrived)| left.0 == arrived.0 && left.1 <= arrived.1)
        );
        assert_eq!(left.len(), arrived.len());
    }
}
