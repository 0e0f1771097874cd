//! What a server answers, taken apart. What is not as it should be counts as absent, or as zero.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use crate::Build;
use crate::leases::{
    Aside, Completed, JobId, JobInfo, Lease, Limits, Oversized, Present, Share, State, Status,
    Terms, Ticket, Trouble, WorkerId, plain,
};

/// Names and values.
pub(super) type Fields = Vec<(String, Vec<u8>)>;

/// Numbers of entries, and what is in them.
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

pub(super) fn streams(value: Value) -> Vec<(String, Entries)> {
    let mut streams = Vec::new();
    for stream in array(value) {
        let mut parts = array(stream).into_iter();
        if let (Some(name), Some(found)) = (parts.next(), parts.next()) {
            streams.push((text(name), entries(found)));
        }
    }
    streams
}

/// Does an error say that a stream is not there, or was deleted while we waited?
pub(super) fn stream_is_gone(why: &str) -> bool {
    why.contains("NOGROUP") || why.contains("UNBLOCKED")
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

/// What the hash of a job says.
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
        },
    })
}

/// A lease of an entry that is delivered for the first time.
pub(super) fn lease(job: &Arc<JobInfo>, worker: &WorkerId, entry: String, fields: Fields) -> Lease {
    let before = u32::try_from(number_of(&fields, "n")).unwrap_or(0);
    let task = fields.into_iter().find(|(name, _)| name == "t");
    Lease {
        job: job.clone(),
        ticket: Ticket {
            job: job.id.clone(),
            entry,
            worker: worker.name.clone(),
            delivery: 1,
        },
        attempt: before.saturating_add(1),
        task: task.map(|(_, task)| task),
    }
}

pub(super) fn reclaimed(job: &Arc<JobInfo>, worker: &WorkerId, reply: Value) -> (bool, Vec<Lease>) {
    let mut parts = array(reply).into_iter();
    let suspects = parts.next().map(number) == Some(1);
    let lease = |value: Value| {
        let mut parts = array(value).into_iter();
        Some(Lease {
            job: job.clone(),
            ticket: Ticket {
                job: job.id.clone(),
                entry: text(parts.next()?),
                worker: worker.name.clone(),
                delivery: number(parts.next()?),
            },
            attempt: number(parts.next()?) as u32,
            task: match parts.next()? {
                Value::BulkString(task) => Some(task),
                _ => None,
            },
        })
    };
    (suspects, parts.filter_map(lease).collect())
}

/// What became of a completion, and the entry that was leased with it.
pub(super) fn completed(reply: Value) -> Result<(Completed, Option<(String, Fields)>), Trouble> {
    let mut parts = array(reply).into_iter();
    let verdict = parts.next().map(number);
    let mut next = || parts.next().unwrap_or_default();
    match verdict {
        Some(0) => Ok((Completed::Fenced, None)),
        Some(1) => {
            let counted = Completed::Counted {
                outstanding: number(next()),
                results: number(next()),
            };
            let stream = streams(next()).pop();
            let entry = stream.and_then(|(_, mut entries)| entries.pop());
            Ok((counted, entry))
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
        None => Err(Trouble::Refused("it gave an answer of no sense".to_owned())),
    }
}

pub(super) fn status(id: &JobId, reply: Value) -> Option<Status> {
    let mut parts = array(reply).into_iter();
    let job = fields(parts.next()?);
    let now = number(parts.next()?);
    let (outstanding, in_flight) = (number(parts.next()?), number(parts.next()?));
    let pending = array(parts.next()?);
    let completed = fields(parts.next()?);
    let aside = entries(parts.next()?);
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
        aside: number_of(&job, "aside"),
        reasons: aside.iter().map(|(_, fields)| reason(fields)).collect(),
        shares: shares(completed, pending),
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

/// Who completed and who holds how much, by name.
fn shares(completed: Fields, pending: Vec<Value>) -> Vec<Share> {
    let mut shares: std::collections::BTreeMap<String, Share> = std::collections::BTreeMap::new();
    for (worker, done) in completed {
        let done = String::from_utf8_lossy(&done).parse().unwrap_or(0);
        shares.entry(worker).or_default().done = done;
    }
    for consumer in pending {
        let mut parts = array(consumer).into_iter();
        if let (Some(worker), Some(held)) = (parts.next(), parts.next()) {
            shares.entry(text(worker)).or_default().in_flight = number(held);
        }
    }
    let named = |(worker, share): (String, Share)| Share {
        worker: plain(&worker),
        ..share
    };
    shares.into_iter().map(named).collect()
}

pub(super) fn present(reply: Value) -> Vec<Present> {
    let worker = |value: Value| {
        let mut parts = array(value).into_iter();
        let (name, slots) = (plain(&text(parts.next()?)), number(parts.next()?) as u32);
        let build = build(&text(parts.next()?))?;
        let worker = WorkerId { name, build };
        Some(Present { worker, slots })
    };
    array(reply).into_iter().filter_map(worker).collect()
}
