//! A server: Redis 6.2 or later, with streams and consumer groups. One that stands alone, with replicas or without, but no Redis
//! Cluster: which jobs are running is known in one place, and scripts change that together with the jobs.
//!
//! | key | what |
//! |---|---|
//! | `locksley:{JOB}:job` | a hash: build, program, terms, state, counters |
//! | `locksley:{JOB}:tasks` | a stream: an entry for each task that waits or is leased. Its length is the number of outstanding tasks |
//! | `locksley:{JOB}:results` | a list of partial results |
//! | `locksley:{JOB}:aside` | a stream of tasks that were set aside, with reasons |
//! | `locksley:{JOB}:shares` | a hash: how many leases each worker has completed |
//! | `locksley:{JOB}:over` | a stream that gets an entry when the job is over: submitters block on it |
//! | `locksley:running` | a hash: the build of each running job |
//! | `locksley:bell` | a stream that gets an entry when a job is submitted: workers without jobs block on it |
//! | `locksley:workers`, `:slots`, `:builds` | who is alive until when, by the server's clock |
//! | `locksley:returned` | when workers came back after all had been away |
//!
//! A lease is an entry that is pending in the consumer group: Redis remembers for each of them the consumer, the time of the last
//! delivery, and how many there were. What changes more than one thing is a script: Redis runs one at a time, and writes what it
//! did to its append-only file as one transaction. There is no counter of outstanding tasks that could be wrong; it is the length
//! of the stream.

mod connections;
mod values;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{Script, ScriptInvocation, Value};
use sha1::{Digest, Sha1};

use super::url::Server;
use super::{
    Completed, Completion, GiveUp, JobId, JobInfo, Lease, LeasePool, Order, Oversized, Present,
    Reclaimed, State, Status, Submitted, Ticket, Trouble, WorkerId,
};
use crate::Build;
use connections::Connections;

const RUNNING: &str = "locksley:running";
const BELL: &str = "locksley:bell";
const WORKERS: [&str; 3] = ["locksley:workers", "locksley:slots", "locksley:builds"];
const RETURNED: &str = "locksley:returned";
const GROUP: &str = "workers";

/// So old may be what we know of the running jobs. An idle worker asks about as often.
const FRESH: Duration = Duration::from_secs(1);

/// A server as a source of leases.
#[derive(Debug)]
pub struct Redis {
    connections: Connections,
    known: Mutex<Known>,
    /// With several jobs, which comes first: each in its turn.
    turn: AtomicUsize,
    scripts: Scripts,
}

/// The running jobs of a build.
#[derive(Debug, Default)]
struct Known {
    jobs: Vec<Arc<Entry>>,
    of: Option<Build>,
    read: Option<Instant>,
    /// The last ring of the bell before that.
    bell: String,
}

/// A job, and which of those that had its name.
#[derive(Debug, PartialEq)]
struct Entry {
    info: Arc<JobInfo>,
    submitted: u64,
}

macro_rules! scripts {
    ($($name:ident)*) => {
        #[derive(Debug)]
        struct Scripts { $($name: Script),* }

        impl Default for Scripts {
            fn default() -> Scripts {
                let prelude = include_str!("../scripts/prelude.lua");
                Scripts {
                    $($name: Script::new(&(
                        prelude.to_owned() + include_str!(concat!("../scripts/", stringify!($name), ".lua"))
                    ))),*
                }
            }
        }
    };
}

scripts!(submit complete give_up renew reclaim compact cancel status beat leave workers);

fn key(job: &JobId, what: &str) -> String {
    format!("locksley:{{{job}}}:{what}")
}

/// A script with the keys of a job, and its name.
fn invoke<'a>(script: &'a Script, job: &JobId) -> ScriptInvocation<'a> {
    let mut invocation = script.prepare_invoke();
    for what in ["job", "tasks", "results", "aside", "shares", "over"] {
        invocation.key(key(job, what));
    }
    invocation.key(RUNNING).arg(job.as_str());
    invocation
}

impl Redis {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or does not let us in.
    pub fn connect(server: Server) -> Result<Redis, Trouble> {
        let redis = Redis::later(server);
        let _: Value = redis.connections.query(&redis::cmd("PING"))?;
        Ok(redis)
    }

    /// A server that is connected to when it is needed.
    pub fn later(server: Server) -> Redis {
        Redis {
            connections: Connections::new(server),
            known: Mutex::default(),
            turn: AtomicUsize::new(0),
            scripts: Scripts::default(),
        }
    }

    fn script(&self, invocation: &ScriptInvocation<'_>) -> Result<Value, Trouble> {
        self.connections
            .with(Duration::ZERO, |connection| invocation.invoke(connection))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The running jobs of a build, and the ring of the bell after which there may be others.
    fn jobs(&self, build: Build) -> Result<(Vec<Arc<Entry>>, String), Trouble> {
        let old = {
            let known = self.known();
            let fresh = known.read.is_some_and(|read| read.elapsed() < FRESH);
            if fresh && known.of == Some(build) {
                return Ok((known.jobs.clone(), known.bell.clone()));
            }
            known.jobs.clone()
        };
        let read = Instant::now();
        let bell = self.last_ring()?;
        let mut jobs = Vec::new();
        for (id, _) in self.running()?.into_iter().filter(|(_, of)| *of == build) {
            jobs.extend(self.entry(&id, &old)?);
        }
        *self.known() = Known {
            jobs: jobs.clone(),
            of: Some(build),
            read: Some(read),
            bell: bell.clone(),
        };
        Ok((jobs, bell))
    }

    fn last_ring(&self) -> Result<String, Trouble> {
        let mut ask = redis::cmd("XREVRANGE");
        ask.arg(BELL).arg("+").arg("-").arg("COUNT").arg(1);
        let last = values::entries(self.connections.query(&ask)?).pop();
        Ok(last.map_or_else(|| "0-0".to_owned(), |(id, _)| id))
    }

    /// What a job is, from what is known or from the server; nothing if it is over.
    fn entry(&self, id: &JobId, known: &[Arc<Entry>]) -> Result<Option<Arc<Entry>>, Trouble> {
        let mut ask = redis::cmd("HGETALL");
        ask.arg(key(id, "job"));
        let fields = values::fields(self.connections.query(&ask)?);
        let entry = values::info(id, &fields).map(|info| Entry {
            info: Arc::new(info),
            submitted: values::number_of(&fields, "submitted"),
        });
        Ok(entry.map(|entry| {
            let same = known.iter().find(|old| ***old == entry);
            same.cloned().unwrap_or_else(|| Arc::new(entry))
        }))
    }

    /// What is known is no longer true.
    fn forget_known(&self) {
        self.known().read = None;
    }

    /// Takes entries of some jobs.
    fn read(
        &self,
        worker: &WorkerId,
        jobs: &[Arc<Entry>],
        count: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, Trouble> {
        let mut ask = redis::cmd("XREADGROUP");
        ask.arg("GROUP").arg(GROUP).arg(&worker.name);
        ask.arg("COUNT").arg(count.max(1));
        if wait > Duration::ZERO {
            ask.arg("BLOCK").arg(wait.as_millis().max(1) as u64);
        }
        ask.arg("STREAMS");
        for job in jobs {
            ask.arg(key(&job.info.id, "tasks"));
        }
        for _ in jobs {
            ask.arg(">");
        }
        // A name may have been given to another job since: then that is what its entries belong to.
        let mut both = redis::pipe();
        both.add_command(ask);
        for job in jobs {
            both.cmd("HGET")
                .arg(key(&job.info.id, "job"))
                .arg("submitted");
        }
        let reply = self
            .connections
            .with(wait, |connection| both.query::<Vec<Value>>(connection));
        let reply = match reply {
            // A job is over, and its stream gone.
            Err(Trouble::Refused(why)) if values::stream_is_gone(&why) => {
                self.forget_known();
                // If somebody deleted nothing but the stream it will be so again: no reason to ask at full speed.
                std::thread::sleep(Duration::from_millis(20));
                return Ok(Vec::new());
            }
            reply => reply?,
        };
        let mut reply = reply.into_iter();
        let streams = values::streams(reply.next().unwrap_or_default());
        let submitted: Vec<u64> = reply.map(values::number).collect();
        self.leases(worker, jobs, streams, &submitted)
    }

    fn leases(
        &self,
        worker: &WorkerId,
        jobs: &[Arc<Entry>],
        streams: Vec<(String, values::Entries)>,
        submitted: &[u64],
    ) -> Result<Vec<Lease>, Trouble> {
        let mut leases = Vec::new();
        for (stream, entries) in streams {
            let place = jobs
                .iter()
                .position(|job| key(&job.info.id, "tasks") == stream);
            let Some(place) = place else { continue };
            let job = &jobs[place];
            let mut info = Some(job.info.clone());
            if submitted.get(place) != Some(&job.submitted) {
                self.forget_known();
                info = self
                    .entry(&job.info.id, &[])?
                    .map(|entry| entry.info.clone());
            }
            let Some(info) = info else { continue };
            let found = entries
                .into_iter()
                .map(|(entry, fields)| values::lease(&info, worker, entry, fields));
            if info.build == worker.build {
                leases.extend(found);
                continue;
            }
            for lease in found {
                self.give_up(&lease.ticket, &GiveUp::Stopping)?;
            }
        }
        Ok(leases)
    }

    fn completed(
        &self,
        ticket: &Ticket,
        completion: &Completion,
        more: bool,
    ) -> Result<Value, Trouble> {
        let mut ask = invoke(&self.scripts.complete, &ticket.job);
        ask.arg(&ticket.entry)
            .arg(&ticket.worker)
            .arg(ticket.delivery)
            .arg(u8::from(more));
        ask.arg(completion.tasks).arg(&completion.result);
        for child in &completion.children {
            ask.arg(child);
        }
        self.script(&ask)
    }

    /// Waits until a job is submitted.
    fn listen(&self, bell: &str, wait: Duration) -> Result<(), Trouble> {
        let mut ask = redis::cmd("XREAD");
        ask.arg("BLOCK").arg(wait.as_millis().max(1) as u64);
        ask.arg("STREAMS").arg(BELL).arg(bell);
        let _: Value = self
            .connections
            .with(wait, |connection| ask.query(connection))?;
        self.forget_known();
        Ok(())
    }
}

impl LeasePool for Redis {
    fn submit(&self, order: &Order) -> Result<Submitted, Trouble> {
        let (job, limits) = (&order.job, order.job.terms.limits);
        let largest = order.tasks.iter().map(Vec::len).max().unwrap_or(0);
        Oversized::check("a task", largest, limits.task)?;
        Oversized::check("a number of tasks", order.tasks.len(), limits.children)?;
        let mut submit = invoke(&self.scripts.submit, &job.id);
        submit.key(BELL).arg(job.build.to_string());
        submit.arg(&job.program).arg(print(&order.tasks));
        submit.arg(job.terms.lease.as_millis() as u64);
        submit.arg(job.terms.tries);
        submit.arg(job.terms.keep.as_millis() as u64);
        for limit in [limits.task, limits.children, limits.result] {
            submit.arg(limit);
        }
        for task in &order.tasks {
            submit.arg(task);
        }
        match values::text(self.script(&submit)?).as_str() {
            "new" => Ok(Submitted::New),
            "attached" => Ok(Submitted::Attached),
            _ => Err(Trouble::Taken(job.id.clone())),
        }
    }

    fn running(&self) -> Result<Vec<(JobId, Build)>, Trouble> {
        let mut ask = redis::cmd("HGETALL");
        ask.arg(RUNNING);
        let fields = values::fields(self.connections.query(&ask)?);
        let job = |(id, build): (String, Vec<u8>)| {
            Some((
                id.parse().ok()?,
                values::build(&String::from_utf8(build).ok()?)?,
            ))
        };
        Ok(fields.into_iter().filter_map(job).collect())
    }

    fn lease(
        &self,
        worker: &WorkerId,
        at_most: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, Trouble> {
        let (mut jobs, bell) = self.jobs(worker.build)?;
        if jobs.is_empty() {
            self.listen(&bell, wait)?;
            return Ok(Vec::new());
        }
        if jobs.len() > 1 {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % jobs.len();
            jobs.rotate_left(turn);
            let mut leases = Vec::new();
            for job in &jobs {
                let missing = at_most.saturating_sub(leases.len());
                if missing == 0 {
                    break;
                }
                let one = std::slice::from_ref(job);
                leases.extend(self.read(worker, one, missing, Duration::ZERO)?);
            }
            if !leases.is_empty() || self.known().read.is_none() {
                return Ok(leases);
            }
        }
        let count = if jobs.len() == 1 { at_most } else { 1 };
        self.read(worker, &jobs, count, wait)
    }

    fn reclaim(&self, worker: &WorkerId, at_most: usize, idle: bool) -> Result<Reclaimed, Trouble> {
        let mut reclaimed = Reclaimed::default();
        for job in self.jobs(worker.build)?.0 {
            // One that runs alone is the only one.
            let idle = idle && reclaimed.leases.is_empty();
            let missing = at_most.saturating_sub(reclaimed.leases.len());
            let mut ask = invoke(&self.scripts.reclaim, &job.info.id);
            ask.key(WORKERS[0]).key(RETURNED);
            ask.arg(&worker.name).arg(missing).arg(u8::from(idle));
            ask.arg(job.submitted);
            let (suspects, leases) = values::reclaimed(&job.info, worker, self.script(&ask)?);
            reclaimed.suspects |= suspects;
            let alone = leases
                .first()
                .is_some_and(|lease| job.info.terms.alone(lease.attempt));
            reclaimed.leases.extend(leases);
            if alone {
                break;
            }
        }
        Ok(reclaimed)
    }

    fn renew(&self, tickets: &[Ticket]) -> Result<Vec<bool>, Trouble> {
        let mut jobs: BTreeMap<&JobId, Vec<usize>> = BTreeMap::new();
        for (place, ticket) in tickets.iter().enumerate() {
            jobs.entry(&ticket.job).or_default().push(place);
        }
        let mut good = vec![false; tickets.len()];
        for (job, places) in jobs {
            let mut ask = invoke(&self.scripts.renew, job);
            for &place in &places {
                let ticket = &tickets[place];
                ask.arg(&ticket.entry)
                    .arg(&ticket.worker)
                    .arg(ticket.delivery);
            }
            let answers = values::array(self.script(&ask)?);
            for (place, answer) in places.into_iter().zip(answers) {
                good[place] = values::number(answer) == 1;
            }
        }
        Ok(good)
    }

    fn complete(&self, ticket: &Ticket, completion: &Completion) -> Result<Completed, Trouble> {
        let reply = self.completed(ticket, completion, false)?;
        Ok(values::completed(reply)?.0)
    }

    fn complete_and_lease(
        &self,
        lease: &Lease,
        completion: &Completion,
    ) -> Result<(Completed, Option<Lease>), Trouble> {
        // Where there are several jobs each gets its turn.
        let alone = self.known().jobs.len() <= 1;
        let reply = self.completed(&lease.ticket, completion, alone)?;
        let (completed, next) = values::completed(reply)?;
        let worker = WorkerId {
            name: lease.ticket.worker.clone(),
            build: lease.job.build,
        };
        // The ticket was good: so it is the very same job.
        let next = next.map(|(entry, fields)| values::lease(&lease.job, &worker, entry, fields));
        Ok((completed, next))
    }

    fn give_up(&self, ticket: &Ticket, why: &GiveUp) -> Result<bool, Trouble> {
        let (word, reason) = match why {
            GiveUp::Stopping => ("stopping", ""),
            GiveUp::Failed(reason) => ("failed", reason.as_str()),
            GiveUp::Hopeless(reason) => ("hopeless", reason.as_str()),
        };
        let mut ask = invoke(&self.scripts.give_up, &ticket.job);
        ask.arg(&ticket.entry)
            .arg(&ticket.worker)
            .arg(ticket.delivery);
        ask.arg(word).arg(super::memory::shortened(reason));
        Ok(values::number(self.script(&ask)?) == 1)
    }

    fn results(&self, job: &JobId) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut ask = redis::cmd("LRANGE");
        ask.arg(key(job, "results")).arg(0).arg(-1);
        let parts = values::array(self.connections.query(&ask)?);
        Ok(parts.into_iter().map(values::bytes).collect())
    }

    fn compact(&self, job: &JobId, first: &[Vec<u8>], combined: &[u8]) -> Result<bool, Trouble> {
        let mut ask = invoke(&self.scripts.compact, job);
        ask.arg(first.len()).arg(print(first)).arg(combined);
        Ok(values::number(self.script(&ask)?) == 1)
    }

    fn status(&self, job: &JobId) -> Result<Option<Status>, Trouble> {
        let reply = self.script(&invoke(&self.scripts.status, job))?;
        let status = values::status(job, reply);
        // The last task ends the job in the same step. So somebody else took tasks away.
        let robbed = |status: &Status| status.state == State::Running && status.outstanding == 0;
        match status {
            Some(status) if robbed(&status) => Err(Trouble::Vanished(job.clone())),
            status => Ok(status),
        }
    }

    fn await_end(&self, job: &JobId, wait: Duration) -> Result<(), Trouble> {
        let mut ask = redis::cmd("XREAD");
        ask.arg("BLOCK").arg(wait.as_millis().max(1) as u64);
        ask.arg("STREAMS").arg(key(job, "over")).arg("0-0");
        let _: Value = self
            .connections
            .with(wait, |connection| ask.query(connection))?;
        Ok(())
    }

    fn cancel(&self, job: &JobId, forget: bool) -> Result<Option<State>, Trouble> {
        let mut ask = invoke(&self.scripts.cancel, job);
        ask.arg(u8::from(forget));
        Ok(values::state(&values::text(self.script(&ask)?)))
    }

    fn beat(&self, present: &Present, alive_for: Duration) -> Result<u32, Trouble> {
        let mut ask = self.scripts.beat.prepare_invoke();
        for key in WORKERS {
            ask.key(key);
        }
        ask.key(RETURNED);
        ask.arg(&present.worker.name)
            .arg(alive_for.as_millis() as u64);
        ask.arg(present.slots).arg(present.worker.build.to_string());
        Ok(values::number(self.script(&ask)?) as u32)
    }

    fn leave(&self, worker: &WorkerId) -> Result<(), Trouble> {
        let mut ask = self.scripts.leave.prepare_invoke();
        for key in WORKERS {
            ask.key(key);
        }
        ask.arg(&worker.name);
        self.script(&ask).map(drop)
    }

    fn workers(&self) -> Result<Vec<Present>, Trouble> {
        let mut ask = self.scripts.workers.prepare_invoke();
        for key in WORKERS {
            ask.key(key);
        }
        Ok(values::present(self.script(&ask)?))
    }
}

/// What tells lists of byte strings apart.
fn print(parts: &[Vec<u8>]) -> String {
    let mut hash = Sha1::new();
    for part in parts {
        hash.update(format!("{}:", part.len()));
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
