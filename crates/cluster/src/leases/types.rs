//! What tasks on a server are about: jobs, leases, and what comes of them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::continuation::{DeferredTask, Slot};
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
        match (1..=64).contains(&text.len()) && text.chars().all(good) {
            true => Ok(JobId(text.into())),
            false => Err(BadName),
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
        match letter.is_control() {
            true => plain.extend(letter.escape_default()),
            false => plain.push(letter),
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

/// What a job's workers keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// A worker that is silent for so long has lost what it leased. With thousands of workers it is
    /// longer (7.5 ms for each, up to 75 s), so that the server is not asked too often.
    pub lease: Duration,
    /// After so many tries a task that kills its workers, or panics, is set aside.
    pub tries: u32,
    /// For so long the server remembers the job when it is over.
    pub keep: Duration,
    /// How large things may be.
    pub limits: Limits,
}

impl Default for Terms {
    /// A lease of 15 s, 4 tries, kept for a week.
    fn default() -> Terms {
        Terms {
            lease: Duration::from_secs(15),
            tries: 4,
            keep: Duration::from_secs(7 * 24 * 3600),
            limits: Limits::default(),
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
}

impl Order {
    /// A job with all of its first tasks.
    pub fn whole(job: JobInfo, tasks: Vec<Vec<u8>>) -> Order {
        Order {
            job,
            tasks,
            chunk: 0,
            last: true,
        }
    }
}

/// Who leases. The name belongs to one incarnation of a process: none that comes later has the
/// same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerId {
    /// The name.
    pub name: String,
    /// The build.
    pub build: Build,
}

/// The right to say what came of a task. It is good for one delivery of it: when the lease runs
/// out, and the task is delivered again, be it to the same worker, the ticket is void.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The job.
    pub job: JobId,
    /// The task's place in the job.
    pub entry: String,
    /// Who leased it.
    pub worker: String,
    /// The number of the delivery: the fencing token.
    pub delivery: u64,
    /// How often the lease went on with a part of its task: so that a repeated completion is known.
    pub step: u64,
}

/// A task that is leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its job.
    pub job: Arc<JobInfo>,
    /// The right to say what came of it.
    pub ticket: Ticket,
    /// The how manieth try it is: from 1.
    pub attempt: u32,
    /// The task: a [parcel](crate::Parcel), encoded. Nothing where an entry has no task in it.
    pub task: Option<Vec<u8>>,
}

/// What came of a lease so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Partial results, encoded.
    pub results: Vec<Vec<u8>>,
    /// Tasks that are still to be done.
    pub children: Vec<Child>,
    /// Continuations that wait for inputs.
    pub deferred: Vec<DeferredTask>,
    /// Inputs of deferred tasks that are on the server, or come with this completion; encoded.
    pub inputs: Vec<(Slot, Vec<u8>)>,
    /// Tasks that are to be set aside.
    pub aside: Vec<Refused>,
    /// The task that takes the place of the leased one, if the lease goes on.
    pub kept: Option<Vec<u8>>,
    /// How many tasks were run, in the process, for this.
    pub tasks: u64,
}

/// A task that is still to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// How often it was tried in vain.
    pub tries: u32,
}

impl Child {
    /// How large it may be: a continuation has inputs, each as large as a result may be.
    pub(crate) fn limit(&self, limits: &Limits) -> usize {
        limits.task_with(Parcel::inputs_of(&self.task))
    }
}

/// A task that no worker can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it cannot be done.
    pub reason: String,
}

impl Completion {
    /// Checks the limits. What is kept consists of tasks that were checked before.
    ///
    /// # Errors
    ///
    /// The first limit that is not kept.
    pub fn check(&self, limits: &Limits) -> Result<(), Oversized> {
        let inputs = self.inputs.iter().map(|(_, input)| input);
        let filled = self.deferred.iter().flat_map(|deferred| &deferred.filled);
        let inputs = inputs.chain(filled.map(|(_, input)| input));
        let result = self.results.iter().chain(inputs).map(Vec::len).max();
        Oversized::check("a result", result.unwrap_or(0), limits.result)?;
        for child in &self.children {
            Oversized::check("a task", child.task.len(), child.limit(limits))?;
        }
        for deferred in &self.deferred {
            let size = deferred.front.len() + deferred.head.len();
            Oversized::check("a task", size, limits.task_with(1))?;
        }
        Oversized::check("a number of children", self.children.len(), limits.children)
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
        match size <= limit {
            true => Ok(()),
            false => Err(Oversized { what, size, limit }),
        }
    }
}

/// What the server made of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// It counts.
    Counted {
        /// How many tasks of the job wait or are leased now.
        outstanding: u64,
        /// How many partial results there are.
        results: u64,
    },
    /// The ticket is void: the lease ran out and another worker has the task or has completed it,
    /// the job is over, or this very completion has been counted before. Whatever it is, it must
    /// not count.
    Fenced,
}

/// Why a task goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The worker stops. The try does not count.
    Stopping,
    /// The try failed, because of this. After the last try it is set aside.
    Failed(String),
    /// It can never succeed, because of this, and is set aside at once.
    Hopeless(String),
}

/// What was done about leases that ran out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// How many tasks wait again.
    pub returned: u64,
    /// How many were set aside.
    pub aside: u64,
    /// When the next lease may run out, from now on; nothing if that is not known.
    pub next: Option<Duration>,
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

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// There are tasks that wait or are leased.
    Running,
    /// There are none, except for those that were set aside.
    Done,
    /// It was cancelled.
    Cancelled,
}

/// A job, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it is.
    pub job: JobInfo,
    /// Where it is.
    pub state: State,
    /// How many leases were completed.
    pub done: u64,
    /// How many tasks were run for that, in the pools of the workers.
    pub tasks: u64,
    /// How many tasks wait on the server or are leased.
    pub outstanding: u64,
    /// How many of these are leased.
    pub in_flight: u64,
    /// How many were set aside.
    pub aside: u64,
    /// The first few of those, with reasons.
    pub reasons: Vec<Aside>,
    /// Who did how much, and has how much: those who did most, and those who have most, at least 64
    /// of each.
    pub shares: Vec<Share>,
    /// How many workers completed leases.
    pub workers: u64,
    /// Whether all first tasks have been submitted.
    pub sealed: bool,
    /// Whether the server's memory is full: no task can be added until there is room.
    pub full: bool,
    /// When it was submitted, by the server's clock: tells apart what had the same name one after
    /// the other.
    pub submitted: u64,
    /// For how long it has been running, or was.
    pub age: Duration,
}

/// What one worker has to do with a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Its name.
    pub worker: String,
    /// How many leases it completed.
    pub done: u64,
    /// How many it holds.
    pub in_flight: u64,
}

/// A task that was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// The task's place in the job.
    pub entry: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it was set aside.
    pub reason: String,
}

/// A task that was set aside, with the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// What is known of it.
    pub aside: Aside,
    /// The task, encoded; of one that is larger than 64 KiB, the beginning.
    pub task: Vec<u8>,
    /// Whether all of the task is there, so that it can be tried again.
    pub whole: bool,
}

impl Dead {
    /// The largest task that is kept whole: there may be a thousand of them.
    pub(crate) const WHOLE: usize = 64 << 10;

    /// How much is kept of a larger one.
    pub(crate) const PART: usize = 4 << 10;

    /// The name of its kind, if it is a task.
    pub fn kind(&self) -> Option<String> {
        let parcel = Parcel::decode(&self.task).ok()?;
        Some(plain(&parcel.kind))
    }
}

/// All workers that are alive, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// How many leases they hold at once, at most.
    pub slots: u32,
    /// How many they are.
    pub workers: u32,
}

/// A worker that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Who it is.
    pub worker: WorkerId,
    /// How many leases it holds at once, at most.
    pub slots: u32,
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
