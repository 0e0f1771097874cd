//! The reference implementation: leases in the memory of one process, with a clock that can be set.

mod job;
mod world;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{
    AsideTask, ClusterSize, Completed, Completion, GiveUp, JobId, Lease, LeaseError, LeasePool,
    Order, Oversized, Reclaimed, State, Status, Submitted, Ticket, WorkerId, WorkerInfo,
};
use crate::Build;
use job::Job;
use world::World;

/// A stand-in for a server, for tests and as a specification of the operations, which take a few
/// lines each here.
///
/// ```
/// use std::time::Duration;
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::*;
///
/// let pool = Memory::default();
/// let (build, program) = (Build(1), "p".to_owned());
/// let job = JobInfo { id: "a".parse()?, build, program, terms: Terms::default() };
/// pool.submit(&Order::whole(job, vec![b"task".to_vec()]))?;
/// let worker = |name: &str| WorkerId { name: name.to_owned(), build };
/// let (slow, other) = (worker("slow"), worker("other"));
/// pool.heartbeat(&WorkerInfo { worker: other.clone(), slots: 1 }, Duration::from_secs(60))?;
/// let lease = pool.lease(&slow, 1, false, Duration::ZERO)?.remove(0);
///
/// pool.advance(Duration::from_secs(16));
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

/// Shortest wait for a delayed task.
const SOON: Duration = Duration::from_millis(1);

/// Initial value of the clock, so that it can be set back.
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

impl Memory {
    /// Sets the clock ahead.
    pub fn advance(&self, time: Duration) {
        self.world().ahead += time;
        self.changed.notify_all();
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

    /// Wakes waiting threads if a completion adds tasks or ends a job. Most do neither.
    fn notify_of(&self, completion: &Completion, completed: Completed) {
        let over = matches!(completed, Completed::Counted { outstanding: 0, .. });
        let filled = !completion.deferred.is_empty() || !completion.inputs.is_empty();
        if over || filled || !completion.children.is_empty() {
            self.changed.notify_all();
        }
    }

    fn wait<'a>(&self, world: MutexGuard<'a, World>, time: Duration) -> MutexGuard<'a, World> {
        let waited = self.changed.wait_timeout(world, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl LeasePool for Memory {
    fn submit(&self, order: &Order) -> Result<Submitted, LeaseError> {
        let limits = order.job.terms.limits;
        let largest = order.tasks.iter().map(Vec::len).max().unwrap_or(0);
        Oversized::check("a task", largest, limits.task)?;
        Oversized::check("a number of tasks", order.tasks.len(), limits.children)?;
        let mut guard = self.world();
        let now = self.now(&mut guard);
        let world = &mut *guard;
        let new = !world.jobs.contains_key(&order.job.id);
        if new && order.chunk > 0 {
            return Err(LeaseError::Vanished(order.job.id.clone()));
        }
        let fresh = || Job::new(order, now);
        let job = world.jobs.entry(order.job.id.clone()).or_insert_with(fresh);
        let same = job.info.build == order.job.build && job.info.program == order.job.program;
        if !same {
            return Err(LeaseError::Taken(order.job.id.clone()));
        }
        job.chunk(order, &mut world.numbers, now)?;
        let state = job.state;
        job.tidy(now);
        self.changed.notify_all();
        Ok(match state {
            _ if new => Submitted::New,
            State::Running => Submitted::Attached,
            over => Submitted::Over(over),
        })
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, LeaseError> {
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
    ) -> Result<Vec<Lease>, LeaseError> {
        let until = Instant::now() + wait;
        let mut world = self.world();
        loop {
            let now = self.now(&mut world);
            let (leases, next) = world.lease(worker, at_most, suspect, now);
            let left = until.saturating_duration_since(Instant::now());
            if !leases.is_empty() || left.is_zero() {
                return Ok(leases);
            }
            let pause = next.map_or(left, |next| left.min(next.max(SOON)));
            world = self.wait(world, pause);
        }
    }

    fn reclaim(&self) -> Result<Reclaimed, LeaseError> {
        let mut guard = self.world();
        let now = self.now(&mut guard);
        let reclaimed = guard.reclaim(now);
        self.changed.notify_all();
        Ok(reclaimed)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, LeaseError> {
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

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, LeaseError> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let completed = world.complete(ticket, completion, now)?;
        self.notify_of(completion, completed);
        Ok(completed)
    }

    fn complete_and_lease(
        &self,
        lease: &Lease,
        completion: &Completion,
        suspect: bool,
    ) -> Result<(Completed, Option<Lease>), LeaseError> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let completed = world.complete(&lease.ticket, completion, now)?;
        self.notify_of(completion, completed);
        if completed == Completed::Fenced {
            return Ok((completed, None));
        }
        let worker = WorkerId {
            name: lease.ticket.worker.clone(),
            build: lease.job.build,
        };
        let (mut leases, _) = world.lease(&worker, 1, suspect, now);
        Ok((completed, leases.pop()))
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, LeaseError> {
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
                job.set_aside(number, &entry, attempts, reason)
            }
            GiveUp::Hopeless(reason) => job.set_aside(number, &entry, attempts, reason),
            GiveUp::Failed(_) => job.line_up(new, entry.tried(attempts), now),
            GiveUp::Stopping | GiveUp::NotBegun => job.line_up(new, entry, now),
        }
        job.tidy(now);
        self.changed.notify_all();
        Ok(true)
    }

    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, LeaseError> {
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
    ) -> Result<bool, LeaseError> {
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

    fn status(&self, job: &JobId) -> Result<Option<Status>, LeaseError> {
        let mut world = self.world();
        let now = self.now(&mut world);
        Ok(world.jobs.get(job).map(|job| job.status(now)))
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), LeaseError> {
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

    fn cancel(&self, id: &JobId, forget: bool) -> Result<Option<State>, LeaseError> {
        let mut world = self.world();
        let now = self.now(&mut world);
        let Some(job) = world.jobs.get_mut(id) else {
            return Ok(None);
        };
        if job.state == State::Running {
            (job.state, job.ended) = (State::Cancelled, Some(now));
            job.clear();
        }
        let state = job.state;
        if forget {
            world.jobs.remove(id);
        }
        self.changed.notify_all();
        Ok(Some(state))
    }

    fn aside_tasks(&self, job: &JobId) -> Result<Vec<AsideTask>, LeaseError> {
        let world = self.world();
        let dead = world.jobs.get(job).map(|job| job.aside.iter());
        Ok(dead.into_iter().flatten().take(1000).cloned().collect())
    }

    fn retry_aside(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, LeaseError> {
        let mut guard = self.world();
        let now = self.now(&mut guard);
        let world = &mut *guard;
        let job = world.jobs.get_mut(job);
        let Some(job) = job.filter(|job| job.state != State::Cancelled) else {
            return Ok(None);
        };
        let again = job.retry_aside(entries, &mut world.numbers, now);
        self.changed.notify_all();
        Ok(Some(again))
    }

    fn heartbeat(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
    ) -> Result<ClusterSize, LeaseError> {
        let mut world = self.world();
        let now = self.now(&mut world);
        world.returned(now);
        world.workers.insert(
            present.worker.name.clone(),
            (present.clone(), now + alive_for),
        );
        world.workers.retain(|_, (_, until)| *until > now);
        let present = world.workers.values().map(|(present, _)| present);
        Ok(ClusterSize {
            slots: present.map(|present| present.slots).sum(),
            workers: world.workers.len() as u32,
        })
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), LeaseError> {
        self.world().workers.remove(&worker.name);
        Ok(())
    }

    fn workers(&self) -> Result<Vec<WorkerInfo>, LeaseError> {
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

        fn advance(&self, time: Duration) {
            Memory::advance(self, time);
        }

        fn set_back(&self, time: Duration) {
            Memory::set_back(self, time);
        }
    }

    battery!(Some(&Memory::default()));
}
