//! Leases from a Redis server, 7 or newer, with or without replicas (`DEPLOY.md`). A Redis Cluster
//! does not work: the set of running jobs is in one place, and scripts change it together with the
//! jobs. Servers before 7 hide the code of an error in a script (`OOM`, `READONLY`) behind `ERR`,
//! so that a full server could not be told from a wrong request.
//!
//! Operations that change or read more than one thing are scripts: Redis runs one at a time, and
//! writes its effects to the append-only file as one transaction. The keys are listed in
//! `scripts/prelude.lua`, and each script states its cost. None iterates over all tasks, all
//! workers or all jobs, except for the one that lists the workers for display.
//!
//! A lease is an entry of a sorted set, by its time of expiry, with its holder in a hash. The
//! number of outstanding tasks is not a separate counter, which could be wrong, but the length of
//! the hash of tasks. Idle workers block on a list; a script that adds tasks pushes elements to it,
//! as many as tasks up to a limit, and each element wakes one worker. A worker that finds more
//! tasks than it can take wakes the next. An element that is lost, with a worker that dies, costs a
//! second: no worker blocks for long without a look at the queues. A worker whose last look found
//! nothing first checks whether any queue of its build exists, and runs no script if none does; of
//! thousands of such workers, one in four checks.
//!
//! A delayed task is an entry of a sorted set, by the time from which it may be leased. Each script
//! that leases moves the tasks that are due to the waiting ones, and returns when the next one is
//! due: its worker blocks no longer than that.

mod connections;
mod values;

#[cfg(test)]
mod tests;

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{Script, ScriptInvocation, Value};

use super::url::Server;
use super::{
    AsideTask, ClusterSize, Completed, Completion, GiveUp, JobId, JobInfo, Lease, LeaseError,
    LeasePool, Order, Oversized, Reclaimed, State, Status, Submitted, Ticket, WorkerId, WorkerInfo,
    shortened,
};
use crate::{Build, Parcel};
use connections::Connections;

const RUNNING: &str = "locksley:running";

/// Shortest wait for a delayed task.
const SOON: Duration = Duration::from_millis(5);

/// Number of workers from which on only one in four idle ones looks for tasks of which it was not
/// told.
const CROWD: u32 = 2000;

/// Most leases that one script renews: Lua passes at most 8000 values to a call, and each lease is
/// two of them.
const RENEWED: usize = 1000;

/// Most jobs whose description is cached. They may be over, or of other builds.
const KNOWN: usize = 4096;

/// A server as a source of leases.
#[derive(Debug)]
pub struct Redis {
    connections: Connections,
    /// Cached descriptions of jobs. The description of a job never changes, but its name may be
    /// reused: so the time of submission is part of the key.
    known: Mutex<HashMap<(JobId, u64), Arc<JobInfo>>>,
    scripts: Scripts,
    /// Whether the last look for tasks found none, and no delayed ones.
    idle: AtomicBool,
    /// Number of waits since the crowd was entered, to choose those that look.
    turns: AtomicU32,
    /// Number of workers at the last heartbeat.
    workers: AtomicU32,
}

macro_rules! scripts {
    (workers: $($lean:ident)*; jobs: $($name:ident)*) => {
        #[derive(Debug)]
        struct Scripts { $($lean: Script,)* $($name: Script),* }

        impl Default for Scripts {
            fn default() -> Scripts {
                let prelude = include_str!("../scripts/prelude.lua");
                // `jobs.lua` is left out of scripts that every worker runs all the time: Lua
                // executes its definitions at every call.
                let jobs = include_str!("../scripts/jobs.lua");
                Scripts {
                    $($lean: Script::new(&[
                        prelude, include_str!(concat!("../scripts/", stringify!($lean), ".lua")),
                    ].concat()),)*
                    $($name: Script::new(&[
                        prelude, jobs, include_str!(concat!("../scripts/", stringify!($name), ".lua")),
                    ].concat())),*
                }
            }
        }
    };
}

scripts!(
    workers: heartbeat renew heartbeat_and_renew leave workers;
    jobs: submit lease complete give_up reclaim compact cancel status retry_aside
);

/// Returns a random gap before the number of the next delivery: from 1 to 2^20, so that 2^33
/// deliveries of a job have numbers that Lua represents exactly.
fn stride() -> u64 {
    1 + RandomState::new().hash_one(()) % (1 << 20)
}

fn key(job: &JobId, what: &str) -> String {
    format!("locksley:{{{job}}}:{what}")
}

impl Redis {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or refuses access.
    pub fn connect(server: Server) -> Result<Redis, LeaseError> {
        let redis = Redis::later(server);
        let _: Value = redis.connections.query(&redis::cmd("PING"))?;
        Ok(redis)
    }

    /// Creates a client that connects to the server on first use.
    pub fn later(server: Server) -> Redis {
        Redis {
            connections: Connections::new(server),
            known: Mutex::default(),
            scripts: Scripts::default(),
            idle: AtomicBool::new(false),
            turns: AtomicU32::new(0),
            workers: AtomicU32::new(0),
        }
    }

    /// Notes how many workers there are.
    fn note_size(&self, cluster_size: ClusterSize) -> ClusterSize {
        self.workers.store(cluster_size.workers, Ordering::Relaxed);
        cluster_size
    }

    /// Notes the outcome of a look for tasks.
    fn note_poll(&self, leases: &[Lease], later: Option<Duration>) {
        let nothing = leases.is_empty() && later.is_none();
        self.idle.store(nothing, Ordering::Relaxed);
    }

    /// Returns `true` if an idle worker should only wait to be woken. In a crowd, three of four
    /// waits leave the look for tasks to the other workers.
    fn skips_poll(&self) -> bool {
        let alone = self.workers.load(Ordering::Relaxed) < CROWD;
        !alone && !self.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(4)
    }

    /// Returns `true` if tasks of a build may wait or be delayed. It costs the server a small part
    /// of what a look for tasks costs, which matters with thousands of idle workers.
    fn may_have_tasks(&self, build: Build) -> Result<bool, LeaseError> {
        let mut ask = redis::cmd("EXISTS");
        for queue in ["ready", "urgent", "suspects", "later"] {
            ask.arg(format!("locksley:{queue}:{build}"));
        }
        Ok(values::number(self.connections.query(&ask)?) > 0)
    }

    fn script(&self, invocation: &ScriptInvocation<'_>) -> Result<Value, LeaseError> {
        self.connections
            .with(Duration::ZERO, |connection| invocation.invoke(connection))
    }

    /// Returns the description of a job, from the cache or from the server; `None` if its name is
    /// free or belongs to a later job.
    fn info(&self, id: &JobId, submitted: u64) -> Result<Option<Arc<JobInfo>>, LeaseError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key_of = (id.clone(), submitted);
        if let Some(info) = known().get(&key_of) {
            return Ok(Some(info.clone()));
        }
        let mut ask = redis::cmd("HGETALL");
        ask.arg(key(id, "job"));
        let fields = values::fields(self.connections.query(&ask)?);
        if values::number_of(&fields, "submitted") != submitted {
            return Ok(None);
        }
        let Some(info) = values::info(id, &fields).map(Arc::new) else {
            return Ok(None);
        };
        let mut known = known();
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(key_of, info.clone());
        Ok(Some(info))
    }

    /// Converts delivered entries to leases. If the server is away at this point, the entries
    /// expire.
    fn leases(
        &self,
        worker: &str,
        delivered: Vec<values::Delivered>,
    ) -> Result<Vec<Lease>, LeaseError> {
        let mut leases = Vec::with_capacity(delivered.len());
        for one in delivered {
            if let Some(info) = self.info(&one.job, one.submitted)? {
                leases.push(one.lease(info, worker));
            }
        }
        Ok(leases)
    }

    /// Leases tasks. Also returns when to look for delayed ones, if there are any.
    fn take(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
    ) -> Result<(Vec<Lease>, Option<Duration>), LeaseError> {
        let mut ask = self.scripts.lease.prepare_invoke();
        ask.arg(&worker.name).arg(worker.build.to_string());
        ask.arg(at_most).arg(u8::from(suspect)).arg(stride());
        let mut reply = values::array(self.script(&ask)?).into_iter();
        let mut next = || reply.next().unwrap_or_default();
        let delivered = values::delivered(next());
        let later = values::millis(next());
        Ok((self.leases(&worker.name, delivered)?, later))
    }

    /// Completes a lease. If `next` is `Some`, also leases another task; its value says whether
    /// that may be a suspect.
    fn completed(
        &self,
        ticket: &Ticket,
        completion: &Completion,
        next: Option<bool>,
    ) -> Result<(Completed, Vec<values::Delivered>), LeaseError> {
        let mut ask = self.ticketed(&self.scripts.complete, ticket);
        ask.arg(ticket.step)
            .arg(u8::from(completion.kept.is_some()));
        ask.arg(next.map_or(0, |_| stride()));
        ask.arg(u8::from(next == Some(true))).arg(completion.tasks);
        ask.arg(completion.results.len());
        ask.arg(completion.children.len());
        ask.arg(completion.aside.len());
        // Inputs that are filled already are sent like other inputs.
        let filled = completion.deferred.iter().flat_map(|deferred| {
            let slot = |index: u32| (deferred.id, index);
            let filled = deferred.filled.iter();
            filled.map(move |(index, input)| (slot(*index), input))
        });
        let inputs = completion.inputs.iter();
        let inputs = inputs.map(|(slot, input)| ((slot.of, slot.index), input));
        let inputs: Vec<_> = filled.chain(inputs).collect();
        ask.arg(completion.deferred.len()).arg(inputs.len());
        for result in &completion.results {
            ask.arg(result);
        }
        for child in &completion.children {
            ask.arg(&child.task).arg(child.tries);
            ask.arg(Parcel::inputs_of(&child.task));
            ask.arg(values::whole_millis(child.delay))
                .arg(u8::from(child.urgent));
        }
        for aside in &completion.aside {
            ask.arg(&aside.task).arg(aside.attempts);
            ask.arg(shortened(&aside.reason));
            ask.arg(u8::from(aside.urgent));
        }
        for deferred in &completion.deferred {
            ask.arg(deferred.id.to_string()).arg(&deferred.front);
            ask.arg(&deferred.head).arg(deferred.slots);
            ask.arg(u8::from(deferred.urgent));
        }
        for ((of, index), input) in inputs {
            ask.arg(of.to_string()).arg(index).arg(input);
        }
        if let Some(kept) = &completion.kept {
            ask.arg(kept);
        }
        values::completed(self.script(&ask)?)
    }

    /// Prepares a script about a lease.
    fn ticketed<'a>(&self, script: &'a Script, ticket: &Ticket) -> ScriptInvocation<'a> {
        let mut ask = script.prepare_invoke();
        ask.arg(ticket.job.as_str()).arg(&ticket.entry);
        ask.arg(&ticket.worker).arg(ticket.delivery);
        ask
    }

    /// Prepares a script about a job.
    fn about<'a>(&self, script: &'a Script, job: &JobId) -> ScriptInvocation<'a> {
        let mut ask = script.prepare_invoke();
        ask.arg(job.as_str());
        ask
    }
}

impl LeasePool for Redis {
    fn submit(&self, order: &Order) -> Result<Submitted, LeaseError> {
        let (job, limits) = (&order.job, order.job.terms.limits);
        let largest = order.tasks.iter().map(Vec::len).max().unwrap_or(0);
        Oversized::check("a task", largest, limits.task)?;
        Oversized::check("a number of tasks", order.tasks.len(), limits.children)?;
        let mut submit = self.about(&self.scripts.submit, &job.id);
        submit.arg(job.build.to_string()).arg(&job.program);
        submit.arg(order.chunk).arg(u8::from(order.last));
        submit.arg(values::fingerprint(&order.tasks));
        submit.arg(job.terms.lease.as_millis() as u64);
        submit.arg(job.terms.tries);
        submit.arg(job.terms.keep.as_millis() as u64);
        for limit in [limits.task, limits.children, limits.result] {
            submit.arg(limit);
        }
        submit.arg(u8::from(job.terms.urgent));
        submit.arg(values::whole_millis(job.terms.delay));
        submit.arg(u8::from(order.urgent));
        for task in &order.tasks {
            submit.arg(task);
        }
        match values::text(self.script(&submit)?).as_str() {
            "new" => Ok(Submitted::New),
            "attached" => Ok(Submitted::Attached),
            "vanished" => Err(LeaseError::Vanished(job.id.clone())),
            other => match values::state(other) {
                Some(state) => Ok(Submitted::Over(state)),
                None => Err(LeaseError::Taken(job.id.clone())),
            },
        }
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, LeaseError> {
        let mut ask = redis::cmd("HGETALL");
        ask.arg(RUNNING);
        let fields = values::fields(self.connections.query(&ask)?);
        let job = |(id, about): (String, Vec<u8>)| {
            let about = String::from_utf8(about).ok()?;
            let (build, _) = about.split_once(' ')?;
            Some((id.parse().ok()?, values::build(build)?))
        };
        Ok(fields.into_iter().filter_map(job).collect())
    }

    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        suspect: bool,
        wait: Duration,
    ) -> Result<Vec<Lease>, LeaseError> {
        let skip = !wait.is_zero()
            && self.idle.load(Ordering::Relaxed)
            && (self.skips_poll() || !self.may_have_tasks(worker.build)?);
        let mut later = None;
        if !skip {
            let leases;
            (leases, later) = self.take(worker, at_most, suspect)?;
            self.note_poll(&leases, later);
            if !leases.is_empty() || wait.is_zero() {
                return Ok(leases);
            }
        }
        let until = later
            .map(|later| later.max(SOON))
            .filter(|later| *later < wait);
        let wait = until.unwrap_or(wait);
        let mut ask = redis::cmd("BLPOP");
        ask.arg(format!("locksley:wake:{}", worker.build));
        ask.arg(wait.as_secs_f64().max(0.001));
        let woken: Value = self
            .connections
            .with(wait, |connection| ask.query(connection))?;
        if woken == Value::Nil && until.is_none() {
            return Ok(Vec::new());
        }
        let (leases, later) = self.take(worker, at_most, suspect)?;
        self.note_poll(&leases, later);
        Ok(leases)
    }

    fn reclaim(&self) -> Result<Reclaimed, LeaseError> {
        let reply = self.script(&self.scripts.reclaim.prepare_invoke())?;
        Ok(values::reclaimed(reply))
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, LeaseError> {
        let mut jobs: BTreeMap<&JobId, Vec<usize>> = BTreeMap::new();
        for (place, ticket) in tickets.iter().enumerate() {
            jobs.entry(&ticket.job).or_default().push(place);
        }
        let mut good = vec![false; tickets.len()];
        let parts = jobs.iter().flat_map(|(job, places)| {
            let parts = places.chunks(RENEWED);
            parts.map(move |places| (*job, places))
        });
        for (job, places) in parts {
            let mut ask = self.about(&self.scripts.renew, job);
            for &place in places {
                let ticket = &tickets[place];
                ask.arg(&ticket.entry)
                    .arg(&ticket.worker)
                    .arg(ticket.delivery);
            }
            let answers = values::array(self.script(&ask)?);
            for (&place, answer) in places.iter().zip(answers) {
                good[place] = values::number(answer) == 1;
            }
        }
        Ok(good)
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, LeaseError> {
        Ok(self.completed(ticket, completion, None)?.0)
    }

    fn complete_and_lease(
        &self,
        lease: &Lease,
        completion: &Completion,
        suspect: bool,
    ) -> Result<(Completed, Option<Lease>), LeaseError> {
        let (completed, next) = self.completed(&lease.ticket, completion, Some(suspect))?;
        // The completion is counted: an error with the next lease must not make it look otherwise.
        let next = self.leases(&lease.ticket.worker, next).unwrap_or_default();
        Ok((completed, next.into_iter().next()))
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, LeaseError> {
        let (word, reason) = match why {
            GiveUp::Stopping | GiveUp::NotBegun => ("untried", ""),
            GiveUp::Failed(reason) => ("failed", reason.as_str()),
            GiveUp::Hopeless(reason) => ("hopeless", reason.as_str()),
        };
        let mut ask = self.ticketed(&self.scripts.give_up, ticket);
        ask.arg(word).arg(shortened(reason));
        Ok(values::number(self.script(&ask)?) == 1)
    }

    fn results(&self, job: &JobId, at_most: usize) -> Result<Vec<Vec<u8>>, LeaseError> {
        let mut ask = redis::cmd("LRANGE");
        let last = i64::try_from(at_most).map_or(-1, |count| count - 1);
        ask.arg(key(job, "results")).arg(0).arg(last);
        let parts = values::array(self.connections.query(&ask)?);
        Ok(parts.into_iter().map(values::bytes).collect())
    }

    fn compact(
        &self,
        job: &JobId,
        first: &[Vec<u8>],
        combined: &[Vec<u8>],
    ) -> Result<bool, LeaseError> {
        let mut ask = self.about(&self.scripts.compact, job);
        ask.arg(first.len()).arg(values::fingerprint(first));
        for part in combined {
            ask.arg(part);
        }
        Ok(values::number(self.script(&ask)?) == 1)
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, LeaseError> {
        let reply = self.script(&self.about(&self.scripts.status, job))?;
        let status = values::status(job, reply);
        // The last task ends the job in the same step, so another program has removed tasks.
        let lost_tasks = |status: &Status| {
            status.state == State::Running && status.sealed && status.outstanding == 0
        };
        match status {
            Some(status) if lost_tasks(&status) => Err(LeaseError::Vanished(job.clone())),
            status => Ok(status),
        }
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), LeaseError> {
        let mut ask = redis::cmd("XREAD");
        ask.arg("BLOCK").arg(wait.as_millis().max(1) as u64);
        ask.arg("STREAMS").arg(key(job, "over")).arg("0-0");
        let _: Value = self
            .connections
            .with(wait, |connection| ask.query(connection))?;
        Ok(())
    }

    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, LeaseError> {
        let mut ask = self.about(&self.scripts.cancel, job);
        ask.arg(u8::from(forget));
        Ok(values::state(&values::text(self.script(&ask)?)))
    }

    fn aside_tasks(&self, job: &JobId) -> Result<Vec<AsideTask>, LeaseError> {
        let mut ask = redis::cmd("XRANGE");
        ask.arg(key(job, "aside")).arg("-").arg("+");
        ask.arg("COUNT").arg(1000);
        let entries = values::entries(self.connections.query(&ask)?);
        Ok(entries
            .iter()
            .map(|(_, fields)| values::dead(fields))
            .collect())
    }

    fn retry_aside(&self, job: &JobId, entries: &[String]) -> Result<Option<u64>, LeaseError> {
        let mut ask = self.about(&self.scripts.retry_aside, job);
        for entry in entries {
            ask.arg(entry);
        }
        match self.script(&ask)? {
            Value::Int(again) => Ok(u64::try_from(again).ok()),
            _ => Ok(None),
        }
    }

    fn heartbeat(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
    ) -> Result<ClusterSize, LeaseError> {
        let mut ask = self.scripts.heartbeat.prepare_invoke();
        ask.arg(&present.worker.name)
            .arg(alive_for.as_millis() as u64);
        ask.arg(present.slots).arg(present.worker.build.to_string());
        Ok(self.note_size(values::cluster_size(self.script(&ask)?)))
    }

    fn heartbeat_and_renew(
        &self,
        present: &WorkerInfo,
        alive_for: Duration,
        tickets: &[Ticket],
    ) -> Result<(ClusterSize, Vec<bool>), LeaseError> {
        let one_job = tickets.first().map(|first| &first.job);
        let one_job = one_job
            .filter(|job| tickets.iter().all(|ticket| ticket.job == **job))
            .filter(|_| tickets.len() <= RENEWED);
        let Some(job) = one_job else {
            let cluster_size = self.heartbeat(present, alive_for)?;
            return Ok((cluster_size, self.renew(tickets)?));
        };
        let mut ask = self.scripts.heartbeat_and_renew.prepare_invoke();
        ask.arg(&present.worker.name)
            .arg(alive_for.as_millis() as u64);
        ask.arg(present.slots).arg(present.worker.build.to_string());
        ask.arg(job.as_str());
        for ticket in tickets {
            ask.arg(&ticket.entry)
                .arg(&ticket.worker)
                .arg(ticket.delivery);
        }
        let mut parts = values::array(self.script(&ask)?).into_iter();
        let mut next = || parts.next().unwrap_or_default();
        let cluster_size = self.note_size(values::cluster_size(next()));
        let good = values::array(next()).into_iter();
        Ok((
            cluster_size,
            good.map(|good| values::number(good) == 1).collect(),
        ))
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), LeaseError> {
        let mut ask = self.scripts.leave.prepare_invoke();
        ask.arg(&worker.name);
        self.script(&ask).map(drop)
    }

    fn workers(&self) -> Result<Vec<WorkerInfo>, LeaseError> {
        let reply = self.script(&self.scripts.workers.prepare_invoke())?;
        Ok(values::present(reply))
    }
}
