//! The state of a pool in memory: jobs, workers, and its clock.

use std::collections::BTreeMap;
use std::time::Duration;

use super::job::{Holder, Job, Queue};
use crate::leases::{
    Completed, Completion, JobId, Lease, LeaseError, Reclaimed, Ticket, WorkerId, WorkerInfo,
};

#[derive(Debug, Default)]
pub(super) struct World {
    /// RunOptions far the clock has been set ahead of the machine's clock, and back.
    pub(super) ahead: Duration,
    pub(super) behind: Duration,
    /// The latest time that was noted. If the clock is set back, time continues from here.
    pub(super) seen: Duration,
    pub(super) correction: Duration,
    pub(super) jobs: BTreeMap<JobId, Job>,
    /// Number of entries and deliveries so far, from which they are numbered.
    pub(super) numbers: u64,
    pub(super) workers: BTreeMap<String, (WorkerInfo, Duration)>,
    /// Time at which workers came back after all had been away.
    pub(super) returned: Duration,
}

impl World {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns the time at which workers came back after all had been away. Before that time no
    /// worker could renew a lease, so an expired lease does not mean that its worker is dead.
    pub(super) fn returned(&mut self, now: Duration) -> Duration {
        if self.workers.values().all(|(_, until)| *until <= now) {
            self.returned = now;
        }
        self.returned
    }

    /// Returns the job of a ticket and its entry's number, if the ticket is that of the last
    /// delivery.
    pub(super) fn held(&mut self, ticket: &Ticket) -> Option<(&mut Job, u64)> {
        let number = ticket.entry.parse().ok()?;
        let job = self.jobs.get_mut(&ticket.job)?;
        let holder = job.leased.get(&number)?;
        let good = holder.worker == ticket.worker && holder.delivery == ticket.delivery;
        good.then_some((job, number))
    }

    /// Leases some tasks: a suspect if requested, then urgent ones, then others. Also returns the
    /// time until the next delayed task is due.
    pub(super) fn lease(
        &mut self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        now: Duration,
    ) -> (Vec<Lease>, Option<Duration>) {
        let mut leases = Vec::new();
        let ours = |job: &&mut Job| job.info.build == worker.build;
        let mut jobs: Vec<&mut Job> = self.jobs.values_mut().filter(ours).collect();
        jobs.iter_mut().for_each(|job| job.promote(now));
        let numbers = &mut self.numbers;
        let mut take = |job: &mut Job, from: Queue, most: usize| {
            while leases.len() < most
                && let Some(number) = job.queue(from).pop_front()
            {
                *numbers += 1;
                let holder = Holder {
                    worker: worker.name.clone(),
                    delivery: *numbers,
                    since: now,
                };
                leases.push(job.lease(number, holder));
            }
        };
        if suspect {
            let first = at_most.min(1);
            jobs.iter_mut()
                .for_each(|job| take(job, Queue::Suspects, first));
        }
        for from in [Queue::Urgent, Queue::Usual] {
            jobs.iter_mut().for_each(|job| take(job, from, at_most));
        }
        let next = jobs.iter().filter_map(|job| job.next_due(now)).min();
        (leases, next)
    }

    /// Replaces a task by its results, its children and what is kept of it.
    pub(super) fn complete(
        &mut self,
        ticket: &Ticket,
        completion: &Completion,
        now: Duration,
    ) -> Result<Completed, LeaseError> {
        let first = self.numbers + 1;
        let new = completion.children.len() + completion.aside.len();
        let new = new + completion.deferred.len() + completion.inputs.len();
        self.numbers += new as u64;
        let Some((job, number)) = self.held(ticket) else {
            return Ok(Completed::Fenced);
        };
        job.complete((ticket, number), completion, first, now)
    }

    /// Makes tasks wait again whose leases expired.
    pub(super) fn reclaim(&mut self, now: Duration) -> Reclaimed {
        let returned = self.returned(now);
        let mut reclaimed = Reclaimed::default();
        for job in self.jobs.values_mut() {
            let lease = job.info.terms.lease;
            if now >= returned + lease {
                let (again, aside) = job.reclaim(now);
                reclaimed.returned += again;
                reclaimed.aside += aside;
            }
            let oldest = job.leased.values().map(|holder| holder.since).min();
            let due = oldest.map(|since| (since.max(returned) + lease).saturating_sub(now));
            reclaimed.next = reclaimed.next.into_iter().chain(due).min();
        }
        reclaimed
    }
}
