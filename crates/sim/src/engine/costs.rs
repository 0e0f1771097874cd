//! Costs of operations.

use serde::{Deserialize, Serialize};

use super::dealing::home;
use crate::dag::Computation;

/// Costs of operations, in ticks of simulated time.
///
/// The default is the model of the thesis: a node takes one step, an idle iteration takes one step,
/// and everything else is free. To simulate a real machine, let a tick be a nanosecond.
///
/// ```
/// use locksley_sim::Costs;
///
/// let costs = Costs { node: 50, steal: 100, cas: 20, fence: 10, ..Costs::default() };
/// assert_eq!(costs.probe, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Executing a node. At least 1.
    pub node: u32,
    /// An idle iteration: choosing a victim and looking at its queue. At least 1.
    pub steal: u32,
    /// A compare-and-swap of a thief, of an owner that takes its last item, or of a processor that
    /// accepts an offer. While it lasts, other compare-and-swaps on the same item fail.
    pub cas: u32,
    /// A memory fence that makes stores visible before loads.
    pub fence: u32,
    /// Giving an item away: offering, dealing or sending it.
    pub donation: u32,
    /// Reading the load of a processor, or looking into a buffer of work dealing.
    pub probe: u32,
    /// Creating a task: added to a node that enables two nodes, under `asymmetric` and `split`.
    #[serde(default)]
    pub fork: u32,
    /// Exposing private nodes, under `split`.
    #[serde(default)]
    pub expose: u32,
    /// Cost for the thief of an asymmetric barrier, in which other processors take part only by
    /// being interrupted; under `asymmetric` and `split`.
    #[serde(default)]
    pub barrier: u32,
    /// Cost for each processor that such a barrier interrupts.
    #[serde(default)]
    pub interrupt: u32,
    /// Fetching the data of an item: added to the first node of an item that is executed on a
    /// processor other than the one that it has affinity to.
    #[serde(default)]
    pub miss: u32,
}

impl Costs {
    /// Costs in nanoseconds that were measured on two cores of an AMD EPYC (`docs/DEQUES.md`): a
    /// few for a fork, an exposure and a compare-and-swap, about a hundred for an attempt to steal
    /// (cache misses), ten thousand for a barrier with other threads running. An interrupt is
    /// assumed to take a thousand, which is less than was measured. A node takes 1; what has not
    /// been measured is free.
    pub const MEASURED: Costs = Costs {
        node: 1,
        steal: 100,
        cas: 20,
        fence: 0,
        donation: 0,
        probe: 0,
        fork: 2,
        expose: 20,
        barrier: 10_000,
        interrupt: 1000,
        miss: 0,
    };

    /// Returns the cost of executing a node on processor `p` of `count`.
    #[inline]
    pub(super) fn of_node<C: Computation>(
        &self,
        computation: &C,
        node: C::Node,
        p: usize,
        count: usize,
    ) -> u32 {
        if self.miss == 0 {
            return self.node;
        }
        match computation.affinity(node) {
            Some(key) if home(key, count) != p => self.node.saturating_add(self.miss),
            _ => self.node,
        }
    }
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            node: 1,
            steal: 1,
            cas: 0,
            fence: 0,
            donation: 0,
            probe: 0,
            fork: 0,
            expose: 0,
            barrier: 0,
            interrupt: 0,
            miss: 0,
        }
    }
}
