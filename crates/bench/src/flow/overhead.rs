//! The cost of a task with one worker: tasks that do almost nothing, each of which depends on two
//! others.
//!
//! The tasks are the cells of a square; a cell depends on the one above it and the one to its left.
//! They are compared with tasks spawned in a scope, which have no dependencies, and with a
//! hand-written graph of boxed closures and atomic counters, whose nodes are spawned in a scope
//! when they are ready. Building the graph is included, as it is part of a flow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Scope, flow};

use super::{FLOW, pool};
use crate::harness::{Contender, Sample, WallClock, Workload, WrongResult, verify};

pub(super) const NAME: &str = "flow overhead P=1";
pub(super) const SPAWN: &str = "scope.spawn";
pub(super) const COUNTERS: &str = "counters";

/// Side of the square.
const SIDE: usize = 32;

pub(super) fn workload() -> Workload {
    Workload {
        name: NAME,
        about: "1024 tasks that do next to nothing, each after two others; one operation is one \
                task",
        reference: SPAWN,
        note: None,
        contenders: vec![
            contender(SPAWN, by_spawn),
            contender(FLOW, by_flow),
            contender(COUNTERS, by_counters),
        ],
    }
}

fn contender(name: &'static str, square: fn() -> usize) -> Contender {
    let pool: Pool = pool(1);
    Contender::new(name, move |operations| {
        let squares = operations.div_ceil((SIDE * SIDE) as u64);
        let clock = WallClock::now();
        let ran: usize = pool.install(|| (0..squares).map(|_| square()).sum());
        let elapsed = clock.elapsed();
        let operations = squares * (SIDE * SIDE) as u64;
        verify(name, "tasks", operations, ran as u64)?;
        Ok::<Sample, WrongResult>(Sample {
            elapsed,
            operations,
            note: 0.0,
        })
    })
}

fn by_spawn() -> usize {
    let mut cells = [0_usize; SIDE * SIDE];
    locksley::scope(|s| {
        for cell in &mut cells {
            s.spawn(move |_| *cell += 1);
        }
    });
    cells.iter().sum()
}

fn by_flow() -> usize {
    let mut cells = [0_usize; SIDE * SIDE];
    flow(|f| {
        let cells: Vec<_> = cells.iter_mut().map(|cell| f.object(cell)).collect();
        for row in 0..SIDE {
            for column in 0..SIDE {
                let above = cells[row.saturating_sub(1) * SIDE + column];
                let left = cells[row * SIDE + column.saturating_sub(1)];
                let own = cells[row * SIDE + column];
                match (row, column) {
                    (0, 0) => f.fork(own.update(), |own| *own += 1),
                    (0, _) => f.fork((left.read(), own.update()), |(_, own)| *own += 1),
                    (_, 0) => f.fork((above.read(), own.update()), |(_, own)| *own += 1),
                    _ => f.fork((above.read(), left.read(), own.update()), |(_, _, own)| {
                        *own += 1
                    }),
                }
            }
        }
    });
    cells.iter().sum()
}

/// A node of a graph.
struct Node<'a> {
    task: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
    missing: AtomicUsize,
    after: Vec<usize>,
}

fn by_counters() -> usize {
    let mut cells = [0_usize; SIDE * SIDE];
    let mut nodes: Vec<Node<'_>> = cells
        .iter_mut()
        .map(|cell| Node {
            task: Mutex::new(Some(Box::new(move || *cell += 1))),
            missing: AtomicUsize::new(0),
            after: Vec::new(),
        })
        .collect();
    let mut edge = |from: usize, to: usize| {
        nodes[from].after.push(to);
        *nodes[to].missing.get_mut() += 1;
    };
    for number in 0..SIDE * SIDE {
        if number >= SIDE {
            edge(number - SIDE, number);
        }
        if number % SIDE > 0 {
            edge(number - 1, number);
        }
    }
    locksley::scope(|s| run_node(&nodes, 0, s));
    drop(nodes);
    cells.iter().sum()
}

/// Runs a node, continues with one of the nodes that become ready, and spawns the others.
fn run_node<'s>(nodes: &'s [Node<'_>], mut number: usize, scope: &Scope<'s>) {
    loop {
        let node = &nodes[number];
        let task = node.task.lock().expect("no task panics").take();
        task.expect("a node runs once")();
        let mut ready = node
            .after
            .iter()
            .copied()
            .filter(|&next| nodes[next].missing.fetch_sub(1, Ordering::AcqRel) == 1);
        let Some(next) = ready.next() else { return };
        for other in ready {
            scope.spawn(move |scope| run_node(nodes, other, scope));
        }
        number = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_runs_every_task() {
        for square in [by_spawn, by_flow, by_counters] {
            assert_eq!(square(), SIDE * SIDE);
        }
    }
}
