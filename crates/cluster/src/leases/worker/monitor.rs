//! Observation of a worker while it runs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Service, WorkerCounts};
use crate::leases::WorkerId;

/// Observes a worker, from any thread. It is passed to the worker in its [`Setup`](super::Setup).
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
/// assert!(monitor.state().is_none(), "it has not begun");
/// serve(Arc::new(Memory::default()), setup, &Stop::default(), |_| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Mutex<Weak<Service>>>);

/// A snapshot of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerState {
    /// Identity of the worker.
    pub worker: WorkerId,
    /// Counts of its leases and tasks.
    pub counts: WorkerCounts,
    /// Number of threads of its pool.
    pub threads: usize,
    /// Most leases that it holds at once.
    pub slots: usize,
    /// Number of leases that it holds.
    pub held: usize,
    /// Number of threads of its pool that are occupied by tasks that ran out of time and have not
    /// returned.
    pub stuck: usize,
    /// Whether the server answered the last request.
    pub server_up: bool,
    /// Whether it has been told to stop.
    pub stopping: bool,
}

impl Monitor {
    pub(super) fn attach(&self, service: &Arc<Service>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(service);
    }

    /// Returns the state of the worker; `None` before it has begun and after it has ended.
    pub fn state(&self) -> Option<WorkerState> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let service = service.upgrade()?;
        let setup = &service.setup;
        let mut table = service.table();
        Some(WorkerState {
            worker: setup.worker.clone(),
            counts: table.counts,
            threads: setup.pool.workers(),
            slots: setup.slots,
            held: table.held.len(),
            stuck: table.stuck(),
            server_up: !service.away.load(Ordering::Relaxed),
            stopping: service.stop.is_set(),
        })
    }
}
