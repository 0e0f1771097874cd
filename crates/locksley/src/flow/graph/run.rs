//! One run of a graph: which nodes are ready, and what they still need.

use std::collections::VecDeque;
use std::panic;

use super::super::engine::answer;
use super::super::helpers::{self, Offer, Work};
use super::{Action, Plan};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::job::{Payload, catch, discard};

struct Run<'a, 'g> {
    plan: &'a Plan<'g>,
    state: Mutex<State>,
    /// Is more ready than was taken? A hint.
    spare: AtomicBool,
}

struct State {
    ready: VecDeque<usize>,
    /// How many nodes each node still waits for.
    needs: Vec<usize>,
    panic: Option<Payload>,
}

/// What became of a node.
enum End {
    /// All that comes after it may go on.
    Done(usize),
    /// A condition has chosen.
    Chosen(usize, usize),
    Panicked(Payload),
}

impl Plan<'_> {
    /// Runs the graph: each node when those before it are done; nodes that do not depend on each other at the same
    /// time. Returns when nothing is left to run.
    ///
    /// If a node panics, those after it do not run; the others do, and then the panic reaches the caller. Nothing waits for a
    /// node that waits for it, for circles were refused; so as long as something is left, something can run.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let runs = AtomicU32::new(0);
    /// let mut graph = locksley::flow::Graph::new();
    /// for n in 0..10 {
    ///     graph.task(format!("task {n}"), || { runs.fetch_add(1, Ordering::Relaxed); });
    /// }
    /// let plan = graph.build().unwrap();
    /// plan.run();
    /// plan.run();
    /// assert_eq!(runs.load(Ordering::Relaxed), 20);
    /// ```
    pub fn run(&self) {
        crate::pool::on_worker(|worker| {
            let run = Run::new(self);
            helpers::work_at(worker, &run);
            let panic = lock(&run.state).panic.take();
            if let Some(payload) = panic {
                panic::resume_unwind(payload);
            }
        });
    }
}

impl<'a, 'g> Run<'a, 'g> {
    fn new(plan: &'a Plan<'g>) -> Self {
        let needs = plan.graph.nodes.iter().map(|node| node.needs);
        Run {
            plan,
            state: Mutex::new(State {
                ready: plan.starts.iter().copied().collect(),
                needs: needs.collect(),
                panic: None,
            }),
            spare: AtomicBool::new(false),
        }
    }

    fn next(&self, state: &mut State) -> Option<usize> {
        let next = state.ready.pop_front();
        self.spare.store(!state.ready.is_empty(), Ordering::Relaxed);
        next
    }

    /// Notes what became of a node, and what is ready by that.
    fn note(&self, state: &mut State, end: End) {
        let nodes = &self.plan.graph.nodes;
        match end {
            End::Done(node) => {
                for &next in &nodes[node].next {
                    state.needs[next] -= 1;
                    if state.needs[next] == 0 {
                        // It may come round again.
                        state.needs[next] = nodes[next].needs;
                        state.ready.push_back(next);
                    }
                }
            }
            End::Chosen(node, outcome) => state.ready.extend(nodes[node].next.get(outcome)),
            End::Panicked(payload) if state.panic.is_none() => state.panic = Some(payload),
            End::Panicked(payload) => discard(payload),
        }
    }
}

impl Work for Run<'_, '_> {
    type Piece = usize;
    type End = End;

    fn take(&self, _: &Worker, offer: &Offer<'_>) -> Option<usize> {
        let mut state = lock(&self.state);
        let next = self.next(&mut state);
        if next.is_none() {
            offer.give_back();
        }
        next
    }

    fn run(&self, worker: &Worker, node: usize) -> End {
        let result = catch(|| match &self.plan.graph.nodes[node].action {
            Action::Task(task) => {
                task();
                End::Done(node)
            }
            Action::Condition(choose) => End::Chosen(node, choose()),
        });
        answer(Some(worker));
        result.unwrap_or_else(End::Panicked)
    }

    fn exchange(&self, _: &Worker, end: End) -> Option<usize> {
        let mut state = lock(&self.state);
        self.note(&mut state, end);
        self.next(&mut state)
    }

    fn put_back(&self, node: usize) {
        lock(&self.state).ready.push_front(node);
        self.spare.store(true, Ordering::Relaxed);
    }

    fn has_spare(&self) -> bool {
        self.spare.load(Ordering::Relaxed)
    }
}
