//! Tasks that are leased from a server by elastic workers, which may die at any moment.
//!
//! ```text
//!   submit ──> waiting ── lease ──> leased ── complete ──> removed: its results are in the list,
//!                 ^                  │ │  ^ │              its children wait
//!                 │     give up      │ │  '─' complete and keep: the lease goes on with the rest
//!                 │<─────────────────' │
//!                 │                    │ silent for longer than the lease: one more try,
//!                 '────────────────────' or set aside after the last one
//! ```
//!
//! A [`LeasePool`] is a server, or a stand-in for one in memory ([`Memory`]). A [worker](serve)
//! leases a task, runs it in its Locksley pool for a while, and [completes](LeasePool::complete) it
//! with the results of the tasks that have ended, and the tasks that it did not begin, its
//! *children*. It may *keep* the tasks that are still running: they then replace the task in the
//! lease. The server adds the results and the children, and removes or replaces the task, in one
//! atomic step.
//!
//! **Invariant.** At any moment, the results in the list, combined with the results of all tasks
//! that wait, are leased, or are set aside, each run from start to end, are the result of the first
//! tasks that were submitted. Every operation keeps it:
//!
//! - `submit` establishes it, chunk by chunk. Each chunk is added in one step, and only if it is
//!   not there; a job does not end before its last chunk;
//! - `lease`, `renew`, `give_up` and `reclaim` change who runs a task, not the set of tasks;
//! - `complete` replaces a task by its partial results, its children and what is kept, if the
//!   [ticket](Ticket) is that of the last delivery and of its last step;
//! - `compact` replaces some results by their combination, if they are still there.
//!
//! A task that may not be leased yet is *delayed*: it was spawned for later
//! ([`Tasks::spawn_after`](crate::Tasks::spawn_after)), its job begins later ([`Terms::delay`]), or
//! it pauses between two tries ([`Policy::back_off`](crate::Policy::back_off)). It is outstanding
//! like a waiting task, and becomes one in the first `lease` after its time. Of the waiting tasks,
//! *urgent* ones are leased first.
//!
//! A completion also hands over continuations that wait for inputs, and inputs for them. A
//! *deferred* task depends on the outstanding tasks that fill its slots, and becomes a waiting task
//! in the step that fills the last one ([`continuation`](crate::continuation)).
//!
//! So when everything is submitted and nothing waits or is leased, the list is the result, except
//! for tasks that were set aside. Nothing depends on a client's clock or on the arrival of a
//! message: a client that does not know whether an operation was done may repeat it.
//!
//! A completion contains results and tasks that are settled: none of their ancestors runs any more.
//! `local/lineage.rs` determines which they are while other tasks still run. So a task that fails
//! costs only itself and the tasks that it has spawned, which it spawns again at its next try, and
//! nothing that ran beside it.
//!
//! A *bundle* is several tasks in one entry: the tasks that a lease keeps, or children that are too
//! many for entries of their own. At its second try a bundle is taken apart, and each task runs
//! without the tasks that it spawns, which go to other leases: so a task that kills its process is
//! soon alone.
//!
//! | event | consequence | why nothing is lost or counted twice |
//! |---|---|---|
//! | a worker dies | its leases expire by the server's clock, and are delivered again | what it had done since the last completion had no effect on the list |
//! | a worker stops for longer than a lease, and goes on | its renewals and completions are refused (`Fenced`) | the delivery number in its ticket is not that of the entry; or the entry is gone |
//! | all workers are away, or the server is away from all of them, for longer than a heartbeat counts | when one is back every lease has its whole time again: it is renewed, not tried again | the holder of a lease does not change |
//! | a request is lost | the worker repeats it | nothing had happened |
//! | a reply is lost | the worker repeats the request; a completion is then `Fenced` | the entry is gone, so the repetition has no effect |
//! | ... of a completion that keeps something | the repetition returns the same answer | the ticket's step is not that of the lease; only this very completion can have changed it |
//! | the reply to `lease`, or to a completion that leases, is lost | entries are leased by a worker that does not know; they expire | as if the worker had died |
//! | `complete` and the expiry of the lease at the same time | one of them is first | each is one step; the second finds another delivery number, or no entry |
//! | two clients submit the same job | one creates it, the other is attached | each chunk is added in one step, which checks first |
//! | a submitter dies between two chunks | workers run the tasks that are there, and the job waits for the rest | another submitter of the same job adds what is missing |
//! | a job is submitted that is over | the submitter gets `Over` | nothing is run |
//! | two workers compact | one of them succeeds | the second finds other results at the front of the list |
//! | a compaction is repeated after its reply was lost | it fails; or equal results are at the front again | in that case it replaces these by their combination, which is right too |
//! | a job is cancelled, and a completion comes late | `Fenced` | there are no entries any more |
//! | a job is submitted again under the name of one that is over | late tickets are void | entries have other numbers: the time of submission and a sequence |
//! | ... and a submitter still waits for the first one | it gets `Vanished` | the time of submission tells the jobs apart, for submitters and for workers |
//! | a task never ends | its lease is renewed, and its job goes on until it is cancelled | without a time limit nothing distinguishes it from a long task |
//! | a task is late ([`Policy::timeout`](crate::Policy::timeout)) | the try has failed, as if it had panicked; if the task returns nevertheless that has no effect | what it had spawned is void, and so is its result |
//! | all threads of a worker are occupied by late tasks | the worker gives its leases back, and ends with an error (`Stuck`) | as when a worker stops |
//! | workers die, or the server is restarted, while a task is delayed | it is leased after its time | the server knows that time, and so does its file |
//! | a task panics | it is tried again, or set aside; what ran beside it counts | what it had spawned is void, and its result was never added |
//! | a task of a group is set aside | its continuation never runs, and the job ends without it | its slot stays empty; only outstanding entries keep a job running, and a deferred task is not one |
//! | a task kills its process | all tasks that ran there have one try less; from the second try on no task shares a lease with others, and a worker runs one suspect at a time | as when a worker dies |
//! | a result or a listener panics | the try of the whole lease has failed | no thread of the worker ends while it holds a lease |
//! | clients' clocks differ, or jump | nothing | no client's clock is compared with anything |
//! | the server's clock is set back | time continues from the latest time that was noted | deadlines are compared with a time that goes back by less than a second |
//! | the server's clock jumps ahead | leases expire early: some work is done twice | as when a worker stops |
//! | the server is killed and restarted, with an append-only file | clients retry until it is back | the effects of a script are written as a whole; a half-written script at the end of the file is dropped as a whole |
//! | the server's machine loses power, and with it the last second (`appendfsync everysec`) | the work of that second is done again; a job may be unknown again, or running again | the state is a complete earlier one; later tickets fit no entry, since numbers of deliveries have random gaps |
//! | the server's memory is full (`OOM`) | operations that need more are repeated until there is room, and submitters are told; tasks without children end nevertheless, and leases are renewed | a script is refused at its first change, or not at all |
//! | the server's disk is full (`MISCONF`) | everything is repeated until there is room, and submitters are told; a server with `appendfsync always` exits instead | a script is refused at its first change, or not at all |
//! | a job is cancelled while it is submitted | the rest of it is refused, and its submitter is told | a chunk is added only to a job that is running |
//! | the server loses the last chunks of a job that is being submitted | they are submitted again (`Submission`), or the submitter gets `Vanished` | chunks are numbered, and none is added before its predecessors |
//! | the server becomes a replica, and another server gets its address | clients reconnect to that one | what had not reached the new server is done again, as after a loss of power |
//! | the tasks of a running job are deleted by hand, or evicted | submitters get `Vanished`; the job can be submitted again | a running job has tasks: the last one ends it in the same step |
//! | the server loses everything | submitters get `Vanished` | nothing of the job is left that could be counted |
//!
//! With `appendfsync always` the last second is kept, too, so that a job that was reported as over
//! stays over. The server also needs `maxmemory-policy noeviction`: a server that evicts entries
//! when memory is short loses tasks.
//!
//! If a task is run twice, its external effects happen twice. So they have to be idempotent
//! ([`Task`](crate::Task)).

mod catalogue;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod simple;
mod submit;
mod types;
#[cfg(feature = "redis")]
pub mod url;
mod worker;

#[cfg(test)]
mod battery;
#[cfg(test)]
mod flaky;

use std::time::Duration;

pub use catalogue::{Catalogue, EncodedCut, Run, RunOptions, Served};
pub use error::LeaseError;
pub use memory::Memory;
#[cfg(feature = "redis")]
pub use redis::Redis;
pub use simple::{JobError, ServeError, serve_until_ctrl_c, submit_and_wait};
#[cfg(test)]
use submit::submit_chunks;
pub use submit::{Ended, Progress, Submission, follow, submit};
pub use types::*;
#[cfg(feature = "redis")]
pub use url::{BadServer, Server};
pub use worker::pace;
pub use worker::{Monitor, Notice, Setup, Stop, WorkerCounts, WorkerState, serve, worker_name};

/// A source of leases. Any number of threads may use it.
///
/// Every operation may fail with [`LeaseError`]. It has then been done or not, and may be repeated.
pub trait LeasePool: Send + Sync {
    /// Adds a job, or a chunk of it, unless it is there. A chunk that is there already must be
    /// equal.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Taken`] if another job has its name; [`LeaseError::Oversized`];
    /// [`LeaseError::Vanished`] if the chunks before this one are not there.
    fn submit(&self, order: &Order) -> Result<Submitted, LeaseError>;

    /// Returns the running jobs, of all builds.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn running(&self) -> Result<Vec<(JobId, crate::Build)>, LeaseError>;

    /// Leases at most `at_most` tasks of jobs of the worker's build, each job in its turn; if
    /// `suspect`, at most one of them is a [suspect](Terms::suspect), otherwise none. If there are
    /// no tasks it waits, but may return none before `wait` is over.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        wait: Duration,
    ) -> Result<Vec<Lease>, LeaseError>;

    /// Makes tasks wait again whose leases expired, and sets those aside that were tried too often,
    /// of all builds. If no worker was [alive](LeasePool::heartbeat) for a while, leases count from
    /// the time when one was again.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn reclaim(&self) -> Result<Reclaimed, LeaseError>;

    /// Restarts the time of leases. Returns for each whether the ticket is still good.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, LeaseError>;

    /// Replaces a task by its results, its children and what is kept of it, if the ticket is good.
    /// If something is kept the lease goes on, with the next step in its ticket; a repetition of
    /// such a completion returns the same answer.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Oversized`].
    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, LeaseError>;

    /// Completes a lease of which nothing is kept, and leases another task in the same request, if
    /// one waits. If `suspect`, a [suspect](Terms::suspect) goes first. The default implementation
    /// leases nothing.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Oversized`].
    fn complete_and_lease(
        &self,
        lease: &Lease,
        completion: &Completion,
        suspect: bool,
    ) -> Result<(Completed, Option<Lease>), LeaseError> {
        let _ = suspect;
        Ok((self.complete(&lease.ticket, completion)?, None))
    }

    /// Gives a task back, or sets it aside. Returns `true` if the ticket was good.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, LeaseError>;

    /// Returns the first `at_most` partial results of a job, as they are at the moment.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, LeaseError>;

    /// Replaces the results `first` by their combination, if they still are the first. Returns
    /// `true` if they were.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, LeaseError>;

    /// Returns the status of a job; `None` if there is no job of that name.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn status(&self, job: &JobId) -> Result<Option<Status>, LeaseError>;

    /// Waits until a job is over, but no longer than `wait`.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), LeaseError>;

    /// Ends a job, if it is running: its tasks and results are dropped. If `forget`, the name is
    /// free afterwards. Returns the state in which the job is, or was; `None` if there is no job of
    /// that name.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, LeaseError>;

    /// Returns the tasks of a job that were set aside: at most the first thousand.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn aside_tasks(&self, job: &JobId) -> Result<Vec<AsideTask>, LeaseError>;

    /// Makes tasks wait again that were set aside, as if they had never been tried: the given
    /// entries, or all if `entries` is empty. A job that is done runs again. Returns the number of
    /// these tasks; `None` if there is no such job, or it was cancelled.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn retry_aside(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, LeaseError>;

    /// Reports that a worker is alive, for a time of `alive_for`. Every worker does so all the
    /// time: if none did, leases expired because the server could not be reached, and
    /// [`reclaim`](LeasePool::reclaim) restarts their time. Returns the number of workers and the
    /// sum of their slots.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn heartbeat(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
    ) -> Result<ClusterSize, LeaseError>;

    /// Reports that a worker is alive, and renews its leases, both in one request if the pool
    /// supports that.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn heartbeat_and_renew(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
        tickets: &[Ticket],
    ) -> Result<(ClusterSize, Vec<bool>), LeaseError> {
        let cluster_size = self.heartbeat(present, alive_for)?;
        let good = if tickets.is_empty() {
            Vec::new()
        } else {
            self.renew(tickets)?
        };
        Ok((cluster_size, good))
    }

    /// Reports that a worker has left.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn leave(&self, worker: &WorkerId) -> Result<(), LeaseError>;

    /// Returns the workers that are alive.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn workers(&self) -> Result<Vec<WorkerInfo>, LeaseError>;
}
