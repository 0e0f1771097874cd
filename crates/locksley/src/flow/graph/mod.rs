//! Task graphs that are declared first, and then run any number of times.

mod run;

use std::fmt;

use super::drawing::quoted;
use crate::sync::statics::{AtomicUsize, Ordering};

/// A task graph: nodes, and edges that order them.
///
/// ```
/// use std::sync::Mutex;
/// use locksley::flow::Graph;
///
/// let order = Mutex::new(Vec::new());
/// let note = |name| order.lock().unwrap().push(name);
/// let mut graph = Graph::new();
/// let shirt = graph.task("shirt", || note("shirt"));
/// let shoes = graph.task("shoes", || note("shoes"));
/// let socks = graph.task("socks", || note("socks"));
/// let tie = graph.task("tie", || note("tie"));
/// graph.edge(socks, shoes);
/// graph.edge(shirt, tie);
/// let plan = graph.build().unwrap();
/// for _ in 0..10 {
///     plan.run();
///     let order = std::mem::take(&mut *order.lock().unwrap());
///     let place = |name| order.iter().position(|&one| one == name).unwrap();
///     assert!(place("socks") < place("shoes") && place("shirt") < place("tie"));
/// }
/// ```
///
/// A [condition](Graph::condition) chooses which of several nodes runs next. With conditions, a
/// graph may have cycles:
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use locksley::flow::Graph;
///
/// let n = AtomicU32::new(0);
/// let mut graph = Graph::new();
/// let start = graph.task("start", || n.store(1, Ordering::Relaxed));
/// let double = graph.task("double", || {
///     n.fetch_add(n.load(Ordering::Relaxed), Ordering::Relaxed);
/// });
/// let enough = graph.condition("enough?", || (n.load(Ordering::Relaxed) > 1000).into());
/// let done = graph.task("done", || ());
/// graph.edge(start, double);
/// graph.edge(double, enough);
/// graph.outcomes(enough, [double, done]);
/// graph.build().unwrap().run();
/// assert_eq!(n.into_inner(), 1024);
/// ```
pub struct Graph<'g> {
    id: usize,
    nodes: Vec<Node<'g>>,
    /// Index of the first node of another graph that an edge has named.
    unknown: Option<usize>,
}

/// A node of the [`Graph`] that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeId {
    graph: usize,
    index: usize,
}

struct Node<'g> {
    name: String,
    action: Action<'g>,
    /// Its successors; for a condition, its outcomes.
    next: Vec<usize>,
    /// Number of predecessors that are not conditions.
    needs: usize,
    /// Set if it is an outcome of a condition.
    chosen: bool,
}

enum Action<'g> {
    Task(Box<dyn Fn() + Send + Sync + 'g>),
    Condition(Box<dyn Fn() -> usize + Send + Sync + 'g>),
}

/// Why a graph cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GraphError {
    /// These nodes wait for each other, in a cycle without a condition.
    Cycle(Vec<String>),
    /// Every node has a predecessor, so none can start.
    NoStart,
    /// An edge names a node of another graph, which has this index there.
    UnknownNode(usize),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Cycle(names) => {
                let first = names.first().map_or("", String::as_str);
                write!(
                    f,
                    "the nodes {} -> {first} wait for each other: leave out an edge, or let a \
                     condition choose to go round",
                    names.join(" -> "),
                )
            }
            GraphError::NoStart => write!(
                f,
                "every node comes after another one: add one that comes after none, to start with"
            ),
            GraphError::UnknownNode(number) => write!(
                f,
                "an edge names node {number} of another graph: use the nodes that this graph has \
                 made itself"
            ),
        }
    }
}

impl std::error::Error for GraphError {}

impl Default for Graph<'_> {
    fn default() -> Self {
        static NEXT_ID: AtomicUsize = AtomicUsize::new(0);
        Graph {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            nodes: Vec::new(),
            unknown: None,
        }
    }
}

impl<'g> Graph<'g> {
    /// Creates a graph without nodes.
    pub fn new() -> Graph<'g> {
        Graph::default()
    }

    /// Adds a node that runs a closure.
    pub fn task(&mut self, name: impl Into<String>, task: impl Fn() + Send + Sync + 'g) -> NodeId {
        self.add(name.into(), Action::Task(Box::new(task)))
    }

    /// Adds a node that chooses what runs next: the closure returns the index of one of the node's
    /// [outcomes](Graph::outcomes). If there is no such outcome, nothing follows.
    ///
    /// The chosen node runs whatever other edges lead to it, and even if an earlier run of it is
    /// still going on. Each run of a node counts for its successors: a node with two predecessors
    /// runs when one of them has run twice. So leave a cycle only through its condition.
    pub fn condition(
        &mut self,
        name: impl Into<String>,
        choose: impl Fn() -> usize + Send + Sync + 'g,
    ) -> NodeId {
        self.add(name.into(), Action::Condition(Box::new(choose)))
    }

    fn add(&mut self, name: String, action: Action<'g>) -> NodeId {
        self.nodes.push(Node {
            name,
            action,
            next: Vec::new(),
            needs: 0,
            chosen: false,
        });
        NodeId {
            graph: self.id,
            index: self.nodes.len() - 1,
        }
    }

    /// Orders one node after another. An edge from a condition adds its next outcome.
    pub fn edge(&mut self, before: NodeId, after: NodeId) {
        if let Some(node) = [before, after].iter().find(|node| node.graph != self.id) {
            self.unknown.get_or_insert(node.index);
            return;
        }
        let [before, after] = [before.index, after.index];
        self.nodes[before].next.push(after);
        match self.nodes[before].action {
            Action::Task(_) => self.nodes[after].needs += 1,
            Action::Condition(_) => self.nodes[after].chosen = true,
        }
    }

    /// Adds the nodes that a condition chooses from. See [`Graph::condition`].
    pub fn outcomes(&mut self, condition: NodeId, nodes: impl IntoIterator<Item = NodeId>) {
        for node in nodes {
            self.edge(condition, node);
        }
    }

    /// Checks the graph: every cycle must contain a condition, and a node must be able to start.
    pub fn build(self) -> Result<Plan<'g>, GraphError> {
        if let Some(number) = self.unknown {
            return Err(GraphError::UnknownNode(number));
        }
        if let Some(cycle) = self.find_cycle() {
            let names = cycle.into_iter().map(|node| self.nodes[node].name.clone());
            return Err(GraphError::Cycle(names.collect()));
        }
        let numbered = self.nodes.iter().enumerate();
        let starts: Vec<usize> = numbered
            .filter(|(_, node)| node.needs == 0 && !node.chosen)
            .map(|(number, _)| number)
            .collect();
        if starts.is_empty() && !self.nodes.is_empty() {
            return Err(GraphError::NoStart);
        }
        Ok(Plan {
            graph: self,
            starts,
        })
    }

    /// Returns the nodes of a cycle without a condition, in order.
    fn find_cycle(&self) -> Option<Vec<usize>> {
        // Removes nodes without predecessors until there are none. The rest is in cycles or after
        // them.
        let mut needs: Vec<usize> = self.nodes.iter().map(|node| node.needs).collect();
        let mut free: Vec<usize> = (0..needs.len()).filter(|&node| needs[node] == 0).collect();
        while let Some(node) = free.pop() {
            for &next in self.strong(node) {
                needs[next] -= 1;
                if needs[next] == 0 {
                    free.push(next);
                }
            }
        }
        let stuck: Vec<usize> = (0..needs.len()).filter(|&node| needs[node] > 0).collect();
        let mut predecessor = vec![None; needs.len()];
        for &node in &stuck {
            for &next in self.strong(node) {
                predecessor[next].get_or_insert(node);
            }
        }
        let mut node = *stuck.first()?;
        // Each of the rest has a predecessor among them, so going backwards ends in a cycle.
        let (mut path, mut visited) = (Vec::new(), vec![false; needs.len()]);
        while !std::mem::replace(&mut visited[node], true) {
            path.push(node);
            node = predecessor[node]?;
        }
        let start = path.iter().position(|&one| one == node)?;
        let mut cycle = path.split_off(start);
        cycle.reverse();
        // Starts with the node that was made first.
        let first = (0..cycle.len()).min_by_key(|&place| cycle[place])?;
        cycle.rotate_left(first);
        Some(cycle)
    }

    /// Returns the successors of a node, none for a condition.
    fn strong(&self, node: usize) -> &[usize] {
        match self.nodes[node].action {
            Action::Task(_) => &self.nodes[node].next,
            Action::Condition(_) => &[],
        }
    }
}

/// A [`Graph`] that was checked, and can run.
///
/// Displays as a graph for Graphviz, with dashed arrows to the outcomes of conditions.
pub struct Plan<'g> {
    graph: Graph<'g>,
    /// The nodes without a predecessor.
    starts: Vec<usize>,
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "digraph plan {{")?;
        for (number, node) in self.graph.nodes.iter().enumerate() {
            let (shape, style) = match node.action {
                Action::Task(_) => ("box", ""),
                Action::Condition(_) => ("diamond", " [style=dashed]"),
            };
            let name = quoted(&node.name);
            writeln!(f, "n{number} [label={name}, shape={shape}];")?;
            for next in &node.next {
                writeln!(f, "n{number} -> n{next}{style};")?;
            }
        }
        writeln!(f, "}}")
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.nodes.iter().map(|node| &node.name);
        f.debug_list().entries(names).finish()
    }
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.graph.fmt(f)
    }
}
