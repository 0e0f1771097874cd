//! What things cost, in ticks.

use serde::{Deserialize, Serialize};

use super::dealing::home;
use crate::dag::Computation;

/// What things cost, in ticks of simulated time.
///
/// The default is the thesis's model: a node takes one step, an idle iteration takes one step, and
/// all that belongs to them is part of it. To simulate a machine, let a tick be a nanosecond.
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
    /// An idle iteration: choosing a victim and looking at its pile. At least 1.
    pub steal: u32,
    /// A compare-and-swap, of a thief, of an owner that takes its last item, of a processor that
    /// accepts an offer. For as long, another one that aims at the same item fails.
    pub cas: u32,
    /// A memory fence that makes stores visible before loads.
    pub fence: u32,
    /// Giving an item away: an offer, a dealing, a transfer.
    pub donation: u32,
    /// Looking at a processor's load, or into one of the buffers of work dealing.
    pub probe: u32,
    /// Making a task: added to a node that enables two, under `asymmetric` and `split`.
    #[serde(default)]
    pub fork: u32,
    /// Making private nodes public, under `split`.
    #[serde(default)]
    pub expose: u32,
    /// A thief's barrier that other processors need not take part in by themselves, under
    /// `asymmetric` and `split`: what it costs the thief.
    #[serde(default)]
    pub barrier: u32,
    /// What it costs each processor that such a barrier interrupts.
    #[serde(default)]
    pub interrupt: u32,
    /// Executing the first node of an item away from the processor that it has affinity to: added
    /// to the node, for fetching the item's data.
    #[serde(default)]
    pub miss: u32,
}

impl Costs {
    /// What it costs a processor of `count` to execute a node.
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
