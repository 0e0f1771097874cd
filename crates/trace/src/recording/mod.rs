//! Recordings of runs, and their JSON form.

mod graph;
mod strand;

use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

#[doc(hidden)]
pub use graph::AddressHasher;
use graph::Graph;
pub(crate) use graph::Node;
pub use strand::{Item, Slot, Strand, TaskGraph};

/// What a pool has run: forks, joins, and the time between them. Created by `Pool::record` and
/// `Pool::take_recording` of the runtime; see `Builder::record` for what is recorded, and what that
/// costs.
///
/// [Written as JSON](Recording::to_json) it is a computation for the simulator `locksley-sim`,
/// which computes its work and span, and simulates each scheduler on any number of processors.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use locksley_trace::recording::{Item, Recording, Strand};
///
/// // 5 ns, then a join of two closures of 20 and 30 ns.
/// let strand = |nanoseconds| {
///     let mut strand = Strand::default();
///     strand.add(nanoseconds);
///     strand
/// };
/// let mut run = strand(5);
/// run.push(Item::Fork(Box::new([strand(20), strand(30)])));
/// let mut recording = Recording::new(vec![Arc::new(run)], Duration::ZERO);
/// assert_eq!((recording.forks(), recording.work()), (1, Duration::from_nanos(55)));
/// assert_eq!(
///     recording.to_json(Duration::MAX),
///     r#"{"format": "locksley-dag/1", "nodes": [
/// {"id": "0", "next": ["2", "3"]},
/// {"id": "1"},
/// {"id": "2", "next": ["1"]},
/// {"id": "3", "next": ["1"]}
/// ]}
/// "#
/// );
///
/// // What it says about the speed-up, if a stolen task takes 7 ns to get to its thief.
/// let profile = recording.profile(Duration::from_nanos(7), Duration::ZERO);
/// assert_eq!(profile.span, Duration::from_nanos(35));
/// assert_eq!(profile.burdened_span, Duration::from_nanos(42));
/// ```
pub struct Recording {
    runs: Vec<Arc<Strand>>,
    /// Recorded time of an empty strand, if it was measured.
    cost: Duration,
}

impl Recording {
    /// Creates a recording of runs, one after the other. `cost` is the recorded time of an empty
    /// strand.
    pub fn new(runs: Vec<Arc<Strand>>, cost: Duration) -> Recording {
        Recording { runs, cost }
    }

    /// Appends the runs of another recording.
    pub fn append(&mut self, other: Recording) {
        self.runs.extend(other.runs);
        self.cost = self.cost.max(other.cost);
    }

    /// Returns the recorded time of an empty strand, which [`profile`](Recording::profile) should
    /// subtract from each strand. Measured when a pool that records all of its runs runs something
    /// for the first time; zero for `Pool::record`.
    #[must_use]
    pub fn strand_cost(&self) -> Duration {
        self.cost
    }

    /// Returns the number of forks: joins, and tasks that were waited for.
    #[must_use]
    pub fn forks(&self) -> usize {
        self.graph().forks()
    }

    /// Returns the time of all strands, without waiting: what one worker would have needed.
    #[must_use]
    pub fn work(&self) -> Duration {
        let times = self.graph().nodes.into_iter().map(|node| node.nanoseconds);
        Duration::from_nanos(times.fold(0, u64::saturating_add))
    }

    /// Returns the recording as a graph for the simulator: JSON of the format `locksley-dag/1`.
    ///
    /// What ran between two forks or joins becomes a node with as many `steps` as it took units of
    /// time, rounded, and at least one. A short unit distinguishes short times; a long one makes a
    /// simulation faster, since its time is proportional to the number of steps. The unit is part
    /// of the output. With [`Duration::MAX`] every node has one step, and what remains is the
    /// structure, which is the same for every run of a program that forks the same way.
    ///
    /// Several runs are put one after the other.
    #[must_use]
    pub fn to_json(&self, unit: Duration) -> String {
        let mut text = String::new();
        let unit = u64::try_from(unit.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Writing to a string does not fail.
        let _ = write_json(&self.graph(), unit, &mut text);
        text
    }

    /// Writes [`to_json`](Recording::to_json) to a file or another writer.
    ///
    /// # Errors
    ///
    /// If `out` returns an error.
    pub fn write(&self, mut out: impl io::Write, unit: Duration) -> io::Result<()> {
        out.write_all(self.to_json(unit).as_bytes())
    }

    /// Returns the graph of all runs.
    pub(crate) fn graph(&self) -> Graph {
        Graph::of(&self.runs)
    }
}

// A recording is immutable, although its strands are in cells.
impl UnwindSafe for Recording {}
impl RefUnwindSafe for Recording {}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("forks", &self.forks())
            .field("work", &self.work())
            .finish_non_exhaustive()
    }
}

fn write_json(graph: &Graph, unit: u64, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_str("{\"format\": \"locksley-dag/1\", ")?;
    if unit < u64::MAX {
        write!(out, "\"unit_ns\": {unit}, ")?;
    }
    if graph.unordered > 0 {
        write!(out, "\"unordered\": {}, ", graph.unordered)?;
    }
    out.write_str("\"nodes\": [")?;
    for (id, node) in graph.nodes.iter().enumerate() {
        let comma = if id == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"id\": \"{id}\"")?;
        match node.next {
            [None, _] => {}
            [Some(next), None] => write!(out, ", \"next\": [\"{next}\"]")?,
            [Some(next), Some(other)] => write!(out, ", \"next\": [\"{next}\", \"{other}\"]")?,
        }
        let steps = node.nanoseconds.saturating_add(unit / 2) / unit;
        if steps > 1 {
            write!(out, ", \"steps\": {steps}")?;
        }
        out.write_str("}")?;
    }
    out.write_str("\n]}\n")
}

#[cfg(test)]
#[path = "../../tests/unit/recording.rs"]
mod tests;
