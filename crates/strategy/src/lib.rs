//! The workers' queues of all strategies except the runtime's default.
//!
//! | strategy | queue | from |
//! |---|---|---|
//! | `abp`, `chase-lev` | deques of `locksley-queue` | Arora, Blumofe, Plaxton; Chase, Lev |
//! | `steal-half` | [`HalfQueue`] | Hendler, Shavit, "Non-Blocking Steal-Half Work Queues" |
//! | `sharing` | [`SharingQueue`] | Rito, "Scheduling computations" |
//! | `dealing` | [`DealingQueue`], [`DedicatedQueue`] | Hendler, Shavit, "Work Dealing" |
//!
//! A queue has two sides: [`LocalQueue`] for its owner, and [`StealHandle`] for all other workers.
//! It knows neither workers nor pools, and runs nothing: a job is a [`Job`], one word. The data
//! structures come from `locksley-queue`, the decisions from `locksley-policy`.

mod dealing;
#[cfg(test)]
#[path = "../tests/unit/dummies.rs"]
mod dummies;
mod job;
mod local_queue;
mod sharing;
mod steal_half;
mod sync;

pub use dealing::{
    Closed, DealingQueue, DealingStealer, DealtJobs, DedicatedQueue, LONGEST_PAUSE, Matrix,
};
pub use job::{GroupId, Job, QueuedJob, UNKNOWN_OWNER};
pub use local_queue::{
    DonorKind, LocalQueue, MAX_BATCH, QUEUE_CAPACITY, StealHandle, StolenBatch, TransferCounts,
    outcome,
};
pub use sharing::{Peer, Peers, SharingQueue};
pub use steal_half::{HalfQueue, Halves};
