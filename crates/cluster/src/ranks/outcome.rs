//! The third phase: what every rank has found and done goes up the [tree], to rank 0.
//!
//! A rank waits for those below, adds its own part to theirs, and passes the sum on: one result,
//! since results are a monoid, and as many reports as there are ranks below. Traces are passed on
//! as long as they are no more than `Options::trace_bytes` in all. The thanks of rank 0 come down
//! the tree: a rank that has them may leave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use locksley_policy::rank::{Counts, Trouble};

use super::engine::Move;
use super::error::RankError;
use super::mailbox::{Mailbox, Traffic, converse};
use super::peer::{Link, Peer};
use super::tree;
use super::wire::{Packet, Sealed};
use crate::local::Usage;
use crate::parcel::{decode, encode};
use crate::reduce::Reduce;

/// What ranks have found and done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome<R> {
    /// The results of all tasks.
    pub result: R,
    /// What each rank has done.
    pub ranks: Vec<Report>,
    /// How long it took rank 0, from when all had said hello until all work was done.
    pub wall: Duration,
    /// What every worker of every rank did when, if [`Options::trace`](super::Options) asked for
    /// it.
    #[cfg(feature = "trace")]
    pub trace: Option<locksley_trace::Trace>,
    /// How many ranks have left their part of it out, because it was too large.
    pub traces_left_out: usize,
}

impl<R> Outcome<R> {
    /// The processor time of all ranks, where the system can tell.
    pub fn processor_time(&self) -> Option<Duration> {
        self.ranks.iter().map(|rank| rank.processor_time).sum()
    }

    /// What the ranks have stolen, counted together.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for rank in &self.ranks {
            sum += rank.counts;
        }
        sum
    }

    /// How many bytes were sent.
    pub fn bytes(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.traffic.bytes_sent).sum()
    }
}

/// What one rank has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Its number.
    pub rank: usize,
    /// Where it ran.
    pub host: String,
    /// How many workers its pool had.
    pub workers: usize,
    /// Its tasks.
    pub usage: Usage,
    /// Its steals.
    pub counts: Counts,
    /// Its messages.
    pub traffic: Traffic,
    /// How much processor time it took, from when all had said hello until all work was done, that
    /// of the thread that talks included, where the system can tell.
    pub processor_time: Option<Duration>,
}

/// What a rank, and all below it, have to say.
#[derive(Serialize, Deserialize)]
pub(super) struct Parts<R> {
    pub(super) reports: Vec<Report>,
    pub(super) result: R,
    /// Traces by rank, as JSON, each with the number that the thread that talks has in it.
    pub(super) traces: Vec<(u32, u32, String)>,
    pub(super) moves: Vec<Move>,
    /// How many ranks have left their traces out.
    pub(super) left_out: usize,
}

impl<R: Reduce> Parts<R> {
    /// Adds what ranks below have to say.
    pub(super) fn add(&mut self, below: Parts<R>) {
        self.reports.extend(below.reports);
        self.result.combine(below.result);
        self.traces.extend(below.traces);
        self.moves.extend(below.moves);
        self.left_out += below.left_out;
    }
}

/// A packet has at most so many bytes of a report.
const PIECE: usize = 1 << 20;

/// How often a rank says that it still waits.
const BEAT: Duration = Duration::from_millis(500);

/// How long a rank sleeps that waits.
const NAP: Duration = Duration::from_micros(200);

/// Talks while something is done that takes its time, such as writing a long trace down: its parent
/// and its children see that this rank lives. What comes is kept for later.
pub(super) fn bridge(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    is_done: impl Fn() -> bool,
) -> Result<(), RankError> {
    let mut beat = mailbox.now() + BEAT;
    converse(peer, mailbox, |mailbox, link| {
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
            thread::sleep(NAP);
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// A sign of life, to the parent and to the children.
fn live(mailbox: &mut Mailbox, link: &mut dyn Link) {
    if let Some(parent) = tree::parent(mailbox.me) {
        let nothing = Sealed::Piece {
            last: false,
            bytes: Vec::new(),
        };
        mailbox.send(link, parent, &Packet::Sealed(nothing));
    }
    thank(mailbox, link, false);
}

fn thank(mailbox: &mut Mailbox, link: &mut dyn Link, last: bool) {
    for child in tree::children(mailbox.me, mailbox.count) {
        mailbox.send(link, child, &Packet::Sealed(Sealed::Thanks { last }));
    }
}

/// Gathers what all below this rank have to say, adds it to `parts`, passes it on, and stays until
/// all has come to rank 0. There this is the sum of all.
pub(super) fn gather<R: Reduce>(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    parts: Parts<R>,
    patience: Duration,
) -> Result<Parts<R>, RankError> {
    let now = mailbox.now();
    let mut collector = Collector {
        inboxes: tree::children(mailbox.me, mailbox.count)
            .map(|rank| (rank, Inbox::new(now)))
            .collect(),
        beat: now,
        patience,
    };
    let below = converse(peer, mailbox, |mailbox, link| collector.turn(mailbox, link))?;
    let is_root = mailbox.me == 0;
    // A program's own code reads, adds and writes results, and may take its time.
    let (parts, bytes) = thread::scope(|scope| {
        let adding = scope.spawn(|| {
            let parts = add_all(parts, &below)?;
            let bytes = if is_root { Vec::new() } else { encode(&parts) };
            Ok((parts, bytes))
        });
        bridge(peer, mailbox, || adding.is_finished())?;
        adding.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    let now = mailbox.now();
    let mut sender = Sender {
        bytes: Some(bytes),
        heard: now,
        beat: now,
        patience,
    };
    converse(peer, mailbox, |mailbox, link| sender.turn(mailbox, link))?;
    Ok(parts)
}

fn add_all<R: Reduce>(mut parts: Parts<R>, below: &Below) -> Result<Parts<R>, RankError> {
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
    RankError::Trouble {
        rank: me,
        host: None,
        trouble: Trouble::Silent { rank, for_ns },
    }
}

/// What the children have to say, encoded, by rank.
type Below = Vec<(usize, Vec<u8>)>;

/// What has come from a child.
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

/// Waits for what the children have to say.
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
            Some((from, packet @ Packet::Sealed(Sealed::Thanks { .. }))) => {
                mailbox.put_off(from, packet);
            }
            Some(_) => {}
            None if self.inboxes.is_empty() => {}
            None => thread::sleep(NAP),
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

/// Passes on what is known, and waits for the thanks.
struct Sender {
    /// Still to be sent.
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
            thank(mailbox, link, true);
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
            Some((from, Packet::Sealed(Sealed::Thanks { last: true }))) if from == parent => {
                thank(mailbox, link, true);
                return Ok(ControlFlow::Break(()));
            }
            Some((from, _)) if from == parent => self.heard = now,
            Some(_) => {}
            None => thread::sleep(NAP),
        }
        if now >= self.beat {
            self.beat = now + BEAT;
            thank(mailbox, link, false);
        }
        let since = now.saturating_sub(self.heard);
        if since > self.patience {
            return Err(silent(mailbox.me, parent, since));
        }
        Ok(ControlFlow::Continue(()))
    }
}
