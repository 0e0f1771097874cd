use super::*;

fn node(nanoseconds: u64, next: [Option<usize>; 2]) -> Node {
    Node { nanoseconds, next }
}

/// A graph whose first node forks the second and the third, which meet in the fourth.
fn diamond(times: [u64; 4]) -> Vec<Node> {
    vec![
        node(times[0], [Some(1), Some(2)]),
        node(times[1], [Some(3), None]),
        node(times[2], [Some(3), None]),
        node(times[3], [None, None]),
    ]
}

fn path(nodes: &[Node], burden: u64) -> u64 {
    let times: Vec<u64> = nodes.iter().map(|node| node.nanoseconds).collect();
    longest_path(nodes, &times, burden)
}

#[test]
fn the_longest_path_is_found() {
    assert_eq!(path(&diamond([1, 10, 20, 2]), 0), 23);
    assert_eq!(path(&diamond([1, 20, 10, 2]), 0), 23);
    assert_eq!(
        path(&diamond([1, 20, 10, 2]), 5),
        23,
        "no longer with its way"
    );
    assert_eq!(
        path(&diamond([1, 20, 10, 2]), 15),
        28,
        "what was forked needs longer now"
    );
    assert_eq!(path(&diamond([u64::MAX, 1, 1, 1]), 1), u64::MAX);
    assert_eq!(path(&[node(7, [None, None])], 9), 7);
}

fn profile(work: u64, span: u64, burdened: u64) -> Profile {
    Profile {
        work: Duration::from_nanos(work),
        span: Duration::from_nanos(span),
        burdened_span: Duration::from_nanos(burdened),
        burden: Duration::from_nanos(1),
        strands: 10,
        spawns: 3,
        unordered: 0,
    }
}

#[test]
fn bounds_are_those_of_the_laws() {
    let profile = profile(1000, 100, 200);
    assert_eq!(profile.parallelism(), 10.0);
    assert_eq!(profile.burdened_parallelism(), 5.0);
    let bounds = profile.bounds(4);
    assert_eq!(bounds.most, 4.0);
    // 900 / 4 + 100, and 1000 / 4 + 1.44 * 200.
    assert!((bounds.greedy - 1000.0 / 325.0).abs() < 1e-9);
    assert!((bounds.burdened - 1000.0 / 538.0).abs() < 1e-9);
    assert_eq!(profile.bounds(1 << 20).most, 10.0);
    assert_eq!(profile.bounds(0), profile.bounds(1));
    assert_eq!(profile.bounds(1).burdened, 1.0);
}

#[test]
fn nothing_at_all_is_no_reason_to_divide_by_zero() {
    let profile = profile(0, 0, 0);
    assert_eq!(profile.parallelism(), 1.0);
    assert_eq!(profile.burdened_parallelism(), 1.0);
    for workers in [0, 1, 2, usize::MAX] {
        let bounds = profile.bounds(workers);
        assert_eq!((bounds.most, bounds.greedy), (1.0, 1.0));
    }
    assert!(profile.to_string().contains("workers  at most  at least"));
}
