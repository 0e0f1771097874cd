//! Everything that a command can measure, as plain data.
//!
//! The format is JSON with the tag [`FORMAT`]. Every list may be absent, so that the results of an
//! interrupted command are valid too. Times are in seconds unless a field says otherwise.

mod comparison;
mod experiment;
mod profile;
mod scaling;
mod traces;

pub use comparison::{Comparison, Contender, Row};
pub use experiment::{Arrival, Batch, DequeKind, Experiment, Load, Repetition};
pub use profile::{Profile, Replay, ReplayPoint, SpeedupPoint};
pub use scaling::{ScalePoint, Scaling};
pub use traces::{
    Arrow, ArrowKind, LoadCurve, LoadPoint, Slice, SliceKind, StealMap, TimeUnit, Timeline, Track,
};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tag of the format that this version writes and reads.
pub const FORMAT: &str = "locksley-results/1";

/// Parameters of a workload, by name. Measurements are comparable if their parameters are equal.
pub type Parameters = BTreeMap<String, String>;

/// Returns `n = 13, grain = 100`, or an empty string without parameters.
pub(crate) fn spell(parameters: &Parameters) -> String {
    let pairs: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    pairs.join(", ")
}

/// Returns `queens (n = 13)`.
pub(crate) fn heading(name: &str, parameters: &Parameters) -> String {
    if parameters.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({})", spell(parameters))
    }
}

/// Results that one or several commands measured on a machine.
///
/// ```
/// use locksley_report::{FORMAT, Machine, Results};
///
/// let results = Results::new("Tour", Machine::new("a laptop", 8));
/// assert_eq!(results.format, FORMAT);
/// assert!(results.is_empty());
///
/// let partial = r#"{"format": "locksley-results/1",
///     "machine": {"processors": 2}, "interrupted": true}"#;
/// let partial: Results = serde_json::from_str(partial).unwrap();
/// assert!(partial.interrupted && partial.comparisons.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: String,
    /// Headline of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Command line that produced the results; after a [merge](Results::merge) several, one per
    /// line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Time of the measurement, as in RFC 3339 (`2026-03-01T12:00:00Z`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Machine on which the results were measured.
    pub machine: Machine,
    /// Set if the command was stopped before everything was measured.
    #[serde(default)]
    pub interrupted: bool,
    /// Remarks for the reader, shown at the top of the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Workloads under several strategies and rivals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// Batches of tasks with and without stealing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<Experiment>,
    /// Work and span of programs, with possible and measured speed-ups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
    /// Numbers of steals between each two workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steals: Vec<StealMap>,
    /// Numbers of waiting tasks over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadCurve>,
    /// What each worker did when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// Recorded runs, simulated on other machines, and measured where possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<Replay>,
    /// Efficiencies of programs by the number of hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<Scaling>,
}

/// The machine on which measurements were taken.
///
/// ```
/// use locksley_report::Machine;
///
/// let mut machine = Machine::new("AMD EPYC, 2 virtual processors", 2);
/// machine.system = Some("Linux 6.1".into());
/// assert_eq!(machine.processors, 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor, and whatever else distinguishes the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Number of processors that the program could use; 0 if unknown.
    #[serde(default)]
    pub processors: usize,
    /// The operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
}

impl Machine {
    /// Returns a machine of which nothing else is known.
    ///
    /// ```
    /// assert_eq!(locksley_report::Machine::new("a laptop", 8).system, None);
    /// ```
    pub fn new(description: impl Into<String>, processors: usize) -> Machine {
        Machine {
            description: description.into(),
            processors,
            ..Machine::default()
        }
    }
}

impl Results {
    /// Returns empty results.
    ///
    /// ```
    /// use locksley_report::{Machine, Results};
    ///
    /// assert!(Results::new("Tour", Machine::default()).is_empty());
    /// ```
    pub fn new(title: impl Into<String>, machine: Machine) -> Results {
        Results {
            format: FORMAT.to_owned(),
            title: title.into(),
            command: String::new(),
            made: None,
            machine,
            interrupted: false,
            notes: Vec::new(),
            comparisons: Vec::new(),
            experiments: Vec::new(),
            profiles: Vec::new(),
            steals: Vec::new(),
            loads: Vec::new(),
            timelines: Vec::new(),
            replays: Vec::new(),
            scalings: Vec::new(),
        }
    }

    /// Returns `true` if nothing was measured.
    ///
    /// ```
    /// use locksley_report::{Comparison, Machine, Results};
    ///
    /// let mut results = Results::new("Tour", Machine::default());
    /// results.comparisons.push(Comparison::new("fib"));
    /// assert!(!results.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.comparisons.is_empty()
            && self.experiments.is_empty()
            && self.profiles.is_empty()
            && self.steals.is_empty()
            && self.loads.is_empty()
            && self.timelines.is_empty()
            && self.replays.is_empty()
            && self.scalings.is_empty()
    }

    /// Adds the items of `other` that these results do not have. Title, time and machine are kept.
    /// If `other` comes from another machine, a note is added, since times of two machines are not
    /// comparable.
    ///
    /// ```
    /// use locksley_report::{Comparison, Machine, Results};
    ///
    /// let mut tour = Results::new("Tour", Machine::new("a laptop", 8));
    /// let mut later = Results::new("Later", Machine::new("a server", 64));
    /// later.comparisons.push(Comparison::new("fib"));
    /// later.interrupted = true;
    /// tour.merge(later);
    /// assert_eq!((tour.comparisons.len(), tour.interrupted), (1, true));
    /// assert!(tour.notes[0].contains("a server"));
    /// ```
    pub fn merge(&mut self, other: Results) {
        if other.machine != self.machine {
            self.notes.push(format!(
                "Some of these results come from another machine ({}, {} processors): compare \
                 times within a section only.",
                other.machine.description, other.machine.processors
            ));
        }
        for line in other.command.lines().filter(|line| !line.is_empty()) {
            if !self.command.lines().any(|known| known == line) {
                let separator = if self.command.is_empty() { "" } else { "\n" };
                self.command.push_str(&format!("{separator}{line}"));
            }
        }
        if self.title.is_empty() {
            self.title = other.title;
        }
        self.made = self.made.take().or(other.made);
        self.interrupted |= other.interrupted;
        add(&mut self.notes, other.notes);
        add(&mut self.comparisons, other.comparisons);
        add(&mut self.experiments, other.experiments);
        add(&mut self.profiles, other.profiles);
        add(&mut self.steals, other.steals);
        add(&mut self.loads, other.loads);
        add(&mut self.timelines, other.timelines);
        add(&mut self.replays, other.replays);
        add(&mut self.scalings, other.scalings);
    }

    /// Describes the first fault of the data, if there is one: a number that is not finite or is
    /// negative, or tables whose sizes contradict each other. `read` and `write` check this.
    ///
    /// ```
    /// use locksley_report::{Machine, Results, StealMap};
    ///
    /// let mut results = Results::new("Tour", Machine::default());
    /// assert_eq!(results.fault(), None);
    /// results.steals.push(StealMap::new("fib", "stealing", vec![vec![0, 3]]));
    /// assert!(results.fault().unwrap().contains("steals[0]"));
    /// ```
    pub fn fault(&self) -> Option<String> {
        first_fault("comparisons", &self.comparisons, Comparison::fault)
            .or_else(|| first_fault("experiments", &self.experiments, Experiment::fault))
            .or_else(|| first_fault("profiles", &self.profiles, Profile::fault))
            .or_else(|| first_fault("steals", &self.steals, StealMap::fault))
            .or_else(|| first_fault("loads", &self.loads, LoadCurve::fault))
            .or_else(|| first_fault("timelines", &self.timelines, Timeline::fault))
            .or_else(|| first_fault("replays", &self.replays, Replay::fault))
            .or_else(|| first_fault("scalings", &self.scalings, Scaling::fault))
    }
}

/// Returns `steals[0]: ...` for the first item of a list with a fault.
fn first_fault<T>(name: &str, list: &[T], of: impl Fn(&T) -> Option<String>) -> Option<String> {
    let mut items = list.iter().enumerate();
    items.find_map(|(i, item)| of(item).map(|fault| format!("{name}[{i}]: {fault}")))
}

/// Appends the items that are not in the list yet: a folder may hold a file and its copy.
fn add<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Describes the first number that is not finite or is negative.
pub(crate) fn bad_number(what: &str, numbers: impl IntoIterator<Item = f64>) -> Option<String> {
    let bad = numbers.into_iter().find(|x| !x.is_finite() || *x < 0.0)?;
    Some(format!(
        "{what} has {bad}, where only finite numbers from 0 on make sense"
    ))
}
