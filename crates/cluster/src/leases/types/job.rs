//! Jobs: their names, what their workers keep to, and how they are submitted.

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
    /// The name as text.
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

/// A text that comes from elsewhere, for a terminal: what could move its cursor, or worse, is spelt
/// out.
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

/// A text that is no name of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job's name has 1 to 64 letters, digits, dots, dashes and underscores")]
pub struct BadName;

/// How large things may be. Checked by the sender, by the server's scripts, and by the
/// receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a task.
    pub task: usize,
    /// Entries that are added at once. More first tasks are submitted in chunks, more children in
    /// bundles.
    pub children: usize,
    /// Bytes of a result.
    pub result: usize,
}

impl Limits {
    /// How large a task may be that has so many results in it.
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
    /// A mebibyte for a task or a result, and 4096 entries at once. A server holds all tasks in
    /// memory.
    fn default() -> Limits {
        Limits {
            task: 1 << 20,
            children: 4096,
            result: 1 << 20,
        }
    }
}

/// Something is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {size}, where {limit} is the most")]
pub struct Oversized {
    /// What is.
    pub what: &'static str,
    /// How large it is.
    pub size: usize,
    /// How large it may be.
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

/// What a job's workers keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// A worker that is silent for so long has lost what it leased. With thousands of workers it is
    /// longer (15 ms for each, up to 150 s), so that the server is not asked too often.
    pub lease: Duration,
    /// After so many tries a task that kills its workers, or panics, is set aside.
    pub tries: u32,
    /// For so long the server remembers the job when it is over.
    pub keep: Duration,
    /// How large things may be.
    pub limits: Limits,
    /// Whether all tasks of the job are urgent: they go before those of other jobs that are not.
    /// Of other jobs those tasks are urgent whose [kind](crate::Policy::urgent) is.
    pub urgent: bool,
    /// How long after its submission the job begins.
    pub delay: Duration,
}

impl Default for Terms {
    /// A lease of 15 s, 4 tries, kept for a week, not urgent, begun at once.
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
    /// Returns `true` if a task is suspect at this try: one of the last two. A worker runs one
    /// suspect at a time, beside others, so that two of them never die together. What a worker runs
    /// for the second time or later it runs without what it spawns: others do that.
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

/// What is known of a job when a task of it is leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name.
    pub id: JobId,
    /// The build whose workers take its tasks.
    pub build: Build,
    /// The name of its program.
    pub program: String,
    /// What its workers keep to.
    pub terms: Terms,
}

/// A job that is to be done, or a chunk of it.
#[derive(Clone, Debug)]
pub struct Order {
    /// What it is.
    pub job: JobInfo,
    /// First tasks: [parcels](crate::Parcel), encoded.
    pub tasks: Vec<Vec<u8>>,
    /// The number of the chunk: from 0.
    pub chunk: u64,
    /// Whether it is the last chunk. Until that has come the job does not end.
    pub last: bool,
    /// Whether these tasks are urgent, even if the job is not.
    pub urgent: bool,
}

impl Order {
    /// A job with all of its first tasks.
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

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The job is new.
    New,
    /// It is running: the very same was submitted before.
    Attached,
    /// The very same was submitted before, and is over. Nothing is run.
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
