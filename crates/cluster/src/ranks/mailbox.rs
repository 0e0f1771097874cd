//! A rank's packets, and its behaviour when the job has failed.
//!
//! A job has phases ([handshake](super::handshake), [work](super::engine),
//! [outcome](super::outcome)), each a conversation. Ranks are not in the same phase at the same
//! time, so a packet may arrive early: it is kept until its phase begins.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::{self, Awake};
use super::error::RankError;
use super::peer::{Link, Peer};
use super::wire::{Packet, Sealed};

/// Counts of messages and bytes in each direction.
///
/// ```
/// use locksley_cluster::ranks::Traffic;
///
/// assert_eq!(Traffic::default().bytes_sent, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages sent.
    pub sent: u64,
    /// Bytes in these.
    pub bytes_sent: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes in these.
    pub bytes_received: u64,
}

/// A rank's packets.
pub(super) struct Mailbox {
    pub(super) me: usize,
    pub(super) count: usize,
    pub(super) traffic: Traffic,
    /// Packets for this phase that arrived in earlier ones.
    early: VecDeque<(usize, Packet)>,
    /// Packets for later phases.
    put_off: VecDeque<(usize, Packet)>,
    awake: Awake,
}

impl Mailbox {
    pub(super) fn new(peer: &dyn Peer) -> Mailbox {
        Mailbox {
            me: peer.me(),
            count: peer.count(),
            traffic: Traffic::default(),
            early: VecDeque::new(),
            put_off: VecDeque::new(),
            awake: Awake::new(),
        }
    }

    /// Returns how long this rank has been awake.
    pub(super) fn now(&mut self) -> Duration {
        self.awake.now()
    }

    /// Returns all ranks but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.count).filter(move |&rank| rank != me)
    }

    pub(super) fn send(&mut self, link: &mut dyn Link, to: usize, packet: &Packet) {
        let bytes = packet.encode();
        self.traffic.sent += 1;
        self.traffic.bytes_sent += bytes.len() as u64;
        link.send(to, bytes);
    }

    /// Returns the next packet, if one has arrived. Requests for the time are answered immediately,
    /// in any phase.
    pub(super) fn receive(
        &mut self,
        link: &mut dyn Link,
    ) -> Result<Option<(usize, Packet)>, RankError> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        while let Some((from, bytes)) = link.receive() {
            self.traffic.received += 1;
            self.traffic.bytes_received += bytes.len() as u64;
            match Packet::decode(&bytes) {
                Ok(Packet::Abort(why)) => return Err(RankError::Told { rank: from, why }),
                Ok(Packet::Sealed(Sealed::Ping)) => {
                    self.send(link, from, &Packet::Sealed(Sealed::Pong(clock::wall())));
                }
                Ok(packet) => return Ok(Some((from, packet))),
                Err(malformed) => {
                    let why = malformed.to_string();
                    return Err(RankError::Malformed { rank: from, why });
                }
            }
        }
        Ok(None)
    }

    /// Keeps a packet for a later phase.
    pub(super) fn put_off(&mut self, from: usize, packet: Packet) {
        self.put_off.push_back((from, packet));
    }
}

/// Runs one phase: calls `turn` until it breaks or fails. If it fails, the other ranks are told,
/// and the job is given up.
pub(super) fn run_phase<T>(
    peer: &mut dyn Peer,
    mailbox: &mut Mailbox,
    mut turn: impl FnMut(&mut Mailbox, &mut dyn Link) -> Result<ControlFlow<T>, RankError>,
) -> Result<T, RankError> {
    mailbox.early = std::mem::take(&mut mailbox.put_off);
    let mut done = None;
    let mut failing: Option<Failing> = None;
    peer.drive(&mut |link| {
        if let Some(failing) = &mut failing {
            return failing.turn(mailbox, link);
        }
        match turn(mailbox, link) {
            Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
            Ok(ControlFlow::Break(value)) => {
                done = Some(value);
                ControlFlow::Break(())
            }
            Err(error) => {
                failing = Some(Failing::new(error, mailbox, link));
                ControlFlow::Continue(())
            }
        }
    });
    match (done, failing) {
        (_, Some(failing)) => Err(failing.error),
        (Some(value), None) => Ok(value),
        (None, None) => Err(RankError::Dead),
    }
}

/// Additional delay per rank before a rank prints why the job has failed. If several ranks notice
/// at the same time, one message is enough.
const DELAY_STEP: Duration = Duration::from_millis(10);

/// Longest such delay.
const LONGEST_DELAY: Duration = Duration::from_millis(200);

/// A rank that has detected that the job cannot go on.
struct Failing {
    error: RankError,
    /// When it prints the error.
    at: Duration,
}

impl Failing {
    fn new(error: RankError, mailbox: &mut Mailbox, link: &mut dyn Link) -> Failing {
        if !matches!(error, RankError::Told { .. }) {
            let abort = Packet::Abort(error.to_string());
            for rank in mailbox.others() {
                mailbox.send(link, rank, &abort);
            }
        }
        let wait = LONGEST_DELAY.min(DELAY_STEP * u32::try_from(mailbox.me).unwrap_or(u32::MAX));
        Failing {
            error,
            at: mailbox.now() + wait,
        }
    }

    fn turn(&mut self, mailbox: &mut Mailbox, link: &mut dyn Link) -> ControlFlow<()> {
        if let RankError::Told { .. } = self.error {
            link.give_up(None);
            return ControlFlow::Break(());
        }
        match mailbox.receive(link) {
            Err(RankError::Told { rank, why }) if rank < mailbox.me => {
                self.error = RankError::Told { rank, why };
            }
            Ok(Some(_)) | Err(_) => {}
            Ok(None) if mailbox.now() < self.at => thread::sleep(Duration::from_millis(1)),
            Ok(None) => {
                link.give_up(Some(&self.error.to_string()));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
