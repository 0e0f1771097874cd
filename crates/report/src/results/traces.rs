//! Traces of the workers: steals, loads, timelines.

use super::{Parameters, bad_number};
use serde::{Deserialize, Serialize};

/// Numbers of tasks that each worker took from each other one in a run.
///
/// ```
/// use locksley_report::StealMap;
///
/// let map = StealMap::new("queens", "stealing", vec![vec![0, 3], vec![5, 0]]);
/// assert_eq!(map.total(), 8);
/// assert_eq!(map.counts[1][0], 5, "worker 1 took 5 tasks from worker 0");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StealMap {
    /// The workload's or program's name.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The strategy.
    pub strategy: String,
    /// `counts[thief][victim]`: tasks that the thief took from the victim.
    pub counts: Vec<Vec<u64>>,
}

impl StealMap {
    /// Returns a map of a program without parameters.
    ///
    /// ```
    /// assert_eq!(locksley_report::StealMap::new("fib", "sharing", vec![]).total(), 0);
    /// ```
    pub fn new(
        program: impl Into<String>,
        strategy: impl Into<String>,
        counts: Vec<Vec<u64>>,
    ) -> StealMap {
        StealMap {
            program: program.into(),
            parameters: Parameters::new(),
            strategy: strategy.into(),
            counts,
        }
    }

    /// Returns the number of all steals.
    ///
    /// ```
    /// let steals = vec![vec![0, 1], vec![2, 0]];
    /// assert_eq!(locksley_report::StealMap::new("fib", "sharing", steals).total(), 3);
    /// ```
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let workers = self.counts.len();
        let odd = self.counts.iter().find(|row| row.len() != workers)?;
        Some(format!(
            "counts has {workers} rows, but one with {} numbers: it must be square",
            odd.len()
        ))
    }
}

/// Unit of a curve's time.
///
/// ```
/// assert_eq!(locksley_report::TimeUnit::default(), locksley_report::TimeUnit::Seconds);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Seconds of a real run.
    #[default]
    Seconds,
    /// Ticks of the simulator.
    Ticks,
}

/// The loads of all workers at one moment. A load is the number of tasks that wait in a worker's
/// queue.
///
/// ```
/// let percentiles = vec![0.0, 1.0, 6.0];
/// let point = locksley_report::LoadPoint { time: 0.5, mean: 2.0, max: 7.0, percentiles };
/// assert!(point.mean <= point.max);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Time since the start.
    pub time: f64,
    /// Average load.
    pub mean: f64,
    /// Largest load.
    pub max: f64,
    /// The percentiles that [`LoadCurve::percentiles`] names, in its order; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
}

/// The loads during one run.
///
/// ```
/// use locksley_report::{LoadCurve, LoadPoint};
///
/// let mut curve = LoadCurve::new("fib", "sharing", 64);
/// curve.percentiles = vec![10.0, 90.0];
/// curve.points.push(LoadPoint { time: 0.0, mean: 1.0, max: 64.0, percentiles: vec![0.0, 3.0] });
/// assert_eq!(curve.workers, 64);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadCurve {
    /// The workload's or program's name.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The strategy.
    pub strategy: String,
    /// Number of workers or simulated processors.
    pub workers: usize,
    /// Unit of time.
    #[serde(default)]
    pub unit: TimeUnit,
    /// The percentiles of each point, from 0 to 100, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Points of the curve, by time.
    #[serde(default)]
    pub points: Vec<LoadPoint>,
}

impl LoadCurve {
    /// Returns a curve in seconds, without points.
    ///
    /// ```
    /// assert!(locksley_report::LoadCurve::new("fib", "sharing", 64).points.is_empty());
    /// ```
    pub fn new(
        program: impl Into<String>,
        strategy: impl Into<String>,
        workers: usize,
    ) -> LoadCurve {
        LoadCurve {
            program: program.into(),
            strategy: strategy.into(),
            workers,
            ..LoadCurve::default()
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let numbers = self
            .points
            .iter()
            .flat_map(|p| p.percentiles.iter().copied().chain([p.time, p.mean, p.max]));
        let odd = || {
            let (i, point) = self
                .points
                .iter()
                .enumerate()
                .find(|(_, p)| p.percentiles.len() != self.percentiles.len())?;
            let (has, wants) = (point.percentiles.len(), self.percentiles.len());
            Some(format!(
                "points[{i}] has {has} percentiles, where the curve names {wants}"
            ))
        };
        bad_number("points", numbers).or_else(odd)
    }
}

/// The activity of a worker during a slice of its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SliceKind {
    /// Runs tasks.
    Task,
    /// Looks for work.
    Idle,
    /// Sleeps.
    Parked,
}

/// An interval in which a worker does one thing.
///
/// ```
/// use locksley_report::{Slice, SliceKind};
///
/// let slice = Slice { kind: SliceKind::Task, start: 0.0, end: 1e-3, name: "tile".into() };
/// assert!(slice.end >= slice.start);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Activity of the worker.
    pub kind: SliceKind,
    /// Start, in seconds.
    pub start: f64,
    /// End, in seconds.
    pub end: f64,
    /// The task's name, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// One worker's slices.
///
/// ```
/// let track = locksley_report::Track { worker: 0, slices: vec![] };
/// assert_eq!(track.worker, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// The worker's number.
    pub worker: usize,
    /// Activities of the worker, by time, without overlaps.
    #[serde(default)]
    pub slices: Vec<Slice>,
}

/// How a task moved from one worker to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrowKind {
    /// The receiver stole it.
    Steal,
    /// The sender gave it to the receiver (work sharing).
    Donation,
    /// The sender dealt it to the receiver (work dealing).
    Dealing,
}

/// A task that moved from one worker to another.
///
/// ```
/// use locksley_report::{Arrow, ArrowKind};
///
/// let arrow = Arrow { kind: ArrowKind::Steal, from: 0, to: 1, left: 1e-3, arrived: 1.1e-3 };
/// assert!(arrow.arrived >= arrow.left);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrow {
    /// How the task moved.
    pub kind: ArrowKind,
    /// Worker that had the task.
    pub from: usize,
    /// Worker that received it.
    pub to: usize,
    /// Time at which the task left, in seconds.
    pub left: f64,
    /// Time at which the receiver began to run it, in seconds.
    pub arrived: f64,
}

/// The activities of all workers in one run.
///
/// ```
/// use locksley_report::{Slice, SliceKind, Timeline, Track};
///
/// let (kind, name) = (SliceKind::Task, String::new());
/// let slice = |start: f64| Slice { kind, start, end: start + 1.0, name: name.clone() };
/// let mut timeline = Timeline::new("queens", "stealing");
/// timeline.tracks.push(Track { worker: 0, slices: vec![slice(0.0), slice(5.0)] });
/// assert_eq!(timeline.end(), 6.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The workload's or program's name.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The strategy.
    pub strategy: String,
    /// One track per worker.
    #[serde(default)]
    pub tracks: Vec<Track>,
    /// Tasks that moved between workers.
    #[serde(default)]
    pub arrows: Vec<Arrow>,
    /// Number of events that were left out, by [`cap`](Timeline::cap) or by the ring buffers of the
    /// trace.
    #[serde(default)]
    pub dropped: u64,
}

impl Timeline {
    /// Returns a timeline without tracks.
    ///
    /// ```
    /// assert_eq!(locksley_report::Timeline::new("fib", "sharing").end(), 0.0);
    /// ```
    pub fn new(program: impl Into<String>, strategy: impl Into<String>) -> Timeline {
        Timeline {
            program: program.into(),
            strategy: strategy.into(),
            ..Timeline::default()
        }
    }

    /// Returns the end of the last slice, in seconds.
    ///
    /// ```
    /// assert_eq!(locksley_report::Timeline::new("fib", "sharing").end(), 0.0);
    /// ```
    pub fn end(&self) -> f64 {
        self.tracks
            .iter()
            .flat_map(|track| &track.slices)
            .map(|slice| slice.end)
            .fold(0.0, f64::max)
    }

    /// Reduces the timeline to about `slices` slices, at least one per track, and at most `arrows`
    /// arrows. Short gaps between slices of a kind are closed first, so that the picture at full
    /// width does not change; arrows are thinned out evenly. [`dropped`](Timeline::dropped) counts
    /// what was left out.
    ///
    /// ```
    /// use locksley_report::{Slice, SliceKind, Timeline, Track};
    ///
    /// let slice = |i: usize| {
    ///     let (start, name) = (i as f64, String::new());
    ///     Slice { kind: SliceKind::Task, start, end: start + 0.9, name }
    /// };
    /// let mut timeline = Timeline::new("queens", "stealing");
    /// timeline.tracks.push(Track { worker: 0, slices: (0..10_000).map(slice).collect() });
    /// let end = timeline.end();
    /// timeline.cap(500, 100);
    /// assert!(timeline.tracks[0].slices.len() <= 500);
    /// assert_eq!(timeline.end(), end);
    /// ```
    pub fn cap(&mut self, slices: usize, arrows: usize) {
        let count = |tracks: &[Track]| tracks.iter().map(|track| track.slices.len()).sum::<usize>();
        let before = count(&self.tracks);
        // Starts with half a pixel of a wide screen, and doubles until the slices fit.
        let mut grain = (self.end() / 4000.0).max(f64::MIN_POSITIVE);
        while count(&self.tracks) > slices.max(self.tracks.len()) {
            for track in &mut self.tracks {
                track.slices = coarser(std::mem::take(&mut track.slices), grain);
            }
            grain *= 2.0;
        }
        self.dropped += (before - count(&self.tracks)) as u64;
        if self.arrows.len() > arrows {
            self.dropped += (self.arrows.len() - arrows) as u64;
            let total = self.arrows.len();
            let kept = (0..arrows)
                .map(|i| self.arrows[i * total / arrows].clone())
                .collect();
            self.arrows = kept;
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let slices = self.tracks.iter().flat_map(|track| &track.slices);
        let backwards = slices
            .clone()
            .any(|slice| slice.end < slice.start)
            .then(|| "a slice ends before it starts".to_owned());
        bad_number("tracks", slices.flat_map(|slice| [slice.start, slice.end]))
            .or_else(|| {
                bad_number(
                    "arrows",
                    self.arrows
                        .iter()
                        .flat_map(|arrow| [arrow.left, arrow.arrived]),
                )
            })
            .or(backwards)
    }
}

/// Joins neighbours that are less than `grain` apart if they are of the same kind or one is shorter
/// than `grain`. The result has the kind of the longer part.
fn coarser(slices: Vec<Slice>, grain: f64) -> Vec<Slice> {
    let mut kept: Vec<Slice> = Vec::new();
    for slice in slices {
        let length = slice.end - slice.start;
        match kept.last_mut() {
            Some(last)
                if slice.start - last.end < grain
                    && (last.kind == slice.kind
                        || length < grain
                        || last.end - last.start < grain) =>
            {
                if length > last.end - last.start {
                    (last.kind, last.name) = (slice.kind, slice.name);
                }
                last.end = last.end.max(slice.end);
            }
            _ => kept.push(slice),
        }
    }
    kept
}
