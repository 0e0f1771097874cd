//! Ranks that are threads of one process, on a network with configurable faults: for tests, and to
//! try programs out.
//!
//! ```text
//!   rank 0 ── send ──> | due 5 | due 3 |  ── receive, when due ──> rank 1
//!                      '- one channel for each pair of ranks: what was sent first arrives first
//! ```

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use locksley_policy::{Random, Source};

use super::peer::{Link, Peer};

/// The faults of a network between threads.
///
/// ```
/// use locksley_cluster::ranks::Network;
///
/// let slow = Network { delay: std::time::Duration::from_millis(1), ..Network::default() };
/// let peers = slow.connect(&["oak", "oak", "elm"]);
/// assert_eq!(peers.len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Longest delay of a message. The delay is random.
    pub delay: Duration,
    /// Fraction of the messages that is lost.
    pub loss: f64,
    /// A rank, and the number of messages after which it dies.
    pub death: Option<(usize, u64)>,
    /// Seed of delays and losses.
    pub seed: u64,
}

impl Network {
    /// Creates ranks on this network: one for each host name.
    pub fn connect(self, hosts: &[&str]) -> Vec<Threads> {
        let channels = (0..hosts.len() * hosts.len()).map(|_| Mutex::default());
        let channels: Arc<[Mutex<Channel>]> = channels.collect();
        let rank = |(me, host): (usize, &&str)| Threads {
            me,
            count: hosts.len(),
            host: (*host).to_owned(),
            channels: channels.clone(),
            network: self,
            random: Random::new(self.seed, me as u64),
            sent: 0,
            next: 0,
        };
        hosts.iter().enumerate().map(rank).collect()
    }
}

/// Messages from one rank to another.
#[derive(Debug, Default)]
struct Channel {
    packets: VecDeque<(Instant, Vec<u8>)>,
}

/// A rank that is a thread. See [`threads`](super::threads) and [`Network`].
#[derive(Debug)]
pub struct Threads {
    me: usize,
    count: usize,
    host: String,
    /// Channels of all pairs of ranks: messages from `a` to `b` are in number `a * count + b`.
    channels: Arc<[Mutex<Channel>]>,
    network: Network,
    random: Random,
    sent: u64,
    /// Rank whose channel is checked next, so that each has its turn.
    next: usize,
}

impl Threads {
    fn channel(&self, from: usize, to: usize) -> MutexGuard<'_, Channel> {
        let channel = &self.channels[from * self.count + to];
        channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_dead(&self) -> bool {
        let death = self.network.death;
        death.is_some_and(|(rank, after)| rank == self.me && self.sent >= after)
    }
}

impl Peer for Threads {
    fn me(&self) -> usize {
        self.me
    }

    fn count(&self) -> usize {
        self.count
    }

    fn host(&self) -> String {
        self.host.clone()
    }

    fn drive(&mut self, turn: &mut dyn FnMut(&mut dyn Link) -> ControlFlow<()>) {
        while !self.is_dead() && turn(self).is_continue() {}
    }
}

impl Link for Threads {
    fn send(&mut self, to: usize, message: Vec<u8>) {
        if self.is_dead() {
            return;
        }
        self.sent += 1;
        let chance = self.random.below(1 << 30) as f64 / f64::from(1 << 30);
        if chance < self.network.loss {
            return;
        }
        let most = usize::try_from(self.network.delay.as_nanos()).unwrap_or(usize::MAX - 1);
        let delay = Duration::from_nanos(self.random.below(most + 1) as u64);
        let due = Instant::now() + delay;
        let mut channel = self.channel(self.me, to);
        let before = channel.packets.back().map_or(due, |(before, _)| *before);
        channel.packets.push_back((due.max(before), message));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        for _ in 0..self.count {
            let from = self.next;
            self.next = (self.next + 1) % self.count;
            let mut channel = self.channel(from, self.me);
            let due = channel.packets.front().map(|(due, _)| *due);
            if due.is_some_and(|due| due <= Instant::now()) {
                let packet = channel.packets.pop_front();
                return packet.map(|(_, message)| (from, message));
            }
        }
        None
    }

    /// Does nothing: the thread that joins this one gets the error.
    fn give_up(&mut self, _: Option<&str>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_between_two_stay_in_order_however_long_they_take() {
        let network = Network {
            delay: Duration::from_micros(300),
            ..Network::default()
        };
        let mut peers = network.connect(&["a", "b", "c"]);
        for number in 0..100_u8 {
            peers[0].send(2, vec![number]);
            peers[1].send(2, vec![100 + number]);
        }
        let mut seen = [Vec::new(), Vec::new()];
        while seen[0].len() + seen[1].len() < 200 {
            if let Some((from, message)) = peers[2].receive() {
                seen[from].extend(message);
            }
        }
        assert!(seen[0].iter().copied().eq(0..100));
        assert!(seen[1].iter().copied().eq(100..200));
    }

    #[test]
    fn a_dead_rank_says_nothing_and_a_lossy_network_loses() {
        let network = Network {
            loss: 0.5,
            death: Some((0, 150)),
            ..Network::default()
        };
        let mut peers = network.connect(&["a", "b"]);
        for _ in 0..1000 {
            peers[0].send(1, Vec::new());
        }
        peers[0].drive(&mut |_| panic!("the dead have no turn"));
        let arrived = std::iter::from_fn(|| peers[1].receive()).count();
        assert!((40..110).contains(&arrived), "{arrived}");
    }
}
