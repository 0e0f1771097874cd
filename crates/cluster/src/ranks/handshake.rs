//! The first phase: ranks introduce themselves up a [tree], and learn down the tree which ranks
//! share a host.
//!
//! ```text
//!   rank r  ── greeting: build, host ──> parent              another build: the job ends
//!   rank r  ── the hosts of all ranks below ──> parent       when all of these have come
//!   rank r  <── hosts: the number of each rank's host ── parent
//!   rank r  ── ping, pong, 8 times ──     rank 0             if there will be a trace
//! ```
//!
//! If two ranks are of different builds then so are the ends of some link of the tree, and one of
//! them notices. Names of hosts travel to rank 0 only, once over each link on their way. The other
//! ranks only need to know which ranks share a host, which takes a few bytes for each host.
//!
//! The fastest pong gives the difference between the clocks, up to half of its round trip
//! (Cristian, "Probabilistic clock synchronization").

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use locksley_policy::rank::ProtocolError;

use super::clock;
use super::error::RankError;
use super::mailbox::{Mailbox, run_phase};
use super::peer::{Link, Peer};
use super::tree;
use super::wire::{Packet, Sealed};
use crate::build_id::Build;

/// Number of times that a rank asks for the time.
const PINGS: u32 = 8;

/// Sleep of a rank that waits for an answer: about a round trip.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// What a rank knows after the first phase.
pub(super) struct HostDirectory {
    /// Number of each rank's host.
    pub(super) numbers: Vec<u32>,
    /// Names of all ranks' hosts, on rank 0; elsewhere those of the ranks below.
    pub(super) names: BTreeMap<usize, String>,
    /// How far the clock of rank 0 is ahead of this one's, in nanoseconds; 0 if it was not asked.
    pub(super) clock_offset: i64,
}

/// Introduces this rank, and waits until all ranks have done so. A rank waits for its children for
/// as long as `patience`, and longer for its parent: if another rank is missing, the parent is not
/// to blame.
pub(super) fn handshake(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    build: Build,
    clocks: bool,
    patience: Duration,
) -> Result<HostDirectory, RankError> {
    let host = peer.host();
    let mut introduction = Introduction {
        build,
        greeting: Some(host.clone()),
        missing: tree::children(mailbox.me, mailbox.count)
            .map(|rank| (rank, false))
            .collect(),
        names: BTreeMap::from([(mailbox.me, host)]),
        told: false,
        host_runs: None,
        numbers: None,
        clocks: if clocks && mailbox.me > 0 { PINGS } else { 0 },
        asked: None,
        best: (u64::MAX, 0),
        heard: mailbox.now(),
        patience,
    };
    run_phase(peer, mailbox, |mailbox, link| {
        introduction.turn(mailbox, link)
    })
}

/// A rank's state during the phase.
struct Introduction {
    build: Build,
    /// Name of this rank's host, until it has been sent.
    greeting: Option<String>,
    /// Children that have not reported all ranks below them, and whether each has introduced
    /// itself.
    missing: BTreeMap<usize, bool>,
    /// Hosts that are known so far.
    names: BTreeMap<usize, String>,
    /// Whether they have been sent to the parent.
    told: bool,
    /// The runs of hosts that the parent has sent, until it is passed on.
    host_runs: Option<Vec<(u32, u32)>>,
    numbers: Option<Vec<u32>>,
    /// Remaining requests for the time.
    clocks: u32,
    /// When the pending request was sent.
    asked: Option<u64>,
    /// Shortest round trip, and how far ahead the clock of rank 0 was in it.
    best: (u64, i64),
    heard: Duration,
    patience: Duration,
}

impl Introduction {
    fn turn(
        &mut self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<HostDirectory>, RankError> {
        let parent = tree::parent(mailbox.me);
        if let (Some(host), Some(parent)) = (self.greeting.take(), parent) {
            let build = self.build.0;
            mailbox.send(link, parent, &Packet::Greeting { build, host });
        }
        match mailbox.receive(link)? {
            Some((rank, Packet::Greeting { build, host })) => {
                self.enter(mailbox, rank, build, host)?
            }
            Some((rank, Packet::Sealed(Sealed::Below(names))))
                if self.missing.remove(&rank).is_some() =>
            {
                let names = names.into_iter();
                self.names
                    .extend(names.map(|(rank, name)| (rank as usize, name)));
                self.heard = mailbox.now();
            }
            Some((rank, Packet::Sealed(Sealed::HostRuns(runs)))) if Some(rank) == parent => {
                self.host_runs = Some(runs);
            }
            Some((0, Packet::Sealed(Sealed::Pong(theirs)))) => self.compare(theirs),
            Some((from, packet)) => mailbox.put_off(from, packet),
            None => thread::sleep(POLL_INTERVAL),
        }
        if let Some(error) = self.silent(mailbox) {
            return Err(error);
        }
        if !self.missing.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        match parent {
            None if self.numbers.is_none() => self.host_runs = Some(runs(&self.names)),
            None => {}
            Some(parent) if !self.told => {
                self.told = true;
                let names = self.names.iter();
                let names = names.map(|(rank, name)| (*rank as u32, name.clone()));
                let below = Sealed::Below(names.collect());
                mailbox.send(link, parent, &Packet::Sealed(below));
            }
            Some(_) => {}
        }
        self.leave(mailbox, link)
    }

    /// Ends the phase if this rank knows everything.
    fn leave(
        &mut self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
    ) -> Result<ControlFlow<HostDirectory>, RankError> {
        let Some(numbers) = &self.numbers else {
            let Some(runs) = self.host_runs.take() else {
                return Ok(ControlFlow::Continue(()));
            };
            self.numbers = Some(self.pass_on(mailbox, link, runs)?);
            return Ok(ControlFlow::Continue(()));
        };
        if self.asked.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.clocks > 0 {
            self.clocks -= 1;
            self.asked = Some(clock::wall());
            mailbox.send(link, 0, &Packet::Sealed(Sealed::Ping));
            return Ok(ControlFlow::Continue(()));
        }
        Ok(ControlFlow::Break(HostDirectory {
            numbers: numbers.clone(),
            names: std::mem::take(&mut self.names),
            clock_offset: self.best.1,
        }))
    }

    /// Returns the number of each rank's host, and passes the list on to the children.
    fn pass_on(
        &self,
        mailbox: &mut Mailbox,
        link: &mut dyn Link,
        runs: Vec<(u32, u32)>,
    ) -> Result<Vec<u32>, RankError> {
        let ranks: u64 = runs.iter().map(|&(_, ranks)| u64::from(ranks)).sum();
        if ranks != mailbox.count as u64 {
            let why = format!("a list of {ranks} hosts for {} ranks", mailbox.count);
            let rank = tree::parent(mailbox.me).unwrap_or(0);
            return Err(RankError::Malformed { rank, why });
        }
        let each = |&(host, ranks): &(u32, u32)| std::iter::repeat_n(host, ranks as usize);
        let numbers = runs.iter().flat_map(each).collect();
        let host_runs = Packet::Sealed(Sealed::HostRuns(runs));
        for child in tree::children(mailbox.me, mailbox.count) {
            mailbox.send(link, child, &host_runs);
        }
        Ok(numbers)
    }

    fn enter(
        &mut self,
        mailbox: &mut Mailbox,
        rank: usize,
        theirs: u64,
        host: String,
    ) -> Result<(), RankError> {
        if theirs != self.build.0 {
            let ours = self.build.0;
            return Err(RankError::Protocol {
                rank: mailbox.me,
                host: Some(host),
                error: ProtocolError::OtherBuild { rank, theirs, ours },
            });
        }
        if let Some(introduced) = self.missing.get_mut(&rank) {
            *introduced = true;
            self.heard = mailbox.now();
        }
        Ok(())
    }

    /// Returns an error if a rank has been silent for too long. A child that has introduced itself
    /// is alive: if it sends no more it waits for a rank below it, and knows better which.
    fn silent(&self, mailbox: &mut Mailbox) -> Option<RankError> {
        let since = mailbox.now().saturating_sub(self.heard);
        let absent = self.missing.iter().find(|(_, introduced)| !**introduced);
        let (rank, patience) = match absent {
            Some((child, _)) => (*child, self.patience),
            None => {
                let waits_for = self.missing.keys().next().copied();
                let rank = waits_for.or(tree::parent(mailbox.me))?;
                (rank, self.patience * 3 / 2)
            }
        };
        let for_ns = since.as_nanos() as u64;
        (since > patience).then_some(RankError::Protocol {
            rank: mailbox.me,
            host: None,
            error: ProtocolError::Silent { rank, for_ns },
        })
    }

    /// Takes the answer to a request for the time. It was given about half way through the round
    /// trip.
    fn compare(&mut self, theirs: u64) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let trip = clock::wall().saturating_sub(asked);
        if trip < self.best.0 {
            let ahead = theirs.wrapping_sub(asked + trip / 2) as i64;
            self.best = (trip, ahead);
        }
    }
}

/// Returns which rank is on which host, as runs of ranks. Hosts are numbered in order of
/// appearance.
fn runs(names: &BTreeMap<usize, String>) -> Vec<(u32, u32)> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for name in names.values() {
        let next = known.len() as u32;
        let host = *known.entry(name).or_insert(next);
        match runs.last_mut() {
            Some((last, ranks)) if *last == host => *ranks += 1,
            _ => runs.push((host, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_as_numbers_and_runs() {
        let names = ["b", "b", "a", "b", "c", "c"];
        let names = names.iter().map(|name| (*name).to_owned()).enumerate();
        let expected = [(0, 2), (1, 1), (0, 1), (2, 2)];
        assert_eq!(runs(&names.collect()), expected);
    }
}
