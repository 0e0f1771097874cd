//! Errors of graphs.

use std::io;
use std::path::PathBuf;

use super::FORMAT;

/// Error in a graph: what is wrong, where, and what to do about it.
///
/// ```
/// use locksley_sim::dag::Graph;
///
/// let text = r#"{ "format": "locksley-dag/1", "nodes": [ { "id": "a", "next": ["b"] } ] }"#;
/// let error = Graph::parse(text).unwrap_err().to_string();
/// let text = "node `a` leads to `b`, which is not in the list: add it, or correct the name";
/// assert_eq!(error, text);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {1}", path = .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// The text is not JSON, or does not have the required structure.
    #[error(
        "{0}; expected is {{\"format\": \"{FORMAT}\", \"nodes\": [{{\"id\": \"a\", \"next\": \
         [\"b\"], \"steps\": 1}}, ...]}}"
    )]
    Malformed(#[source] serde_json::Error),
    /// The text has another format.
    #[error("the format is `{0}`, but this program reads `{FORMAT}`")]
    Format(String),
    /// No UTS tree has this name ([`Dag::Uts`](crate::dag::Dag::Uts)).
    #[error("no UTS tree is called `{0}`: possible are T1, T2, T3, T4, T5, T1L, T2L, T3L, T1XL")]
    Tree(String),
    /// There is no node.
    #[error("there is no node: list at least one")]
    NoNodes,
    /// There are too many nodes for indices of 32 bits.
    #[error(
        "there are {0} nodes, but at most 2^32 - 1 can be numbered: replace chains by one node \
         with `steps`"
    )]
    TooManyNodes(usize),
    /// Two nodes have the same name.
    #[error("node `{0}` is listed twice: give one of them another id")]
    Twice(String),
    /// A node leads to a node that is not in the list.
    #[error(
        "node `{node}` leads to `{next}`, which is not in the list: add it, or correct the name"
    )]
    Unknown {
        /// The node.
        node: String,
        /// The missing node.
        next: String,
    },
    /// A node leads to more than two others.
    #[error(
        "node `{node}` leads to {count} nodes, but two are the most: put a node in between that \
         leads to some of them"
    )]
    TooManyNext {
        /// The node.
        node: String,
        /// Number of nodes that it leads to.
        count: usize,
    },
    /// A node has no step.
    #[error("node `{0}` has 0 steps: give it at least 1")]
    NoSteps(String),
    /// More than one node has no predecessor.
    #[error(
        "there are {} roots, {}: add one node that leads to them, through forks if they are more \
         than two",
        .0.len(),
        list(.0)
    )]
    Roots(Vec<String>),
    /// More than one node has no successor.
    #[error(
        "there are {} sinks, {}: add one node that all of them lead to",
        .0.len(),
        list(.0)
    )]
    Sinks(Vec<String>),
    /// The graph has a cycle: these nodes, and the first again.
    #[error(
        "the graph has a cycle: {} -> {}; take one of these edges out",
        .0.join(" -> "),
        .0.first().map_or("", String::as_str)
    )]
    Cycle(Vec<String>),
}

/// Lists the first five names.
fn list(names: &[String]) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(5)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = if names.len() > 5 { ", ..." } else { "" };
    shown.join(", ") + more
}
