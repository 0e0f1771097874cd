//! Drawings of a flow: the graph of the tasks that it has forked, and their timeline.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;

use locksley_trace::{Trace, TraceEvent};

use super::frame::Root;
use super::queue::{AccessMode, Core, Entry};
use super::{Flow, flow_here};
use crate::machine::clock::Instant;
use crate::sync::{Mutex, lock};
use crate::task::cancel::CancelToken;

/// [`flow`](super::flow) that also returns a drawing of its tasks: as a graph, and as a
/// [timeline](Drawing::trace). The [guide](crate::guide::dataflow) has an example.
pub fn draw<'env, F, R>(body: F) -> (R, Drawing)
where
    F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| {
        let root = Root {
            token: CancelToken::new(),
            drawing: Some(DrawingBuilder::new()),
        };
        let result = flow_here(worker, &root, body);
        let drawing = root.drawing.expect("it was put there");
        (result, drawing.finish())
    })
}

/// The tasks that were forked while a flow ran, which of them waited for which, and which task
/// forked which.
///
/// Made by [`drawn`](super::draw); displays as a graph for Graphviz (`dot -Tsvg`). A task that has
/// forked tasks is a box around them. An arrow leads from a task to one that has to come after it
/// because of an object.
#[derive(Clone, Debug)]
pub struct Drawing {
    nodes: Vec<Node>,
    /// When the flow began, in microseconds since 1970.
    origin: Option<u64>,
}

/// When and where a task ran: the worker's index, and two times in microseconds.
#[derive(Clone, Copy, Debug)]
struct Ran {
    worker: u32,
    from: f64,
    to: f64,
}

/// Id of the process in a flow's [`trace`](Drawing::trace).
const PROCESS: u32 = 1;

/// Name and category of the arrows in a flow's trace.
const DEPENDENCY: &str = "dependency";

#[derive(Clone, Debug)]
struct Node {
    label: Option<String>,
    /// The task that forked this one. The body, which is the first node, is its own parent.
    parent: usize,
    /// The tasks that it waits for.
    after: Vec<usize>,
    /// `None` for the body, and for tasks that did not run.
    ran: Option<Ran>,
}

impl Node {
    fn new(label: Option<String>, parent: usize, after: Vec<usize>) -> Node {
        Node {
            label,
            parent,
            after,
            ran: None,
        }
    }
}

impl Drawing {
    /// Returns the number of tasks that were forked.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Returns the arrows: pairs of task numbers, of which the second waits for the first. The
    /// tasks of one body are numbered in the order of the program, from 1 on; those of different
    /// bodies in the order in which they were forked.
    #[must_use]
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let numbered = self.nodes.iter().enumerate();
        numbered
            .flat_map(|(number, node)| node.after.iter().map(move |&before| (before, number)))
            .collect()
    }

    /// Returns the drawing as a timeline: which worker ran which task when, with an arrow between
    /// two tasks of which one had to wait for the other. It can be [merged](Trace::merge) with the
    /// pool's trace ([`Pool::take_trace`](crate::Pool::take_trace)).
    ///
    /// ```
    /// let ((), drawing) = locksley::flow::draw(|f| {
    ///     let n = f.value(1);
    ///     f.label("double").fork(n.update(), |n| *n *= 2);
    ///     f.label("show").fork(n.read(), |n| assert_eq!(*n, 2));
    /// });
    /// let json = drawing.trace().to_json();       // for <https://ui.perfetto.dev>
    /// assert!(json.contains("\"double\"") && json.contains("\"dependency\""));
    /// ```
    #[must_use]
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::new();
        trace.source.origin = self.origin;
        trace.name_process(PROCESS, "flow");
        let workers: BTreeSet<u32> = self.runs().map(|(_, _, ran)| ran.worker).collect();
        for worker in workers {
            trace.name_thread(PROCESS, worker, format!("worker {worker}"));
        }
        for (number, _, ran) in self.runs() {
            trace.events.push(TraceEvent::Slice {
                name: self.name(number).into(),
                cat: "work".into(),
                ts: ran.from,
                dur: ran.to - ran.from,
                pid: PROCESS,
                tid: ran.worker,
            });
        }
        for (_, node, ran) in self.runs() {
            let before = node.after.iter().filter_map(|&one| self.nodes[one].ran);
            before.for_each(|before| draw_arrow(&mut trace, before, ran));
        }
        trace
    }

    /// Returns the label of a task, or its number if it has no label.
    fn name(&self, number: usize) -> String {
        let label = self.nodes[number].label.clone();
        label.unwrap_or_else(|| format!("task {number}"))
    }

    /// Returns the tasks that have run, with their numbers.
    fn runs(&self) -> impl Iterator<Item = (usize, &Node, Ran)> {
        let numbered = self.nodes.iter().enumerate();
        numbered.filter_map(|(number, node)| Some((number, node, node.ran?)))
    }

    fn write_inside(&self, f: &mut fmt::Formatter<'_>, children: &[Vec<usize>]) -> fmt::Result {
        // Work list of tasks and ends of boxes (`None`), so that deep nesting cannot overflow the
        // stack.
        let mut left: Vec<Option<usize>> = children[0].iter().rev().map(|&n| Some(n)).collect();
        while let Some(next) = left.pop() {
            let Some(number) = next else {
                writeln!(f, "}}")?;
                continue;
            };
            let name = quoted(&self.name(number));
            if children[number].is_empty() {
                writeln!(f, "n{number} [label={name}];")?;
                continue;
            }
            writeln!(f, "subgraph cluster{number} {{ label={name};")?;
            writeln!(f, "n{number} [label=\"\", shape=point];")?;
            left.push(None);
            left.extend(children[number].iter().rev().map(|&child| Some(child)));
        }
        Ok(())
    }
}

/// Draws an arrow from just inside the end of a task to the beginning of one that waited for it.
fn draw_arrow(trace: &mut Trace, before: Ran, after: Ran) {
    // Both ends are pushed together, so this is unique.
    let id = trace.events.len() as u64;
    trace.events.push(TraceEvent::Left {
        name: DEPENDENCY.into(),
        cat: DEPENDENCY.into(),
        id,
        ts: (before.to - 0.001).max(before.from),
        pid: PROCESS,
        tid: before.worker,
    });
    trace.events.push(TraceEvent::Arrived {
        name: DEPENDENCY.into(),
        cat: DEPENDENCY.into(),
        id,
        ts: after.from,
        pid: PROCESS,
        tid: after.worker,
    });
}

/// Returns a label in quotes.
pub(crate) fn quoted(label: &str) -> String {
    let label = label.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{label}\"")
}

impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent].push(number);
        }
        writeln!(f, "digraph flow {{\ncompound=true; node [shape=box];")?;
        self.write_inside(f, &children)?;
        let boxed = |number: usize| !children[number].is_empty();
        for (before, after) in self.edges() {
            write!(f, "n{before} -> n{after}")?;
            match (boxed(before), boxed(after)) {
                (false, false) => writeln!(f, ";")?,
                (true, false) => writeln!(f, " [ltail=cluster{before}];")?,
                (false, true) => writeln!(f, " [lhead=cluster{after}];")?,
                (true, true) => writeln!(f, " [ltail=cluster{before}, lhead=cluster{after}];")?,
            }
        }
        writeln!(f, "}}")
    }
}

/// The drawing of a flow that runs.
#[derive(Debug)]
pub(crate) struct DrawingBuilder {
    state: Mutex<State>,
    start: Instant,
    origin: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    objects: Histories<(usize, usize)>,
}

/// The accesses to an object that later ones wait for.
#[derive(Debug, Default)]
struct History {
    /// The group of agreeing accesses that the newest access belongs to.
    newest: Vec<usize>,
    mode: Option<AccessMode>,
    /// The previous group.
    older: Vec<usize>,
}

impl History {
    /// Enters an access of a task. Returns the tasks that it waits for.
    fn enter(&mut self, task: usize, mode: AccessMode) -> &[usize] {
        let joins = self.mode.is_some_and(|newest| newest.agrees_with(mode));
        if !joins {
            self.older = std::mem::take(&mut self.newest);
            self.mode = Some(mode);
        }
        self.newest.push(task);
        &self.older
    }
}

/// Computes which tasks each task waits for. Tasks are entered in the order of the program.
#[derive(Debug, Default)]
pub(crate) struct Histories<K>(HashMap<K, History>);

impl<K: Hash + Eq> Histories<K> {
    /// Enters a task with its accesses, whose objects have these keys. Returns the tasks that it
    /// waits for, each once.
    pub(crate) fn enter(
        &mut self,
        task: usize,
        entries: &[Entry],
        key: impl Fn(*const Core) -> K,
    ) -> Vec<usize> {
        let mut after = Vec::new();
        for entry in entries {
            let history = self.0.entry(key(entry.core.as_ptr())).or_default();
            after.extend_from_slice(history.enter(task, entry.mode));
        }
        after.sort_unstable();
        after.dedup();
        after.retain(|&before| before != task);
        after
    }
}

impl DrawingBuilder {
    pub(crate) fn new() -> DrawingBuilder {
        let body = Node::new(None, 0, Vec::new());
        DrawingBuilder {
            state: Mutex::new(State {
                nodes: vec![body],
                objects: Histories::default(),
            }),
            start: Instant::now(),
            origin: crate::machine::clock::wall_clock(),
        }
    }

    fn now(&self) -> f64 {
        self.start.elapsed().as_nanos() as f64 / 1e3
    }

    /// Runs a task, and stores when it ran and on which worker.
    pub(crate) fn timed<R>(&self, number: usize, worker: usize, run: impl FnOnce() -> R) -> R {
        let from = self.now();
        let result = run();
        let ran = Ran {
            worker: u32::try_from(worker).unwrap_or(u32::MAX),
            from,
            to: self.now(),
        };
        lock(&self.state).nodes[number].ran = Some(ran);
        result
    }

    /// Adds a task that `parent` forks. Returns its number.
    pub(crate) fn add(&self, parent: usize, label: Option<String>, entries: &[Entry]) -> usize {
        let mut state = lock(&self.state);
        let number = state.nodes.len();
        let key = |core: *const Core| (parent, core.addr());
        let after = state.objects.enter(number, entries, key);
        state.nodes.push(Node::new(label, parent, after));
        number
    }

    pub(crate) fn finish(self) -> Drawing {
        let nodes = std::mem::take(&mut lock(&self.state).nodes);
        Drawing {
            nodes,
            origin: self.origin,
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/drawing.rs"]
mod tests;
