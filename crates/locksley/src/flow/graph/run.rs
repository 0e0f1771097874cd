//! One run of a graph: which nodes are ready, and what they still need.

use std::collections::VecDeque;
use std::panic;

use locksley_trace::recording::TaskGraph;

use super::super::engine::poll_requests;
use super::super::helpers::{self, Offer, Work};
use super::{Action, Node, Plan};
use crate::observe::record::{self, RecordedTasks};
use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::job::{Payload, catch, discard};

struct Run<'a, 'g> {
    plan: &'a Plan<'g>,
    /// The recording of the nodes, if there is one.
    record: Option<&'a TaskGraph>,
    state: Mutex<State>,
    /// Set if more is ready than was taken. A hint.
    has_more: AtomicBool,
}

struct State {
    ready: VecDeque<usize>,
    /// Number of predecessors that each node still waits for.
    needs: Vec<usize>,
    panic: Option<Payload>,
}

/// The outcome of running a node.
enum NodeResult {
    /// This task is done.
    Done(usize),
    /// This condition has chosen the outcome with this index.
    Chosen(usize, usize),
    Panicked(Payload),
}

impl Plan<'_> {
    /// Runs the graph: each node when its predecessors are done, and independent nodes in parallel.
    /// Returns when no node is left to run.
    ///
    /// If a node panics, its successors do not run; the other nodes do, and then the panic reaches
    /// the caller. A run cannot deadlock, since [`build`](super::Graph::build) refuses cycles of
    /// waiting nodes.
    pub fn run(&self) {
        crate::pool::on_worker(|worker| {
            let recorded = worker.is_recorded().then(|| self.record(worker)).flatten();
            let record = recorded.as_ref().map(|tasks| &*tasks.graph);
            let run = Run::new(self, record);
            helpers::work_at(worker, &run);
            let panic = lock(&run.state).panic.take();
            if let Some(payload) = panic {
                panic::resume_unwind(payload);
            }
        });
    }

    /// Records the nodes until the result is dropped, if each of them runs once. A graph with a
    /// condition is not recorded, because how often its nodes run is not known beforehand.
    #[cold]
    fn record<'w>(&self, worker: &'w Worker) -> Option<RecordedTasks<'w>> {
        let nodes = &self.graph.nodes;
        let is_condition = |node: &Node<'_>| matches!(node.action, Action::Condition(_));
        if nodes.is_empty() || nodes.iter().any(is_condition) {
            record::note_unordered(worker);
            return None;
        }
        let mut after = vec![Vec::new(); nodes.len()];
        for (number, node) in nodes.iter().enumerate() {
            for &next in &node.next {
                after[next].push(number);
            }
        }
        Some(RecordedTasks::new(worker, 0, after))
    }
}

impl<'a, 'g> Run<'a, 'g> {
    fn new(plan: &'a Plan<'g>, record: Option<&'a TaskGraph>) -> Self {
        let needs = plan.graph.nodes.iter().map(|node| node.needs);
        Run {
            plan,
            record,
            state: Mutex::new(State {
                ready: plan.starts.iter().copied().collect(),
                needs: needs.collect(),
                panic: None,
            }),
            has_more: AtomicBool::new(false),
        }
    }

    fn next(&self, state: &mut State) -> Option<usize> {
        let next = state.ready.pop_front();
        self.has_more
            .store(!state.ready.is_empty(), Ordering::Relaxed);
        next
    }

    /// Stores the outcome of a node, and which nodes are ready now.
    fn complete(&self, state: &mut State, result: NodeResult) -> Option<Payload> {
        let nodes = &self.plan.graph.nodes;
        match result {
            NodeResult::Done(node) => {
                for &next in &nodes[node].next {
                    state.needs[next] -= 1;
                    if state.needs[next] == 0 {
                        // For its next run, in a cycle.
                        state.needs[next] = nodes[next].needs;
                        state.ready.push_back(next);
                    }
                }
            }
            NodeResult::Chosen(node, outcome) => state.ready.extend(nodes[node].next.get(outcome)),
            NodeResult::Panicked(payload) if state.panic.is_none() => state.panic = Some(payload),
            NodeResult::Panicked(payload) => return Some(payload),
        }
        None
    }
}

impl Work for Run<'_, '_> {
    type Piece = usize;
    type Outcome = NodeResult;

    fn take(&self, _: &Worker, offer: &Offer<'_>) -> Option<usize> {
        let mut state = lock(&self.state);
        let next = self.next(&mut state);
        if next.is_none() {
            offer.give_back();
        }
        next
    }

    fn run(&self, worker: &Worker, node: usize) -> NodeResult {
        let act = || match &self.plan.graph.nodes[node].action {
            Action::Task(task) => {
                task();
                NodeResult::Done(node)
            }
            Action::Condition(choose) => NodeResult::Chosen(node, choose()),
        };
        let result = catch(|| match self.record {
            None => act(),
            Some(graph) => record::run_task(graph, worker, node, act),
        });
        poll_requests(Some(worker));
        result.unwrap_or_else(NodeResult::Panicked)
    }

    fn exchange(&self, _: &Worker, result: NodeResult) -> Option<usize> {
        let mut state = lock(&self.state);
        let surplus = self.complete(&mut state, result);
        let next = self.next(&mut state);
        drop(state);
        // Its destructor is user code, so the lock is not held.
        surplus.into_iter().for_each(discard);
        next
    }

    fn put_back(&self, node: usize) {
        lock(&self.state).ready.push_front(node);
        self.has_more.store(true, Ordering::Relaxed);
    }

    fn has_more(&self) -> bool {
        self.has_more.load(Ordering::Relaxed)
    }
}
