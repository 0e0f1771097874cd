//! Leases, and what comes of them.

use std::sync::Arc;
use std::time::Duration;

use super::{JobId, JobInfo, Limits, Oversized};
use crate::continuation::{DeferredTask, Slot};
use crate::{Build, Parcel};

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
    /// The number of the try: from 1.
    pub attempt: u32,
    /// The task: a [parcel](crate::Parcel), encoded. Nothing where an entry has no task in it.
    pub task: Option<Vec<u8>>,
}

impl Lease {
    /// Returns `true` if the task is [suspect](super::Terms::suspect) at this try.
    pub(crate) fn is_suspect(&self) -> bool {
        self.job.terms.suspect(self.attempt)
    }
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
    /// How long it waits before a worker may lease it.
    pub delay: Duration,
    /// Whether it goes before others.
    pub urgent: bool,
}

impl Child {
    /// A task that has not been tried, can be leased at once, and is not urgent.
    pub fn new(task: Vec<u8>) -> Child {
        Child {
            task,
            tries: 0,
            delay: Duration::ZERO,
            urgent: false,
        }
    }

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
    /// Whether it went before others.
    pub urgent: bool,
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
