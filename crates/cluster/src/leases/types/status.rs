//! The observable state of jobs and workers.

use std::time::Duration;

use serde::Serialize;

use super::{JobInfo, WorkerId, plain};
use crate::Parcel;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Tasks wait or are leased, or first tasks are still to come.
    Running,
    /// All tasks have ended, except for those that were set aside.
    Done,
    /// It was cancelled.
    Cancelled,
}

/// A snapshot of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Description of the job.
    pub job: JobInfo,
    /// State of the job.
    pub state: State,
    /// Number of completed leases.
    pub done: u64,
    /// Number of tasks that the workers' pools have run for these.
    pub tasks: u64,
    /// Number of tasks that wait on the server or are leased.
    pub outstanding: u64,
    /// Number of these that are leased.
    pub in_flight: u64,
    /// Number of these that may not be leased yet: their start is delayed, or they pause after a
    /// try.
    pub delayed: u64,
    /// Number of tasks that were set aside.
    pub aside: u64,
    /// The first few of those, with reasons.
    pub reasons: Vec<Aside>,
    /// Shares of the workers that completed most leases, and of those that hold most, at least 64
    /// of each.
    pub shares: Vec<Share>,
    /// Number of workers that completed leases.
    pub workers: u64,
    /// Whether all first tasks have been submitted.
    pub sealed: bool,
    /// Why the server refuses changes at the moment, if it does.
    pub refusal: Option<Refusal>,
    /// Time of submission, by the server's clock. It tells apart jobs that had the same name one
    /// after the other.
    pub submitted: u64,
    /// Time for which it has been running, or was.
    pub age: Duration,
}

impl Status {
    /// Returns the number of tasks that could be leased at the moment.
    pub fn ready(&self) -> u64 {
        let busy = self.in_flight.saturating_add(self.delayed);
        self.outstanding.saturating_sub(busy)
    }
}

/// Why a server temporarily refuses changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Refusal {
    /// Its memory is full: no task can be added.
    #[error(
        "the server's memory is full: no task can be added until there is room (raise its \
         maxmemory)"
    )]
    Memory,
    /// It cannot write to its disk: it accepts no change.
    #[error(
        "the server cannot write to its disk, and accepts no change until it can (is the disk \
         full? its log names the cause)"
    )]
    Disk,
    /// It has fewer replicas than configured: it accepts no change.
    #[error(
        "the server lacks replicas, and accepts no change until they are back \
         (min-replicas-to-write)"
    )]
    Replicas,
}

impl Refusal {
    /// Returns the refusal for the error code of the server's answer; `None` for other codes.
    #[cfg(feature = "redis")]
    pub(crate) fn of(code: &str) -> Option<Refusal> {
        match code {
            "OOM" => Some(Refusal::Memory),
            "MISCONF" => Some(Refusal::Disk),
            "NOREPLICAS" => Some(Refusal::Replicas),
            _ => None,
        }
    }
}

/// The share of one worker in a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Name of the worker.
    pub worker: String,
    /// Number of leases that it completed.
    pub done: u64,
    /// Number of leases that it holds.
    pub in_flight: u64,
}

/// A task that was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// Entry of the task in the job.
    pub entry: String,
    /// Number of tries.
    pub attempts: u32,
    /// Why it was set aside.
    pub reason: String,
}

/// A task that was set aside, including the task itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsideTask {
    /// Entry, tries and reason.
    pub aside: Aside,
    /// The task, encoded; only its beginning if there was no room for it. Tasks larger than 64 KiB
    /// share 64 MiB.
    pub task: Vec<u8>,
    /// Whether all of the task is stored, so that it can be tried again.
    pub whole: bool,
    /// Whether it is urgent when it is tried again.
    pub urgent: bool,
}

impl AsideTask {
    /// Largest task, in bytes, that is always stored whole: there may be a thousand of them.
    pub(crate) const WHOLE: usize = 64 << 10;

    /// Bytes that larger tasks share.
    pub(crate) const ROOM: usize = 64 << 20;

    /// Bytes that are stored of a task for which there is no room.
    pub(crate) const PART: usize = 4 << 10;

    /// Returns the name of its kind, if it can be decoded.
    pub fn kind(&self) -> Option<String> {
        let parcel = Parcel::decode(&self.task).ok()?;
        Some(plain(&parcel.kind))
    }
}

/// The workers that are alive, in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterSize {
    /// Most leases that they hold at once.
    pub slots: u32,
    /// Number of workers.
    pub workers: u32,
}

/// A worker that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Identity of the worker.
    pub worker: WorkerId,
    /// Most leases that it holds at once.
    pub slots: u32,
}
