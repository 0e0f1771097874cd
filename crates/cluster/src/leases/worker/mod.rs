//! A worker: leases tasks, runs them in its pool, and says what came of them.
//!
//! ```text
//!   leaser ── leases as many as there are free slots; blocks while there are none ──> desk
//!   slot, slot, ... ── each runs a lease in the common pool for a quantum, hands over what waits,
//!                      goes on with what runs, completes, and gets the next one with the answer,
//!                      if there is one and the leaser needs no free slot
//!   heart ── renews what is held, a few times in a lease; what is lost is cancelled
//! ```
//!
//! There are as many slots as the pool has workers, so that tasks that spawn nothing keep all of
//! them busy; a task that does spawn is balanced by the pool, and takes as many slots as its tasks
//! run on workers. The *quantum* is what makes one large task into many: when it is over the tasks
//! that wait go to the server, in bundles if they are many, and running tasks are asked for more
//! ([`Tasks::wanted`](crate::Tasks::wanted)). Those that go on nevertheless are what the lease is
//! about from then on; whatever they spawn is handed over every now and then, and so are failures,
//! and results after two seconds. The quantum is shorter while there is less on the server than all
//! workers could take.
//!
//! Of [suspects](super::Terms::suspect) a worker has one at a time: the leaser gets the first, and
//! a slot that is done with one gets the next, while the other slots go on with what else there is.
//!
//! What a worker does without being asked, to beat, to renew, to look for leases that ran out, it
//! does the more rarely the more workers there are, and not all at the same time ([`pace`]).

mod completion;
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

use super::{Catalogue, GiveUp, JobId, Lease, LeasePool, Present, Run, Ticket, Trouble, WorkerId};
#[cfg(test)]
use crate::Build;
pub use monitor::{Monitor, WorkerState};
pub use notice::{Notice, Stop};

/// How a worker works.
#[derive(Clone)]
pub struct Setup {
    /// Who it is.
    pub worker: WorkerId,
    /// Where tasks run.
    pub pool: Arc<Pool>,
    /// Which programs it knows.
    pub catalogue: Catalogue,
    /// How many leases it holds at once.
    pub slots: usize,
    /// For how long it runs a lease before it withdraws the rest. Leases that take milliseconds
    /// cost little in comparison; ones that take seconds keep others waiting, and are lost with the
    /// process.
    pub quantum: Duration,
    /// How long leases may take to come to an end when it is told to stop. What is not done by then
    /// is given back. So long, too, tasks that ran out of time may occupy all threads of the pool
    /// before the worker ends.
    pub grace: Duration,
    /// It ends when there has been nothing to do for so long; if nothing, never.
    pub linger: Option<Duration>,
    /// Shows what it does.
    pub monitor: Monitor,
}

impl Setup {
    /// A worker with this pool, as many slots as it has workers, a quantum of 100 ms, and a grace
    /// of 10 s.
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

/// A name that no other process has: the host's, the process's number, and chance.
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

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Leases that it completed.
    pub completed: u64,
    /// Tasks that it ran for these.
    pub tasks: u64,
    /// Tasks that it sent back to the server as children.
    pub children: u64,
    /// Leases that it lost.
    pub lost: u64,
    /// Leases that it gave up.
    pub given_up: u64,
    /// Tasks that failed, while others of the same lease did not.
    pub failed: u64,
}

/// Works until it is told to stop, or has had nothing to do for long enough.
///
/// # Errors
///
/// Trouble with the server that does not pass.
pub fn serve(
    leases: Arc<dyn LeasePool>,
    setup: Setup,
    stop: &Stop,
    notice: impl Fn(Notice) + Send + Sync + 'static,
) -> Result<Tally, Trouble> {
    let slots = setup.slots.max(1);
    let service = Arc::new(Service {
        leases,
        setup,
        stop: stop.clone(),
        notice: Box::new(notice),
        desk: Mutex::default(),
        changed: Condvar::new(),
        pulse: Condvar::new(),
        all_slots: AtomicU32::new(0),
        workers: AtomicU32::new(1),
        away: AtomicBool::new(false),
        reserved: AtomicBool::new(false),
        abandoned: AtomicBool::new(false),
    });
    service.setup.monitor.attach(&service);
    let _ = service.live(&[]);
    let mut threads = Vec::new();
    for _ in 0..slots {
        let slot = service.clone();
        threads.push(thread::spawn(move || slot.work()));
    }
    let heart = service.clone();
    threads.push(thread::spawn(move || heart.beat()));
    let ended = leaser::Leaser::new(&service, slots).run();
    if service.close() {
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
    let _ = service.leases.leave(&service.setup.worker);
    let (tally, stuck) = {
        let mut desk = service.desk();
        (desk.tally, desk.stuck())
    };
    if stuck > 0 {
        // A pool that is dropped waits for its threads, and these may never end.
        std::mem::forget(service.setup.pool.clone());
    }
    ended.map(|()| tally)
}

/// What the threads of a worker share.
struct Service {
    leases: Arc<dyn LeasePool>,
    setup: Setup,
    stop: Stop,
    notice: Box<dyn Fn(Notice) + Send + Sync>,
    desk: Mutex<Desk>,
    /// The desk has changed, for the leaser and the slots.
    changed: Condvar,
    /// The heart has something to do before its time.
    pulse: Condvar,
    /// How many slots all workers have together.
    all_slots: AtomicU32,
    /// How many workers there are.
    workers: AtomicU32,
    /// Whether the server is away, according to the last notice.
    away: AtomicBool,
    /// Slots that are done shall be free, and not take the next task at once: the leaser needs
    /// them.
    reserved: AtomicBool,
    /// Set when the worker does not wait for its slots any more.
    abandoned: AtomicBool,
}

/// The leases that are here.
#[derive(Default)]
struct Desk {
    queue: VecDeque<(u64, Lease)>,
    held: BTreeMap<u64, Held>,
    next: u64,
    closed: bool,
    /// How many tasks each job had when we last heard of it.
    outstanding: BTreeMap<JobId, u64>,
    /// Runs that are over here, but for tasks that ran out of time and have not returned.
    stuck: Vec<Arc<dyn Run>>,
    tally: Tally,
}

struct Held {
    ticket: Ticket,
    run: Option<Arc<dyn Run>>,
    lost: bool,
    /// How long the lease is.
    lease: Duration,
    suspect: bool,
}

impl Desk {
    /// How many workers of the pool the leases take, or soon will.
    fn busy(&mut self) -> usize {
        let taken = |held: &Held| held.run.as_ref().map_or(1, |run| run.running().max(1));
        self.held.values().map(taken).sum::<usize>() + self.stuck()
    }

    /// How many workers of the pool are occupied by tasks that ran out of time.
    fn stuck(&mut self) -> usize {
        self.stuck.retain(|run| run.expire() > 0);
        self.stuck.iter().map(|run| run.expire()).sum()
    }

    /// The shortest lease that is held.
    fn shortest(&self) -> Option<Duration> {
        self.held.values().map(|held| held.lease).min()
    }
}

impl Service {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A listener that panics, because its output is closed, say, must not take a thread
    /// along: its lease would be renewed for ever and never be completed.
    fn tell(&self, notice: Notice) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.notice)(notice)));
    }

    /// Says once that the server is away, and once that it is back.
    fn told<T>(&self, outcome: Result<T, Trouble>) -> Result<T, Trouble> {
        match &outcome {
            Err(trouble) if trouble.passes() => {
                if !self.away.swap(true, Ordering::Relaxed) {
                    self.tell(Notice::Away(trouble.clone()));
                }
            }
            Err(_) => {}
            Ok(_) => {
                if self.away.swap(false, Ordering::Relaxed) {
                    self.tell(Notice::Back);
                }
            }
        }
        outcome
    }

    /// Puts leases on the desk.
    fn dispatch(&self, leases: Vec<Lease>) {
        let mut desk = self.desk();
        for lease in leases {
            let number = self.hold(&mut desk, &lease);
            desk.queue.push_back((number, lease));
        }
        self.changed.notify_all();
    }

    /// From now on a lease is renewed.
    fn hold(&self, desk: &mut Desk, lease: &Lease) -> u64 {
        let number = desk.next;
        desk.next += 1;
        let held = Held {
            ticket: lease.ticket.clone(),
            run: None,
            lost: false,
            lease: lease.job.terms.lease,
            suspect: lease.is_suspect(),
        };
        let before = desk.shortest();
        if before.is_none_or(|before| held.lease < before) {
            self.pulse.notify_all();
        }
        desk.held.insert(number, held);
        number
    }

    /// Says that the worker is alive, and renews leases. What is lost is cancelled.
    fn live(&self, held: &[(u64, Ticket)]) -> Result<(), Trouble> {
        let present = Present {
            worker: self.setup.worker.clone(),
            slots: self.setup.slots as u32,
        };
        let workers = self.workers.load(Ordering::Relaxed);
        let tickets: Vec<Ticket> = held.iter().map(|(_, ticket)| ticket.clone()).collect();
        let (crowd, good) = self
            .leases
            .live(&present, pace::alive_for(workers), &tickets)?;
        self.all_slots.store(crowd.slots, Ordering::Relaxed);
        self.workers.store(crowd.workers, Ordering::Relaxed);
        let mut desk = self.desk();
        for ((number, _), good) in held.iter().zip(good) {
            if good {
                continue;
            }
            // If it is not there it was completed in the meantime.
            if let Some(held) = desk.held.get_mut(number) {
                held.lost = true;
                if let Some(run) = &held.run {
                    run.cancel();
                }
            }
        }
        Ok(())
    }

    /// Renews leases until the desk is closed and empty.
    fn beat(&self) {
        let mut jitter = pace::Jitter::new();
        let mut last = Instant::now();
        loop {
            // Early rather than late, so that workers that began together do not stay together.
            let workers = self.workers.load(Ordering::Relaxed);
            let (beat, part) = (pace::beat(workers), jitter.before(Duration::from_secs(1)));
            let held = {
                let mut desk = self.desk();
                loop {
                    if desk.closed && desk.held.is_empty() {
                        return;
                    }
                    // A lease that came in the meantime may be due earlier.
                    let renew = desk.shortest().map(|lease| pace::renew(workers, lease));
                    let every = renew.map_or(beat, |renew| renew.min(beat));
                    let due = last + every.mul_f64(part.as_secs_f64());
                    let left = due.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = self.pulse.wait_timeout(desk, left);
                    desk = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                let held = desk.held.iter().filter(|(_, held)| !held.lost);
                held.map(|(number, held)| (*number, held.ticket.clone()))
                    .collect::<Vec<_>>()
            };
            last = Instant::now();
            // Whether the server can be used the others see too.
            let _ = self.live(&held);
        }
    }

    /// The end: what waits on the desk is given back, and what runs may come to an end. Returns
    /// `true` if it did.
    fn close(&self) -> bool {
        let queued: Vec<(u64, Lease)> = {
            let mut desk = self.desk();
            desk.closed = true;
            desk.queue.drain(..).collect()
        };
        self.changed.notify_all();
        for (number, lease) in queued {
            let _ = self.leases.give_up(&lease.ticket, &GiveUp::Stopping);
            self.remove(number);
        }
        let desk = self.desk();
        let busy = |desk: &mut Desk| !desk.held.is_empty();
        let waited = self
            .changed
            .wait_timeout_while(desk, self.setup.grace, busy);
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        if desk.held.is_empty() {
            self.pulse.notify_all();
            return true;
        }
        self.abandoned.store(true, Ordering::Relaxed);
        let held = std::mem::take(&mut desk.held);
        drop(desk);
        self.pulse.notify_all();
        for held in held.into_values() {
            if let Some(run) = held.run {
                run.cancel();
            }
            if self.leases.give_up(&held.ticket, &GiveUp::Stopping) == Ok(true) {
                self.tell(Notice::GivenUp(held.ticket, GiveUp::Stopping));
            }
        }
        false
    }

    /// Remembers a run some tasks of which have run out of time and not returned.
    fn note_stuck(&self, run: Arc<dyn Run>) {
        if run.expire() > 0 {
            self.desk().stuck.push(run);
        }
    }

    /// A lease is no longer here.
    fn remove(&self, number: u64) {
        let mut desk = self.desk();
        desk.held.remove(&number);
        self.changed.notify_all();
        if desk.closed {
            self.pulse.notify_all();
        }
    }

    /// A lease is no longer here, and another one is. No thread has to know: no slot is free.
    fn replace(&self, number: u64, next: &Lease) -> u64 {
        let mut desk = self.desk();
        desk.held.remove(&number);
        self.hold(&mut desk, next)
    }
}
