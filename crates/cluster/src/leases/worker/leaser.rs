//! The thread that gets leases.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Notice, Service};
use crate::leases::{JobId, Lease, Trouble};

/// So long it blocks on the server at most; then it looks whether it shall stop.
const WAIT: Duration = Duration::from_secs(1);

/// How often it looks for jobs of other builds.
const LOOK: Duration = Duration::from_secs(5);

pub(super) struct Leaser<'a> {
    service: &'a Service,
    slots: usize,
    /// When leases that ran out are looked for.
    reclaim: Instant,
    /// There are tasks that have to run alone: from now on until then nothing is leased, so that the slots get free.
    drain: Option<Instant>,
    look: Instant,
    foreign: BTreeSet<JobId>,
    busy: Instant,
}

impl<'a> Leaser<'a> {
    pub(super) fn new(service: &'a Service, slots: usize) -> Leaser<'a> {
        let now = Instant::now();
        Leaser {
            service,
            slots,
            reclaim: now,
            drain: None,
            look: now,
            foreign: BTreeSet::new(),
            busy: now,
        }
    }

    /// Gets leases until the worker is to stop.
    pub(super) fn run(mut self) -> Result<(), Trouble> {
        let mut pause = Duration::from_millis(20);
        while !self.over() {
            if Instant::now() >= self.reclaim {
                self.reserve(true);
            }
            let Some(free) = self.free_slots() else {
                continue;
            };
            let gathered = self.service.told(self.gather(free));
            self.reserve(self.drain.is_some());
            match gathered {
                Ok(leases) => {
                    pause = Duration::from_millis(20);
                    self.dispatch(leases);
                }
                Err(trouble) if trouble.passes() => {
                    self.service.stop.sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(2));
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// Are free slots wanted?
    fn reserve(&self, wanted: bool) {
        self.service.reserved.store(wanted, Ordering::Relaxed);
    }

    fn over(&mut self) -> bool {
        if !self.service.desk().held.is_empty() {
            self.busy = Instant::now();
        }
        let linger = self.service.setup.linger;
        let bored = linger.is_some_and(|linger| self.busy.elapsed() >= linger);
        self.service.stop.is_set() || bored
    }

    /// Waits for a free slot, or for all of them if something has to run alone. How many are there?
    fn free_slots(&self) -> Option<usize> {
        let now = Instant::now();
        // When its time is over one is enough; and that is waited for like any other.
        let patient = self.drain.filter(|until| now < *until);
        let needed = if patient.is_some() { self.slots } else { 1 };
        let until = patient.map_or(WAIT, |until| (until - now).min(WAIT));
        let desk = self.service.desk();
        let waited = self
            .service
            .changed
            .wait_timeout_while(desk, until, |desk| desk.held.len() + needed > self.slots);
        let desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        let free = self.slots.saturating_sub(desk.held.len());
        (free >= needed).then_some(free)
    }

    fn gather(&mut self, free: usize) -> Result<Vec<Lease>, Trouble> {
        let service = self.service;
        let worker = &service.setup.worker;
        self.look_around()?;
        let every = service.desk().beat;
        if self.drain.is_some() || Instant::now() >= self.reclaim {
            // A drain that took too long is as good as one that succeeded: else long tasks would keep suspects waiting for ever.
            let idle = self.drain.take().is_some() || free == self.slots;
            let found = service.leases.reclaim(worker, free, idle)?;
            self.reclaim = Instant::now() + every;
            if !found.leases.is_empty() {
                return Ok(found.leases);
            }
            if found.suspects {
                self.drain = Some(Instant::now() + 3 * every);
                return Ok(Vec::new());
            }
        }
        let wait = self.reclaim.saturating_duration_since(Instant::now());
        service.leases.lease(worker, free, wait.min(WAIT))
    }

    /// Puts leases on the desk. With one that runs alone it waits until that is done.
    fn dispatch(&mut self, leases: Vec<Lease>) {
        let alone = leases
            .iter()
            .any(|lease| lease.job.terms.alone(lease.attempt));
        if !leases.is_empty() {
            self.service.dispatch(leases);
        }
        self.reserve(alone || self.drain.is_some());
        let mut desk = self.service.desk();
        while alone && !desk.held.is_empty() && !self.service.stop.is_set() {
            let waited = self.service.changed.wait_timeout(desk, WAIT);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Says which jobs it does not take.
    fn look_around(&mut self) -> Result<(), Trouble> {
        if Instant::now() < self.look {
            return Ok(());
        }
        self.look = Instant::now() + LOOK;
        let ours = self.service.setup.worker.build;
        for (job, build) in self.service.leases.running()? {
            if build != ours && self.foreign.insert(job.clone()) {
                self.service.tell(Notice::OtherBuild { job, build, ours });
            }
        }
        Ok(())
    }
}
