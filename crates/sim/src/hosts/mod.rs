//! Hosts: the protocol between processes, to ten thousand of them.
//!
//! Every host runs the very state machine that runs on MPI, [`locksley_policy::rank::Rank`]; its
//! workers, its tasks and the network around it are simulated, in events:
//!
//! ```text
//!    host                                                         network
//!   +------------------------------------------------------+
//!   | worker 0  [ stack of subtrees ]   now and then:      |      a message takes
//!   | worker 1  [ stack of subtrees ]   tasks wanted       |
//!   |     ^ newest          | every second subtree         |       handling  (the sender's process)
//!   |     |                 v                              |     + size / bandwidth
//!   |   line of tasks that wait  -- oldest half -->  Rank ===>   + latency   (near or far)
//!   |                            <-- what came ---        <===   + handling  (the receiver's, one by one)
//!   +------------------------------------------------------+
//! ```
//!
//! The program is an unbalanced tree search whose tree has the law of T1L and T1XL (module `tree`),
//! and as many nodes as one likes: a subtree knows its size and unfolds where a thief asks for a
//! part of it. So a run with 10^12 nodes has events only for messages and tasks.
//!
//! What is lost, and why, is told apart ([`Lost`]): workers are idle until work has spread to them,
//! then between tasks, then after their last task while others still work; and all are idle until
//! the end has been noticed.
//!
//! ```
//! use locksley_sim::hosts::{Cluster, simulate};
//!
//! // 20 hosts of 2 workers, each with work for a quarter of a second; 100 us away from each other.
//! let cluster = Cluster {
//!     latency: 100_000,
//!     ..Cluster::new(20, 2, 100_000_000)
//! };
//! let outcome = simulate(&cluster)?;
//! assert!(outcome.efficiency() > 0.5 && outcome.efficiency() < 1.0, "{outcome:?}");
//! let lost = outcome.lost;
//! let sum = lost.spreading + lost.between + lost.draining + lost.noticing;
//! assert!((outcome.efficiency() + sum - 1.0).abs() < 1e-9);
//! # Ok::<(), locksley_sim::hosts::HostsError>(())
//! ```

use locksley_policy::Nest;
use locksley_policy::rank::{Counts, Protocol, Trouble};
use serde::Serialize;

use crate::NOMINAL;

mod engine;
mod event_queue;
mod host;
#[cfg(test)]
mod tests;
mod tree;

pub use engine::simulate;

/// The most hosts: a host's number is a word of 32 bits, and so are those of the policies.
pub const MOST_HOSTS: usize = 1 << 20;

/// Hosts, a network, a protocol, and a tree to be searched. Times are in nanoseconds.
///
/// ```
/// use locksley_sim::hosts::Cluster;
///
/// let cluster = Cluster { latency: 1_000_000, ..Cluster::new(1000, 4, 1_600_000_000) };
/// assert!(cluster.check().is_ok());
/// assert!(Cluster::new(0, 4, 1).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// How many hosts.
    pub hosts: usize,
    /// How many workers each has. The process's own thread for messages is another core's.
    pub workers: usize,
    /// How many nodes the tree has.
    pub nodes: u64,
    /// What a node takes on a host of nominal speed.
    pub node: u64,
    /// How fast hosts are, in parts of [`NOMINAL`]: the list is repeated for all
    /// hosts, and an empty one makes all nominal.
    pub speeds: Vec<u32>,
    /// How long a message is under way between hosts that are not near each other.
    pub latency: u64,
    /// How long if they are: in the same rack.
    pub near: u64,
    /// How many hosts are in a rack.
    pub rack: u32,
    /// What a message costs its sender and, again, its receiver. Meanwhile they do nothing for
    /// other messages.
    pub handling: u64,
    /// How many bytes a network link carries in a microsecond. A node on its way takes 28 bytes.
    pub bandwidth: u64,
    /// The protocol.
    pub protocol: Protocol,
    /// Workers share their stacks while fewer tasks wait on a host.
    pub appetite: usize,
    /// A worker looks after so many nodes whether to share its stack.
    pub grain: u64,
    /// Where all random numbers come from.
    pub seed: u64,
}

impl Cluster {
    /// Hosts on a fast network: 10 us, 1 us in a rack of 32, 10 gigabits per second. A node takes
    /// 100 ns and a message 1 us of CPU time. A host keeps a task for each worker, and twice as
    /// many wait, so that a thief gets half.
    pub fn new(hosts: usize, workers: usize, nodes: u64) -> Cluster {
        let usual = Protocol::default();
        let protocol = Protocol {
            floor: usual.floor.min(workers),
            ..usual
        };
        Cluster {
            hosts,
            workers,
            nodes,
            node: 100,
            speeds: Vec::new(),
            latency: 10_000,
            near: 1_000,
            rack: 32,
            handling: 1_000,
            bandwidth: 1_250,
            protocol,
            appetite: 2 * protocol.floor.max(workers),
            grain: 512,
            seed: 1,
        }
    }

    /// Returns an error if it cannot be simulated.
    ///
    /// # Errors
    ///
    /// If a number makes no sense.
    pub fn check(&self) -> Result<(), HostsError> {
        let cases = [
            ("hosts", self.hosts as u64, 1, MOST_HOSTS as u64),
            ("workers", self.workers as u64, 1, 1024),
            ("nodes", self.nodes, 1, 1 << 50),
            ("node", self.node, 1, 1_000_000),
            ("latency", self.latency, 0, 1_000_000_000),
            ("near", self.near, 0, self.latency),
            ("grain", self.grain, 1, 1 << 40),
            ("rack", u64::from(self.rack), 1, 1 << 30),
            ("handling", self.handling, 0, 1_000_000_000),
            ("bandwidth", self.bandwidth, 1, u64::MAX),
        ];
        let speeds = self
            .speeds
            .iter()
            .map(|&speed| ("speed", u64::from(speed), 1, 1_000_000));
        for (what, found, least, most) in cases.into_iter().chain(speeds) {
            if !(least..=most).contains(&found) {
                return Err(HostsError::Number {
                    what,
                    found,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    /// How fast a host is, in parts of [`NOMINAL`].
    fn speed(&self, host: usize) -> u64 {
        let own = host.checked_rem(self.speeds.len());
        u64::from(own.map_or(NOMINAL, |place| self.speeds[place]))
    }

    /// What a node takes on a host.
    fn node_on(&self, host: usize) -> u64 {
        let nominal = self.node * u64::from(NOMINAL);
        nominal.div_ceil(self.speed(host)).max(1)
    }

    /// How long the tree takes if no worker is ever idle: the work over the sum of all speeds.
    ///
    /// ```
    /// use locksley_sim::hosts::{Cluster, simulate};
    ///
    /// // Every second host is half as fast.
    /// let cluster = Cluster { speeds: vec![1000, 500], ..Cluster::new(8, 2, 30_000_000) };
    /// assert_eq!(cluster.ideal(), 30_000_000.0 * 100.0 / 12.0);
    /// assert!(simulate(&cluster)?.makespan as f64 > cluster.ideal());
    /// # Ok::<(), locksley_sim::hosts::HostsError>(())
    /// ```
    pub fn ideal(&self) -> f64 {
        let node = |host| self.node as f64 / self.node_on(host) as f64;
        let speed: f64 = (0..self.hosts).map(node).sum();
        self.serial() as f64 / (speed * self.workers as f64)
    }

    /// How long one worker of nominal speed would take for the tree.
    ///
    /// ```
    /// use locksley_sim::hosts::Cluster;
    ///
    /// assert_eq!(Cluster::new(10, 4, 5_000).serial(), 500_000);
    /// ```
    pub fn serial(&self) -> u64 {
        self.nodes * self.node
    }

    fn racks(&self) -> Nest {
        Nest::new(&[self.rack])
    }
}

/// What a simulation has shown.
///
/// ```
/// use locksley_sim::hosts::{Cluster, simulate};
///
/// let outcome = simulate(&Cluster::new(1, 1, 1_000_000))?;
/// assert_eq!(outcome.makespan, 100_000_000);
/// assert_eq!(outcome.counts.requests, 0);
/// # Ok::<(), locksley_sim::hosts::HostsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// How many cores there were.
    pub cores: usize,
    /// How long they worked, all together, in nanoseconds.
    pub busy: u64,
    /// How long one core of nominal speed would have worked: [`Cluster::serial`].
    pub serial: u64,
    /// When the last host knew that all others knew that all work is done.
    pub makespan: u64,
    /// What the ranks did, all together.
    pub counts: Counts,
    /// How many messages were sent.
    pub messages: u64,
    /// How many bytes of tasks were sent.
    pub bytes: u64,
    /// Where the rest of the time went.
    pub lost: Lost,
}

impl Outcome {
    /// Which part of the cores' time was work.
    ///
    /// ```
    /// # use locksley_sim::hosts::{Cluster, simulate};
    /// let outcome = simulate(&Cluster::new(4, 1, 10_000_000))?;
    /// assert!(outcome.efficiency() > 0.5 && outcome.efficiency() <= 1.0);
    /// # Ok::<(), locksley_sim::hosts::HostsError>(())
    /// ```
    pub fn efficiency(&self) -> f64 {
        self.busy as f64 / (self.makespan as f64 * self.cores as f64)
    }

    /// How many times as fast as one core of nominal speed it was.
    ///
    /// ```
    /// # use locksley_sim::hosts::{Cluster, simulate};
    /// let outcome = simulate(&Cluster::new(4, 1, 10_000_000))?;
    /// assert!(outcome.speedup() > 2.0 && outcome.speedup() <= 4.0);
    /// # Ok::<(), locksley_sim::hosts::HostsError>(())
    /// ```
    pub fn speedup(&self) -> f64 {
        self.serial as f64 / self.makespan as f64
    }
}

/// Time without work, in parts of all cores' time.
///
/// ```
/// use locksley_sim::hosts::{Cluster, simulate};
///
/// // A tree that is too small for so many hosts: work has hardly spread when it is done.
/// let lost = simulate(&Cluster::new(1000, 1, 1_000_000))?.lost;
/// assert!(lost.spreading + lost.draining > 0.5, "{lost:?}");
/// # Ok::<(), locksley_sim::hosts::HostsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lost {
    /// Before a worker's first task; all of the time of those who never had one.
    pub spreading: f64,
    /// Between tasks.
    pub between: f64,
    /// From a worker's last task to the last task of all.
    pub draining: f64,
    /// From then on, until every host knew.
    pub noticing: f64,
}

/// Why hosts cannot be simulated.
///
/// ```
/// use locksley_sim::hosts::{Cluster, simulate};
///
/// let error = simulate(&Cluster::new(5, 0, 1)).unwrap_err();
/// assert_eq!(error.to_string(), "0 is no possible number for workers: give one from 1 to 1024");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostsError {
    /// A number that makes no sense.
    #[error("{found} is no possible number for {what}: give one from {least} to {most}")]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        found: u64,
        /// The least that is possible.
        least: u64,
        /// The most that is possible.
        most: u64,
    },
    /// The protocol gave up, as it would for real: a host was so late that it was taken for dead,
    /// say.
    #[error(
        "simulated host {host} gave up: {trouble}. Or the protocol has too little patience for \
         this network"
    )]
    Trouble {
        /// Who did.
        host: usize,
        /// Why.
        trouble: Trouble,
    },
}
