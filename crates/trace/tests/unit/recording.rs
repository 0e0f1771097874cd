use std::sync::OnceLock;

use super::*;

fn strand(nanoseconds: u64) -> Strand {
    let mut strand = Strand::default();
    strand.add(nanoseconds);
    strand
}

fn slot(nanoseconds: u64) -> Slot {
    Arc::new(OnceLock::from(strand(nanoseconds)))
}

/// Returns the nodes of a recording as `number -> successors x steps of 10 ns`.
fn nodes(runs: Vec<Strand>) -> Vec<String> {
    let runs = runs.into_iter().map(Arc::new).collect();
    let json = Recording::new(runs, Duration::ZERO).to_json(Duration::from_nanos(10));
    let plain = |line: &str| {
        let text = line.replace(['{', '}', '"', '[', ']', ','], "");
        let text = text.replace("id: ", "").replace("next: ", "-> ");
        text.replace("steps: ", "x ")
    };
    json.lines()
        .map(plain)
        .filter(|line| !line.is_empty())
        .collect()
}

/// The first line of a recording.
const HEAD: &str = "format: locksley-dag/1 unit_ns: 10 nodes: ";

#[test]
fn runs_follow_each_other() {
    let shown = nodes(vec![strand(14), strand(15), strand(4)]);
    assert_eq!(
        shown,
        [HEAD, "0 -> 1", "1 -> 2 x 2", "2"],
        "rounded, and at least one step"
    );
    let mut one = Recording::new(vec![Arc::new(strand(7))], Duration::from_nanos(3));
    let mut fork = strand(1);
    fork.push(Item::Fork(Box::new([strand(2), strand(3)])));
    let fork = Recording::new(vec![Arc::new(fork)], Duration::ZERO);
    assert_eq!((fork.work(), fork.forks()), (Duration::from_nanos(6), 1));
    one.append(Recording::new(
        vec![Arc::new(strand(5))],
        Duration::from_nanos(2),
    ));
    assert_eq!(one.strand_cost(), Duration::from_nanos(3));
    assert_eq!((one.work(), one.forks()), (Duration::from_nanos(12), 0));
    let mut written = Vec::new();
    one.write(&mut written, Duration::MAX).unwrap();
    let text = "{\"format\": \"locksley-dag/1\", \"nodes\": [\n{\"id\": \"0\", \"next\": [\"1\"]},\n\
                {\"id\": \"1\"}\n]}\n";
    assert_eq!(String::from_utf8(written).unwrap(), text);
    assert_eq!(format!("{one:?}"), "Recording { forks: 0, work: 12ns, .. }");
}

#[test]
fn tasks_of_a_scope_lead_to_its_end() {
    let mut inner = strand(20);
    inner.push(Item::ScopeTask(1, slot(30)));
    inner.add(40);
    inner.push(Item::ScopeTask(2, slot(50)));
    inner.push(Item::ScopeTask(3, slot(60)));
    inner.push(Item::ScopeTask(2, Slot::default()));
    let mut outer = strand(70);
    outer.push(Item::Scope(2, Arc::new(inner)));
    outer.add(80);
    let mut run = strand(90);
    run.push(Item::Scope(1, Arc::new(outer)));
    run.add(100);
    let expected = [
        HEAD,
        "0 -> 2 x 9",
        "1 x 10",
        "2 -> 4 x 7",
        "3 -> 1 x 8",
        "4 -> 5 6 x 2",
        "5 -> 7 8 x 4",
        "6 -> 1 x 3",
        "7 -> 9",
        "8 -> 3 x 5",
        "9 -> 10",
        "10 -> 3",
    ];
    assert_eq!(nodes(vec![run]), expected);
}

#[test]
fn tasks_on_their_own_lead_to_where_they_are_joined() {
    let (joined, kept) = (slot(30), slot(40));
    let mut run = strand(10);
    run.push(Item::Task(Arc::clone(&joined)));
    run.add(20);
    run.push(Item::Task(kept));
    run.push(Item::Joined(joined));
    run.push(Item::Unordered);
    let expected = [
        "format: locksley-dag/1 unit_ns: 10 unordered: 2 nodes: ",
        "0 -> 1 4",
        "1 -> 2 x 2",
        "2 -> 3",
        "3 -> 5",
        "4 -> 3 x 3",
        "5",
    ];
    assert_eq!(nodes(vec![run]), expected);
    // The strand that joins may be added before the one that spawns.
    let task = slot(70);
    let mut first = strand(50);
    first.push(Item::Task(Arc::clone(&task)));
    let mut second = strand(60);
    second.push(Item::Joined(task));
    let mut run = Strand::default();
    run.push(Item::Fork(Box::new([first, second])));
    let expected = [
        HEAD,
        "0 -> 2 3",
        "1",
        "2 -> 5 6 x 5",
        "3 -> 4 x 6",
        "4 -> 1",
        "5 -> 1",
        "6 -> 4 x 7",
    ];
    assert_eq!(nodes(vec![run]), expected);
}

#[test]
fn tasks_of_a_flow_follow_those_that_they_wait_for() {
    let tasks = TaskGraph::new(5, vec![vec![], vec![], vec![0], vec![0, 1], vec![0]]);
    for (number, time) in [(5, 10), (6, 20), (7, 30), (8, 40)] {
        assert!(tasks.slot(number).set(strand(time)).is_ok());
    }
    let mut run = strand(90);
    run.push(Item::Tasks(Arc::new(tasks)));
    run.push(Item::Tasks(Arc::new(TaskGraph::new(0, vec![]))));
    let expected = [
        HEAD,
        "0 -> 9 x 9",
        "1 -> 10",
        "2 -> 7",
        "3 -> 5 x 2",
        "4 -> 1 x 3",
        "5 -> 1 x 4",
        "6 -> 1",
        "7 -> 8 6",
        "8 -> 4 5",
        "9 -> 2 3",
        "10",
    ];
    assert_eq!(nodes(vec![run]), expected);
}

#[test]
fn a_strand_takes_the_time_of_its_parts() {
    let mut strand = strand(3);
    strand.push(Item::Unordered);
    strand.add(4);
    strand.push(Item::Unordered);
    strand.add(5);
    strand.add(6);
    assert_eq!(strand.time(), 18);
    strand.add(u64::MAX);
    assert_eq!(strand.time(), u64::MAX);
}
