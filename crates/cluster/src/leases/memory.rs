//! The reference: leases in the memory of one process, with a clock that can be set.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::terms::plain;
use super::{
    Aside, Completed, Completion, GiveUp, JobId, JobInfo, Lease, LeasePool, Order, Oversized,
    Present, Reclaimed, Share, State, Status, Submitted, Ticket, Trouble, WorkerId,
};
use crate::Build;

/// A stand-in for a server, for tests and for a look at what the operations mean: here they are in a few lines each.
///
/// ```
/// use std::time::Duration;
/// use locksley_cluster::Build;
/// use locksley_cluster::leases::*;
///
/// let pool = Memory::default();
/// let job = JobInfo { id: "a".parse()?, build: Build(1), program: "p".to_owned(), terms: Terms::default() };
/// pool.submit(&Order { job, tasks: vec![b"task".to_vec()] })?;
/// let (slow, other) = (WorkerId { name: "slow".to_owned(), build: Build(1) }, WorkerId { name: "other".to_owned(), build: Build(1) });
/// pool.beat(&Present { worker: other.clone(), slots: 1 }, Duration::from_secs(60))?;
/// let lease = pool.lease(&slow, 1, Duration::ZERO)?.remove(0);
///
/// pool.pass(Duration::from_secs(16));
/// let again = pool.reclaim(&other, 1, true)?.leases.remove(0);
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
    /// How far the clock is ahead.
    ahead: Duration,
    jobs: BTreeMap<JobId, Job>,
    /// How many entries there were: their numbers.
    entries: u64,
    workers: BTreeMap<String, (Present, Duration)>,
    /// When they came back, if all were away.
    returned: Duration,
}

#[derive(Debug)]
struct Job {
    info: Arc<JobInfo>,
    first: Vec<Vec<u8>>,
    state: State,
    waiting: VecDeque<(u64, Entry)>,
    leased: BTreeMap<u64, (Entry, Holder)>,
    results: Vec<Vec<u8>>,
    aside: Vec<Aside>,
    done: BTreeMap<String, u64>,
    tasks: u64,
    submitted: Duration,
    ended: Option<Duration>,
}

#[derive(Debug)]
struct Entry {
    task: Vec<u8>,
    /// How many tries it had under earlier numbers.
    before: u32,
}

#[derive(Debug)]
struct Holder {
    worker: String,
    delivery: u64,
    since: Duration,
}

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

    fn now(&self, world: &World) -> Duration {
        self.started.elapsed() + world.ahead
    }

    fn wait<'a>(&self, world: MutexGuard<'a, World>, time: Duration) -> MutexGuard<'a, World> {
        let waited = self.changed.wait_timeout(world, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl World {
    fn number(&mut self) -> u64 {
        self.entries += 1;
        self.entries
    }

    /// When the workers came back, if all were away. Until then nobody could renew a lease, and that one ran out says nothing about
    /// its worker.
    fn returned(&mut self, now: Duration) -> Duration {
        if self.workers.values().all(|(_, until)| *until <= now) {
            self.returned = now;
        }
        self.returned
    }

    /// The job of a ticket and its entry's number, if the ticket is good.
    fn held(&mut self, ticket: &Ticket) -> Option<(&mut Job, u64)> {
        let number = ticket.entry.parse().ok()?;
        let job = self.jobs.get_mut(&ticket.job)?;
        let (_, holder) = job.leased.get(&number)?;
        let good = holder.worker == ticket.worker && holder.delivery == ticket.delivery;
        good.then_some((job, number))
    }
}

impl Job {
    /// Ends the job if there is nothing left.
    fn tidy(&mut self, now: Duration) {
        if self.state == State::Running && self.waiting.is_empty() && self.leased.is_empty() {
            self.state = State::Done;
            self.ended = Some(now);
        }
    }

    fn lease(&mut self, number: u64, entry: Entry, holder: Holder) -> Lease {
        let lease = Lease {
            job: self.info.clone(),
            ticket: Ticket {
                job: self.info.id.clone(),
                entry: number.to_string(),
                worker: holder.worker.clone(),
                delivery: holder.delivery,
            },
            attempt: entry.before + holder.delivery as u32,
            task: Some(entry.task.clone()),
        };
        self.leased.insert(number, (entry, holder));
        lease
    }

    fn set_aside(&mut self, number: u64, attempts: u32, reason: &str) {
        self.leased.remove(&number);
        self.aside.push(Aside {
            entry: number.to_string(),
            attempts,
            reason: shortened(reason),
        });
    }

    fn reclaim(
        &mut self,
        worker: &WorkerId,
        most: &mut usize,
        idle: &mut bool,
        now: Duration,
    ) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        let terms = self.info.terms;
        let late = |(_, (_, holder)): &(&u64, &(Entry, Holder))| now >= holder.since + terms.lease;
        let late: Vec<u64> = self
            .leased
            .iter()
            .filter(late)
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            let (entry, holder) = &self.leased[&number];
            let attempts = entry.before + holder.delivery as u32;
            let alone = terms.alone(attempts + 1);
            if attempts >= terms.tries {
                let reason = format!(
                    "no worker lived to finish it; the last one was {}",
                    holder.worker
                );
                self.set_aside(number, attempts, &reason);
            } else if alone && !*idle {
                reclaimed.suspects = true;
            } else if *most > 0
                && let Some((entry, holder)) = self.leased.remove(&number)
            {
                *idle = false;
                *most = if alone { 0 } else { *most - 1 };
                let delivery = holder.delivery + 1;
                let holder = Holder {
                    worker: worker.name.clone(),
                    delivery,
                    since: now,
                };
                reclaimed.leases.push(self.lease(number, entry, holder));
            }
        }
        self.tidy(now);
        reclaimed
    }
}

impl LeasePool for Memory {
    fn submit(&self, order: &Order) -> Result<Submitted, Trouble> {
        let limits = order.job.terms.limits;
        let largest = order.tasks.iter().map(Vec::len).max().unwrap_or(0);
        Oversized::check("a task", largest, limits.task)?;
        Oversized::check("a number of tasks", order.tasks.len(), limits.children)?;
        let mut world = self.world();
        let now = self.now(&world);
        if let Some(job) = world.jobs.get(&order.job.id) {
            let same = job.info.build == order.job.build
                && job.info.program == order.job.program
                && job.first == order.tasks;
            return if same {
                Ok(Submitted::Attached)
            } else {
                Err(Trouble::Taken(order.job.id.clone()))
            };
        }
        let waiting = order.tasks.iter().map(|task| {
            let entry = Entry {
                task: task.clone(),
                before: 0,
            };
            (world.number(), entry)
        });
        let mut job = Job {
            waiting: waiting.collect(),
            info: Arc::new(order.job.clone()),
            first: order.tasks.clone(),
            state: State::Running,
            leased: BTreeMap::new(),
            results: Vec::new(),
            aside: Vec::new(),
            done: BTreeMap::new(),
            tasks: 0,
            submitted: now,
            ended: None,
        };
        job.tidy(now);
        world.jobs.insert(order.job.id.clone(), job);
        self.changed.notify_all();
        Ok(Submitted::New)
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
        wait: Duration,
    ) -> Result<Vec<Lease>, Trouble> {
        let until = Instant::now() + wait;
        let mut world = self.world();
        loop {
            let now = self.now(&world);
            let mut leases = Vec::new();
            for job in world
                .jobs
                .values_mut()
                .filter(|job| job.info.build == worker.build)
            {
                while leases.len() < at_most
                    && let Some((number, entry)) = job.waiting.pop_front()
                {
                    let holder = Holder {
                        worker: worker.name.clone(),
                        delivery: 1,
                        since: now,
                    };
                    leases.push(job.lease(number, entry, holder));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if !leases.is_empty() || left.is_zero() {
                return Ok(leases);
            }
            world = self.wait(world, left);
        }
    }

    fn reclaim(&self, worker: &WorkerId, at_most: usize, idle: bool) -> Result<Reclaimed, Trouble> {
        let mut world = self.world();
        let now = self.now(&world);
        let returned = world.returned(now);
        let mut reclaimed = Reclaimed::default();
        let (mut most, mut idle) = (at_most, idle);
        for job in world
            .jobs
            .values_mut()
            .filter(|job| job.info.build == worker.build)
            .filter(|job| now >= returned + job.info.terms.lease)
        {
            let more = job.reclaim(worker, &mut most, &mut idle, now);
            reclaimed.leases.extend(more.leases);
            reclaimed.suspects |= more.suspects;
        }
        self.changed.notify_all();
        Ok(reclaimed)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, Trouble> {
        let mut world = self.world();
        let now = self.now(&world);
        let mut renew = |ticket: &Ticket| {
            let (job, number) = world.held(ticket)?;
            job.leased.get_mut(&number)?.1.since = now;
            Some(())
        };
        Ok(tickets
            .iter()
            .map(|ticket| renew(ticket).is_some())
            .collect())
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, Trouble> {
        let mut world = self.world();
        let now = self.now(&world);
        let first = world.entries + 1;
        world.entries += completion.children.len() as u64;
        let Some((job, number)) = world.held(ticket) else {
            return Ok(Completed::Fenced);
        };
        completion.check(&job.info.terms.limits)?;
        let children = completion.children.iter().map(|task| Entry {
            task: task.clone(),
            before: 0,
        });
        job.waiting.extend((first..).zip(children));
        if !completion.result.is_empty() {
            job.results.push(completion.result.clone());
        }
        job.tasks += completion.tasks;
        *job.done.entry(ticket.worker.clone()).or_default() += 1;
        job.leased.remove(&number);
        job.tidy(now);
        let outstanding = (job.waiting.len() + job.leased.len()) as u64;
        let results = job.results.len() as u64;
        self.changed.notify_all();
        Ok(Completed::Counted {
            outstanding,
            results,
        })
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, Trouble> {
        let mut world = self.world();
        let now = self.now(&world);
        let new = world.number();
        let Some((job, number)) = world.held(ticket) else {
            return Ok(false);
        };
        let Some((entry, holder)) = job.leased.remove(&number) else {
            return Ok(false);
        };
        let attempts = entry.before + holder.delivery as u32;
        match why {
            GiveUp::Failed(reason) if attempts >= job.info.terms.tries => {
                job.set_aside(number, attempts, reason)
            }
            GiveUp::Hopeless(reason) => job.set_aside(number, attempts, reason),
            GiveUp::Failed(_) => job.waiting.push_back((
                new,
                Entry {
                    before: attempts,
                    ..entry
                },
            )),
            GiveUp::Stopping => job.waiting.push_back((
                new,
                Entry {
                    before: attempts - 1,
                    ..entry
                },
            )),
        }
        job.tidy(now);
        self.changed.notify_all();
        Ok(true)
    }

    fn results(&self, job: &JobId) -> Result<Vec<Vec<u8>>, Trouble> {
        let world = self.world();
        Ok(world
            .jobs
            .get(job)
            .map(|job| job.results.clone())
            .unwrap_or_default())
    }

    fn compact(&self, job: &JobId, first: &[Vec<u8>], combined: &[u8]) -> Result<bool, Trouble> {
        let mut world = self.world();
        let Some(job) = world
            .jobs
            .get_mut(job)
            .filter(|job| job.results.starts_with(first))
        else {
            return Ok(false);
        };
        job.results.drain(..first.len());
        job.results.push(combined.to_vec());
        Ok(true)
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, Trouble> {
        let world = self.world();
        let now = self.now(&world);
        Ok(world.jobs.get(job).map(|job| {
            let mut shares: BTreeMap<&String, Share> = BTreeMap::new();
            job.done
                .iter()
                .for_each(|(worker, done)| shares.entry(worker).or_default().done = *done);
            job.leased
                .values()
                .for_each(|(_, holder)| shares.entry(&holder.worker).or_default().in_flight += 1);
            let named = |(worker, share): (&String, Share)| Share {
                worker: worker.clone(),
                ..share
            };
            Status {
                job: (*job.info).clone(),
                state: job.state,
                done: job.done.values().sum(),
                tasks: job.tasks,
                outstanding: (job.waiting.len() + job.leased.len()) as u64,
                in_flight: job.leased.len() as u64,
                aside: job.aside.len() as u64,
                reasons: job.aside.iter().take(10).cloned().collect(),
                shares: shares.into_iter().map(named).collect(),
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
        let now = self.now(&world);
        let Some(job) = world.jobs.get_mut(id) else {
            return Ok(None);
        };
        if job.state == State::Running {
            (job.state, job.ended) = (State::Cancelled, Some(now));
            job.waiting.clear();
            job.leased.clear();
            job.results.clear();
        }
        let state = job.state;
        if forget {
            world.jobs.remove(id);
        }
        self.changed.notify_all();
        Ok(Some(state))
    }

    fn beat(&self, present: &Present, alive_for: Duration) -> Result<u32, Trouble> {
        let mut world = self.world();
        let now = self.now(&world);
        world.returned(now);
        world.workers.insert(
            present.worker.name.clone(),
            (present.clone(), now + alive_for),
        );
        world.workers.retain(|_, (_, until)| *until > now);
        Ok(world
            .workers
            .values()
            .map(|(present, _)| present.slots)
            .sum())
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), Trouble> {
        self.world().workers.remove(&worker.name);
        Ok(())
    }

    fn workers(&self) -> Result<Vec<Present>, Trouble> {
        let world = self.world();
        let now = self.now(&world);
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
    }

    battery!(Some(&Memory::default()));
}
