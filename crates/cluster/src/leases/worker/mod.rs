//! A worker: leases tasks, runs them in its pool, and completes them.
//!
//! ```text
//!   leaser ── leases a task for each free slot; blocks while there are no tasks ──> table
//!   slot, slot, ... ── each runs a lease in the shared pool for a quantum, hands over the tasks
//!                      that wait, finishes those that run, completes the lease, and gets the next
//!                      one with the answer, unless the leaser needs a free slot
//!   heartbeat ── renews the leases that are held, several times in a lease; cancels lost ones
//! ```
//!
//! There are as many slots as the pool has workers, so that tasks that spawn nothing keep all of
//! them busy. A task that spawns others is balanced by the pool, and counts as one slot for each of
//! its tasks that runs. The *quantum* divides a large task into many: when it is over the waiting
//! tasks go to the server, in bundles if they are many, and running tasks are asked to spawn more
//! ([`Tasks::wanted`](crate::Tasks::wanted)). Tasks that still run after that are kept in the
//! lease; whatever they spawn is handed over from time to time, and so are failures, and results
//! after two seconds. The quantum is shorter while the server has fewer tasks than all workers
//! could take.
//!
//! A worker has at most one [suspect](super::Terms::suspect) at a time: the leaser gets the first,
//! and the slot that completes a suspect gets the next, while the other slots continue with other
//! tasks.
//!
//! Periodic requests (heartbeats, renewals, searches for expired leases) become less frequent the
//! more workers there are, and are spread over time ([`pace`]).

mod completion;
mod drain;
mod leaser;
mod monitor;
mod notice;
pub mod pace;
mod slot;

#[cfg(test)]
mod tangled;
#[cfg(test)]
mod tests;

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;

use super::{
    Catalogue, GiveUp, JobId, Lease, LeaseError, LeasePool, Run, Ticket, WorkerId, WorkerInfo,
};
#[cfg(test)]
use crate::Build;
pub use monitor::{Monitor, WorkerState};
pub use notice::{Notice, Stop};

/// The configuration of a worker.
#[derive(Clone)]
pub struct Setup {
    /// Identity of the worker.
    pub worker: WorkerId,
    /// Pool in which tasks run.
    pub pool: Arc<Pool>,
    /// Programs that it knows.
    pub catalogue: Catalogue,
    /// Most leases that it holds at once.
    pub slots: usize,
    /// Time for which it runs a lease before it withdraws the rest. Leases that take milliseconds
    /// have little overhead in comparison; leases that take seconds keep other workers waiting, and
    /// are lost with the process.
    pub quantum: Duration,
    /// Time that leases get to end when the worker is told to stop; what is not done by then is
    /// given back. It is also the time for which tasks that ran out of time may occupy all threads
    /// of the pool before the worker ends.
    pub grace: Duration,
    /// Idle time after which the worker ends; `None` for never.
    pub linger: Option<Duration>,
    /// Monitor through which the worker can be observed.
    pub monitor: Monitor,
}

impl Setup {
    /// Creates the configuration of a worker with this pool, a slot for each of the pool's workers,
    /// a quantum of 100 ms, and a grace of 10 s.
    pub fn new(worker: WorkerId, pool: Pool, catalogue: Catalogue) -> Setup {
        Setup {
            worker,
            slots: pool.workers(),
            pool: Arc::new(pool),
            catalogue,
            quantum: Duration::from_millis(100),
            grace: Duration::from_secs(10),
            linger: None,
            monitor: Monitor::default(),
        }
    }
}

/// Returns a name that no other process has: the host's name, the process's number, and a random
/// number.
///
/// ```
/// use locksley_cluster::leases::worker_name;
///
/// assert_ne!(worker_name(), worker_name());
/// ```
pub fn worker_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok());
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let host: String = host
        .unwrap_or_default()
        .chars()
        .filter(plain)
        .take(60)
        .collect();
    let chance = RandomState::new().hash_one(Instant::now());
    format!("{host}-{}-{chance:016x}", std::process::id())
}

/// Counts of a worker's leases and tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Leases that it completed.
    pub completed: u64,
    /// Tasks that it ran for these.
    pub tasks: u64,
    /// Tasks that it handed over to the server as children.
    pub children: u64,
    /// Leases that it lost.
    pub lost: u64,
    /// Leases that it gave up.
    pub given_up: u64,
    /// Tasks that failed, while others of the same lease did not.
    pub failed: u64,
}

/// Runs a worker until it is told to stop, or has been idle for long enough.
///
/// # Errors
///
/// Errors of the server that do not pass.
pub fn serve(
    leases: Arc<dyn LeasePool>,
    setup: Setup,
    stop: &Stop,
    notice: impl Fn(Notice) + Send + Sync + 'static,
) -> Result<WorkerCounts, LeaseError> {
    let slots = setup.slots.max(1);
    let service = Arc::new(Service {
        leases,
        setup,
        stop: stop.clone(),
        notice: Box::new(notice),
        table: Mutex::default(),
        changed: Condvar::new(),
        heartbeat_due: Condvar::new(),
        all_slots: AtomicU32::new(0),
        workers: AtomicU32::new(1),
        away: AtomicBool::new(false),
        reserved: AtomicBool::new(false),
        abandoned: AtomicBool::new(false),
    });
    service.setup.monitor.attach(&service);
    let _ = service.heartbeat_and_renew(&[]);
    let mut threads = Vec::new();
    for _ in 0..slots {
        let slot = service.clone();
        threads.push(thread::spawn(move || slot.work()));
    }
    let beating = service.clone();
    threads.push(thread::spawn(move || beating.keep_alive()));
    let ended = leaser::Leaser::new(&service, slots).run();
    if service.close() {
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
    let _ = service.leases.leave(&service.setup.worker);
    let (counts, stuck) = {
        let mut table = service.table();
        (table.counts, table.stuck())
    };
    if stuck > 0 {
        // Leak the pool: dropping it would wait for its threads, which may never end.
        std::mem::forget(service.setup.pool.clone());
    }
    ended.map(|()| counts)
}

/// The state that the threads of a worker share.
struct Service {
    leases: Arc<dyn LeasePool>,
    setup: Setup,
    stop: Stop,
    notice: Box<dyn Fn(Notice) + Send + Sync>,
    table: Mutex<LeaseTable>,
    /// Notified when the table changes, for the leaser and the slots.
    changed: Condvar,
    /// Notified when a heartbeat is due earlier than planned.
    heartbeat_due: Condvar,
    /// Slots of all workers together.
    all_slots: AtomicU32,
    /// Number of workers.
    workers: AtomicU32,
    /// Whether the server is away, according to the last notice.
    away: AtomicBool,
    /// Set while slots that complete a lease must become free instead of taking the next task,
    /// because the leaser needs one.
    reserved: AtomicBool,
    /// Set when the worker stops waiting for its slots.
    abandoned: AtomicBool,
}

/// The leases that the worker holds.
#[derive(Default)]
struct LeaseTable {
    queue: VecDeque<(u64, Lease)>,
    held: BTreeMap<u64, Held>,
    next: u64,
    closed: bool,
    /// Number of outstanding tasks of each job, when the server last reported it.
    outstanding: BTreeMap<JobId, u64>,
    /// Runs that have ended, except for tasks that ran out of time and have not returned.
    stuck: Vec<Arc<dyn Run>>,
    counts: WorkerCounts,
}

struct Held {
    ticket: Ticket,
    run: Option<Arc<dyn Run>>,
    lost: bool,
    /// Length of the lease.
    lease: Duration,
    suspect: bool,
}

impl LeaseTable {
    /// Returns the number of workers of the pool that the leases occupy, or soon will.
    fn busy(&mut self) -> usize {
        let taken = |held: &Held| held.run.as_ref().map_or(1, |run| run.running().max(1));
        self.held.values().map(taken).sum::<usize>() + self.stuck()
    }

    /// Returns the number of workers of the pool that are occupied by tasks that ran out of time.
    fn stuck(&mut self) -> usize {
        self.stuck.retain(|run| run.expire() > 0);
        self.stuck.iter().map(|run| run.expire()).sum()
    }

    /// Returns the length of the shortest lease that is held.
    fn shortest(&self) -> Option<Duration> {
        self.held.values().map(|held| held.lease).min()
    }
}

impl Service {
    fn table(&self) -> MutexGuard<'_, LeaseTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the listener. If it panics, for example because its output is closed, that must not
    /// end the thread: its lease would be renewed for ever and never be completed.
    fn notify(&self, notice: Notice) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.notice)(notice)));
    }

    /// Tells the listener once that the server is away, and once that it is back.
    fn track_outage<T>(&self, outcome: Result<T, LeaseError>) -> Result<T, LeaseError> {
        match &outcome {
            Err(error) if error.passes() => {
                if !self.away.swap(true, Ordering::Relaxed) {
                    self.notify(Notice::Away(error.clone()));
                }
            }
            Err(_) => {}
            Ok(_) => {
                if self.away.swap(false, Ordering::Relaxed) {
                    self.notify(Notice::Back);
                }
            }
        }
        outcome
    }

    /// Puts leases in the table.
    fn dispatch(&self, leases: Vec<Lease>) {
        let mut table = self.table();
        for lease in leases {
            let number = self.hold(&mut table, &lease);
            table.queue.push_back((number, lease));
        }
        self.changed.notify_all();
    }

    /// Adds a lease to those that are renewed.
    fn hold(&self, table: &mut LeaseTable, lease: &Lease) -> u64 {
        let number = table.next;
        table.next += 1;
        let held = Held {
            ticket: lease.ticket.clone(),
            run: None,
            lost: false,
            lease: lease.job.terms.lease,
            suspect: lease.is_suspect(),
        };
        let before = table.shortest();
        if before.is_none_or(|before| held.lease < before) {
            self.heartbeat_due.notify_all();
        }
        table.held.insert(number, held);
        number
    }

    /// Reports that the worker is alive, and renews leases. Lost leases are cancelled.
    fn heartbeat_and_renew(&self, held: &[(u64, Ticket)]) -> Result<(), LeaseError> {
        let present = WorkerInfo {
            worker: self.setup.worker.clone(),
            slots: self.setup.slots as u32,
        };
        let workers = self.workers.load(Ordering::Relaxed);
        let tickets: Vec<Ticket> = held.iter().map(|(_, ticket)| ticket.clone()).collect();
        let (cluster_size, good) =
            self.leases
                .heartbeat_and_renew(&present, pace::alive_for(workers), &tickets)?;
        self.all_slots.store(cluster_size.slots, Ordering::Relaxed);
        self.workers.store(cluster_size.workers, Ordering::Relaxed);
        let mut table = self.table();
        for ((number, _), good) in held.iter().zip(good) {
            if good {
                continue;
            }
            // If it is missing it was completed in the meantime.
            if let Some(held) = table.held.get_mut(number) {
                held.lost = true;
                if let Some(run) = &held.run {
                    run.cancel();
                }
            }
        }
        Ok(())
    }

    /// Renews leases until the table is closed and empty.
    fn keep_alive(&self) {
        let mut jitter = pace::Jitter::new();
        let mut last = Instant::now();
        loop {
            // Beat early rather than late, and at random, so that workers that began together do
            // not stay in step.
            let workers = self.workers.load(Ordering::Relaxed);
            let (beat, part) = (
                pace::heartbeat(workers),
                jitter.before(Duration::from_secs(1)),
            );
            let held = {
                let mut table = self.table();
                loop {
                    if table.closed && table.held.is_empty() {
                        return;
                    }
                    // A lease that was added in the meantime may be due earlier.
                    let renew = table.shortest().map(|lease| pace::renew(workers, lease));
                    let every = renew.map_or(beat, |renew| renew.min(beat));
                    let due = last + every.mul_f64(part.as_secs_f64());
                    let left = due.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = self.heartbeat_due.wait_timeout(table, left);
                    table = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                let held = table.held.iter().filter(|(_, held)| !held.lost);
                held.map(|(number, held)| (*number, held.ticket.clone()))
                    .collect::<Vec<_>>()
            };
            last = Instant::now();
            // Errors are ignored: the other threads notice them, too.
            let _ = self.heartbeat_and_renew(&held);
        }
    }

    /// Ends the worker: leases in the table are given back, and running ones may end within the
    /// grace. Returns `true` if all of them did.
    fn close(&self) -> bool {
        let queued: Vec<(u64, Lease)> = {
            let mut table = self.table();
            table.closed = true;
            table.queue.drain(..).collect()
        };
        self.changed.notify_all();
        for (number, lease) in queued {
            let _ = self.leases.give_up(&lease.ticket, &GiveUp::Stopping);
            self.remove(number);
        }
        let table = self.table();
        let busy = |table: &mut LeaseTable| !table.held.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(table, self.setup.grace, busy);
        let mut table = waited.unwrap_or_else(PoisonError::into_inner).0;
        if table.held.is_empty() {
            self.heartbeat_due.notify_all();
            return true;
        }
        self.abandoned.store(true, Ordering::Relaxed);
        let held = std::mem::take(&mut table.held);
        drop(table);
        self.heartbeat_due.notify_all();
        for held in held.into_values() {
            if let Some(run) = held.run {
                run.cancel();
            }
            if self.leases.give_up(&held.ticket, &GiveUp::Stopping) == Ok(true) {
                self.notify(Notice::GivenUp(held.ticket, GiveUp::Stopping));
            }
        }
        false
    }

    /// Remembers a run if some of its tasks have run out of time and not returned.
    fn note_stuck(&self, run: Arc<dyn Run>) {
        if run.expire() > 0 {
            self.table().stuck.push(run);
        }
    }

    /// Removes a lease.
    fn remove(&self, number: u64) {
        let mut table = self.table();
        table.held.remove(&number);
        self.changed.notify_all();
        if table.closed {
            self.heartbeat_due.notify_all();
        }
    }

    /// Replaces a lease by the next one. No thread is notified, since no slot becomes free.
    fn replace(&self, number: u64, next: &Lease) -> u64 {
        let mut table = self.table();
        table.held.remove(&number);
        self.hold(&mut table, next)
    }
}
