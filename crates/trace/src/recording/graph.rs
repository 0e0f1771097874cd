//! A recording as a graph: a node is what ran between two forks or joins.
//!
//! ```text
//!   program                              recorded                       as a graph
//!
//!   w0; let h = spawn(t); w1;            w0  task(t)  w1  joined(t)          w0
//!   h.join(); w2                         w2                               .'    '.
//!                                                                       w1        t
//!                                                                         '.    .'
//!                                                                            w2
//! ```
//!
//! A node has at most two successors. Where a task of a flow has more, nodes that take no time are
//! inserted.
//!
//! **Tasks on their own**, which were not spawned into a scope, need not be joined by the strand
//! that spawned them, nor at all. Such a task is added to the graph when both its spawn and its
//! join have been added, in either order. So the graph has one end. A task that is not joined
//! within the recording, and may still run when that ends, is not in the graph, but counted.
//!
//! A graph is built once, when a program ends. So these functions are written to be small in every
//! program, not to be fast.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};

use super::strand::{Item, Slot, Strand, TaskGraph};

/// What ran between two forks or joins, and its successors.
#[derive(Clone, Copy, Default)]
pub(crate) struct Node {
    pub(crate) nanoseconds: u64,
    /// If there are two, the second is what was forked or spawned, which thieves may take.
    pub(crate) next: [Option<usize>; 2],
}

/// A strand that is to be added.
struct PendingStrand<'r> {
    strand: &'r Strand,
    first: usize,
    /// Successor of its end.
    to: Option<usize>,
    /// Index of the innermost scope around it.
    inside: Option<usize>,
}

/// A scope around the strands that are added.
struct EnclosingScope {
    scope: usize,
    end: usize,
    outer: Option<usize>,
}

/// Ends of a task on its own: the nodes before its spawn and after its join, as far as they have
/// been added.
#[derive(Default)]
struct TaskEnds {
    spawned: Option<usize>,
    joined: Option<usize>,
}

/// A graph. The root is the first node.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Number of tasks that are not in the graph, because it is not known what waits for them.
    pub(crate) unordered: usize,
}

impl Graph {
    /// Creates the graph of runs, one after the other.
    pub(super) fn of(runs: &[Arc<Strand>]) -> Graph {
        let mut builder = GraphBuilder::default();
        let mut first = builder.add();
        for (number, run) in runs.iter().enumerate() {
            let to = (number + 1 < runs.len()).then(|| builder.add());
            builder.add_run(run, first, to);
            first = to.unwrap_or(first);
        }
        let ends = builder.tasks.values();
        let unjoined = ends.filter(|ends| ends.spawned.is_some() && ends.joined.is_none());
        Graph {
            unordered: builder.unordered + unjoined.count(),
            nodes: builder.nodes,
        }
    }

    /// Returns the number of nodes with two successors.
    pub(crate) fn forks(&self) -> usize {
        let nodes = self.nodes.iter();
        nodes.filter(|node| node.next[1].is_some()).count()
    }
}

/// Hashes addresses. The standard library's hasher has more code, and resists adversaries, which
/// addresses do not need.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write_usize(&mut self, address: usize) {
        // 2^64 over the golden ratio; the hash table uses the upper and the lower bits.
        let spread = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(self.0 as usize ^ usize::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A graph under construction.
#[derive(Default)]
struct GraphBuilder<'r> {
    nodes: Vec<Node>,
    scopes: Vec<EnclosingScope>,
    /// Tasks on their own, by the address of the slot, which the recording keeps alive.
    tasks: HashMap<*const OnceLock<Strand>, TaskEnds, BuildHasherDefault<AddressHasher>>,
    unordered: usize,
    /// A work list, so that deep programs cannot overflow the stack.
    pending: Vec<PendingStrand<'r>>,
}

impl<'r> GraphBuilder<'r> {
    #[inline(never)]
    fn add(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Adds a run from its first node on.
    fn add_run(&mut self, run: &'r Strand, first: usize, to: Option<usize>) {
        self.pending.push(PendingStrand {
            strand: run,
            first,
            to,
            inside: None,
        });
        while let Some(visit) = self.pending.pop() {
            let mut at = visit.first;
            for (nanoseconds, item) in &visit.strand.parts {
                let then = self.add();
                self.nodes[at].nanoseconds = *nanoseconds;
                let next = self.add_item(item, at, then, visit.inside);
                self.nodes[at].next = next;
                at = then;
            }
            self.nodes[at] = Node {
                nanoseconds: visit.strand.rest,
                next: [visit.to, None],
            };
        }
    }

    /// Schedules a strand to be added. Returns its first node.
    #[inline(never)]
    fn enter(&mut self, strand: &'r Strand, to: usize, inside: Option<usize>) -> Option<usize> {
        let first = self.add();
        self.pending.push(PendingStrand {
            strand,
            first,
            to: Some(to),
            inside,
        });
        Some(first)
    }

    /// Returns the successors of the node `at`, which ends with `item`. `then` is the node after
    /// the item.
    fn add_item(
        &mut self,
        item: &'r Item,
        at: usize,
        then: usize,
        inside: Option<usize>,
    ) -> [Option<usize>; 2] {
        match item {
            Item::Fork(both) => both
                .each_ref()
                .map(|strand| self.enter(strand, then, inside)),
            Item::Scope(scope, body) => {
                self.scopes.push(EnclosingScope {
                    scope: *scope,
                    end: then,
                    outer: inside,
                });
                let inside = Some(self.scopes.len() - 1);
                [self.enter(body, then, inside), None]
            }
            Item::ScopeTask(scope, task) => match (self.end_of(*scope, inside), task.get()) {
                (Some(end), Some(task)) => [Some(then), self.enter(task, end, inside)],
                // The scope is not recorded; or the task was cancelled and has not run.
                _ => [Some(then), None],
            },
            Item::Task(slot) => {
                self.ends(slot).spawned = Some(at);
                [Some(then), self.add_task(slot)]
            }
            Item::Joined(slot) => {
                self.ends(slot).joined = Some(then);
                if let Some(spawned) = self.ends(slot).spawned {
                    self.nodes[spawned].next[1] = self.add_task(slot);
                }
                [Some(then), None]
            }
            Item::Tasks(tasks) => [Some(self.add_tasks(tasks, then)), None],
            Item::Unordered => {
                self.unordered += 1;
                [Some(then), None]
            }
        }
    }

    #[inline(never)]
    fn ends(&mut self, slot: &Slot) -> &mut TaskEnds {
        self.tasks.entry(Arc::as_ptr(slot)).or_default()
    }

    /// Schedules a task whose spawn has been added, if its join has been too. Returns its first
    /// node.
    fn add_task(&mut self, slot: &'r Slot) -> Option<usize> {
        let joined = self.ends(slot).joined?;
        self.enter(slot.get()?, joined, None)
    }

    /// Schedules the tasks of a flow. Returns the node that leads to the tasks without
    /// dependencies.
    #[inline(never)]
    fn add_tasks(&mut self, tasks: &'r TaskGraph, then: usize) -> usize {
        let first: Vec<usize> = tasks.strands.iter().map(|_| self.add()).collect();
        let mut next = vec![Vec::new(); first.len()];
        let mut starts = Vec::new();
        for (number, after) in tasks.after.iter().enumerate() {
            if after.is_empty() {
                starts.push(first[number]);
            }
            for &before in after {
                next[before].push(first[number]);
            }
        }
        for (number, strand) in tasks.strands.iter().enumerate() {
            let to = Some(self.lead_to(&next[number]).unwrap_or(then));
            match strand.get() {
                Some(strand) => self.pending.push(PendingStrand {
                    strand,
                    first: first[number],
                    to,
                    inside: None,
                }),
                None => self.nodes[first[number]].next = [to, None],
            }
        }
        self.lead_to(&starts).unwrap_or(then)
    }

    /// Returns a node that leads to all of `nodes`, or `None` if there are none.
    fn lead_to(&mut self, nodes: &[usize]) -> Option<usize> {
        if let &[] | &[_] = nodes {
            return nodes.first().copied();
        }
        let (some, others) = nodes.split_at(nodes.len().div_ceil(2));
        let node = self.add();
        self.nodes[node].next = [self.lead_to(some), self.lead_to(others)];
        Some(node)
    }

    /// Returns the end node of a scope around the current one, searched from the innermost
    /// outwards. Scopes that are open at the same time have different numbers.
    fn end_of(&self, scope: usize, mut inside: Option<usize>) -> Option<usize> {
        while let Some(around) = inside.map(|number| &self.scopes[number]) {
            if around.scope == scope {
                return Some(around.end);
            }
            inside = around.outer;
        }
        None
    }
}
