//! What can be wrong with a graph.

use std::path::PathBuf;
use std::{fmt, io};

use super::FORMAT;

/// What is wrong with a graph, where, and what to do about it.
///
/// ```
/// use locksley_sim::dag::Graph;
///
/// let text = r#"{ "format": "locksley-dag/1", "nodes": [ { "id": "a", "next": ["b"] } ] }"#;
/// let error = Graph::parse(text).unwrap_err().to_string();
/// let text = "node `a` leads to `b`, which is not in the list: add it, or correct the name";
/// assert_eq!(error, text);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum GraphError {
    /// The file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The text is not JSON, or not of the form that it must have.
    Malformed(serde_json::Error),
    /// The text is of another format.
    Format(String),
    /// There is no node.
    NoNodes,
    /// There are too many nodes to number them.
    TooManyNodes(usize),
    /// Two nodes have the same name.
    Twice(String),
    /// A node leads to one that is not there.
    Unknown {
        /// The node.
        node: String,
        /// What it leads to.
        next: String,
    },
    /// A node leads to more than two others.
    TooManyNext {
        /// The node.
        node: String,
        /// How many it leads to.
        count: usize,
    },
    /// A node has no step.
    NoSteps(String),
    /// More than one node has no predecessor.
    Roots(Vec<String>),
    /// More than one node leads nowhere.
    Sinks(Vec<String>),
    /// Some nodes wait for themselves: these, and the first again.
    Cycle(Vec<String>),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[String]| {
            let shown: Vec<_> = names
                .iter()
                .take(5)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = if names.len() > 5 { ", ..." } else { "" };
            shown.join(", ") + more
        };
        match self {
            GraphError::Unreadable(path, error) => {
                write!(f, "{} cannot be read: {error}", path.display())
            }
            GraphError::Malformed(error) => write!(
                f,
                "{error}; expected is {{\"format\": \"{FORMAT}\", \"nodes\": [{{\"id\": \"a\", \
                 \"next\": [\"b\"], \"steps\": 1}}, ...]}}"
            ),
            GraphError::Format(format) => write!(
                f,
                "the format is `{format}`, but this program reads `{FORMAT}`"
            ),
            GraphError::NoNodes => f.write_str("there is no node: list at least one"),
            GraphError::TooManyNodes(count) => write!(
                f,
                "there are {count} nodes, but at most 2^32 - 1 can be numbered: replace chains \
                 by one node with `steps`"
            ),
            GraphError::Twice(name) => {
                write!(
                    f,
                    "node `{name}` is listed twice: give one of them another id"
                )
            }
            GraphError::Unknown { node, next } => write!(
                f,
                "node `{node}` leads to `{next}`, which is not in the list: add it, or correct the \
                 name"
            ),
            GraphError::TooManyNext { node, count } => write!(
                f,
                "node `{node}` leads to {count} nodes, but two are the most: put a node in between \
                 that leads to some of them"
            ),
            GraphError::NoSteps(name) => {
                write!(f, "node `{name}` has 0 steps: give it at least 1")
            }
            GraphError::Roots(names) => write!(
                f,
                "there are {} roots, {}: add one node that leads to them, through forks if they \
                 are more than two",
                names.len(),
                list(names)
            ),
            GraphError::Sinks(names) => write!(
                f,
                "there are {} sinks, {}: add one node that all of them lead to",
                names.len(),
                list(names)
            ),
            GraphError::Cycle(names) => {
                let first = names.first().map_or("", String::as_str);
                write!(
                    f,
                    "the graph has a cycle: {} -> {first}; take one of these edges out",
                    names.join(" -> ")
                )
            }
        }
    }
}

impl std::error::Error for GraphError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GraphError::Unreadable(_, error) => Some(error),
            GraphError::Malformed(error) => Some(error),
            _ => None,
        }
    }
}
