//! The graph that a flow unfolds, as a picture.

use std::collections::HashMap;
use std::fmt;

use super::queue::{Core, Entry, Mode};
use crate::sync::{Mutex, lock};

/// What was forked while a flow ran: its tasks, which of them waited for which, and who forked whom.
///
/// Made by [`drawn`](super::drawn); prints as a graph for Graphviz (`dot -Tsvg`). A task that has forked tasks is a box
/// around them. An arrow leads from a task to one that has to come after it because of an object.
///
/// ```
/// use locksley::flow;
///
/// let ((), picture) = flow::drawn(|f| {
///     let a = f.value(1);
///     f.label("first").fork(a.write(), |mut a| a.set(2));
///     f.label("second").fork(a.read(), |_| ());
///     f.label("third").fork(a.read(), |_| ());
/// });
/// assert_eq!(picture.tasks(), 3);
/// assert_eq!(picture.edges(), [(1, 2), (1, 3)]);
/// assert!(picture.to_string().starts_with("digraph flow {"));
/// ```
#[derive(Clone, Debug)]
pub struct Unfolded {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    label: Option<String>,
    /// Who has forked it. The body, which is the first node, is its own.
    parent: usize,
    /// What it waits for.
    after: Vec<usize>,
}

impl Unfolded {
    /// How many tasks were forked.
    pub fn tasks(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Which tasks come after which: pairs of numbers. The tasks of one body are numbered in the order of the program, from
    /// 1 on; those of different bodies in the order in which they were forked.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let numbered = self.nodes.iter().enumerate();
        numbered
            .flat_map(|(number, node)| node.after.iter().map(move |&before| (before, number)))
            .collect()
    }

    fn write_inside(&self, f: &mut fmt::Formatter<'_>, children: &[Vec<usize>]) -> fmt::Result {
        // What is still to be written: tasks, and the ends of boxes. A deep nest must not take a deep stack.
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

/// A label, or a number in its place.
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

/// The picture while it is drawn.
#[derive(Debug, Default)]
pub(crate) struct Sketch(Mutex<Drawing>);

#[derive(Debug, Default)]
struct Drawing {
    nodes: Vec<Node>,
    objects: HashMap<(usize, usize), History>,
}

/// The accesses to an object that later ones wait for.
#[derive(Debug, Default)]
struct History {
    /// The group that the newest access is one of.
    newest: Vec<usize>,
    mode: Option<Mode>,
    /// The group before.
    older: Vec<usize>,
}

impl Sketch {
    pub(crate) fn new() -> Sketch {
        let sketch = Sketch::default();
        lock(&sketch.0).nodes.push(Node {
            label: None,
            parent: 0,
            after: Vec::new(),
        });
        sketch
    }

    /// Draws a task that `parent` forks. Its number.
    pub(crate) fn note(&self, parent: usize, label: Option<String>, entries: &[Entry]) -> usize {
        let mut drawing = lock(&self.0);
        let number = drawing.nodes.len();
        let mut after = Vec::new();
        for entry in entries {
            let object = (parent, std::ptr::from_ref::<Core>(entry.core()).addr());
            let history = drawing.objects.entry(object).or_default();
            let joins = history
                .mode
                .is_some_and(|mode| mode.agrees_with(entry.mode));
            if !joins {
                history.older = std::mem::take(&mut history.newest);
                history.mode = Some(entry.mode);
            }
            after.extend_from_slice(&history.older);
            history.newest.push(number);
        }
        after.sort_unstable();
        after.dedup();
        after.retain(|&before| before != number);
        drawing.nodes.push(Node {
            label,
            parent,
            after,
        });
        number
    }

    pub(crate) fn finish(self) -> Unfolded {
        let nodes = std::mem::take(&mut lock(&self.0).nodes);
        Unfolded { nodes }
    }
}
