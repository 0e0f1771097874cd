//! Task graphs: the order of their nodes, conditions, panics.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use locksley::flow::{Graph, GraphError, NodeId};
use locksley_policy::{Random, Source};

use crate::everywhere;

/// A random acyclic graph: every node runs once in each run, after all of its predecessors.
#[test]
fn every_node_runs_once_and_after_those_before_it() {
    let seed = AtomicUsize::new(0);
    everywhere(|pool| {
        for _ in 0..10 {
            let mut random = Random::new(seed.fetch_add(1, Ordering::Relaxed) as u64, 1);
            let count = 1 + random.below(30);
            let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            let edges: Vec<(usize, usize)> = (0..random.below(3 * count))
                .map(|_| (random.below(count), random.below(count)))
                .filter(|(before, after)| before < after)
                .collect();
            let mut graph = Graph::new();
            let nodes: Vec<NodeId> = (0..count)
                .map(|node| {
                    let (runs, edges) = (&runs, &edges);
                    graph.task(node.to_string(), move || {
                        let mine = runs[node].load(Ordering::Relaxed);
                        let before = edges.iter().filter(|edge| edge.1 == node);
                        for (before, _) in before {
                            assert_eq!(runs[*before].load(Ordering::Relaxed), mine + 1);
                        }
                        runs[node].store(mine + 1, Ordering::Relaxed);
                    })
                })
                .collect();
            for &(before, after) in &edges {
                graph.edge(nodes[before], nodes[after]);
            }
            let plan = graph.build().unwrap();
            for run in 1..=3 {
                pool.install(|| plan.run());
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == run));
            }
        }
    });
}

#[test]
fn a_condition_goes_round_and_chooses() {
    everywhere(|pool| {
        let (rounds, left, right) = (
            AtomicUsize::new(0),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        let mut graph = Graph::new();
        let start = graph.task("start", || rounds.store(0, Ordering::Relaxed));
        // Two parallel nodes that meet again in each round.
        let [a, b] = ["a", "b"].map(|name| graph.task(name, || ()));
        let fork = graph.task("fork", || ());
        let meet = graph.task("meet", || {
            rounds.fetch_add(1, Ordering::Relaxed);
        });
        let again = graph.condition("again?", || {
            usize::from(rounds.load(Ordering::Relaxed) == 5)
        });
        let which = graph.condition("which?", || 1);
        let [lefts, rights] = [&left, &right];
        let l = graph.task("left", || lefts.store(true, Ordering::Relaxed));
        let r = graph.task("right", || rights.store(true, Ordering::Relaxed));
        for (before, after) in [
            (start, fork),
            (fork, a),
            (fork, b),
            (a, meet),
            (b, meet),
            (meet, again),
        ] {
            graph.edge(before, after);
        }
        graph.outcomes(again, [fork, which]);
        graph.outcomes(which, [l, r]);
        let plan = graph.build().unwrap();
        for _ in 0..2 {
            pool.install(|| plan.run());
            assert_eq!(rounds.load(Ordering::Relaxed), 5);
        }
        assert!(!left.load(Ordering::Relaxed) && right.load(Ordering::Relaxed));
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_stops_what_comes_after_it_and_nothing_else() {
    everywhere(|pool| {
        let (after, other) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut graph = Graph::new();
        let bad = graph.task("bad", || panic::resume_unwind(Box::new("bad")));
        let next = graph.task("next", || after.store(true, Ordering::Relaxed));
        let good = graph.task("good", || ());
        let last = graph.task("last", || other.store(true, Ordering::Relaxed));
        graph.edge(bad, next);
        graph.edge(good, last);
        let plan = graph.build().unwrap();
        let thrown = panic::catch_unwind(AssertUnwindSafe(|| pool.install(|| plan.run())));
        assert_eq!(*thrown.unwrap_err().downcast::<&str>().unwrap(), "bad");
        assert!(!after.load(Ordering::Relaxed) && other.load(Ordering::Relaxed));
    });
}

#[test]
fn what_cannot_run_is_refused() {
    let mut graph = Graph::new();
    let nodes = ["a", "b", "c", "d"].map(|name| graph.task(name, || ()));
    for (before, after) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
        graph.edge(nodes[before], nodes[after]);
    }
    let error = graph.build().unwrap_err();
    assert_eq!(
        error,
        GraphError::Cycle(["b", "c", "d"].map(String::from).to_vec())
    );
    assert!(error.to_string().contains("b -> c -> d -> b"), "{error}");

    // The first node of another graph is reported, even if this graph has as many nodes.
    let mut other = Graph::new();
    let own = ["e", "f", "g", "h"].map(|name| other.task(name, || ()));
    other.edge(own[0], own[1]);
    other.edge(own[0], nodes[2]);
    other.edge(nodes[3], own[0]);
    assert_eq!(other.build().unwrap_err(), GraphError::UnknownNode(2));
}

#[test]
fn errors_name_what_is_wrong_with_a_graph() {
    let mut circle = Graph::new();
    let (a, b) = (circle.task("a", || ()), circle.task("b", || ()));
    circle.edge(a, b);
    circle.edge(b, a);
    let error = circle.build().expect_err("a circle without a condition");
    assert!(error.to_string().contains("a -> b -> a"), "{error}");

    let mut endless = Graph::new();
    let again = endless.condition("again", || 0);
    endless.outcomes(again, [again]);
    assert_eq!(endless.build().expect_err("no start"), GraphError::NoStart);
}
