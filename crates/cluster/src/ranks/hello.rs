//! The first phase: everybody introduces itself to rank 0, which answers with the list of all.
//!
//! ```text
//!   rank r  ── greeting: build, host ──> rank 0      another build: the job ends
//!   rank r  <── roll: everybody's host ── rank 0     when all have come
//!   rank r  ── ping, pong, 8 times ──     rank 0     if there will be a trace
//! ```
//!
//! The fastest of the pongs tells how the clocks differ, up to half of its round trip (Cristian, "Probabilistic clock
//! synchronization").

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use locksley_policy::rank::Trouble;

use super::clock;
use super::error::RankError;
use super::letter::{Letter, Sealed};
use super::peer::{Link, Peer};
use super::post::{Post, converse};
use crate::build::Build;

/// How often a rank asks for the time.
const PINGS: u32 = 8;

/// How long a rank sleeps that waits for an answer: about a round trip.
const NAP: Duration = Duration::from_micros(50);

/// What a rank knows after the first phase.
pub(super) struct Roll {
    /// Everybody's host.
    pub(super) hosts: Vec<String>,
    /// By how much the clock of rank 0 is ahead of this one's, in nanoseconds. 0 if nobody asked.
    pub(super) ahead: i64,
}

/// Says hello, and waits until everybody has. Rank 0 waits for the others for as long as `patience`; the others wait longer, since if
/// one of them is missing it is not rank 0 that is to blame.
pub(super) fn hello(
    peer: &mut dyn Peer,
    post: &mut Post,
    build: Build,
    clocks: bool,
    patience: Duration,
) -> Result<Roll, RankError> {
    let host = peer.host();
    let heard = post.now();
    let patience = if post.me == 0 {
        patience
    } else {
        patience * 3 / 2
    };
    let silent = move |post: &mut Post, rank: usize| {
        let since = post.now().saturating_sub(heard);
        let for_ns = since.as_nanos() as u64;
        (since > patience).then_some(RankError::Trouble {
            rank: post.me,
            host: None,
            trouble: Trouble::Silent { rank, for_ns },
        })
    };
    if post.me == 0 {
        let mut register = Register::new(post.count, host, build);
        return converse(peer, post, |post, link| register.turn(post, link, &silent));
    }
    let mut guest = Guest {
        greeting: Some(Letter::Greeting {
            build: build.0,
            host,
        }),
        hosts: None,
        clocks: if clocks { PINGS } else { 0 },
        asked: None,
        best: (u64::MAX, 0),
    };
    converse(peer, post, |post, link| guest.turn(post, link, &silent))
}

/// Rank 0's part.
struct Register {
    build: Build,
    hosts: Vec<Option<String>>,
}

impl Register {
    fn new(count: usize, host: String, build: Build) -> Register {
        let mut hosts = vec![None; count];
        hosts[0] = Some(host);
        Register { build, hosts }
    }

    fn turn(
        &mut self,
        post: &mut Post,
        link: &mut dyn Link,
        silent: &dyn Fn(&mut Post, usize) -> Option<RankError>,
    ) -> Result<ControlFlow<Roll>, RankError> {
        match post.receive(link)? {
            Some((rank, Letter::Greeting { build, host })) => self.enter(rank, build, host)?,
            Some((from, letter)) => post.put_off(from, letter),
            None => thread::sleep(NAP),
        }
        if let Some(missing) = self.hosts.iter().position(Option::is_none) {
            return match silent(post, missing) {
                Some(error) => Err(error),
                None => Ok(ControlFlow::Continue(())),
            };
        }
        let hosts: Vec<String> = self.hosts.iter().flatten().cloned().collect();
        let roll = Letter::Sealed(Sealed::Roll(hosts.clone()));
        for rank in post.others() {
            post.send(link, rank, &roll);
        }
        Ok(ControlFlow::Break(Roll { hosts, ahead: 0 }))
    }

    fn enter(&mut self, rank: usize, theirs: u64, host: String) -> Result<(), RankError> {
        if theirs != self.build.0 {
            let ours = self.build.0;
            return Err(RankError::Trouble {
                rank: 0,
                host: Some(host),
                trouble: Trouble::OtherBuild { rank, theirs, ours },
            });
        }
        self.hosts[rank] = Some(host);
        Ok(())
    }
}

/// Everybody else's part.
struct Guest {
    /// Still to be sent.
    greeting: Option<Letter>,
    hosts: Option<Vec<String>>,
    /// How often it will still ask for the time.
    clocks: u32,
    /// When it asked.
    asked: Option<u64>,
    /// The shortest round trip, and how far ahead the other clock was.
    best: (u64, i64),
}

impl Guest {
    fn turn(
        &mut self,
        post: &mut Post,
        link: &mut dyn Link,
        silent: &dyn Fn(&mut Post, usize) -> Option<RankError>,
    ) -> Result<ControlFlow<Roll>, RankError> {
        if let Some(greeting) = self.greeting.take() {
            post.send(link, 0, &greeting);
        }
        match post.receive(link)? {
            Some((0, Letter::Sealed(Sealed::Roll(hosts)))) if hosts.len() == post.count => {
                self.hosts = Some(hosts);
            }
            Some((0, Letter::Sealed(Sealed::Roll(hosts)))) => {
                let why = format!("a list of {} hosts for {} ranks", hosts.len(), post.count);
                return Err(RankError::Malformed { rank: 0, why });
            }
            Some((0, Letter::Sealed(Sealed::Pong(theirs)))) => self.compare(theirs),
            Some((from, letter)) => post.put_off(from, letter),
            None => thread::sleep(NAP),
        }
        if let Some(error) = silent(post, 0) {
            return Err(error);
        }
        if self.hosts.is_none() || self.asked.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.clocks > 0 {
            self.clocks -= 1;
            self.asked = Some(clock::wall());
            post.send(link, 0, &Letter::Sealed(Sealed::Ping));
            return Ok(ControlFlow::Continue(()));
        }
        Ok(ControlFlow::Break(Roll {
            hosts: self.hosts.take().unwrap_or_default(),
            ahead: self.best.1,
        }))
    }

    /// The answer has come: it was given about half way.
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
