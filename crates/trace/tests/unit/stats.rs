use super::*;

fn sample(tasks: u64, depth: u64, deepest: u64) -> WorkerStats {
    WorkerStats {
        tasks,
        depth,
        deepest,
        ..WorkerStats::default()
    }
}

#[test]
fn differences_and_totals() {
    let earlier = Stats::new(1, vec![sample(3, 1, 2)], sample(1, 0, 0));
    let later = Stats::new(1, vec![sample(10, 0, 4), sample(5, 2, 2)], sample(1, 0, 0));
    let difference = later - earlier;
    assert_eq!(difference.workers(), [sample(7, 0, 4), sample(5, 2, 2)]);
    assert_eq!(difference.outside(), sample(0, 0, 0));
    assert_eq!(difference.total(), sample(12, 2, 4));
}

#[test]
fn the_table_is_aligned() {
    let stats = Stats::new(
        1,
        vec![sample(123_456_789, 0, 3), sample(1, 0, 0)],
        sample(0, 0, 0),
    );
    let table = stats.to_string();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert_eq!(table.matches('\n').count(), 4, "the last line has no end");
    assert!(
        lines.iter().all(|line| line.len() == lines[0].len()),
        "{table}"
    );
    let heads: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(
        heads,
        ["worker", "tasks", "deepest"],
        "empty columns are hidden"
    );
    assert_eq!(lines[1], "       0  123456789        3");
    assert_eq!(lines[2], " spare 1          1        .");
    assert_eq!(lines[4], "   total  123456790        3");
}

#[test]
fn a_column_that_is_not_empty_has_its_head() {
    let worker = WorkerStats::new(|event| event as u64 + 1, 1, 1);
    let table = Stats::new(1, vec![worker], WorkerStats::default()).to_string();
    let head = table.lines().next().unwrap_or_default();
    for name in HEADS {
        assert!(head.contains(name), "{name} in {head}");
    }
}
