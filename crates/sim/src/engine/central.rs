//! Greedy scheduling with one queue for all processors that costs nothing: the ideal that other
//! schedulers are compared with.
//!
//! **Theorem** (Graham; thesis, corollary 4.1.1). The makespan is at most T1/P + Tinf (P - 1)/P.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::core::{Core, Scheduler};
use crate::dag::{Computation, Enabled};

/// The ready nodes and the idle processors.
pub(crate) struct Central<N> {
    /// Ready nodes. The newest is taken first: depth first, as in the other schedulers.
    ready: Vec<N>,
    /// Idle processors. The lowest number comes first.
    idle: BinaryHeap<Reverse<u32>>,
}

impl<N> Central<N> {
    pub(crate) fn new() -> Central<N> {
        Central {
            ready: Vec::new(),
            idle: BinaryHeap::new(),
        }
    }
}

impl<C: Computation> Scheduler<C> for Central<C::Node> {
    fn begin(&mut self, core: &mut Core<C>) {
        self.idle.extend((1..core.count() as u32).map(Reverse));
    }

    /// The processor continues with a node that it enabled. A second node goes to the queue, and is
    /// assigned at the end of the tick.
    fn completed(&mut self, core: &mut Core<C>, p: usize, enabled: Enabled<C::Node>, now: u64) {
        match enabled {
            Enabled::One(next) => core.execute(p, next, now),
            Enabled::Two(next, other) => {
                core.execute(p, next, now);
                self.ready.push(other);
            }
            Enabled::Nothing | Enabled::End => self.idle.push(Reverse(p as u32)),
        }
    }

    fn acted(&mut self, _: &mut Core<C>, _: usize, _: u64) {}

    fn tick_ended(&mut self, core: &mut Core<C>, now: u64) {
        while !self.ready.is_empty() {
            let Some(Reverse(p)) = self.idle.pop() else {
                break;
            };
            let Some(node) = self.ready.pop() else {
                break;
            };
            core.execute(p as usize, node, now);
        }
        for &Reverse(p) in &self.idle {
            if core.busy.contains(p as usize) {
                core.rest(p as usize, now);
            }
        }
    }

    /// The queue has no owner; its nodes are reported as those of the first processor.
    fn waiting(&self, p: usize) -> usize {
        if p == 0 { self.ready.len() } else { 0 }
    }
}
