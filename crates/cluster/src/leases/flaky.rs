//! A link that loses requests and replies, for tests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::Build;

/// A pool behind a link that loses requests and replies.
pub(super) struct Flaky<P> {
    pub(super) pool: P,
    /// One of this many requests is lost, and one of this many replies.
    pub(super) one_in: u64,
    pub(super) random: Mutex<u64>,
    /// Number of completions that are refused for no reason.
    pub(super) refusals: AtomicU64,
}

impl<P> Flaky<P> {
    fn lost(&self) -> Result<(), Trouble> {
        let mut random = self.random.lock().expect("no panic");
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        if random.is_multiple_of(self.one_in) {
            Err(Trouble::Away("lost".to_owned()))
        } else {
            Ok(())
        }
    }

    /// Loses the request, or the reply, or neither.
    fn through<T>(&self, ask: impl FnOnce(&P) -> Result<T, Trouble>) -> Result<T, Trouble> {
        self.lost()?;
        let reply = ask(&self.pool)?;
        self.lost()?;
        Ok(reply)
    }
}

impl<P: LeasePool> LeasePool for Flaky<P> {
    fn submit(&self, order: &Order) -> Result<Submitted, Trouble> {
        self.through(|pool| pool.submit(order))
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, Trouble> {
        self.through(P::running)
    }

    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        wait: Duration,
    ) -> Result<Vec<Lease>, Trouble> {
        self.through(|pool| pool.lease(worker, at_most, suspect, wait))
    }

    fn reclaim(&self) -> Result<Reclaimed, Trouble> {
        self.through(P::reclaim)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, Trouble> {
        self.through(|pool| pool.renew(tickets))
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, Trouble> {
        let one_less = |left: u64| left.checked_sub(1);
        let refused = self
            .refusals
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if refused.is_ok() {
            return Err(Trouble::Refused("not today".to_owned()));
        }
        self.through(|pool| pool.complete(ticket, completion))
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, Trouble> {
        self.through(|pool| pool.give_up(ticket, why))
    }

    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, Trouble> {
        self.through(|pool| pool.results(job, at_most))
    }

    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, Trouble> {
        self.through(|pool| pool.compact(job, first, combined))
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, Trouble> {
        self.through(|pool| pool.status(job))
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), Trouble> {
        self.through(|pool| pool.await_end(job, wait))
    }

    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, Trouble> {
        self.through(|pool| pool.cancel(job, forget))
    }

    fn dead(&self, job: &JobId) -> Result<Vec<Dead>, Trouble> {
        self.through(|pool| pool.dead(job))
    }

    fn retry_dead(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, Trouble> {
        self.through(|pool| pool.retry_dead(job, entries))
    }

    fn beat(&self, present: &Present, alive_for: Duration) -> Result<Crowd, Trouble> {
        self.through(|pool| pool.beat(present, alive_for))
    }

    fn live(
        &self,
        present: &Present,
        alive_for: Duration,
        tickets: &[Ticket],
    ) -> Result<(Crowd, Vec<bool>), Trouble> {
        self.through(|pool| pool.live(present, alive_for, tickets))
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), Trouble> {
        self.through(|pool| pool.leave(worker))
    }

    fn workers(&self) -> Result<Vec<Present>, Trouble> {
        self.through(P::workers)
    }
}
