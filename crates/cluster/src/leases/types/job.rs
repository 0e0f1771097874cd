//! Jobs: names, terms, limits, and submission.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use crate::{Build, Parcel};

/// The name of a job: up to 64 letters, digits, dots, dashes and underscores.
///
/// ```
/// use locksley_cluster::leases::JobId;
///
/// let id: JobId = "nightly-2".parse()?;
/// assert_eq!(id.as_str(), "nightly-2");
/// assert!("no spaces, please".parse::<JobId>().is_err());
/// # Ok::<(), locksley_cluster::leases::BadName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(Arc<str>);

impl JobId {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JobId {
    type Err = BadName;

    fn from_str(text: &str) -> Result<JobId, BadName> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if (1..=64).contains(&text.len()) && text.chars().all(good) {
            Ok(JobId(text.into()))
        } else {
            Err(BadName)
        }
    }
}

/// Makes a foreign text safe for a terminal: control characters are escaped.
///
/// ```
/// use locksley_cluster::leases::plain;
///
/// assert_eq!(plain("a\u{1b}[2Jb\nü"), "a\\u{1b}[2Jb\\nü");
/// ```
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// Shortens the reason of a failure to a readable length, and makes it safe for a terminal.
pub(crate) fn shortened(reason: &str) -> String {
    plain(&reason.chars().take(500).collect::<String>())
}

/// The error for a text that is not a valid name of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job's name has 1 to 64 letters, digits, dots, dashes and underscores")]
pub struct BadName;

/// Size limits. They are checked by the sender, by the server's scripts, and by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest size of a task, in bytes.
    pub task: usize,
    /// Most entries that are added at once. More first tasks are submitted in chunks, more children
    /// in bundles.
    pub children: usize,
    /// Largest size of a result, in bytes.
    pub result: usize,
}

impl Limits {
    /// Returns the limit for a task that contains `inputs` results.
    pub(crate) fn task_with(&self, inputs: u32) -> usize {
        let inputs = (inputs as usize).saturating_mul(self.result);
        self.task.saturating_add(inputs)
    }

    /// Checks the size of an encoded task.
    pub(crate) fn check_task(&self, task: &[u8]) -> Result<(), Oversized> {
        let limit = self.task_with(Parcel::inputs_of(task));
        Oversized::check("a task", task.len(), limit)
    }
}

impl Default for Limits {
    /// A mebibyte for a task or a result, and 4096 entries at once. The limits are moderate because
    /// a server holds all tasks in memory.
    fn default() -> Limits {
        Limits {
            task: 1 << 20,
            children: 4096,
            result: 1 << 20,
        }
    }
}

/// The error for a value that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {size} exceeds the limit of {limit}")]
pub struct Oversized {
    /// What is too large.
    pub what: &'static str,
    /// Its size.
    pub size: usize,
    /// The limit.
    pub limit: usize,
}

impl Oversized {
    pub(crate) fn check(what: &'static str, size: usize, limit: usize) -> Result<(), Oversized> {
        if size <= limit {
            Ok(())
        } else {
            Err(Oversized { what, size, limit })
        }
    }
}

/// The terms of a job, which its workers apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Length of a lease: a worker that is silent for longer loses its leases. With thousands of
    /// workers it is longer (15 ms for each, up to 150 s), so that the server gets fewer requests.
    pub lease: Duration,
    /// Number of tries, after which a task that kills its workers or panics is set aside.
    pub tries: u32,
    /// Time for which the server remembers the job when it is over.
    pub keep: Duration,
    /// Size limits.
    pub limits: Limits,
    /// Whether all tasks of the job are urgent, and so are leased before tasks that are not. In
    /// other jobs only tasks of an urgent [kind](crate::Policy::urgent) are.
    pub urgent: bool,
    /// Time between the submission and the beginning of the job.
    pub delay: Duration,
}

impl Default for Terms {
    /// A lease of 15 s, 4 tries, kept for a week, not urgent, no delay.
    fn default() -> Terms {
        Terms {
            lease: Duration::from_secs(15),
            tries: 4,
            keep: Duration::from_secs(7 * 24 * 3600),
            limits: Limits::default(),
            urgent: false,
            delay: Duration::ZERO,
        }
    }
}

impl Terms {
    /// Returns `true` if a task is suspect at this try, which is one of the last two. A worker runs
    /// at most one suspect at a time, beside other tasks, so that two suspects never die together.
    /// From its second try on, a task runs without the tasks that it spawns, which go to other
    /// leases.
    ///
    /// ```
    /// let terms = locksley_cluster::leases::Terms { tries: 4, ..Default::default() };
    /// assert!(!terms.suspect(2));
    /// assert!(terms.suspect(3));
    /// ```
    pub fn suspect(&self, attempt: u32) -> bool {
        attempt > 1 && attempt + 1 >= self.tries
    }
}

/// The description of a job, known to all who lease its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Name of the job.
    pub id: JobId,
    /// Build of the workers that take its tasks.
    pub build: Build,
    /// Name of its program.
    pub program: String,
    /// Terms of the job.
    pub terms: Terms,
}

/// A job that is submitted, or a chunk of it.
#[derive(Clone, Debug)]
pub struct Order {
    /// Description of the job.
    pub job: JobInfo,
    /// First tasks: encoded [parcels](crate::Parcel).
    pub tasks: Vec<Vec<u8>>,
    /// Number of the chunk, from 0.
    pub chunk: u64,
    /// Whether it is the last chunk. The job does not end before its last chunk has come.
    pub last: bool,
    /// Whether these tasks are urgent, even if the job is not.
    pub urgent: bool,
}

impl Order {
    /// Creates the order of a job with all of its first tasks.
    pub fn whole(job: JobInfo, tasks: Vec<Vec<u8>>) -> Order {
        Order {
            job,
            tasks,
            chunk: 0,
            last: true,
            urgent: false,
        }
    }
}

/// The outcome of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The job is new.
    New,
    /// The same job was submitted before, and is running.
    Attached,
    /// The same job was submitted before, and is over. Nothing is run.
    Over(State),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_short_and_plain() {
        for bad in ["", "a b", "a/b", "{a}", "ä", &"x".repeat(65)] {
            assert_eq!(bad.parse::<JobId>(), Err(BadName), "{bad:?}");
        }
        assert!("x".repeat(64).parse::<JobId>().is_ok());
    }

    #[test]
    fn the_last_two_tries_are_suspect_but_never_the_first() {
        let suspect = |tries| {
            let terms = Terms {
                tries,
                ..Terms::default()
            };
            (1..=tries)
                .filter(|&attempt| terms.suspect(attempt))
                .collect::<Vec<_>>()
        };
        assert_eq!(suspect(1), [0; 0]);
        assert_eq!(suspect(2), [2]);
        assert_eq!(suspect(3), [2, 3]);
        assert_eq!(suspect(5), [4, 5]);
    }
}
