//! What can be seen of jobs and workers.

use std::time::Duration;

use serde::Serialize;

use super::{JobInfo, WorkerId, plain};
use crate::Parcel;

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
    /// How many of these may not be leased yet: their start is delayed, or they pause after a try.
    pub delayed: u64,
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
    /// Why the server refuses changes at the moment, if it does.
    pub refusal: Option<Refusal>,
    /// When it was submitted, by the server's clock: tells apart what had the same name one after
    /// the other.
    pub submitted: u64,
    /// For how long it has been running, or was.
    pub age: Duration,
}

impl Status {
    /// How many tasks could be leased now.
    pub fn ready(&self) -> u64 {
        let busy = self.in_flight.saturating_add(self.delayed);
        self.outstanding.saturating_sub(busy)
    }
}

/// Why a server refuses changes that it would accept at another time.
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
    /// It has fewer replicas than it was told to have: it accepts no change.
    #[error(
        "the server lacks replicas, and accepts no change until they are back \
         (min-replicas-to-write)"
    )]
    Replicas,
}

impl Refusal {
    /// What the server's answer to a change begins with, or nothing if it is no refusal.
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
    /// The task, encoded; of one for which there was no room, the beginning. Tasks larger than
    /// 64 KiB have 64 MiB together.
    pub task: Vec<u8>,
    /// Whether all of the task is there, so that it can be tried again.
    pub whole: bool,
    /// Whether it goes before others when it is tried again.
    pub urgent: bool,
}

impl Dead {
    /// The largest task that is always kept whole: there may be a thousand of them.
    pub(crate) const WHOLE: usize = 64 << 10;

    /// How many bytes larger ones have together.
    pub(crate) const ROOM: usize = 64 << 20;

    /// How much is kept of one for which there is no room.
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
