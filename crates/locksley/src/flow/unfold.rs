//! Pictures of a flow: the graph of the tasks that it has forked, and their timeline.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;

use locksley_trace::{Trace, TraceEvent};

use super::frame::Root;
use super::queue::{Core, Entry, Mode};
use super::{Flow, flow_here};
use crate::machine::clock::Instant;
use crate::sync::{Mutex, lock};
use crate::task::cancel::CancelToken;

/// [`flow`](super::flow) that also returns a picture of its tasks: as a graph, and as a
/// [timeline](Unfolded::trace). The [guide](crate::guide::dataflow) has an example.
pub fn drawn<'env, F, R>(body: F) -> (R, Unfolded)
where
    F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| {
        let root = Root {
            token: CancelToken::new(),
            sketch: Some(Sketch::new()),
        };
        let result = flow_here(worker, &root, body);
        let sketch = root.sketch.expect("it was put there");
        (result, sketch.finish())
    })
}

/// The tasks that were forked while a flow ran, which of them waited for which, and which task
/// forked which.
///
/// Made by [`drawn`](super::drawn); displays as a graph for Graphviz (`dot -Tsvg`). A task that has
/// forked tasks is a box around them. An arrow leads from a task to one that has to come after it
/// because of an object.
#[derive(Clone, Debug)]
pub struct Unfolded {
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

/// Id of the process in a flow's [`trace`](Unfolded::trace).
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

impl Unfolded {
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

    /// Returns the picture as a timeline: which worker ran which task when, with an arrow between
    /// two tasks of which one had to wait for the other. It can be [merged](Trace::merge) with the
    /// pool's trace ([`Pool::take_trace`](crate::Pool::take_trace)).
    ///
    /// ```
    /// let ((), picture) = locksley::flow::drawn(|f| {
    ///     let n = f.value(1);
    ///     f.label("double").fork(n.update(), |n| *n *= 2);
    ///     f.label("show").fork(n.read(), |n| assert_eq!(*n, 2));
    /// });
    /// let json = picture.trace().to_json();       // for <https://ui.perfetto.dev>
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
        for (number, node, ran) in self.runs() {
            let name = node.label.clone();
            trace.events.push(TraceEvent::Slice {
                name: name.unwrap_or_else(|| format!("task {number}")).into(),
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
            let name = Quoted(self.nodes[number].label.as_deref(), number);
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

/// A label in quotes, or a task's number if there is no label.
pub(crate) struct Quoted<'a>(pub(crate) Option<&'a str>, pub(crate) usize);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(label) => write!(
                f,
                "\"{}\"",
                label.replace('\\', "\\\\").replace('"', "\\\"")
            ),
            None => write!(f, "\"task {}\"", self.1),
        }
    }
}

impl fmt::Display for Unfolded {
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

/// The picture while the flow runs.
#[derive(Debug)]
pub(crate) struct Sketch {
    drawing: Mutex<Drawing>,
    start: Instant,
    origin: Option<u64>,
}

#[derive(Debug, Default)]
struct Drawing {
    nodes: Vec<Node>,
    objects: Histories<(usize, usize)>,
}

/// The accesses to an object that later ones wait for.
#[derive(Debug, Default)]
struct History {
    /// The group of agreeing accesses that the newest access belongs to.
    newest: Vec<usize>,
    mode: Option<Mode>,
    /// The previous group.
    older: Vec<usize>,
}

impl History {
    /// Enters an access of a task. Returns the tasks that it waits for.
    fn enter(&mut self, task: usize, mode: Mode) -> &[usize] {
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

impl Sketch {
    pub(crate) fn new() -> Sketch {
        let body = Node::new(None, 0, Vec::new());
        Sketch {
            drawing: Mutex::new(Drawing {
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

    /// Runs a task, and notes when it ran and on which worker.
    pub(crate) fn timed<R>(&self, number: usize, worker: usize, run: impl FnOnce() -> R) -> R {
        let from = self.now();
        let result = run();
        let ran = Ran {
            worker: u32::try_from(worker).unwrap_or(u32::MAX),
            from,
            to: self.now(),
        };
        lock(&self.drawing).nodes[number].ran = Some(ran);
        result
    }

    /// Adds a task that `parent` forks. Returns its number.
    pub(crate) fn note(&self, parent: usize, label: Option<String>, entries: &[Entry]) -> usize {
        let mut drawing = lock(&self.drawing);
        let number = drawing.nodes.len();
        let key = |core: *const Core| (parent, core.addr());
        let after = drawing.objects.enter(number, entries, key);
        drawing.nodes.push(Node::new(label, parent, after));
        number
    }

    pub(crate) fn finish(self) -> Unfolded {
        let nodes = std::mem::take(&mut lock(&self.drawing).nodes);
        Unfolded {
            nodes,
            origin: self.origin,
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/unfold.rs"]
mod tests;
