//! Leases, and their outcomes.

use std::sync::Arc;
use std::time::Duration;

use super::{JobId, JobInfo, Limits, Oversized};
use crate::continuation::{DeferredTask, Slot};
use crate::{Build, Parcel};

/// The identity of a worker. The name belongs to one incarnation of a process: no later one has the
/// same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerId {
    /// Name of the worker.
    pub name: String,
    /// Build of the worker.
    pub build: Build,
}

/// The right to complete a task. It is good for one delivery of the task: when the lease expires
/// and the task is delivered again, even to the same worker, the ticket is void.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// Name of the job.
    pub job: JobId,
    /// Entry of the task in the job.
    pub entry: String,
    /// Name of the worker that leased it.
    pub worker: String,
    /// Number of the delivery: the fencing token.
    pub delivery: u64,
    /// Number of completions that kept a part of the task. It identifies repeated completions.
    pub step: u64,
}

/// A leased task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Description of its job.
    pub job: Arc<JobInfo>,
    /// Ticket of the lease.
    pub ticket: Ticket,
    /// Number of the try, from 1.
    pub attempt: u32,
    /// The task: an encoded [parcel](crate::Parcel). `None` if the entry contains no task.
    pub task: Option<Vec<u8>>,
}

impl Lease {
    /// Returns `true` if the task is [suspect](super::Terms::suspect) at this try.
    pub(crate) fn is_suspect(&self) -> bool {
        self.job.terms.suspect(self.attempt)
    }
}

/// What a lease has produced so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Partial results, encoded.
    pub results: Vec<Vec<u8>>,
    /// Tasks that are still to be run.
    pub children: Vec<Child>,
    /// Continuations that wait for inputs.
    pub deferred: Vec<DeferredTask>,
    /// Inputs, encoded, for deferred tasks that are on the server or come with this completion.
    pub inputs: Vec<(Slot, Vec<u8>)>,
    /// Tasks that are to be set aside.
    pub aside: Vec<SetAside>,
    /// The task that replaces the leased one, if the lease goes on.
    pub kept: Option<Vec<u8>>,
    /// Number of tasks that the process has run for this.
    pub tasks: u64,
}

/// A task that is still to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// Number of failed tries.
    pub tries: u32,
    /// Time before a worker may lease it.
    pub delay: Duration,
    /// Whether it is urgent.
    pub urgent: bool,
}

impl Child {
    /// Creates a child that has not been tried, can be leased at once, and is not urgent.
    pub fn new(task: Vec<u8>) -> Child {
        Child {
            task,
            tries: 0,
            delay: Duration::ZERO,
            urgent: false,
        }
    }

    /// Returns the size limit of the task: a continuation contains inputs, each as large as a
    /// result may be.
    pub(crate) fn limit(&self, limits: &Limits) -> usize {
        limits.task_with(Parcel::inputs_of(&self.task))
    }
}

/// A task that no worker can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// Number of tries.
    pub attempts: u32,
    /// Why it cannot be run.
    pub reason: String,
    /// Whether it was urgent.
    pub urgent: bool,
}

impl Completion {
    /// Checks the limits. `kept` consists of tasks that were checked before.
    ///
    /// # Errors
    ///
    /// The first limit that is exceeded.
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

/// The server's answer to a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// The completion counts.
    Counted {
        /// Number of tasks of the job that wait or are leased.
        outstanding: u64,
        /// Number of partial results of the job.
        results: u64,
    },
    /// The ticket is void: the lease expired and another worker has the task or has completed it,
    /// the job is over, or this very completion was counted before. In each case it must not count.
    Fenced,
}

/// Why a task is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The worker stops. The try does not count.
    Stopping,
    /// The worker has not begun the task, and has no free thread for it. The try does not count.
    NotBegun,
    /// The try failed, for this reason. After its last try the task is set aside.
    Failed(String),
    /// The task can never succeed, for this reason, and is set aside at once.
    Hopeless(String),
}

/// The outcome of a search for expired leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Number of tasks that wait again.
    pub returned: u64,
    /// Number of tasks that were set aside.
    pub aside: u64,
    /// Time until the next lease may expire; `None` if that is not known.
    pub next: Option<Duration>,
}
