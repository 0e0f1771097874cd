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

#[test]
fn a_profile_prints_times_and_bounds() {
    let profile = profile(1000, 100, 200);
    let table = [
        "work                  1.0µs",
        "span                100.0ns   parallelism 10.0",
        "burdened span       200.0ns   parallelism 5.0",
        "strands                  10   of 100.0ns on average",
        "spawns                    3   burden 1ns each",
        "",
        "speed-up",
        "  workers  at most  at least",
        "        1     1.00      1.00",
        "        2     2.00      1.27",
        "        4     4.00      1.86",
        "        8     8.00      2.42",
        "       16    10.00      2.85",
        "       32    10.00      3.13",
        "       64    10.00      3.29",
        "      128    10.00      3.38",
    ];
    let text = profile.to_string();
    assert_eq!(text.lines().take(16).collect::<Vec<_>>(), table);
    let json = profile.to_json();
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(
        lines[0],
        "{\"format\": \"locksley-profile/1\", \"work_ns\": 1000, \"span_ns\": 100, \
         \"burdened_span_ns\": 200, \"burden_ns\": 1, \"strands\": 10, \"spawns\": 3, \
         \"unordered\": 0, \"parallelism\": 10.0000, \"burdened_parallelism\": 5.0000, \
         \"bounds\": ["
    );
    assert_eq!(
        lines[1],
        "  {\"workers\": 2, \"most\": 2.0000, \"greedy\": 1.8182, \"burdened\": 1.2690},"
    );
    assert_eq!(
        lines[7..],
        [
            "  {\"workers\": 128, \"most\": 10.0000, \"greedy\": 9.3431, \"burdened\": 3.3805}",
            "]}"
        ]
    );
    let unordered = Profile {
        unordered: 2,
        ..profile
    };
    let text = unordered.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], [table[0], "spawns                    3", ""]);
    assert!(lines[3].starts_with("no span and no bounds: 2 tasks were started"));
    assert!(unordered.to_json().ends_with("\"bounds\": [\n\n]}\n"));
}

#[test]
fn the_recorded_cost_is_taken_off_each_strand() {
    use crate::recording::{Item, Strand};
    let strand = |nanoseconds| {
        let mut strand = Strand::default();
        strand.add(nanoseconds);
        strand
    };
    let mut run = strand(5);
    run.push(Item::Fork(Box::new([strand(20), strand(30)])));
    run.push(Item::Unordered);
    run.add(3);
    let recording = Recording::new(vec![run.into()], Duration::ZERO);
    let times = |burden, cost| {
        let [burden, cost] = [burden, cost].map(Duration::from_nanos);
        let profile = recording.profile(burden, cost);
        assert_eq!(
            (profile.strands, profile.spawns, profile.unordered),
            (5, 1, 1)
        );
        assert_eq!(profile.burden, burden);
        [profile.work, profile.span, profile.burdened_span].map(|time| time.as_nanos())
    };
    assert_eq!(times(0, 0), [58, 38, 38]);
    assert_eq!(times(7, 0), [58, 38, 45]);
    assert_eq!(times(7, 4), [43, 27, 34]);
}
