//! The leaser: the thread that requests leases.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::pace::{self, HEARTBEAT, Jitter};
use super::{Notice, Service};
use crate::leases::{JobId, Lease, LeaseError};

/// Longest time between two checks whether the worker is to stop.
const WAIT: Duration = Duration::from_secs(1);

pub(super) struct Leaser<'a> {
    service: &'a Service,
    slots: usize,
    jitter: Jitter,
    /// When to look for expired leases next.
    reclaim: Instant,
    /// When to reserve a free slot, however many other tasks wait: a suspect may wait, and only the
    /// leaser takes the first one.
    reserve: Instant,
    next_report: Instant,
    foreign: BTreeSet<JobId>,
    busy: Instant,
    /// Time since which all threads are occupied by tasks that ran out of time.
    stuck: Option<Instant>,
}

impl<'a> Leaser<'a> {
    pub(super) fn new(service: &'a Service, slots: usize) -> Leaser<'a> {
        let now = Instant::now();
        Leaser {
            service,
            slots,
            jitter: Jitter::new(),
            reclaim: now,
            reserve: now + HEARTBEAT,
            next_report: now,
            foreign: BTreeSet::new(),
            busy: now,
            stuck: None,
        }
    }

    /// Requests leases until the worker is to stop.
    pub(super) fn run(mut self) -> Result<(), LeaseError> {
        let mut pause = Duration::from_millis(20);
        while !self.over() {
            self.check_stuck()?;
            let had_work = !self.service.table().held.is_empty();
            let free = self.free_slots();
            if had_work {
                // It may have waited for a lease to end.
                self.busy = Instant::now();
            }
            match self.service.track_outage(self.gather(free)) {
                Ok(leases) => {
                    pause = Duration::from_millis(20);
                    if !leases.is_empty() {
                        self.service.dispatch(leases);
                    }
                }
                Err(error) if error.passes() => {
                    self.service.stop.sleep(self.jitter.about(pause));
                    pause = (2 * pause).min(Duration::from_secs(2));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns an error if tasks that ran out of time have occupied all threads for too long:
    /// nothing else can run here any more.
    fn check_stuck(&mut self) -> Result<(), LeaseError> {
        let stuck = self.service.table().stuck();
        if stuck < self.service.setup.pool.workers() {
            self.stuck = None;
            return Ok(());
        }
        let since = *self.stuck.get_or_insert_with(Instant::now);
        if since.elapsed() < self.service.setup.grace {
            return Ok(());
        }
        Err(LeaseError::Stuck(stuck))
    }

    fn over(&mut self) -> bool {
        if !self.service.table().held.is_empty() {
            self.busy = Instant::now();
        }
        let linger = self.service.setup.linger;
        let bored = linger.is_some_and(|linger| self.busy.elapsed() >= linger);
        self.service.stop.is_set() || bored
    }

    /// Waits for a free slot, or until another action is due. Returns the number of free slots.
    fn free_slots(&self) -> usize {
        let now = Instant::now();
        let reserve = now >= self.reserve;
        // While it needs one, slots that complete a lease do not take the next task.
        self.service.reserved.store(reserve, Ordering::Relaxed);
        let soonest = if reserve {
            self.reclaim
        } else {
            self.reclaim.min(self.reserve)
        };
        let until = soonest.saturating_duration_since(now).min(WAIT);
        let table = self.service.table();
        let full = |table: &mut super::LeaseTable| table.busy() >= self.slots;
        let waited = self.service.changed.wait_timeout_while(table, until, full);
        let mut table = waited.unwrap_or_else(PoisonError::into_inner).0;
        self.slots.saturating_sub(table.busy())
    }

    fn gather(&mut self, free: usize) -> Result<Vec<Lease>, LeaseError> {
        let service = self.service;
        let workers = service.workers.load(Ordering::Relaxed);
        self.report_foreign_jobs()?;
        if Instant::now() >= self.reclaim {
            let found = service.leases.reclaim()?;
            let pause = pace::reclaim_interval(workers, found.next);
            self.reclaim = Instant::now() + self.jitter.about(pause);
        } else {
            // Workers that looked more often may be gone.
            let latest = Instant::now() + 2 * pace::reclaim_interval(workers, None);
            self.reclaim = self.reclaim.min(latest);
        }
        if free == 0 {
            return Ok(Vec::new());
        }
        let suspect = !service.table().held.values().any(|held| held.suspect);
        let wait = self.reclaim.saturating_duration_since(Instant::now());
        let wait = wait.min(self.jitter.about(pace::wait(workers)));
        let leases = service
            .leases
            .lease(&service.setup.worker, free, suspect, wait)?;
        self.reserve = Instant::now() + HEARTBEAT;
        service.reserved.store(false, Ordering::Relaxed);
        Ok(leases)
    }

    /// Reports jobs of other builds, whose tasks it does not take.
    fn report_foreign_jobs(&mut self) -> Result<(), LeaseError> {
        if Instant::now() < self.next_report {
            return Ok(());
        }
        let workers = self.service.workers.load(Ordering::Relaxed);
        self.next_report = Instant::now() + self.jitter.about(pace::heartbeat(workers) * 5 / 2);
        let ours = self.service.setup.worker.build;
        for (job, build) in self.service.leases.running()? {
            if build != ours && self.foreign.insert(job.clone()) {
                self.service.notify(Notice::OtherBuild { job, build, ours });
            }
        }
        Ok(())
    }
}
