use super::*;
use crate::dag::{levels, measure};

/// Parses a graph whose nodes are written as `a>b,c`, with an optional `*steps` behind the name.
fn graph(nodes: &str) -> Result<Graph, GraphError> {
    let nodes = nodes.split_whitespace().map(|node| {
        let (head, next) = node.split_once('>').unwrap_or((node, ""));
        let (id, steps) = head.split_once('*').unwrap_or((head, "1"));
        FileNode {
            id: id.to_owned(),
            next: next
                .split(',')
                .filter(|next| !next.is_empty())
                .map(str::to_owned)
                .collect(),
            steps: steps.parse().unwrap(),
        }
    });
    let file = File {
        format: FORMAT.to_owned(),
        unit_ns: None,
        unordered: 0,
        nodes: nodes.collect(),
    };
    Graph::parse(&serde_json::to_string(&file).unwrap())
}

fn error(nodes: &str) -> String {
    graph(nodes).unwrap_err().to_string()
}

#[test]
fn sizes_agree_with_the_levels() {
    for nodes in [
        "a",
        "a>b b",
        "a>b,c b>d c>d d",
        "a*3>b,c b*2>d,e c>e d>f e*7>f f",
    ] {
        let mut graph = graph(nodes).unwrap();
        assert_eq!(graph.size(), levels(&mut graph), "{nodes}");
        assert_eq!(graph.size().work, measure(&mut graph), "{nodes}");
    }
}

#[test]
fn two_edges_to_the_same_node_are_counted_twice() {
    let mut graph = graph("a>b,b b").unwrap();
    assert_eq!(levels(&mut graph), Size { work: 2, span: 2 });
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    let cases = [
        ("", "there is no node"),
        ("a>b a b", "`a` is listed twice"),
        ("a>c b", "`a` leads to `c`, which is not in the list"),
        (
            "a>b,c,d b c d",
            "`a` leads to 3 nodes, but two are the most: put a node in between",
        ),
        ("a*0", "`a` has 0 steps"),
        (
            "a>c b>c c",
            "there are 2 roots, `a`, `b`: add one node that leads to them",
        ),
        (
            "a>b,c b c",
            "there are 2 sinks, `b`, `c`: add one node that all of them lead to",
        ),
        (
            "a>b b>c c>b,d d",
            "the graph has a cycle: b -> c -> b; take one",
        ),
        ("a>a", "the graph has a cycle: a -> a; take one"),
    ];
    for (nodes, expected) in cases {
        let error = error(nodes);
        assert!(error.contains(expected), "{nodes}: {error}");
    }
}

#[test]
fn a_cycle_is_found_behind_what_waits_for_it() {
    let error = error("r>z x>end end z>t t>z,x");
    assert!(error.contains("cycle: z -> t -> z;"), "{error}");
}

#[test]
fn text_that_is_no_graph_is_told_where_it_goes_wrong() {
    let error = |text| Graph::parse(text).unwrap_err().to_string();
    assert!(error("[").contains("line 1 column 1"), "{}", error("["));
    assert!(error(r#"{"format": "locksley-dag/9", "nodes": []}"#).contains("locksley-dag/1"));
    let text = "{\"format\": \"locksley-dag/1\",\n\"nodes\": [{\"id\": 1}]}";
    assert!(error(text).contains("line 2 column"), "{}", error(text));
    let text = r#"{"format": "locksley-dag/1", "nodes": [{"id": "a", "weight": 1}]}"#;
    assert!(
        error(text).contains("unknown field `weight`"),
        "{}",
        error(text)
    );
    let error = Graph::read(Path::new("no/such/file"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no/such/file cannot be read"), "{error}");
}
