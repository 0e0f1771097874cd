//! A look at a worker while it works.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Service, Tally};
use crate::leases::WorkerId;

/// Shows what a worker does, from any thread. It is given to the worker with its
/// [`Setup`](super::Setup).
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::*;
///
/// let worker = WorkerId { name: worker_name(), build: Build(1) };
/// let pool = locksley::Pool::builder().workers(1).build()?;
/// let mut setup = Setup::new(worker, pool, Catalogue::default());
/// setup.linger = Some(Duration::ZERO);
/// let monitor = setup.monitor.clone();
/// assert!(monitor.look().is_none(), "it has not begun");
/// serve(Arc::new(Memory::default()), setup, &Stop::default(), |_| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Mutex<Weak<Service>>>);

/// A worker, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerState {
    /// Who it is.
    pub worker: WorkerId,
    /// What it has done.
    pub tally: Tally,
    /// How many threads its pool has.
    pub threads: usize,
    /// How many leases it holds at once, at most.
    pub slots: usize,
    /// How many leases it holds.
    pub held: usize,
    /// How many threads of its pool are occupied by tasks that ran out of time and have not
    /// returned.
    pub stuck: usize,
    /// Whether the server answered when it was last asked.
    pub server_up: bool,
    /// Whether it is to stop.
    pub stopping: bool,
}

impl Monitor {
    pub(super) fn attach(&self, service: &Arc<Service>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(service);
    }

    /// The worker as it is now; nothing before it has begun and after it has ended.
    pub fn look(&self) -> Option<WorkerState> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let service = service.upgrade()?;
        let setup = &service.setup;
        let mut desk = service.desk();
        Some(WorkerState {
            worker: setup.worker.clone(),
            tally: desk.tally,
            threads: setup.pool.workers(),
            slots: setup.slots,
            held: desk.held.len(),
            stuck: desk.stuck(),
            server_up: !service.away.load(Ordering::Relaxed),
            stopping: service.stop.is_set(),
        })
    }
}
