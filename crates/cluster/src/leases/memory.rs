//! The reference: leases in the memory of one process, with a clock that can be set.

mod job;

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::types::plain;
use super::{
    Completed, Completion, Crowd, Dead, GiveUp, JobId, Lease, LeasePool, Order, Oversized, Present,
    Reclaimed, Share, State, Status, Submitted, Ticket, Trouble, WorkerId,
};
use crate::Build;
use job::{Holder, Job};

/// A stand-in for a server, for tests and for a look at what the operations mean: here they are in
/// a few lines each.
///
/// ```
/// use std::time::Duration;
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::*;
///
/// let pool = Memory::default();
/// let job = JobInfo { id: "a".parse()?, build: Build(1), program: "p".to_owned(), terms: Terms::default() };
/// pool.submit(&Order::whole(job, vec![b"task".to_vec()]))?;
/// let (slow, other) = (WorkerId { name: "slow".to_owned(), build: Build(1) }, WorkerId { name: "other".to_owned(), build: Build(1) });
/// pool.beat(&Present { worker: other.clone(), slots: 1 }, Duration::from_secs(60))?;
/// let lease = pool.lease(&slow, 1, false, Duration::ZERO)?.remove(0);
///
/// pool.pass(Duration::from_secs(16));
/// assert_eq!(pool.reclaim()?.returned, 1);
/// let again = pool.lease(&other, 1, false, Duration::ZERO)?.remove(0);
/// assert_eq!(pool.complete(&lease.ticket, &Completion::default())?, Completed::Fenced);
/// assert_ne!(pool.complete(&again.ticket, &Completion::default())?, Completed::Fenced);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    started: Instant,
    world: Mutex<World>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct World {
    /// How far the clock is ahead of the machine's, and behind it: it can be set both ways.
    ahead: Duration,
    behind: Duration,
    /// The latest time that was seen. A clock that is set back is taken to go on from here.
    seen: Duration,
    correction: Duration,
    jobs: BTreeMap<JobId, Job>,
    /// How many entries and deliveries there were: their numbers.
    numbers: u64,
    workers: BTreeMap<String, (Present, Duration)>,
    /// When they came back, if all were away.
    returned: Duration,
}

/// What the clock begins with, so that it can be set back.
const LATER: Duration = Duration::from_secs(1 << 30);

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            started: Instant::now(),
            world: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

/// A reason of a length that people read.
pub(super) fn shortened(reason: &str) -> String {
    plain(&reason.chars().take(500).collect::<String>())
}

impl Memory {
    /// Sets the clock ahead.
    pub fn pass(&self, time: Duration) {
        self.world().ahead += time;
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the clock back, as an administrator may set a server's.
    pub fn set_back(&self, time: Duration) {
        self.world().behind += time;
    }

    fn now(&self, world: &mut World) -> Duration {
        let clock = (LATER + self.started.elapsed() + world.ahead).saturating_sub(world.behind);
        if clock + world.correction < world.seen {
            world.correction = world.seen - clock;
        }
        world.seen = clock + world.correction;
        world.seen
    }

    fn wait<'a>(&self, world: MutexGuard<'a, World>, time: Duration) -> MutexGuard<'a, World> {
        let waited = self.changed.wait_timeout(world, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl World {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// When the workers came back, if all were away. Until then no worker could renew a lease, and
    /// that one ran out says nothing about its worker.
    fn returned(&mut self, now: Duration) -> Duration {
        if self.workers.values().all(|(_, until)| *until <= now) {
            self.returned = now;
        }
        self.returned
    }

    /// The job of a ticket and its entry's number, if the ticket is that of the last delivery.
    fn held(&mut self, ticket: &Ticket) -> Option<(&mut Job, u64)> {
        let number = ticket.entry.parse().ok()?;
        let job = self.jobs.get_mut(&ticket.job)?;
        let holder = job.leased.get(&number)?;
        let good = holder.worker == ticket.worker && holder.delivery == ticket.delivery;
        good.then_some((job, number))
    }
}

impl LeasePool for Memory {
    fn submit(&self, order: &Order) -> Result<Submitted, Trouble> {
        let limits = order.job.terms.limits;
        let largest = order.tasks.iter().map(Vec::len).max().unwrap_or(0);
        Oversized::check("a task", largest, limits.task)?;
        Oversized::check("a number of tasks", order.tasks.len(), limits.children)?;
        let mut guard = self.world();
        let now = self.now(&mut guard);
        let world = &mut *guard;
        let new = !world.jobs.contains_key(&order.job.id);
        if new && order.chunk > 0 {
            return Err(Trouble::Vanished(order.job.id.clone()));
        }
        let fresh = || Job::new(order, now);
        let job = world.jobs.entry(order.job.id.clone()).or_insert_with(fresh);
        let same = job.info.build == order.job.build && job.info.program == order.job.program;
        if !same || !job.chunk(order, &mut world.numbers) {
            return Err(Trouble::Taken(order.job.id.clone()));
        }
        let state = job.state;
        job.tidy(now);
        self.changed.notify_all();
        Ok(match state {
            _ if new => Submitted::New,
            State::Running => Submitted::Attached,
            over => Submitted::Over(over),
        })
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, Trouble> {
        let world = self.world();
        let running = world
            .jobs
            .iter()
            .filter(|(_, job)| job.state == State::Running);
        Ok(running
            .map(|(id, job)| (id.clone(), job.info.build))
            .collect())
    }

    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        wait: Duration,
    ) -> Result<Vec<Lease>, Trouble> {
        let until = Instant::now() + wait;
        let mut guard = self.world();
        loop {
            let now = self.now(&mut guard);
            let world = &mut *guard;
            let mut leases = Vec::new();
            let mut suspect = suspect;
            let ours = |job: &&mut Job| job.info.build == worker.build;
            for job in world.jobs.values_mut().filter(ours) {
                while leases.len() < at_most {
                    let one = if suspect && !job.suspects.is_empty() {
                        suspect = false;
                        job.suspects.pop_front()
                    } else {
                        job.waiting.pop_front()
                    };
                    let Some(number) = one else { break };
                    world.numbers += 1;
                    let holder = Holder {
                        worker: worker.name.clone(),
                        delivery: world.numbers,
                        since: now,
                    };
                    leases.push(job.lease(number, holder));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if !leases.is_empty() || left.is_zero() {
                return Ok(leases);
            }
            guard = self.wait(guard, left);
        }
    }

    fn reclaim(&self) -> Result<Reclaimed, Trouble> {
        let mut guard = self.world();
        let now = self.now(&mut guard);
        let returned = guard.returned(now);
        let mut reclaimed = Reclaimed::default();
        for job in guard.jobs.values_mut() {
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
        self.changed.notify_all();
        Ok(reclaimed)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let mut renew = |ticket: &Ticket| {
            let (job, number) = world.held(ticket)?;
            job.leased.get_mut(&number)?.since = now;
            Some(())
        };
        Ok(tickets
            .iter()
            .map(|ticket| renew(ticket).is_some())
            .collect())
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let first = world.numbers + 1;
        let new = completion.children.len() + completion.aside.len();
        let new = new + completion.deferred.len() + completion.inputs.len();
        world.numbers += new as u64;
        let mut numbers = first..;
        let Some((job, number)) = world.held(ticket) else {
            return Ok(Completed::Fenced);
        };
        let step = job.entries.get(&number).map_or(0, |entry| entry.step);
        let counted = |job: &Job| Completed::Counted {
            outstanding: job.entries.len() as u64,
            results: job.results.len() as u64,
        };
        if step != ticket.step {
            // No other worker has this ticket: it is this completion, repeated.
            let repeated = completion.kept.is_some() && step == ticket.step + 1;
            return Ok(if repeated {
                counted(job)
            } else {
                Completed::Fenced
            });
        }
        completion.check(&job.info.terms.limits)?;
        for (child, new) in completion.children.iter().zip(numbers.by_ref()) {
            job.add(new, child.task.clone(), child.tries);
        }
        for (refused, new) in completion.aside.iter().zip(numbers.by_ref()) {
            job.set_aside(new, &refused.task, refused.attempts, &refused.reason);
        }
        job.defer(completion, &mut numbers);
        let results = completion.results.iter().filter(|part| !part.is_empty());
        job.results.extend(results.cloned());
        job.tasks += completion.tasks;
        if let (Some(kept), Some(entry)) = (&completion.kept, job.entries.get_mut(&number)) {
            entry.task.clone_from(kept);
            entry.step += 1;
        } else {
            // A worker that only gives tasks back has done nothing.
            if completion.tasks > 0 {
                *job.done.entry(ticket.worker.clone()).or_default() += 1;
            }
            job.remove(number);
        }
        job.tidy(now);
        let counted = counted(job);
        self.changed.notify_all();
        Ok(counted)
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let new = world.number();
        let Some((job, number)) = world.held(ticket) else {
            return Ok(false);
        };
        let Some(entry) = job.remove(number) else {
            return Ok(false);
        };
        let attempts = entry.tries + 1;
        match why {
            GiveUp::Failed(reason) if attempts >= job.info.terms.tries => {
                job.set_aside(number, &entry.task, attempts, reason)
            }
            GiveUp::Hopeless(reason) => job.set_aside(number, &entry.task, attempts, reason),
            GiveUp::Failed(_) => job.add(new, entry.task, attempts),
            GiveUp::Stopping => job.add(new, entry.task, entry.tries),
        }
        job.tidy(now);
        self.changed.notify_all();
        Ok(true)
    }

    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, Trouble> {
        let world = self.world();
        let results = world.jobs.get(job).map(|job| job.results.iter());
        Ok(results
            .into_iter()
            .flatten()
            .take(at_most)
            .cloned()
            .collect())
    }

    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, Trouble> {
        let mut world = self.world();
        let Some(job) = world
            .jobs
            .get_mut(job)
            .filter(|job| job.results.starts_with(first))
        else {
            return Ok(false);
        };
        job.results.drain(..first.len());
        job.results.extend_from_slice(combined);
        Ok(true)
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        Ok(world.jobs.get(job).map(|job| {
            let mut shares: BTreeMap<&String, Share> = BTreeMap::new();
            job.done
                .iter()
                .for_each(|(worker, done)| shares.entry(worker).or_default().done = *done);
            job.leased
                .values()
                .for_each(|holder| shares.entry(&holder.worker).or_default().in_flight += 1);
            let named = |(worker, share): (&String, Share)| Share {
                worker: worker.clone(),
                ..share
            };
            Status {
                job: (*job.info).clone(),
                state: job.state,
                done: job.done.values().sum(),
                tasks: job.tasks,
                outstanding: job.entries.len() as u64,
                in_flight: job.leased.len() as u64,
                aside: job.aside.len() as u64,
                reasons: job
                    .aside
                    .iter()
                    .take(10)
                    .map(|dead| dead.aside.clone())
                    .collect(),
                shares: shares.into_iter().map(named).collect(),
                workers: job.done.len() as u64,
                sealed: job.sealed,
                full: false,
                submitted: job.submitted.as_nanos() as u64,
                age: job.ended.unwrap_or(now) - job.submitted,
            }
        }))
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), Trouble> {
        let until = Instant::now() + wait;
        let mut world = self.world();
        while world
            .jobs
            .get(job)
            .is_some_and(|job| job.state == State::Running)
        {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            world = self.wait(world, left);
        }
        Ok(())
    }

    fn cancel(&self, id: &JobId, forget: bool) -> Result<Option<State>, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let Some(job) = world.jobs.get_mut(id) else {
            return Ok(None);
        };
        if job.state == State::Running {
            (job.state, job.ended) = (State::Cancelled, Some(now));
            job.entries.clear();
            job.waiting.clear();
            job.suspects.clear();
            job.leased.clear();
            job.results.clear();
            job.deferred.clear();
        }
        let state = job.state;
        if forget {
            world.jobs.remove(id);
        }
        self.changed.notify_all();
        Ok(Some(state))
    }

    fn dead(&self, job: &JobId) -> Result<Vec<Dead>, Trouble> {
        let world = self.world();
        let dead = world.jobs.get(job).map(|job| job.aside.iter());
        Ok(dead.into_iter().flatten().take(1000).cloned().collect())
    }

    fn retry_dead(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, Trouble> {
        let mut guard = self.world();
        let world = &mut *guard;
        let job = world.jobs.get_mut(job);
        let Some(job) = job.filter(|job| job.state != State::Cancelled) else {
            return Ok(None);
        };
        let again = job.retry_dead(entries, &mut world.numbers);
        self.changed.notify_all();
        Ok(Some(again))
    }

    fn beat(&self, present: &Present, alive_for: Duration) -> Result<Crowd, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        world.returned(now);
        world.workers.insert(
            present.worker.name.clone(),
            (present.clone(), now + alive_for),
        );
        world.workers.retain(|_, (_, until)| *until > now);
        let present = world.workers.values().map(|(present, _)| present);
        Ok(Crowd {
            slots: present.map(|present| present.slots).sum(),
            workers: world.workers.len() as u32,
        })
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), Trouble> {
        self.world().workers.remove(&worker.name);
        Ok(())
    }

    fn workers(&self) -> Result<Vec<Present>, Trouble> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let alive = world.workers.values().filter(|(_, until)| *until > now);
        Ok(alive.map(|(present, _)| present.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::battery::{World, battery};

    impl World for Memory {
        fn pool(&self) -> &dyn LeasePool {
            self
        }

        fn pass(&self, time: Duration) {
            Memory::pass(self, time);
        }

        fn set_back(&self, time: Duration) {
            Memory::set_back(self, time);
        }
    }

    battery!(Some(&Memory::default()));
}
