//! Hosts: the protocol between processes, on up to ten thousand hosts.
//!
//! Every host runs the state machine that runs on MPI, [`locksley_policy::rank::Rank`]. Its
//! workers, its tasks and the network are simulated by events:
//!
//! ```text
//!    host                                                         network
//!   +------------------------------------------------------+
//!   | worker 0  [ stack of subtrees ]   now and then:      |      a message takes
//!   | worker 1  [ stack of subtrees ]   tasks wanted       |
//!   |     ^ newest          | every second subtree         |       handling  (the sender's process)
//!   |     |                 v                              |     + size / bandwidth
//!   |   waiting tasks            -- oldest half -->  Rank ===>   + latency   (near or far)
//!   |                            <-- what came ---        <===   + handling  (the receiver's, one by one)
//!   +------------------------------------------------------+
//! ```
//!
//! The program is an unbalanced tree search. The tree has the distribution of T1L and T1XL (module
//! `tree`) and any number of nodes: a subtree knows its size, and unfolds only when a thief asks
//! for a part of it. So a run with 10^12 nodes has events only for messages and tasks.
//!
//! Lost time is divided by its cause ([`Lost`]): workers are idle until work has spread to them,
//! then between tasks, then after their last task while others still work; and all are idle until
//! every host has noticed the end.
//!
//! ```
//! use locksley_sim::hosts::{Cluster, simulate};
//!
//! // 20 hosts of 2 workers, each with work for a quarter of a second; 100 us away from each other.
//! let cluster = Cluster {
//!     latency: 100_000,
//!     ..Cluster::new(20, 2, 100_000_000)
//! };
//! let report = simulate(&cluster)?;
//! assert!(report.efficiency() > 0.5 && report.efficiency() < 1.0, "{report:?}");
//! let lost = report.lost;
//! let sum = lost.spreading + lost.between + lost.draining + lost.noticing;
//! assert!((report.efficiency() + sum - 1.0).abs() < 1e-9);
//! # Ok::<(), locksley_sim::hosts::HostsError>(())
//! ```

use locksley_policy::NestedGroups;
use locksley_policy::rank::{Counts, Protocol, ProtocolError};
use serde::Serialize;

use crate::NOMINAL;

mod engine;
mod event_queue;
mod host;
#[cfg(test)]
mod tests;
mod tree;

pub use engine::simulate;

/// Largest number of hosts. Host numbers have 32 bits here and in the policies.
pub const MAX_HOSTS: usize = 1 << 20;

/// Input of a simulation: hosts, a network, a protocol, and a tree to be searched. Times are in
/// nanoseconds.
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
    /// Number of hosts.
    pub hosts: usize,
    /// Number of workers of each host. The thread of the process that handles messages has a core
    /// of its own.
    pub workers: usize,
    /// Number of nodes of the tree.
    pub nodes: u64,
    /// Time per node on a host of nominal speed.
    pub node: u64,
    /// Speeds of the hosts, in units of which [`NOMINAL`] make the nominal speed. The list is
    /// repeated for all hosts; if it is empty, all are nominal.
    pub speeds: Vec<u32>,
    /// Latency of a message between hosts in different racks.
    pub latency: u64,
    /// Latency of a message between hosts in the same rack.
    pub near: u64,
    /// Number of hosts in a rack.
    pub rack: u32,
    /// Time that a message costs its sender and, again, its receiver. Meanwhile they handle no
    /// other messages.
    pub handling: u64,
    /// Bandwidth of a network link in bytes per microsecond. A node takes 28 bytes in a message.
    pub bandwidth: u64,
    /// The protocol.
    pub protocol: Protocol,
    /// Number of waiting tasks on a host below which workers share their stacks.
    pub appetite: usize,
    /// Number of nodes after which a worker checks whether to share its stack.
    pub grain: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Cluster {
    /// Creates hosts on a fast network: 10 us, 1 us in a rack of 32, 10 gigabits per second. A node
    /// takes 100 ns and a message 1 us of CPU time. A host keeps a task for each worker, and lets
    /// twice as many wait, so that a thief gets half.
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

    /// Checks that the cluster can be simulated.
    ///
    /// # Errors
    ///
    /// Returns an error if a number is out of range.
    pub fn check(&self) -> Result<(), HostsError> {
        let cases = [
            ("hosts", self.hosts as u64, 1, MAX_HOSTS as u64),
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

    /// Returns the speed of a host. See [`Cluster::speeds`].
    fn speed(&self, host: usize) -> u64 {
        let own = host.checked_rem(self.speeds.len());
        u64::from(own.map_or(NOMINAL, |place| self.speeds[place]))
    }

    /// Returns the time per node on a host.
    fn node_on(&self, host: usize) -> u64 {
        let nominal = self.node * u64::from(NOMINAL);
        nominal.div_ceil(self.speed(host)).max(1)
    }

    /// Returns the time that the tree takes if no worker is ever idle: the work over the sum of all
    /// speeds.
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

    /// Returns the time that one worker of nominal speed takes for the tree.
    ///
    /// ```
    /// use locksley_sim::hosts::Cluster;
    ///
    /// assert_eq!(Cluster::new(10, 4, 5_000).serial(), 500_000);
    /// ```
    pub fn serial(&self) -> u64 {
        self.nodes * self.node
    }

    fn racks(&self) -> NestedGroups {
        NestedGroups::new(&[self.rack])
    }
}

/// Results of a simulation.
///
/// ```
/// use locksley_sim::hosts::{Cluster, simulate};
///
/// let report = simulate(&Cluster::new(1, 1, 1_000_000))?;
/// assert_eq!(report.makespan, 100_000_000);
/// assert_eq!(report.counts.requests, 0);
/// # Ok::<(), locksley_sim::hosts::HostsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterReport {
    /// Number of cores.
    pub cores: usize,
    /// Time that all cores together spent on work, in nanoseconds.
    pub busy: u64,
    /// Time that one core of nominal speed needs: [`Cluster::serial`].
    pub serial: u64,
    /// Time at which the last host left, knowing that all others know that all work is done.
    pub makespan: u64,
    /// Counters of all ranks together.
    pub counts: Counts,
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes of all messages.
    pub bytes: u64,
    /// Time without work, by cause.
    pub lost: Lost,
}

impl ClusterReport {
    /// Returns the share of the cores' time that was work.
    ///
    /// ```
    /// # use locksley_sim::hosts::{Cluster, simulate};
    /// let report = simulate(&Cluster::new(4, 1, 10_000_000))?;
    /// assert!(report.efficiency() > 0.5 && report.efficiency() <= 1.0);
    /// # Ok::<(), locksley_sim::hosts::HostsError>(())
    /// ```
    pub fn efficiency(&self) -> f64 {
        self.busy as f64 / (self.makespan as f64 * self.cores as f64)
    }

    /// Returns the speed-up over one core of nominal speed.
    ///
    /// ```
    /// # use locksley_sim::hosts::{Cluster, simulate};
    /// let report = simulate(&Cluster::new(4, 1, 10_000_000))?;
    /// assert!(report.speedup() > 2.0 && report.speedup() <= 4.0);
    /// # Ok::<(), locksley_sim::hosts::HostsError>(())
    /// ```
    pub fn speedup(&self) -> f64 {
        self.serial as f64 / self.makespan as f64
    }
}

/// Time without work, as shares of the time of all cores.
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
    /// Before a worker's first task; for workers that never had one, until the end of the last task
    /// of all.
    pub spreading: f64,
    /// Between tasks.
    pub between: f64,
    /// From the end of a worker's last task to the end of the last task of all.
    pub draining: f64,
    /// From the end of the last task until every host knew that all work is done.
    pub noticing: f64,
}

/// Error of a simulation of hosts.
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
    /// A number is out of range.
    #[error("{found} is no possible number for {what}: give one from {least} to {most}")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        found: u64,
        /// Smallest possible value.
        least: u64,
        /// Largest possible value.
        most: u64,
    },
    /// The protocol gave up, as it would on a real cluster, for example because a host was so late
    /// that it was taken for dead.
    #[error(
        "simulated host {host} gave up: {error}. Or the protocol has too little patience for \
         this network"
    )]
    Protocol {
        /// The host that gave up.
        host: usize,
        /// The reason.
        error: ProtocolError,
    },
}
