//! Batches of tasks, with and without stealing: the experiments of the report on a stealing thread
//! pool ("even" and "skewed" batches of Fibonacci numbers, bounded and unbounded deques).

use super::{Parameters, bad_number};
use crate::Summary;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// Distribution of the tasks' sizes over the threads.
///
/// ```
/// assert_eq!(locksley_report::Load::Even.to_string(), "even");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Random sizes, with the same distribution for all threads.
    Even,
    /// Half of the threads get large tasks, half of them tiny ones.
    Skewed,
}

/// When the tasks arrive.
///
/// ```
/// assert_eq!(locksley_report::Arrival::default().to_string(), "batch");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// All before the start.
    #[default]
    Batch,
    /// While earlier ones run.
    Running,
}

/// The kind of deque: with a fixed capacity or not.
///
/// ```
/// assert_eq!(locksley_report::DequeKind::Bounded.to_string(), "bounded");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DequeKind {
    /// A fixed capacity.
    Bounded,
    /// Grows on demand.
    Unbounded,
}

impl Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::Even => "even",
            Load::Skewed => "skewed",
        })
    }
}

impl Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrival::Batch => "batch",
            Arrival::Running => "arriving",
        })
    }
}

impl Display for DequeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DequeKind::Bounded => "bounded",
            DequeKind::Unbounded => "unbounded",
        })
    }
}

/// Result of one repetition of a batch.
///
/// ```
/// let once = locksley_report::Repetition { seconds: 1.5, waiting: 0.7, steals: 12 };
/// assert!(once.waiting < once.seconds);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Time until the last task was done, in seconds.
    pub seconds: f64,
    /// Mean time that a task waited before it began, in seconds.
    pub waiting: f64,
    /// Number of tasks that were stolen.
    pub steals: u64,
}

/// One variant of the batch with one number of threads.
///
/// ```
/// use locksley_report::{Arrival, Batch, DequeKind, Load, Repetition};
///
/// let batch = Batch {
///     load: Load::Skewed,
///     arrival: Arrival::Batch,
///     stealing: true,
///     deque: DequeKind::Bounded,
///     threads: 4,
///     repetitions: vec![Repetition { seconds: 2.0, waiting: 1.0, steals: 150 }],
/// };
/// assert_eq!(batch.series(), "stealing, bounded");
/// assert_eq!(batch.steals().unwrap().median, 150.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Distribution of the tasks' sizes.
    pub load: Load,
    /// When the tasks arrive.
    #[serde(default)]
    pub arrival: Arrival,
    /// Set if idle threads steal.
    pub stealing: bool,
    /// Kind of deque.
    pub deque: DequeKind,
    /// Number of threads, N.
    pub threads: usize,
    /// Results of the repetitions.
    #[serde(default)]
    pub repetitions: Vec<Repetition>,
}

impl Batch {
    /// Returns the name of the series to which this batch belongs: `stealing, bounded`.
    ///
    /// ```
    /// # use locksley_report::*;
    /// # let batch = Batch {
    /// #     load: Load::Even,
    /// #     arrival: Arrival::Batch,
    /// #     stealing: false,
    /// #     deque: DequeKind::Unbounded,
    /// #     threads: 4,
    /// #     repetitions: vec![],
    /// # };
    /// assert_eq!(batch.series(), "no stealing, unbounded");
    /// ```
    pub fn series(&self) -> String {
        format!(
            "{}, {}",
            if self.stealing {
                "stealing"
            } else {
                "no stealing"
            },
            self.deque
        )
    }

    /// Returns a summary of the total times in seconds.
    ///
    /// ```
    /// # use locksley_report::*;
    /// # let batch = Batch {
    /// #     load: Load::Even,
    /// #     arrival: Arrival::Batch,
    /// #     stealing: false,
    /// #     deque: DequeKind::Unbounded,
    /// #     threads: 4,
    /// #     repetitions: vec![],
    /// # };
    /// assert!(batch.seconds().is_none(), "nothing was measured");
    /// ```
    pub fn seconds(&self) -> Option<Summary> {
        self.summary(|once| once.seconds)
    }

    /// Returns a summary of the mean waiting times in seconds.
    ///
    /// ```
    /// # use locksley_report::*;
    /// # let batch = Batch {
    /// #     load: Load::Even,
    /// #     arrival: Arrival::Batch,
    /// #     stealing: false,
    /// #     deque: DequeKind::Unbounded,
    /// #     threads: 4,
    /// #     repetitions: vec![],
    /// # };
    /// assert!(batch.waiting().is_none(), "nothing was measured");
    /// ```
    pub fn waiting(&self) -> Option<Summary> {
        self.summary(|once| once.waiting)
    }

    /// Returns a summary of the numbers of steals.
    ///
    /// ```
    /// # use locksley_report::*;
    /// # let batch = Batch {
    /// #     load: Load::Even,
    /// #     arrival: Arrival::Batch,
    /// #     stealing: false,
    /// #     deque: DequeKind::Unbounded,
    /// #     threads: 4,
    /// #     repetitions: vec![],
    /// # };
    /// assert!(batch.steals().is_none(), "nothing was measured");
    /// ```
    pub fn steals(&self) -> Option<Summary> {
        self.summary(|once| once.steals as f64)
    }

    fn summary(&self, value: impl Fn(&Repetition) -> f64) -> Option<Summary> {
        Summary::of(&self.repetitions.iter().map(value).collect::<Vec<f64>>())
    }
}

/// A series of batches, and conclusions from them.
///
/// ```
/// use locksley_report::Experiment;
///
/// let mut batch = Experiment::new("batch", 100);
/// batch.conclusions.push("Stealing shortens skewed batches.".into());
/// assert!(batch.batches.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// Tasks per thread, K.
    pub tasks: usize,
    /// All other settings.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// All variants with all numbers of threads.
    #[serde(default)]
    pub batches: Vec<Batch>,
    /// Sentences that say which conclusions of the paper hold here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<String>,
}

impl Experiment {
    /// Returns an experiment without batches.
    ///
    /// ```
    /// assert_eq!(locksley_report::Experiment::new("batch", 100).tasks, 100);
    /// ```
    pub fn new(name: impl Into<String>, tasks: usize) -> Experiment {
        Experiment {
            name: name.into(),
            tasks,
            ..Experiment::default()
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        let batch = |(i, batch): (usize, &Batch)| {
            let numbers = batch
                .repetitions
                .iter()
                .flat_map(|once| [once.seconds, once.waiting]);
            bad_number(&format!("batches[{i}].repetitions"), numbers)
        };
        self.batches.iter().enumerate().find_map(batch)
    }
}
