//! The third phase: every rank tells rank 0 what it has found and done.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use locksley_policy::rank::{Counts, Trouble};
use locksley_trace::Trace;

use super::engine::Move;
use super::error::RankError;
use super::letter::{Letter, Sealed};
use super::peer::{Link, Peer};
use super::post::{Post, Traffic, converse};
use crate::local::Usage;

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
    /// What every worker of every rank did when, if [`Options::trace`](super::Options) asked for it.
    pub trace: Option<Trace>,
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
    /// How much processor time it took, from when all had said hello until all work was done, that of the thread that talks
    /// included, where the system can tell.
    pub processor_time: Option<Duration>,
}

/// What a rank sends to rank 0.
#[derive(Serialize, Deserialize)]
pub(super) struct Parts<R> {
    pub(super) report: Report,
    pub(super) result: R,
    /// As JSON; empty if there is none.
    pub(super) trace: String,
    /// The number that the thread that talks has in it.
    pub(super) talker: u32,
    pub(super) moves: Vec<Move>,
}

/// A letter has at most so many bytes of a report.
const PIECE: usize = 1 << 20;

/// How often rank 0 says that it still waits for somebody.
const BEAT: Duration = Duration::from_millis(500);

/// How long a rank sleeps that waits.
const NAP: Duration = Duration::from_micros(200);

/// Talks while something is done that takes its time, such as writing a long trace down: rank 0 and the others see that this rank lives.
/// What comes is kept for later.
pub(super) fn bridge(
    peer: &mut dyn Peer,
    post: &mut Post,
    is_done: impl Fn() -> bool,
) -> Result<(), RankError> {
    let mut beat = post.now() + BEAT;
    converse(peer, post, |post, link| {
        let done = is_done();
        let mut came = false;
        while let Some((from, letter)) = post.receive(link)? {
            post.put_off(from, letter);
            came = true;
        }
        let now = post.now();
        if now >= beat {
            beat = now + BEAT;
            live(post, link);
        }
        match done {
            true => Ok(ControlFlow::Break(())),
            false => {
                if !came {
                    thread::sleep(NAP);
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    })
}

/// A sign of life: from rank 0 to everybody, and from everybody else to rank 0.
fn live(post: &mut Post, link: &mut dyn Link) {
    if post.me > 0 {
        let nothing = Sealed::Piece {
            last: false,
            bytes: Vec::new(),
        };
        return post.send(link, 0, &Letter::Sealed(nothing));
    }
    for rank in post.others() {
        let thanks = Sealed::Thanks { last: false };
        post.send(link, rank, &Letter::Sealed(thanks));
    }
}

/// Sends a report to rank 0, and stays until all have arrived there. Rank 0 gets those of the others, in order of rank.
pub(super) fn gather(
    peer: &mut dyn Peer,
    post: &mut Post,
    parts: &[u8],
    patience: Duration,
) -> Result<Vec<Vec<u8>>, RankError> {
    let now = post.now();
    if post.me > 0 {
        let mut sender = Sender {
            parts: Some(parts),
            heard: now,
            patience,
        };
        return converse(peer, post, |post, link| sender.turn(post, link));
    }
    let mut gatherer = Gatherer {
        inboxes: vec![(Vec::new(), now, false); post.count - 1],
        beat: now,
        patience,
    };
    converse(peer, post, |post, link| gatherer.turn(post, link))
}

fn silent(me: usize, rank: usize, since: Duration) -> RankError {
    let for_ns = since.as_nanos() as u64;
    RankError::Trouble {
        rank: me,
        host: None,
        trouble: Trouble::Silent { rank, for_ns },
    }
}

/// The part of a rank other than 0.
struct Sender<'a> {
    /// Still to be sent.
    parts: Option<&'a [u8]>,
    heard: Duration,
    patience: Duration,
}

impl Sender<'_> {
    fn turn(
        &mut self,
        post: &mut Post,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<Vec<Vec<u8>>>, RankError> {
        if let Some(parts) = self.parts.take() {
            let mut pieces = parts.chunks(PIECE).peekable();
            while let Some(piece) = pieces.next() {
                let piece = Sealed::Piece {
                    last: pieces.peek().is_none(),
                    bytes: piece.to_vec(),
                };
                post.send(link, 0, &Letter::Sealed(piece));
            }
        }
        let now = post.now();
        match post.receive(link)? {
            Some((0, Letter::Sealed(Sealed::Thanks { last: true }))) => {
                return Ok(ControlFlow::Break(Vec::new()));
            }
            Some((0, _)) => self.heard = now,
            Some(_) => {}
            None => thread::sleep(NAP),
        }
        let since = now.saturating_sub(self.heard);
        match since > self.patience {
            true => Err(silent(post.me, 0, since)),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}

/// The part of rank 0.
struct Gatherer {
    /// For each of the others: what has come, when something came last, and whether that is all.
    inboxes: Vec<(Vec<u8>, Duration, bool)>,
    /// When it says next that it still waits.
    beat: Duration,
    patience: Duration,
}

impl Gatherer {
    fn turn(
        &mut self,
        post: &mut Post,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<Vec<Vec<u8>>>, RankError> {
        let now = post.now();
        match post.receive(link)? {
            Some((from, Letter::Sealed(Sealed::Piece { last, bytes }))) if from > 0 => {
                let (inbox, heard, complete) = &mut self.inboxes[from - 1];
                inbox.extend(bytes);
                (*heard, *complete) = (now, last);
            }
            Some(_) => {}
            None => thread::sleep(NAP),
        }
        let waiting = self.inboxes.iter().position(|&(_, _, complete)| !complete);
        if waiting.is_none() || now >= self.beat {
            self.beat = now + BEAT;
            let last = waiting.is_none();
            for rank in post.others() {
                post.send(link, rank, &Letter::Sealed(Sealed::Thanks { last }));
            }
        }
        let Some(missing) = waiting else {
            let inboxes = self.inboxes.drain(..).map(|(inbox, _, _)| inbox);
            return Ok(ControlFlow::Break(inboxes.collect()));
        };
        let since = now.saturating_sub(self.inboxes[missing].1);
        match since > self.patience {
            true => Err(silent(0, missing + 1, since)),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}
