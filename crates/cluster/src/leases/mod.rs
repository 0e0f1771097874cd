//! Tasks that are leased from a server: elastic workers that may die at any moment.
//!
//! ```text
//!   submit ──> waiting ── lease ──> leased ── complete ──> gone: its results are in the list,
//!                 ^                  │ │  ^ │              its children wait
//!                 │     give up      │ │  '─' complete and keep: the rest goes on under the lease
//!                 │<─────────────────' │
//!                 │                    │ silent for longer than the lease: one more try,
//!                 '────────────────────' or set aside after the last one
//! ```
//!
//! A [`LeasePool`] is a server, or a stand-in for one in memory ([`Memory`]). A [worker](serve)
//! leases a task, runs it in its Locksley pool for a while, and [completes](LeasePool::complete) it
//! with the results of what ended, and the tasks that it did not get to, its *children*. What still
//! runs it may *keep*: then that takes the place of the task in the lease. Of these, the results
//! are added, the children are added, and the task is taken away or replaced, in one step that
//! happens completely or not at all.
//!
//! **Invariant.** At any moment, the results in the list, combined with the results of all tasks
//! that wait, are leased, or are set aside, each run from the start to the end, are the result of
//! the first tasks that were submitted. Every operation keeps it:
//!
//! - `submit` makes it true, chunk by chunk, each in one step, and only if there is no such chunk;
//!   a job does not end before its last;
//! - `lease`, `renew`, `give_up` and `reclaim` change who runs a task, not which tasks there are;
//! - `complete` replaces a task by its partial results, its children and what is kept, if the
//!   [ticket](Ticket) is that of the last delivery and of the last step of it;
//! - `compact` replaces some results by their combination, if they are still there.
//!
//! A task that may not be leased yet is *delayed*: it was spawned for later
//! ([`Tasks::spawn_after`](crate::Tasks::spawn_after)), its job begins later ([`Terms::delay`]), or
//! it pauses between two tries ([`Policy::back_off`](crate::Policy::back_off)). It is outstanding
//! like one that waits, and becomes one in the first `lease` after its time. Of the tasks that
//! wait, *urgent* ones are leased first.
//!
//! A completion also hands over continuations that wait for inputs, and inputs for them: a
//! *deferred* task belongs to the outstanding tasks that fill its slots, and becomes a task that
//! waits in the step that fills the last one ([`continuation`](crate::continuation)).
//!
//! So when all is submitted and nothing waits or is leased the list is the result, except for what
//! was set aside. Nothing depends on a client's clock or on a message that arrives: a client that
//! does not know whether an operation was done may repeat it.
//!
//! What may be in a completion is what the worker's process could do without. Which results and
//! tasks that are while others still run is the subject of `local/lineage.rs`: those of which no
//! ancestor runs. So one task that fails costs itself and what it has spawned, which it spawns
//! again at its next try, and nothing that ran beside it.
//!
//! A bundle is several tasks in one entry: what a lease keeps, or children that are too many for
//! entries of their own. At its second try a bundle is taken apart, and a task runs without what it
//! spawns, which goes to others: so a task that kills its process is soon on its own.
//!
//! | what happens | what follows | why nothing is lost or counted twice |
//! |---|---|---|
//! | a worker dies | its leases run out by the server's clock, and are delivered anew | what it had done since the last completion had no effect on the list |
//! | a worker stops for longer than a lease, and goes on | its renewals and completions are refused (`Fenced`) | the delivery count in its ticket is no longer that of the entry; or the entry is gone |
//! | all workers are away, or the server is away from all of them, for longer than they are taken to be alive | when one is back every lease has its whole time again: it is renewed, not tried again | who holds a lease does not change |
//! | a request is lost | the worker repeats it | nothing had happened |
//! | a reply is lost | the worker repeats the request; a completion is `Fenced` now | the entry is gone, so the repetition has no effect |
//! | ... of a completion that keeps something | it is told the same again | the ticket's step is no longer that of the lease; only this very completion can have changed it |
//! | the reply to `lease`, or to a completion that leases, is lost | entries are leased by a worker that does not know; they run out | as if the worker had died |
//! | `complete` and the end of the lease at the same time | one of them is first | each is one step; the second finds the delivery count changed, or no entry |
//! | two submit the same job | one creates it, the other is attached | each chunk is added in one step, which looks first |
//! | a submitter dies between two chunks | workers do what is there, and the job waits for the rest | a submitter of the same adds what is missing |
//! | a job is submitted that is over | the submitter is told so (`Over`) | nothing is run |
//! | two compact | one of them succeeds | the second finds other results at the front of the list |
//! | a compaction is repeated after its reply was lost | it fails; or equal results are at the front again | then it replaces these by their combination, which is right too |
//! | cancel, and a late completion | `Fenced` | there are no entries any more |
//! | a job is submitted again under the name of one that is over | late tickets are void | entries have other numbers: the time of submission and a sequence |
//! | ... and a submitter still waits for the first one | it is told so (`Vanished`) | the time of submission tells them apart, for submitters and for workers |
//! | a task never ends | its lease is renewed, and its job goes on until it is cancelled | without a time limit nothing tells it from one that is long |
//! | a task is late ([`Policy::timeout`](crate::Policy::timeout)) | the try has failed, as if it had panicked; if it returns nevertheless that has no effect | what it had spawned is void, and so is its result |
//! | all threads of a worker are occupied by tasks that were late | it gives back what it has, and ends with an error (`Stuck`) | as when a worker stops |
//! | workers die, or the server is restarted, while a task is delayed | it is leased after its time | when that is, the server knows, and its file |
//! | a task panics | it is tried again, or set aside; what ran beside it counts | what it had spawned is void, and its result was never there |
//! | a task of a group is set aside | its continuation never runs, and the job ends without it | its slot stays empty; all that is outstanding is counted, and that is not |
//! | a task kills its process | all that ran there has a try less; from the second try on nothing runs beside its siblings in one lease, and suspects one at a time in a worker | as when a worker dies |
//! | a result or a listener panics | the try of the whole lease has failed | no thread of the worker ends with a lease in its hands |
//! | clients' clocks differ, or jump | nothing | no client's clock is compared with anything |
//! | the server's clock is set back | it is taken to go on from the last beat of a worker | deadlines are compared with a time that never goes back |
//! | the server's clock jumps ahead | leases run out early: some work is done twice | as when a worker stops |
//! | the server is killed and restarted, with an append-only file | clients retry until it is back | scripts are written as a whole; a half-written one at the end of the file is dropped as a whole |
//! | the server's machine loses power, and with it the last second (`appendfsync everysec`) | what was done in that second is done again; a job may be unknown again, or not be over any more | the state is an earlier one, whole; tickets of what came after fit no entry, since numbers of deliveries have random gaps |
//! | the server's memory is full (`OOM`) | what would need more is repeated until there is room, and submitters are told; tasks without children end nevertheless, and leases are renewed | a script is refused at its first change, or not at all |
//! | the server's disk is full (`MISCONF`) | everything is repeated until there is room, and submitters are told; a server that is to write before each reply ends instead | a script is refused at its first change, or not at all |
//! | a job is cancelled while it is submitted | the rest of it is refused, and its submitter told | a chunk is added to a job that is running, or to none |
//! | the server loses the last chunks of a job that is being submitted | they are submitted again (`Submission`), or the submitter is told (`Vanished`) | chunks are numbered, and none is added before its predecessors |
//! | the server becomes a replica, and another one has its address | connections are made anew, to that one | what the new one had not got is done again, as after a loss of power |
//! | the tasks of a running job are deleted by hand, or evicted | submitters are told so (`Vanished`); it can be submitted anew | a running job has tasks: the last one ends it in the same step |
//! | the server loses everything | submitters are told so (`Vanished`) | nothing of the job is left that could be counted |
//!
//! With `appendfsync always` also the last second is kept, so that a job that was reported to be
//! over remains so. What a server needs besides is `maxmemory-policy noeviction`: one that throws
//! entries away when memory is short loses tasks.
//!
//! A task that is run twice has its effects outside twice. So those have to be idempotent
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

pub use catalogue::{Catalogue, How, Piece, Run, Served};
pub use error::Trouble;
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
pub use worker::{Monitor, Notice, Setup, Stop, Tally, WorkerState, serve, worker_name};

/// Where tasks are leased from. Any number of threads may use it.
///
/// Every operation may fail with [`Trouble`]; then it has been done, or not, and may be repeated.
pub trait LeasePool: Send + Sync {
    /// Adds a job, or a chunk of it, unless it is there. A chunk that is there already must be the
    /// same.
    ///
    /// # Errors
    ///
    /// [`Trouble::Taken`] if another job has its name; [`Trouble::Oversized`];
    /// [`Trouble::Vanished`] if the chunks before this one are not there.
    fn submit(&self, order: &Order) -> Result<Submitted, Trouble>;

    /// The jobs that are running, of all builds.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn running(&self) -> Result<Vec<(JobId, crate::Build)>, Trouble>;

    /// Leases some tasks of jobs of the worker's build, each job in its turn; if `suspect`, one
    /// [suspect](Terms::suspect) besides. Where there are none it waits. It may give none before
    /// the time is over.
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
    ) -> Result<Vec<Lease>, Trouble>;

    /// Lets tasks wait again whose leases ran out, and sets those aside that were tried too often,
    /// of all builds. If no worker was [alive](LeasePool::beat) it counts leases from when one was
    /// again.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn reclaim(&self) -> Result<Reclaimed, Trouble>;

    /// Lets leases begin anew. Says of each whether the ticket is still good.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, Trouble>;

    /// Replaces a task by its results, its children and what is kept of it, if the ticket is good.
    /// If something is kept the lease goes on, with the next step in its ticket; and to repeat the
    /// completion is to be told the same again.
    ///
    /// # Errors
    ///
    /// [`Trouble::Oversized`].
    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, Trouble>;

    /// Completes a lease of which nothing is kept, and leases another task at the same time, if one
    /// waits: one request instead of two. If `suspect`, a [suspect](Terms::suspect) goes first. A
    /// pool need not do that.
    ///
    /// # Errors
    ///
    /// [`Trouble::Oversized`].
    fn complete_and_lease(
        &self,
        lease: &Lease,
        completion: &Completion,
        suspect: bool,
    ) -> Result<(Completed, Option<Lease>), Trouble> {
        let _ = suspect;
        Ok((self.complete(&lease.ticket, completion)?, None))
    }

    /// Gives a task back, or sets it aside. Returns `true` if the ticket was good.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, Trouble>;

    /// The first partial results of a job, as they are now.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, Trouble>;

    /// Replaces the first results by their combination, if they still are the first. Returns `true`
    /// if they were.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, Trouble>;

    /// A job, now; nothing if there is none of that name.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn status(&self, job: &JobId) -> Result<Option<Status>, Trouble>;

    /// Waits until a job is over, or for so long.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), Trouble>;

    /// Ends a job, if it is running: its tasks and results are dropped. If it is to be forgotten
    /// the name is free then. Where it is, or was; nothing if there is none of that name.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, Trouble>;

    /// The tasks of a job that were set aside: the first thousand.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn dead(&self, job: &JobId) -> Result<Vec<Dead>, Trouble>;

    /// Lets tasks wait again that were set aside: these entries, or all if there are none, as if
    /// they had never been tried. A job that is done runs again. Returns how many there were;
    /// nothing if there is no such job, or it was cancelled.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn retry_dead(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, Trouble>;

    /// Says that a worker is alive, for so long. Every worker does, all the time: where none did,
    /// leases ran out because the server could not be reached, and [`reclaim`](LeasePool::reclaim)
    /// gives them their time again. Returns how many there are.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn beat(&self, present: &Present, alive_for: Duration) -> Result<Crowd, Trouble>;

    /// Says that a worker is alive, and lets its leases begin anew: both in one request, if the
    /// pool can do that.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn live(
        &self,
        present: &Present,
        alive_for: Duration,
        tickets: &[Ticket],
    ) -> Result<(Crowd, Vec<bool>), Trouble> {
        let crowd = self.beat(present, alive_for)?;
        let good = if tickets.is_empty() {
            Vec::new()
        } else {
            self.renew(tickets)?
        };
        Ok((crowd, good))
    }

    /// Says that a worker is gone.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn leave(&self, worker: &WorkerId) -> Result<(), Trouble>;

    /// The workers that are alive.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    fn workers(&self) -> Result<Vec<Present>, Trouble>;
}
