//! A graph that is given node by node, such as one read from a file.

mod error;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use error::GraphError;

use super::{Computation, Enabled, Size};

/// Required value of the field `format`.
const FORMAT: &str = "locksley-dag/1";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    unordered: u64,
    nodes: Vec<FileNode>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileNode {
    id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    next: Vec<String>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    steps: u64,
}

fn one() -> u64 {
    1
}

fn is_one(steps: &u64) -> bool {
    *steps == 1
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A graph that is given node by node, or [read](Graph::read) from a file.
///
/// ```
/// use locksley_sim::dag::{Computation, Graph, Size};
///
/// let graph = Graph::parse(
///     r#"{
///         "format": "locksley-dag/1",
///         "nodes": [
///             { "id": "fork", "next": ["left", "right"] },
///             { "id": "left", "steps": 5, "next": ["join"] },
///             { "id": "right", "steps": 3, "next": ["join"] },
///             { "id": "join" }
///         ]
///     }"#,
/// )?;
/// assert_eq!(graph.size(), Size { work: 10, span: 7 });
///
/// let cyclic = r#"{ "format": "locksley-dag/1", "nodes": [
///     { "id": "start", "next": ["a", "end"] },
///     { "id": "a", "next": ["b"] },
///     { "id": "b", "next": ["a", "end"] },
///     { "id": "end" }
/// ] }"#;
/// let error = Graph::parse(cyclic).unwrap_err().to_string();
/// assert_eq!(error, "the graph has a cycle: a -> b -> a; take one of these edges out");
/// # Ok::<(), locksley_sim::dag::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    root: u32,
    size: Size,
    unit: Option<Duration>,
    unordered: u64,
    /// For each node, number of predecessors that have not been executed yet.
    waiting: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    next: [Option<u32>; 2],
    predecessors: u32,
    steps: u64,
}

/// A ready node: its number, and the number of its steps that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    node: u32,
    rest: u64,
}

impl Graph {
    /// Reads a JSON file: an object with the field `format`, which must be `locksley-dag/1`, and
    /// the field `nodes`, a list of objects. The optional field `unit_ns` is the length of a step
    /// in nanoseconds, and `unordered` the number of tasks of a recorded run that are not in the
    /// graph. The fields of a node:
    ///
    /// | field | meaning | if it is absent |
    /// |---|---|---|
    /// | `id` | the node's name, unique | an error |
    /// | `next` | its successors, two at most; a processor continues with the first | none: the sink |
    /// | `steps` | number of steps: the node stands for a chain of as many nodes of one step | 1 |
    ///
    /// A pool of the runtime that was built with `Builder::record` writes such a file
    /// (`Pool::take_recording`, `Recording::write`). It has a node for each strand between two
    /// forks or joins, with as many steps as the strand took units of time. Work and span are then
    /// exactly those of the recording, in that unit.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use locksley::Pool;
    /// use locksley_sim::dag::{Computation, Graph};
    /// use locksley_sim::{Setup, Strategy, simulate};
    ///
    /// fn sum(values: &[u64]) -> u64 {
    ///     if values.len() <= 100 {
    ///         return values.iter().sum();
    ///     }
    ///     let (left, right) = values.split_at(values.len() / 2);
    ///     let (a, b) = locksley::join(|| sum(left), || sum(right));
    ///     a + b
    /// }
    ///
    /// let pool = Pool::builder().workers(2).record(true).build()?;
    /// let values: Vec<u64> = (0..6400).collect();
    /// pool.install(|| sum(&values));
    /// let recording = pool.take_recording().ok_or("nothing was run")?;
    ///
    /// // Without the file in between.
    /// let mut graph = Graph::parse(&recording.to_json(Duration::from_nanos(100)))?;
    /// let report = simulate(&mut graph, &Setup::new(64, Strategy::LockFree))?;
    /// println!("{:.1} times as fast on 64 processors", report.speedup());
    /// assert!(report.makespan >= graph.size().span);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: &Path) -> Result<Graph, GraphError> {
        let text = fs::read_to_string(path)
            .map_err(|error| GraphError::Unreadable(path.to_owned(), error))?;
        Graph::parse(&text)
    }

    /// Parses a text in the format that [`read`](Graph::read) describes.
    pub fn parse(text: &str) -> Result<Graph, GraphError> {
        let file: File = serde_json::from_str(text).map_err(GraphError::Malformed)?;
        if file.format != FORMAT {
            return Err(GraphError::Format(file.format));
        }
        let names: Vec<&str> = file.nodes.iter().map(|node| node.id.as_str()).collect();
        let mut nodes = resolve(&file.nodes, &names)?;
        count_predecessors(&mut nodes);
        let root = only(
            &nodes,
            &names,
            |node| node.predecessors == 0,
            GraphError::Roots,
        );
        let sink = only(
            &nodes,
            &names,
            |node| node.next[0].is_none(),
            GraphError::Sinks,
        );
        let size = longest_path(&nodes).map_err(|stuck| cycle(&nodes, &names, &stuck))?;
        sink?;
        Ok(Graph {
            root: root?,
            waiting: Vec::new(),
            nodes,
            size,
            unit: file.unit_ns.map(Duration::from_nanos),
            unordered: file.unordered,
        })
    }

    /// Returns the length of a step, if the file specifies it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use locksley_sim::dag::Graph;
    ///
    /// let text = r#"{"format": "locksley-dag/1", "unit_ns": 200, "nodes": [{"id": "0"}]}"#;
    /// assert_eq!(Graph::parse(text)?.unit(), Some(Duration::from_nanos(200)));
    /// # Ok::<(), locksley_sim::dag::GraphError>(())
    /// ```
    pub fn unit(&self) -> Option<Duration> {
        self.unit
    }

    /// Returns the number of tasks of the recorded run that are not in the graph because nothing in
    /// the run waited for them.
    pub fn unordered(&self) -> u64 {
        self.unordered
    }
}

/// Replaces names by indices.
fn resolve(nodes: &[FileNode], names: &[&str]) -> Result<Vec<Node>, GraphError> {
    if nodes.is_empty() {
        return Err(GraphError::NoNodes);
    }
    u32::try_from(nodes.len()).map_err(|_| GraphError::TooManyNodes(nodes.len()))?;
    let mut numbers = HashMap::with_capacity(nodes.len());
    for (number, name) in names.iter().enumerate() {
        if numbers.insert(*name, number as u32).is_some() {
            return Err(GraphError::Twice((*name).to_owned()));
        }
    }
    let resolve = |node: &FileNode| {
        if node.next.len() > 2 {
            return Err(GraphError::TooManyNext {
                node: node.id.clone(),
                count: node.next.len(),
            });
        }
        if node.steps == 0 {
            return Err(GraphError::NoSteps(node.id.clone()));
        }
        let mut next = [None; 2];
        for (place, name) in next.iter_mut().zip(&node.next) {
            let number = numbers
                .get(name.as_str())
                .ok_or_else(|| GraphError::Unknown {
                    node: node.id.clone(),
                    next: name.clone(),
                })?;
            *place = Some(*number);
        }
        Ok(Node {
            next,
            predecessors: 0,
            steps: node.steps,
        })
    };
    nodes.iter().map(resolve).collect()
}

fn count_predecessors(nodes: &mut [Node]) {
    for number in 0..nodes.len() {
        for next in nodes[number].next.into_iter().flatten() {
            nodes[next as usize].predecessors += 1;
        }
    }
}

/// Returns the only node with a property, or an error that names all nodes with it if there is not
/// exactly one.
fn only(
    nodes: &[Node],
    names: &[&str],
    property: impl Fn(&Node) -> bool,
    error: impl Fn(Vec<String>) -> GraphError,
) -> Result<u32, GraphError> {
    let found: Vec<usize> = (0..nodes.len())
        .filter(|&node| property(&nodes[node]))
        .collect();
    match found[..] {
        [node] => Ok(node as u32),
        _ => Err(error(
            found.iter().map(|&node| names[node].to_owned()).collect(),
        )),
    }
}

/// Computes work and span by visiting nodes in an order in which they become ready. If some nodes
/// never become ready, returns which ones.
fn longest_path(nodes: &[Node]) -> Result<Size, Vec<bool>> {
    let mut waiting: Vec<u32> = nodes.iter().map(|node| node.predecessors).collect();
    let mut before = vec![0; nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len())
        .filter(|&node| waiting[node] == 0)
        .collect();
    let mut stuck = vec![true; nodes.len()];
    let mut size = Size::default();
    while let Some(node) = ready.pop() {
        stuck[node] = false;
        size.work += nodes[node].steps;
        let end: u64 = before[node] + nodes[node].steps;
        size.span = size.span.max(end);
        for next in nodes[node].next.into_iter().flatten() {
            let next = next as usize;
            before[next] = end.max(before[next]);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(next);
            }
        }
    }
    if stuck.contains(&true) {
        Err(stuck)
    } else {
        Ok(size)
    }
}

/// Finds a cycle among the nodes that never become ready: from any of them, it follows predecessors
/// that never become ready either, until it reaches a node a second time.
fn cycle(nodes: &[Node], names: &[&str], stuck: &[bool]) -> GraphError {
    let mut before = vec![None; nodes.len()];
    for (number, node) in nodes
        .iter()
        .enumerate()
        .filter(|&(number, _)| stuck[number])
    {
        for next in node.next.into_iter().flatten() {
            before[next as usize].get_or_insert(number);
        }
    }
    let mut path = Vec::new();
    let mut position = vec![None; nodes.len()];
    let mut at = stuck.iter().position(|&stuck| stuck);
    while let Some(node) = at {
        if let Some(start) = position[node] {
            path.drain(..start);
            break;
        }
        position[node] = Some(path.len());
        path.push(node);
        at = before[node];
    }
    path.reverse();
    // Begin with the node that comes first in the file.
    let first = (0..path.len()).min_by_key(|&at| path[at]).unwrap_or(0);
    path.rotate_left(first);
    GraphError::Cycle(path.iter().map(|&node| names[node].to_owned()).collect())
}

impl Computation for Graph {
    type Node = Ready;

    const NESTED: bool = false;

    fn start(&mut self) -> Ready {
        self.waiting.clear();
        self.waiting
            .extend(self.nodes.iter().map(|node| node.predecessors));
        self.ready(self.root)
    }

    fn execute(&mut self, node: Ready) -> Enabled<Ready> {
        if node.rest > 1 {
            return Enabled::One(Ready {
                rest: node.rest - 1,
                ..node
            });
        }
        let next = self.nodes[node.node as usize].next;
        match next.map(|next| next.and_then(|next| self.arrive(next))) {
            [None, None] if next[0].is_none() => Enabled::End,
            [None, None] => Enabled::Nothing,
            [Some(one), None] | [None, Some(one)] => Enabled::One(one),
            [Some(one), Some(other)] => Enabled::Two(one, other),
        }
    }

    fn size(&self) -> Size {
        self.size
    }
}

impl Graph {
    fn ready(&self, node: u32) -> Ready {
        Ready {
            node,
            rest: self.nodes[node as usize].steps,
        }
    }

    fn arrive(&mut self, node: u32) -> Option<Ready> {
        let waiting = &mut self.waiting[node as usize];
        *waiting -= 1;
        (*waiting == 0).then(|| self.ready(node))
    }
}

#[cfg(test)]
mod tests;
