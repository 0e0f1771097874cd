//! Lineage: which task spawned which, and so which results and tasks are settled.
//!
//! A task that panics is run again from its start, and so is one whose process dies. It then spawns
//! the same tasks again. So while a task runs, the tasks that it has spawned belong to it: the
//! result of a descendant waits in the task's [`Node`], and a waiting descendant stays in this
//! process. When the task ends, all of this passes to its own nearest running ancestor or, if there
//! is none, is *settled*.
//!
//! ```text
//!   A ended ── B runs ── C ended: its result waits in B
//!      │         └───── D waits:  it belongs to B, and stays
//!      ├────── E waits:           settled, and may leave
//!      └────── F panicked:        settled, and may be tried elsewhere; what F had spawned is void
//! ```
//!
//! **Invariant.** Combine the settled results that were taken, those that were not, and the results
//! of all settled tasks that wait, run, or failed, each run from its start: this is the result of
//! the tasks that were brought here. A cut (`shared/cut.rs`) takes the settled results, the settled
//! tasks that wait and those that failed, and lists those that run: so the holder of the cut does
//! not need this process.
//!
//! A node that has ended points to one that was running at that time. So a chain of nodes is no
//! longer than the number of tasks that ran at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::shared::lock;
use crate::parcel::size;
use crate::reduce::Reduce;

/// A task that runs or has run, and whose descendants may still be here.
pub(crate) struct Node<R> {
    /// Whether it was brought from outside, rather than spawned here.
    first: bool,
    /// Whether it has run out of time.
    late: AtomicBool,
    /// Accessed only while the line is locked.
    state: Mutex<State<R>>,
}

impl<R> Node<R> {
    fn new(first: bool, phase: Phase, parent: Option<Arc<Node<R>>>) -> Node<R> {
        let parts = ResultParts::default();
        let state = State {
            phase,
            parent,
            parts,
        };
        Node {
            first,
            late: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// Returns `true` if the task has run out of time.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed) // [L4]
    }
}

struct State<R> {
    phase: Phase,
    /// Nearest ancestor that was running when this was written.
    parent: Option<Arc<Node<R>>>,
    /// Results of descendants that have ended, while the task itself runs.
    parts: ResultParts<R>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    Ended,
    Failed,
}

/// The task to which another one belongs.
enum Ancestor<R> {
    /// None: no ancestor is running.
    Settled,
    /// The nearest running ancestor.
    Of(Arc<Node<R>>),
    /// An ancestor has failed, and will spawn it again.
    Void,
}

fn nearest<R>(mut parent: Option<Arc<Node<R>>>) -> Ancestor<R> {
    let mut nearest = None;
    while let Some(node) = parent {
        let (phase, next) = {
            let state = lock(&node.state);
            (state.phase, state.parent.clone())
        };
        match phase {
            Phase::Failed => return Ancestor::Void,
            Phase::Ended => {}
            Phase::Running => nearest = nearest.or(Some(node)),
        }
        parent = next;
    }
    nearest.map_or(Ancestor::Settled, Ancestor::Of)
}

/// Whether a waiting task may leave the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    Settled,
    Owned,
    Void,
}

pub(super) fn ownership<R>(parent: &Option<Arc<Node<R>>>) -> Ownership {
    match nearest(parent.clone()) {
        Ancestor::Settled => Ownership::Settled,
        Ancestor::Of(_) => Ownership::Owned,
        Ancestor::Void => Ownership::Void,
    }
}

/// Results, combined into as few parts as the size limit of a result allows.
pub(crate) struct ResultParts<R> {
    /// ResultParts, each with an upper bound on its size.
    parts: Vec<(R, usize)>,
    /// Number of tasks that returned them.
    tasks: u64,
}

impl<R> Default for ResultParts<R> {
    fn default() -> ResultParts<R> {
        ResultParts {
            parts: Vec::new(),
            tasks: 0,
        }
    }
}

impl<R: Reduce> ResultParts<R> {
    /// Adds a result of `bytes` bytes. Results that do not grow when they are combined are measured
    /// again only when the sum of the sizes exceeds the limit.
    pub(crate) fn add(&mut self, result: R, bytes: usize, limit: usize) {
        if let Some((last, bound)) = self.parts.last_mut() {
            if *bound + bytes > limit {
                *bound = size(last);
            }
            if *bound + bytes <= limit {
                last.combine(result);
                *bound += bytes;
                return;
            }
        }
        self.parts.push((result, bytes));
    }

    pub(crate) fn into_results(self) -> impl Iterator<Item = R> {
        self.parts.into_iter().map(|(part, _)| part)
    }

    fn append(&mut self, other: ResultParts<R>, limit: usize) {
        self.tasks += other.tasks;
        for (result, bytes) in other.parts {
            self.add(result, bytes, limit);
        }
    }
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// Whether it was brought from outside, rather than spawned here.
    pub first: bool,
    /// Why it failed.
    pub reason: String,
    /// Whether it would fail in any process.
    pub hopeless: bool,
}

struct Running<R> {
    node: Arc<Node<R>>,
    /// The task, encoded; `None` while it is being encoded.
    task: Option<Vec<u8>>,
    /// Deadline and length of its time limit.
    limit: Option<(Instant, Duration)>,
}

/// The lineage of the tasks of a process.
pub(super) struct Lineage<R> {
    /// Largest result, in bytes, that may leave in one part.
    limit: usize,
    settled: ResultParts<R>,
    running: BTreeMap<u64, Running<R>>,
    failed: Vec<(Arc<Node<R>>, Failed)>,
    /// Tasks that have run out of time and have not returned.
    stuck: BTreeSet<u64>,
}

/// The contents of a cut, except waiting tasks.
pub(super) struct SettledWork<R> {
    pub(super) results: Vec<R>,
    pub(super) tasks: u64,
    pub(super) failed: Vec<Failed>,
    /// Settled running tasks, encoded.
    pub(super) kept: Vec<Vec<u8>>,
}

impl<R: Reduce> Lineage<R> {
    pub(super) fn new(limit: usize) -> Lineage<R> {
        Lineage {
            limit,
            settled: ResultParts::default(),
            running: BTreeMap::new(),
            failed: Vec::new(),
            stuck: BTreeSet::new(),
        }
    }

    /// Largest result, in bytes, that may leave in one part.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Begins a task. Returns `None` if it is void.
    pub(super) fn begin(
        &mut self,
        number: u64,
        parent: Option<Arc<Node<R>>>,
        timeout: Option<Duration>,
    ) -> Option<Arc<Node<R>>> {
        let first = parent.is_none();
        let parent = match nearest(parent) {
            Ancestor::Settled => None,
            Ancestor::Of(node) => Some(node),
            Ancestor::Void => return None,
        };
        let node = Arc::new(Node::new(first, Phase::Running, parent));
        let limit = timeout.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        let running = Running {
            node: node.clone(),
            task: None,
            limit,
        };
        self.running.insert(number, running);
        Some(node)
    }

    /// Sets the encoded form of a task that has begun.
    pub(super) fn describe(&mut self, number: u64, task: Vec<u8>) {
        if let Some(running) = self.running.get_mut(&number) {
            running.task = Some(task);
        }
    }

    /// Ends a task, with a result of a given size unless that goes to a slot. Returns `false` if
    /// the task is void.
    pub(super) fn end(&mut self, number: u64, result: Option<(R, usize)>) -> bool {
        let Some(Running { node, .. }) = self.running.remove(&number) else {
            self.stuck.remove(&number);
            return false;
        };
        let (parent, mut parts) = {
            let mut state = lock(&node.state);
            state.phase = Phase::Ended;
            (state.parent.take(), std::mem::take(&mut state.parts))
        };
        parts.tasks += 1;
        match nearest(parent) {
            Ancestor::Settled => {
                self.settled.append(parts, self.limit);
                if let Some((result, bytes)) = result {
                    self.settled.add(result, bytes, self.limit);
                }
            }
            Ancestor::Of(ancestor) => {
                let mut state = lock(&ancestor.state);
                state.parts.append(parts, self.limit);
                if let Some((result, bytes)) = result {
                    state.parts.add(result, bytes, self.limit);
                }
                drop(state);
                lock(&node.state).parent = Some(ancestor);
            }
            Ancestor::Void => {
                lock(&node.state).phase = Phase::Failed;
                return false;
            }
        }
        true
    }

    /// Marks a task as failed. The tasks that it has spawned are void.
    pub(super) fn fail(&mut self, number: u64, reason: String, hopeless: bool) {
        let Some(Running { node, task, .. }) = self.running.remove(&number) else {
            self.stuck.remove(&number);
            return;
        };
        let mut state = lock(&node.state);
        state.phase = Phase::Failed;
        state.parts = ResultParts::default();
        drop(state);
        let failed = Failed {
            task: task.unwrap_or_default(),
            first: node.first,
            reason,
            hopeless,
        };
        self.failed.push((node, failed));
    }

    /// Records a failure for bytes that were brought here as a task but are not one.
    pub(super) fn reject(&mut self, task: Vec<u8>, reason: String, hopeless: bool) {
        let node = Arc::new(Node::new(true, Phase::Failed, None));
        let failed = Failed {
            task,
            first: true,
            reason,
            hopeless,
        };
        self.failed.push((node, failed));
    }

    /// Marks tasks as failed whose time is over. They continue to run, and `is_late` tells them.
    pub(super) fn expire(&mut self, now: Instant) {
        let over = |running: &Running<R>| Some(running.limit.filter(|(end, _)| *end <= now)?.1);
        // The time limit does not apply while a task is being encoded: it has not begun its work.
        let described = self.running.iter().filter(|(_, task)| task.task.is_some());
        let late = described.filter_map(|(number, running)| Some((*number, over(running)?)));
        for (number, limit) in late.collect::<Vec<_>>() {
            if let Some(running) = self.running.get(&number) {
                running.node.late.store(true, Ordering::Relaxed); // [L4]
            }
            self.fail(number, format!("it took longer than {limit:?}"), false);
            self.stuck.insert(number);
        }
    }

    /// Returns `true` if a failed task can be tried elsewhere, or if all tasks have ended except
    /// late ones that do not return and so keep the process from being passive.
    pub(super) fn has_failed(&self) -> bool {
        let of = |node: &Arc<Node<R>>| ownership(&lock(&node.state).parent.clone());
        let mut failed = self.failed.iter().map(|(node, _)| of(node));
        let runs = |running: &Running<R>| of(&running.node) != Ownership::Void;
        failed.any(|ownership| ownership == Ownership::Settled)
            || (!self.stuck.is_empty() && !self.running.values().any(runs))
    }

    /// Returns `true` if there are settled results.
    pub(super) fn has_results(&self) -> bool {
        self.settled.tasks > 0
    }

    /// Returns the number of tasks that have run out of time and have not returned.
    pub(super) fn stuck(&self) -> usize {
        self.stuck.len()
    }

    /// Returns the number of running tasks.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns `true` if the settled results exceed one part.
    pub(super) fn is_full(&self) -> bool {
        self.settled.parts.len() > 1
    }

    /// Takes the settled results and failures, and lists the settled running tasks. Returns `None`
    /// while one of them is being encoded.
    pub(super) fn take_settled(&mut self) -> Option<SettledWork<R>> {
        let mut kept = Vec::new();
        for running in self.running.values() {
            let parent = lock(&running.node.state).parent.clone();
            if ownership(&parent) == Ownership::Settled {
                kept.push(running.task.clone()?);
            }
        }
        let mut failed = Vec::new();
        self.failed.retain(|(node, why)| {
            let parent = lock(&node.state).parent.clone();
            match ownership(&parent) {
                Ownership::Settled => failed.push(why.clone()),
                Ownership::Owned => return true,
                Ownership::Void => {}
            }
            false
        });
        let settled = std::mem::take(&mut self.settled);
        Some(SettledWork {
            tasks: settled.tasks,
            results: settled.into_results().collect(),
            failed,
            kept,
        })
    }
}

#[cfg(test)]
mod tests;
