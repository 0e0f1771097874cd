//! Conversion of requests and answers. Values that are missing or malformed count as absent, or as
//! zero.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use sha1::{Digest, Sha1};

use crate::Build;
use crate::leases::{
    Aside, AsideTask, ClusterSize, Completed, JobId, JobInfo, Lease, LeaseError, Limits, Oversized,
    Reclaimed, Refusal, Share, State, Status, Terms, Ticket, WorkerId, WorkerInfo, plain,
};

/// Names and values.
pub(super) type Fields = Vec<(String, Vec<u8>)>;

/// Entries of a stream: identifiers and fields.
pub(super) type Entries = Vec<(String, Fields)>;

pub(super) fn array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) | Value::Set(values) => values,
        Value::Map(pairs) => pairs.into_iter().flat_map(|(a, b)| [a, b]).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.into_bytes(),
        Value::Int(number) => number.to_string().into_bytes(),
        _ => Vec::new(),
    }
}

pub(super) fn text(value: Value) -> String {
    String::from_utf8_lossy(&bytes(value)).into_owned()
}

pub(super) fn number(value: Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(number).unwrap_or(0),
        other => text(other).parse().unwrap_or(0),
    }
}

pub(super) fn fields(value: Value) -> Fields {
    let mut fields = Vec::new();
    let mut values = array(value).into_iter();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        fields.push((text(name), bytes(value)));
    }
    fields
}

fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a [u8]> {
    let found = fields.iter().find(|(field, _)| field == name);
    found.map(|(_, value)| value.as_slice())
}

fn text_of(fields: &Fields, name: &str) -> String {
    plain(&String::from_utf8_lossy(
        field(fields, name).unwrap_or_default(),
    ))
}

pub(super) fn number_of(fields: &Fields, name: &str) -> u64 {
    text_of(fields, name).parse().unwrap_or(0)
}

pub(super) fn entries(value: Value) -> Entries {
    let entry = |value: Value| {
        let mut parts = array(value).into_iter();
        Some((text(parts.next()?), fields(parts.next()?)))
    };
    array(value).into_iter().filter_map(entry).collect()
}

pub(super) fn build(text: &str) -> Option<Build> {
    u64::from_str_radix(text, 16).ok().map(Build)
}

pub(super) fn state(text: &str) -> Option<State> {
    match text {
        "running" => Some(State::Running),
        "done" => Some(State::Done),
        "cancelled" => Some(State::Cancelled),
        _ => None,
    }
}

/// Reads the description of a job from its hash.
pub(super) fn info(id: &JobId, fields: &Fields) -> Option<JobInfo> {
    let millis = |name| Duration::from_millis(number_of(fields, name));
    let size = |name| usize::try_from(number_of(fields, name)).unwrap_or(usize::MAX);
    Some(JobInfo {
        id: id.clone(),
        build: build(&text_of(fields, "build"))?,
        program: text_of(fields, "program"),
        terms: Terms {
            lease: millis("lease"),
            tries: u32::try_from(number_of(fields, "tries")).ok()?,
            keep: millis("keep"),
            limits: Limits {
                task: size("task"),
                children: size("children"),
                result: size("result"),
            },
            urgent: number_of(fields, "urgent") == 1,
            delay: millis("delay"),
        },
    })
}

/// A leased entry: the name of its job, the time of the job's submission, and the lease without the
/// description of the job.
pub(super) struct Delivered {
    pub(super) job: JobId,
    pub(super) submitted: u64,
    entry: String,
    delivery: u64,
    step: u64,
    attempt: u32,
    task: Option<Vec<u8>>,
}

impl Delivered {
    pub(super) fn lease(self, job: Arc<JobInfo>, worker: &str) -> Lease {
        Lease {
            ticket: Ticket {
                job: job.id.clone(),
                entry: self.entry,
                worker: worker.to_owned(),
                delivery: self.delivery,
                step: self.step,
            },
            job,
            attempt: self.attempt,
            task: self.task,
        }
    }
}

pub(super) fn delivered(reply: Value) -> Vec<Delivered> {
    let one = |value: Value| {
        let mut parts = array(value).into_iter();
        Some(Delivered {
            job: text(parts.next()?).parse().ok()?,
            submitted: number(parts.next()?),
            entry: text(parts.next()?),
            delivery: number(parts.next()?),
            step: number(parts.next()?),
            attempt: u32::try_from(number(parts.next()?)).ok()?,
            task: match parts.next() {
                Some(Value::BulkString(task)) => Some(task),
                _ => None,
            },
        })
    };
    array(reply).into_iter().filter_map(one).collect()
}

/// Reads a time; `None` if it is negative.
pub(super) fn millis(value: Value) -> Option<Duration> {
    match value {
        Value::Int(millis) => u64::try_from(millis).ok().map(Duration::from_millis),
        _ => None,
    }
}

pub(super) fn reclaimed(reply: Value) -> Reclaimed {
    let mut parts = array(reply).into_iter();
    let mut next = || parts.next().unwrap_or_default();
    let (returned, aside) = (number(next()), number(next()));
    Reclaimed {
        returned,
        aside,
        next: millis(next()),
    }
}

/// Reads the answer to a completion, and the entries that were leased with it.
pub(super) fn completed(reply: Value) -> Result<(Completed, Vec<Delivered>), LeaseError> {
    let mut parts = array(reply).into_iter();
    let verdict = parts.next().map(number);
    let mut next = || parts.next().unwrap_or_default();
    match verdict {
        Some(0) => Ok((Completed::Fenced, Vec::new())),
        Some(1) => {
            let counted = Completed::Counted {
                outstanding: number(next()),
                results: number(next()),
            };
            Ok((counted, delivered(next())))
        }
        Some(_) => {
            let what = match text(next()).as_str() {
                "a result" => "a result",
                "a task" => "a task",
                _ => "a number of children",
            };
            let (size, limit) = (number(next()) as usize, number(next()) as usize);
            Err(Oversized { what, size, limit }.into())
        }
        None => Err(LeaseError::Refused(
            "it gave an unexpected answer".to_owned(),
        )),
    }
}

pub(super) fn status(id: &JobId, reply: Value) -> Option<Status> {
    let mut parts = array(reply).into_iter();
    let job = fields(parts.next()?);
    let now = number(parts.next()?);
    let (outstanding, in_flight) = (number(parts.next()?), number(parts.next()?));
    let shares = array(parts.next()?);
    let workers = number(parts.next()?);
    let aside = entries(parts.next()?);
    let refusal = Refusal::of(&text(parts.next()?));
    let delayed = parts.next().map_or(0, number);
    let until = match number_of(&job, "ended") {
        0 => now,
        ended => ended,
    };
    Some(Status {
        state: state(&text_of(&job, "state"))?,
        done: number_of(&job, "done"),
        tasks: number_of(&job, "tasks"),
        outstanding,
        in_flight,
        delayed,
        aside: number_of(&job, "aside"),
        reasons: aside.iter().map(|(_, fields)| reason(fields)).collect(),
        shares: shares.into_iter().filter_map(share).collect(),
        workers,
        sealed: number_of(&job, "sealed") == 1,
        refusal,
        submitted: number_of(&job, "submitted"),
        age: Duration::from_millis(until.saturating_sub(number_of(&job, "submitted"))),
        job: info(id, &job)?,
    })
}

fn reason(fields: &Fields) -> Aside {
    Aside {
        entry: text_of(fields, "entry"),
        attempts: number_of(fields, "attempts") as u32,
        reason: text_of(fields, "reason"),
    }
}

pub(super) fn dead(fields: &Fields) -> AsideTask {
    AsideTask {
        aside: reason(fields),
        task: field(fields, "task").unwrap_or_default().to_vec(),
        whole: number_of(fields, "whole") == 1,
        urgent: number_of(fields, "urgent") == 1,
    }
}

/// Reads the share of one worker.
fn share(value: Value) -> Option<Share> {
    let mut parts = array(value).into_iter();
    Some(Share {
        worker: plain(&text(parts.next()?)),
        done: number(parts.next()?),
        in_flight: number(parts.next()?),
    })
}

pub(super) fn cluster_size(reply: Value) -> ClusterSize {
    let mut parts = array(reply).into_iter();
    let mut next = || number(parts.next().unwrap_or_default()) as u32;
    ClusterSize {
        slots: next(),
        workers: next(),
    }
}

pub(super) fn present(reply: Value) -> Vec<WorkerInfo> {
    let worker = |value: Value| {
        let mut parts = array(value).into_iter();
        let (name, about) = (plain(&text(parts.next()?)), text(parts.next()?));
        let (slots, of) = about.split_once(' ')?;
        let (slots, build) = (slots.parse().ok()?, build(of)?);
        let worker = WorkerId { name, build };
        Some(WorkerInfo { worker, slots })
    };
    array(reply).into_iter().filter_map(worker).collect()
}

/// Returns a time in milliseconds, rounded up.
pub(super) fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns a fingerprint of a list of byte strings.
pub(super) fn fingerprint(parts: &[Vec<u8>]) -> String {
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
