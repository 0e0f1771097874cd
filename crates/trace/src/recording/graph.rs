//! A recording as a graph: a node for what ran between two forks or joins.
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
//! A node leads to two others at most. Where a task of a flow leads to more, nodes that take no
//! time are between.
//!
//! **Tasks on their own** need not be joined by the strand that spawned them, nor at all. One is
//! drawn when the drawing has come to its spawn and to its join, in either order. So the graph has
//! one end; and what is not joined within the recording, and may still run when that ends, is not
//! in it, but counted.
//!
//! What is drawn is drawn once, when a program ends: its functions are small in every program, not
//! fast.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};

use super::strand::{Item, Slot, Strand, TaskGraph};

/// What ran between two forks or joins, and what comes then.
#[derive(Clone, Copy, Default)]
pub(crate) struct Node {
    pub(crate) nanoseconds: u64,
    /// If there are two, the second is what was forked or spawned: others may take it.
    pub(crate) next: [Option<usize>; 2],
}

/// A strand that is to be drawn.
struct Visit<'r> {
    strand: &'r Strand,
    first: usize,
    /// What its end leads to.
    to: Option<usize>,
    /// The innermost scope around it, by its number.
    inside: Option<usize>,
}

/// A scope around what is drawn.
struct Around {
    scope: usize,
    end: usize,
    outer: Option<usize>,
}

/// A task on its own: the nodes before its spawn and behind its join, as far as they are drawn.
#[derive(Default)]
struct TaskEnds {
    spawned: Option<usize>,
    joined: Option<usize>,
}

/// The graph. The root is the first node.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// How many tasks are not in it, because it is not known what waits for them.
    pub(crate) unordered: usize,
}

impl Graph {
    /// Draws runs, one behind the other.
    pub(super) fn of(runs: &[Arc<Strand>]) -> Graph {
        let mut drawing = Drawing::default();
        let mut first = drawing.add();
        for (number, run) in runs.iter().enumerate() {
            let to = (number + 1 < runs.len()).then(|| drawing.add());
            drawing.draw(run, first, to);
            first = to.unwrap_or(first);
        }
        let ends = drawing.tasks.values();
        let unjoined = ends.filter(|ends| ends.spawned.is_some() && ends.joined.is_none());
        Graph {
            unordered: drawing.unordered + unjoined.count(),
            nodes: drawing.nodes,
        }
    }

    /// The number of nodes that lead to two others.
    pub(crate) fn forks(&self) -> usize {
        let nodes = self.nodes.iter();
        nodes.filter(|node| node.next[1].is_some()).count()
    }
}

/// Spreads addresses. The standard library's hasher is more code, and proof against an adversary,
/// whom addresses do not have.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write_usize(&mut self, address: usize) {
        // The golden ratio; the table goes by the upper and by the lower bits.
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

/// A graph while it is drawn.
#[derive(Default)]
struct Drawing<'r> {
    nodes: Vec<Node>,
    scopes: Vec<Around>,
    /// By the address of the slot, which the recording keeps.
    tasks: HashMap<*const OnceLock<Strand>, TaskEnds, BuildHasherDefault<AddressHasher>>,
    unordered: usize,
    /// A work list, so that deep programs cannot overflow the stack.
    visits: Vec<Visit<'r>>,
}

impl<'r> Drawing<'r> {
    #[inline(never)]
    fn add(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Draws a run from its first node on.
    fn draw(&mut self, run: &'r Strand, first: usize, to: Option<usize>) {
        self.visits.push(Visit {
            strand: run,
            first,
            to,
            inside: None,
        });
        while let Some(visit) = self.visits.pop() {
            let mut at = visit.first;
            for (nanoseconds, item) in &visit.strand.parts {
                let then = self.add();
                self.nodes[at].nanoseconds = *nanoseconds;
                let next = self.draw_item(item, at, then, visit.inside);
                self.nodes[at].next = next;
                at = then;
            }
            self.nodes[at] = Node {
                nanoseconds: visit.strand.rest,
                next: [visit.to, None],
            };
        }
    }

    /// Has a strand drawn. Returns its first node.
    #[inline(never)]
    fn enter(&mut self, strand: &'r Strand, to: usize, inside: Option<usize>) -> Option<usize> {
        let first = self.add();
        self.visits.push(Visit {
            strand,
            first,
            to: Some(to),
            inside,
        });
        Some(first)
    }

    /// Returns what the node `at`, at whose end is an item, leads to. `then` is what comes after
    /// it.
    fn draw_item(
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
                self.scopes.push(Around {
                    scope: *scope,
                    end: then,
                    outer: inside,
                });
                let inside = Some(self.scopes.len() - 1);
                [self.enter(body, then, inside), None]
            }
            Item::ScopeTask(scope, task) => match (self.end_of(*scope, inside), task.get()) {
                (Some(end), Some(task)) => [Some(then), self.enter(task, end, inside)],
                // Into a scope that is not recorded; or cancelled, and nothing was run.
                _ => [Some(then), None],
            },
            Item::Task(slot) => {
                self.ends(slot).spawned = Some(at);
                [Some(then), self.draw_task(slot)]
            }
            Item::Joined(slot) => {
                self.ends(slot).joined = Some(then);
                if let Some(spawned) = self.ends(slot).spawned {
                    self.nodes[spawned].next[1] = self.draw_task(slot);
                }
                [Some(then), None]
            }
            Item::Tasks(tasks) => [Some(self.draw_tasks(tasks, then)), None],
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

    /// Has a task drawn whose spawn is drawn, if its join is. Returns its first node.
    fn draw_task(&mut self, slot: &'r Slot) -> Option<usize> {
        let joined = self.ends(slot).joined?;
        self.enter(slot.get()?, joined, None)
    }

    /// Has the tasks of a flow drawn. Returns the node that leads to those that wait for none.
    #[inline(never)]
    fn draw_tasks(&mut self, tasks: &'r TaskGraph, then: usize) -> usize {
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
                Some(strand) => self.visits.push(Visit {
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

    /// Returns a node that leads to all of these, if there are any.
    fn lead_to(&mut self, nodes: &[usize]) -> Option<usize> {
        if let &[] | &[_] = nodes {
            return nodes.first().copied();
        }
        let (some, others) = nodes.split_at(nodes.len().div_ceil(2));
        let node = self.add();
        self.nodes[node].next = [self.lead_to(some), self.lead_to(others)];
        Some(node)
    }

    /// The end of a scope that is around, from the innermost on. Two that are around at the same
    /// time do not lie in the same place.
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
