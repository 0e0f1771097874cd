//! A link that loses requests and replies, for tests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use locksley_policy::{Random, Source};

use super::*;
use crate::Build;

/// A pool behind a link that loses requests and replies.
pub(super) struct Flaky<P> {
    pub(super) pool: P,
    /// One of this many requests is lost, and one of this many replies.
    pub(super) one_in: u64,
    pub(super) random: Mutex<Random>,
    /// Number of completions that are refused for no reason.
    pub(super) refusals: AtomicU64,
}

impl Flaky<Memory> {
    pub(super) fn new(one_in: u64, seed: u64) -> Flaky<Memory> {
        Flaky {
            pool: Memory::default(),
            one_in,
            random: Mutex::new(Random::new(seed, 0)),
            refusals: AtomicU64::new(0),
        }
    }
}

impl<P> Flaky<P> {
    fn lost(&self) -> Result<(), LeaseError> {
        let random = self.random.lock().expect("no panic").next();
        if random.is_multiple_of(self.one_in) {
            Err(LeaseError::Away("lost".to_owned()))
        } else {
            Ok(())
        }
    }

    /// Loses the request, or the reply, or neither.
    fn through<T>(&self, ask: impl FnOnce(&P) -> Result<T, LeaseError>) -> Result<T, LeaseError> {
        self.lost()?;
        let reply = ask(&self.pool)?;
        self.lost()?;
        Ok(reply)
    }
}

impl<P: LeasePool> LeasePool for Flaky<P> {
    fn submit(&self, order: &Order) -> Result<Submitted, LeaseError> {
        self.through(|pool| pool.submit(order))
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, LeaseError> {
        self.through(P::running)
    }

    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        wait: Duration,
    ) -> Result<Vec<Lease>, LeaseError> {
        self.through(|pool| pool.lease(worker, at_most, suspect, wait))
    }

    fn reclaim(&self) -> Result<Reclaimed, LeaseError> {
        self.through(P::reclaim)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, LeaseError> {
        self.through(|pool| pool.renew(tickets))
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, LeaseError> {
        let one_less = |left: u64| left.checked_sub(1);
        let refused = self
            .refusals
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if refused.is_ok() {
            return Err(LeaseError::Refused("not today".to_owned()));
        }
        self.through(|pool| pool.complete(ticket, completion))
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, LeaseError> {
        self.through(|pool| pool.give_up(ticket, why))
    }

    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, LeaseError> {
        self.through(|pool| pool.results(job, at_most))
    }

    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, LeaseError> {
        self.through(|pool| pool.compact(job, first, combined))
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, LeaseError> {
        self.through(|pool| pool.status(job))
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), LeaseError> {
        self.through(|pool| pool.await_end(job, wait))
    }

    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, LeaseError> {
        self.through(|pool| pool.cancel(job, forget))
    }

    fn aside_tasks(&self, job: &JobId) -> Result<Vec<AsideTask>, LeaseError> {
        self.through(|pool| pool.aside_tasks(job))
    }

    fn retry_aside(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, LeaseError> {
        self.through(|pool| pool.retry_aside(job, entries))
    }

    fn heartbeat(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
    ) -> Result<ClusterSize, LeaseError> {
        self.through(|pool| pool.heartbeat(present, alive_for))
    }

    fn heartbeat_and_renew(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
        tickets: &[Ticket],
    ) -> Result<(ClusterSize, Vec<bool>), LeaseError> {
        self.through(|pool| pool.heartbeat_and_renew(present, alive_for, tickets))
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), LeaseError> {
        self.through(|pool| pool.leave(worker))
    }

    fn workers(&self) -> Result<Vec<WorkerInfo>, LeaseError> {
        self.through(P::workers)
    }
}
