//! The third phase: the results and reports of all ranks go up the [tree], to rank 0.
//!
//! A rank waits for its children, adds its own part to theirs, and passes the sum on: one result,
//! since results are a monoid, and one report for each rank below. Traces are passed on while they
//! fit `Options::trace_bytes`. When everything has reached rank 0 it sends the acknowledgement down
//! the tree: a rank that receives them may leave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use locksley_policy::rank::{Counts, ProtocolError};

use super::engine::Move;
use super::error::RankError;
use super::mailbox::{Mailbox, Traffic, run_phase};
use super::peer::{Link, Peer};
use super::tree;
use super::wire::{Packet, Sealed};
use crate::local::Usage;
use crate::parcel::{decode, encode};
use crate::reduce::Reduce;

/// The result of a job, and the reports of its ranks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome<R> {
    /// Combined result of all tasks.
    pub result: R,
    /// Report of each rank.
    pub ranks: Vec<Report>,
    /// Time that it took rank 0, from the end of the handshake until all work was done.
    pub wall: Duration,
    /// Trace of all workers of all ranks, if [`Options::trace`](super::Options) asked for it.
    #[cfg(feature = "trace")]
    pub trace: Option<locksley_trace::Trace>,
    /// Number of ranks that omitted their part of the trace, because it was too large.
    pub traces_left_out: usize,
}

impl<R> Outcome<R> {
    /// Returns the processor time of all ranks, where the system can tell.
    pub fn processor_time(&self) -> Option<Duration> {
        self.ranks.iter().map(|rank| rank.processor_time).sum()
    }

    /// Returns the sum of the ranks' steal counts.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for rank in &self.ranks {
            sum += rank.counts;
        }
        sum
    }

    /// Returns the number of bytes that were sent.
    pub fn bytes(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.traffic.bytes_sent).sum()
    }
}

/// What one rank has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Number of the rank.
    pub rank: usize,
    /// Host on which it ran.
    pub host: String,
    /// Number of workers of its pool.
    pub workers: usize,
    /// Counts of its tasks.
    pub usage: Usage,
    /// Counts of its steals.
    pub counts: Counts,
    /// Counts of its messages.
    pub traffic: Traffic,
    /// Processor time that it used, from the end of the handshake until all work was done,
    /// including that of the messaging thread, where the system can tell.
    pub processor_time: Option<Duration>,
}

/// The data of a rank and all ranks below it.
#[derive(Serialize, Deserialize)]
pub(super) struct SubtreeReport<R> {
    pub(super) reports: Vec<Report>,
    pub(super) result: R,
    /// Rank, number of its messaging thread, and JSON of each trace.
    pub(super) traces: Vec<(u32, u32, String)>,
    pub(super) moves: Vec<Move>,
    /// Number of ranks that omitted their traces.
    pub(super) left_out: usize,
}

impl<R: Reduce> SubtreeReport<R> {
    /// Adds the data of ranks below.
    pub(super) fn add(&mut self, below: SubtreeReport<R>) {
        self.reports.extend(below.reports);
        self.result.combine(below.result);
        self.traces.extend(below.traces);
        self.moves.extend(below.moves);
        self.left_out += below.left_out;
    }
}

/// Most bytes of a report in one packet.
const PIECE: usize = 1 << 20;

/// Time between two heartbeats of a waiting rank.
const BEAT: Duration = Duration::from_millis(500);

/// Sleep of a waiting rank between two polls.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Sends heartbeats until a long operation is done, such as writing a long trace, so that its
/// parent and its children see that this rank is alive. Packets that arrive are kept for later.
pub(super) fn heartbeat_until(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    is_done: impl Fn() -> bool,
) -> Result<(), RankError> {
    let mut beat = mailbox.now() + BEAT;
    run_phase(peer, mailbox, |mailbox, link| {
        let done = is_done();
        let mut came = false;
        while let Some((from, packet)) = mailbox.receive(link)? {
            mailbox.put_off(from, packet);
            came = true;
        }
        let now = mailbox.now();
        if now >= beat {
            beat = now + BEAT;
            live(mailbox, link);
        }
        if done {
            return Ok(ControlFlow::Break(()));
        }
        if !came {
            thread::sleep(POLL_INTERVAL);
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Sends a heartbeat to the parent and the children.
fn live(mailbox: &mut Mailbox, link: &mut dyn Link) {
    if let Some(parent) = tree::parent(mailbox.me) {
        let nothing = Sealed::Piece {
            last: false,
            bytes: Vec::new(),
        };
        mailbox.send(link, parent, &Packet::Sealed(nothing));
    }
    acknowledge(mailbox, link, false);
}

fn acknowledge(mailbox: &mut Mailbox, link: &mut dyn Link, last: bool) {
    for child in tree::children(mailbox.me, mailbox.count) {
        mailbox.send(link, child, &Packet::Sealed(Sealed::Acknowledge { last }));
    }
}

/// Collects the data of all ranks below this one, adds it to `parts`, passes it on, and waits until
/// all has reached rank 0. There the return value is the sum of all.
pub(super) fn gather<R: Reduce>(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    parts: SubtreeReport<R>,
    patience: Duration,
) -> Result<SubtreeReport<R>, RankError> {
    let now = mailbox.now();
    let mut collector = Collector {
        inboxes: tree::children(mailbox.me, mailbox.count)
            .map(|rank| (rank, Inbox::new(now)))
            .collect(),
        beat: now,
        patience,
    };
    let below = run_phase(peer, mailbox, |mailbox, link| collector.turn(mailbox, link))?;
    let is_root = mailbox.me == 0;
    // The program's own code deserialises, combines and serialises results, and may take long.
    let (parts, bytes) = thread::scope(|scope| {
        let adding = scope.spawn(|| {
            let parts = add_all(parts, &below)?;
            let bytes = if is_root { Vec::new() } else { encode(&parts) };
            Ok((parts, bytes))
        });
        heartbeat_until(peer, mailbox, || adding.is_finished())?;
        adding.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    let now = mailbox.now();
    let mut sender = Sender {
        bytes: Some(bytes),
        heard: now,
        beat: now,
        patience,
    };
    run_phase(peer, mailbox, |mailbox, link| sender.turn(mailbox, link))?;
    Ok(parts)
}

fn add_all<R: Reduce>(
    mut parts: SubtreeReport<R>,
    below: &Below,
) -> Result<SubtreeReport<R>, RankError> {
    for (rank, bytes) in below {
        let more = decode(bytes).map_err(|malformed| RankError::Malformed {
            rank: *rank,
            why: malformed.to_string(),
        })?;
        parts.add(more);
    }
    Ok(parts)
}

fn silent(me: usize, rank: usize, since: Duration) -> RankError {
    let for_ns = since.as_nanos() as u64;
    RankError::Protocol {
        rank: me,
        host: None,
        error: ProtocolError::Silent { rank, for_ns },
    }
}

/// The encoded data of the children, by rank.
type Below = Vec<(usize, Vec<u8>)>;

/// The data that has come from a child so far.
struct Inbox {
    bytes: Vec<u8>,
    heard: Duration,
    complete: bool,
}

impl Inbox {
    fn new(heard: Duration) -> Inbox {
        Inbox {
            bytes: Vec::new(),
            heard,
            complete: false,
        }
    }
}

/// Collects the data of the children.
struct Collector {
    inboxes: BTreeMap<usize, Inbox>,
    beat: Duration,
    patience: Duration,
}

impl Collector {
    fn turn(
        &mut self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<Below>, RankError> {
        let now = mailbox.now();
        match mailbox.receive(link)? {
            Some((from, Packet::Sealed(Sealed::Piece { last, bytes }))) => {
                if let Some(inbox) = self.inboxes.get_mut(&from) {
                    inbox.bytes.extend(bytes);
                    (inbox.heard, inbox.complete) = (now, last);
                }
            }
            Some((from, packet @ Packet::Sealed(Sealed::Acknowledge { .. }))) => {
                mailbox.put_off(from, packet);
            }
            Some(_) => {}
            None if self.inboxes.is_empty() => {}
            None => thread::sleep(POLL_INTERVAL),
        }
        if now >= self.beat {
            self.beat = now + BEAT;
            live(mailbox, link);
        }
        let waiting = self.inboxes.iter().find(|(_, inbox)| !inbox.complete);
        let Some((&rank, inbox)) = waiting else {
            let inboxes = std::mem::take(&mut self.inboxes).into_iter();
            let all = inboxes.map(|(rank, inbox)| (rank, inbox.bytes));
            return Ok(ControlFlow::Break(all.collect()));
        };
        let since = now.saturating_sub(inbox.heard);
        if since > self.patience {
            return Err(silent(mailbox.me, rank, since));
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Passes the data on, and waits for the acknowledgement.
struct Sender {
    /// Data that is still to be sent.
    bytes: Option<Vec<u8>>,
    heard: Duration,
    beat: Duration,
    patience: Duration,
}

impl Sender {
    fn turn(
        &mut self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<()>, RankError> {
        let Some(parent) = tree::parent(mailbox.me) else {
            acknowledge(mailbox, link, true);
            return Ok(ControlFlow::Break(()));
        };
        if let Some(bytes) = self.bytes.take() {
            let mut pieces = bytes.chunks(PIECE).peekable();
            while let Some(piece) = pieces.next() {
                let piece = Sealed::Piece {
                    last: pieces.peek().is_none(),
                    bytes: piece.to_vec(),
                };
                mailbox.send(link, parent, &Packet::Sealed(piece));
            }
        }
        let now = mailbox.now();
        match mailbox.receive(link)? {
            Some((from, Packet::Sealed(Sealed::Acknowledge { last: true }))) if from == parent => {
                acknowledge(mailbox, link, true);
                return Ok(ControlFlow::Break(()));
            }
            Some((from, _)) if from == parent => self.heard = now,
            Some(_) => {}
            None => thread::sleep(POLL_INTERVAL),
        }
        if now >= self.beat {
            self.beat = now + BEAT;
            acknowledge(mailbox, link, false);
        }
        let since = now.saturating_sub(self.heard);
        if since > self.patience {
            return Err(silent(mailbox.me, parent, since));
        }
        Ok(ControlFlow::Continue(()))
    }
}
