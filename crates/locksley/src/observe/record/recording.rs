//! What was recorded, and how it is written.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::graph::Graph;
use crate::task::job::GroupId;

/// What ran one after another: time, and what happened in between.
#[derive(Default)]
pub(super) struct Strand {
    /// What happened, and how many nanoseconds went by before.
    pub(super) parts: Vec<(u64, Item)>,
    /// Nanoseconds since.
    pub(super) rest: u64,
}

/// The strand of a spawned task. It is there when the task is done.
pub(super) type Slot = Arc<OnceLock<Strand>>;

pub(super) enum Item {
    /// A join, and the strands of its closures.
    Fork(Box<[Strand; 2]>),
    /// A scope and its body. It ends when the tasks that were spawned into it are done too.
    Scope(GroupId, Arc<Strand>),
    /// A task that was spawned into a scope.
    ScopeTask(GroupId, Slot),
    /// A task that was spawned on its own.
    Task(Slot),
    /// The strand has waited for the handle of such a task.
    Joined(Slot),
    /// The tasks of a flow.
    Tasks(Arc<TaskGraph>),
    /// Something was started of which the recording does not know what waits for it.
    Unordered,
}

/// Tasks that wait for each other, and the strand of each.
pub(crate) struct TaskGraph {
    /// The number of the first task, from which the numbers of the others go on.
    pub(super) first: usize,
    /// The tasks that each task waits for, counted from the first.
    pub(super) after: Vec<Vec<usize>>,
    /// Empty for a task that did not run.
    pub(super) strands: Vec<OnceLock<Strand>>,
}

impl TaskGraph {
    pub(super) fn new(first: usize, after: Vec<Vec<usize>>) -> TaskGraph {
        let strands = after.iter().map(|_| OnceLock::new()).collect();
        TaskGraph {
            first,
            after,
            strands,
        }
    }
}

impl Strand {
    /// How long it took, without what it forked.
    pub(super) fn time(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.0);
        parts.fold(self.rest, u64::saturating_add)
    }

    pub(super) fn add(&mut self, nanoseconds: u64) {
        self.rest = self.rest.saturating_add(nanoseconds);
    }

    pub(super) fn push(&mut self, item: Item) {
        if self.parts.is_empty() {
            // Most strands fork once.
            self.parts.reserve_exact(1);
        }
        self.parts.push((std::mem::take(&mut self.rest), item));
    }
}

// A work list, so that deep programs cannot overflow the stack.
impl Drop for Strand {
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        while let Some((_, item)) = parts.pop() {
            let mut take = |strand: &mut Strand| parts.append(&mut strand.parts);
            match item {
                Item::Fork(mut both) => both.iter_mut().for_each(take),
                Item::Scope(_, body) => {
                    if let Some(mut strand) = Arc::into_inner(body) {
                        take(&mut strand);
                    }
                }
                Item::ScopeTask(_, slot) | Item::Task(slot) | Item::Joined(slot) => {
                    if let Some(strand) = Arc::into_inner(slot).as_mut().and_then(OnceLock::get_mut)
                    {
                        take(strand);
                    }
                }
                Item::Tasks(tasks) => {
                    if let Some(mut tasks) = Arc::into_inner(tasks) {
                        let strands = tasks.strands.iter_mut();
                        strands.filter_map(OnceLock::get_mut).for_each(take);
                    }
                }
                Item::Unordered => {}
            }
        }
    }
}

/// What a pool has run: forks, joins, and the time between them. See
/// [`Builder::record`](crate::Builder::record) for what is recorded and what that costs, and
/// [`Pool::take_recording`](crate::Pool::take_recording).
///
/// [Written as JSON](Recording::to_json) it is a computation for the simulator `locksley-sim`,
/// which tells its work and span, and what each scheduler would make of it on any number of
/// processors.
///
/// ```
/// use std::time::Duration;
///
/// let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
/// pool.install(|| locksley::join(|| 1, || locksley::join(|| 2, || 3)));
/// let recording = pool.take_recording().unwrap();
/// assert_eq!(recording.forks(), 2);
/// let json = recording.to_json(Duration::from_nanos(100));
/// assert!(json.starts_with(r#"{"format": "locksley-dag/1","#));
/// ```
pub struct Recording {
    runs: Vec<Arc<Strand>>,
    /// How many nanoseconds an empty strand is recorded to take, if that was measured.
    cost: u64,
}

impl Recording {
    pub(super) fn of(runs: Vec<Arc<Strand>>, cost: u64) -> Recording {
        Recording { runs, cost }
    }

    /// Adds the runs of another recording behind these.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.join(|| 1, || 2);
    /// let mut recording = pool.take_recording().unwrap();
    /// pool.join(|| 1, || 2);
    /// recording.append(pool.take_recording().unwrap());
    /// assert_eq!(recording.forks(), 2);
    /// ```
    pub fn append(&mut self, other: Recording) {
        self.runs.extend(other.runs);
        self.cost = self.cost.max(other.cost);
    }

    /// How long a strand in which nothing happens is recorded to take: what
    /// [`profile`](Recording::profile) should take off each. Measured when a pool that
    /// [records](crate::Builder::record) runs something for the first time; zero for
    /// [`Pool::record`](crate::Pool::record).
    ///
    /// ```
    /// use locksley::Profile;
    ///
    /// let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.join(|| 1, || 2);
    /// let recording = pool.take_recording().unwrap();
    /// let profile = recording.profile(Profile::BURDEN, recording.strand_cost());
    /// assert_eq!(profile.spawns, 1);
    /// ```
    #[must_use]
    pub fn strand_cost(&self) -> Duration {
        Duration::from_nanos(self.cost)
    }

    /// The number of forks: joins, and tasks that were waited for.
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.scope(|s| (0..5).for_each(|_| s.spawn(|_| ())));
    /// assert_eq!(pool.take_recording().unwrap().forks(), 5);
    /// ```
    #[must_use]
    pub fn forks(&self) -> usize {
        self.graph().forks()
    }

    /// How long all of it took, without waiting: what one worker would have needed.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let pool = locksley::Pool::builder().workers(1).record(true).build().unwrap();
    /// let start = Instant::now();
    /// pool.install(|| locksley::join(|| (1..1000).sum::<u64>(), || (1..2000).sum::<u64>()));
    /// let work = pool.take_recording().unwrap().work();
    /// assert!(work > Duration::ZERO && work <= start.elapsed());
    /// ```
    #[must_use]
    pub fn work(&self) -> Duration {
        let times = self.graph().nodes.into_iter().map(|node| node.nanoseconds);
        Duration::from_nanos(times.fold(0, u64::saturating_add))
    }

    /// The recording as a graph for the simulator: JSON of the format `locksley-dag/1`.
    ///
    /// What ran between two forks or joins becomes a node with as many `steps` as it took units of
    /// time, rounded, and at least one. A short unit tells short times apart; with a long one a
    /// simulation is faster, since it takes as long as there are steps. The unit is written into
    /// the file. With [`Duration::MAX`] every node has one step, and what remains is the structure,
    /// which is the same for every run of a program that forks the same way.
    ///
    /// Several runs follow each other.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.join(|| 1, || 2);
    /// let json = pool.take_recording().unwrap().to_json(Duration::MAX);
    /// assert_eq!(
    ///     json,
    ///     r#"{"format": "locksley-dag/1", "nodes": [
    /// {"id": "0", "next": ["2", "3"]},
    /// {"id": "1"},
    /// {"id": "2", "next": ["1"]},
    /// {"id": "3", "next": ["1"]}
    /// ]}
    /// "#
    /// );
    /// ```
    #[must_use]
    pub fn to_json(&self, unit: Duration) -> String {
        let mut text = String::new();
        let unit = u64::try_from(unit.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Writing to a string does not fail.
        let _ = write_json(&self.graph(), unit, &mut text);
        text
    }

    /// Writes [`to_json`](Recording::to_json) to a file, or whatever else can be written to.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let pool = locksley::Pool::builder().workers(2).record(true).build().unwrap();
    /// pool.join(|| 1, || 2);
    /// let mut out = Vec::new(); // or a file
    /// pool.take_recording().unwrap().write(&mut out, Duration::from_nanos(100))?;
    /// assert!(!out.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(&self, mut out: impl io::Write, unit: Duration) -> io::Result<()> {
        out.write_all(self.to_json(unit).as_bytes())
    }

    /// The graph of all runs.
    pub(crate) fn graph(&self) -> Graph {
        Graph::of(&self.runs)
    }
}

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
