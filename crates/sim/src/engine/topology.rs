//! Distances between processors, and latencies of messages.

use locksley_policy::{NestedGroups, Source, View};
use serde::{Deserialize, Serialize};

/// Nested groups of processors of equal sizes. The latency of a message depends on the smallest
/// group that contains both processors.
///
/// ```
/// use locksley_sim::Topology;
///
/// // Hosts of 16 processors, in racks of 64: 5 ticks within a host, 1000 within a rack, and 3000
/// // beyond.
/// let cluster = Topology::nested(&[(16, 5), (64, 1000)], 3000);
/// assert_eq!(cluster.latency(0, 15), 5);
/// assert_eq!(cluster.latency(0, 16), 1000);
/// assert_eq!(cluster.latency(0, 64), 3000);
/// assert_eq!(Topology::flat().latency(0, 64), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Sizes of the groups, the smallest first, and the latencies within.
    groups: Vec<(u32, u32)>,
    beyond: u32,
}

impl Topology {
    /// Creates a topology in which all processors are equally near, and messages take no time.
    pub fn flat() -> Topology {
        Topology::default()
    }

    /// Creates nested groups. Each entry has the size of a group and the latency between two
    /// processors for which it is the smallest common group; the smallest group comes first. Sizes
    /// that are not a multiple of the one before are ignored, as are groups beyond
    /// [`NestedGroups::MOST`].
    pub fn nested(groups: &[(u32, u32)], beyond: u32) -> Topology {
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for &(size, latency) in groups {
            let last = kept.last().map_or(1, |&(size, _)| size);
            if size > last && size.is_multiple_of(last) && kept.len() < NestedGroups::MOST {
                kept.push((size, latency));
            }
        }
        Topology {
            groups: kept,
            beyond,
        }
    }

    /// Creates sockets of `cores` cores: no latency within a socket, `latency` between sockets.
    pub fn sockets(cores: u32, latency: u32) -> Topology {
        Topology::nested(&[(cores, 0)], latency)
    }

    /// Creates a cluster of two levels: hosts of `cores` cores, latency `near` within a host and
    /// `far` across the network.
    pub fn cluster(cores: u32, near: u32, far: u32) -> Topology {
        Topology::nested(&[(cores, near)], far)
    }

    /// Returns the latency of a message in ticks, one way.
    pub fn latency(&self, from: usize, to: usize) -> u32 {
        let group = |&&(size, _): &&(u32, u32)| from / size as usize == to / size as usize;
        self.groups
            .iter()
            .find(group)
            .map_or(self.beyond, |&(_, latency)| latency)
    }

    /// Returns the groups for policies.
    pub(crate) fn nest(&self) -> NestedGroups {
        let sizes: Vec<u32> = self.groups.iter().map(|&(size, _)| size).collect();
        NestedGroups::new(&sizes)
    }

    /// Returns `true` if all latencies are 0.
    pub(crate) fn is_instant(&self) -> bool {
        self.beyond == 0 && self.groups.iter().all(|&(_, latency)| latency == 0)
    }
}

/// View of the simulated processors for policies.
pub(crate) struct Seen<'a, L> {
    pub(crate) count: usize,
    pub(crate) nest: &'a NestedGroups,
    /// Returns the load of a processor, and whether it is idle.
    pub(crate) look: L,
}

impl<L: Fn(usize) -> (usize, bool)> View for Seen<'_, L> {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    fn load(&self, processor: usize) -> usize {
        (self.look)(processor).0
    }

    fn is_idle(&self, processor: usize) -> bool {
        (self.look)(processor).1
    }

    fn rings(&self, _: usize) -> usize {
        self.nest.rings()
    }

    fn neighbour(&self, me: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
        self.nest.neighbour(me, ring, self.count, random)
    }
}
