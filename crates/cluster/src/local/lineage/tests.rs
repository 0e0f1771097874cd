//! Results, failures and time limits of tasks that spawn others.

use super::*;
use crate::Sum;

fn take_settled(lineage: &mut Lineage<Sum<u64>>) -> (u64, Vec<Vec<u8>>, Vec<String>) {
    let share = lineage.take_settled().expect("all are described");
    let sum = share.results.iter().map(|Sum(part)| part).sum();
    let failed = share.failed.into_iter().map(|failed| failed.reason);
    (sum, share.kept, failed.collect())
}

fn begin(
    lineage: &mut Lineage<Sum<u64>>,
    number: u64,
    parent: Option<&Arc<Node<Sum<u64>>>>,
) -> Arc<Node<Sum<u64>>> {
    let node = lineage.begin(number, parent.cloned(), None);
    lineage.describe(number, vec![number as u8]);
    node.expect("it is not void")
}

#[test]
fn a_result_is_settled_when_all_ancestors_have_ended() {
    let mut lineage = Lineage::new(100);
    let a = begin(&mut lineage, 1, None);
    let b = begin(&mut lineage, 2, Some(&a));
    let c = begin(&mut lineage, 3, Some(&b));
    lineage.end(3, Some((Sum(4), 1)));
    assert_eq!(take_settled(&mut lineage), (0, vec![vec![1]], vec![]));
    lineage.end(2, Some((Sum(2), 1)));
    let d = Some(c.clone());
    assert_eq!(ownership(&d), Ownership::Owned);
    assert_eq!(take_settled(&mut lineage), (0, vec![vec![1]], vec![]));
    lineage.end(1, Some((Sum(1), 1)));
    assert_eq!(ownership(&d), Ownership::Settled);
    assert_eq!(take_settled(&mut lineage), (7, vec![], vec![]));
    assert_eq!(
        take_settled(&mut lineage),
        (0, vec![], vec![]),
        "they are taken"
    );
}

#[test]
fn what_a_failed_task_spawned_is_void_and_its_failure_counts_when_it_is_settled() {
    let mut lineage = Lineage::new(100);
    let a = begin(&mut lineage, 1, None);
    let b = begin(&mut lineage, 2, Some(&a));
    let c = begin(&mut lineage, 3, Some(&b));
    let d = begin(&mut lineage, 4, Some(&c));
    lineage.end(4, Some((Sum(8), 1)));
    lineage.fail(2, "b".to_owned(), false);
    assert!(lineage.begin(5, Some(d), None).is_none());
    assert_eq!(take_settled(&mut lineage), (0, vec![vec![1]], vec![]));
    lineage.end(1, Some((Sum(1), 1)));
    lineage.end(3, Some((Sum(4), 1)));
    assert_eq!(
        take_settled(&mut lineage),
        (1, vec![], vec!["b".to_owned()])
    );
    assert_eq!(ownership(&Some(c)), Ownership::Void);
}

#[test]
fn failures_below_a_failure_are_not_told() {
    let mut lineage = Lineage::new(100);
    let a = begin(&mut lineage, 1, None);
    begin(&mut lineage, 2, Some(&a));
    lineage.fail(2, "b".to_owned(), false);
    assert!(!lineage.has_failed(), "what spawned it runs");
    lineage.fail(1, "a".to_owned(), true);
    assert!(lineage.has_failed());
    assert_eq!(
        take_settled(&mut lineage),
        (0, vec![], vec!["a".to_owned()])
    );
}

#[test]
fn a_task_that_is_late_has_failed_though_it_goes_on() {
    let mut lineage = Lineage::new(100);
    let (limit, now) = (Duration::from_secs(60), Instant::now());
    let slow = lineage.begin(1, None, Some(limit)).expect("it is not void");
    let child = begin(&mut lineage, 2, Some(&slow));
    begin(&mut lineage, 3, None);
    lineage.expire(now + 2 * limit);
    assert!(!slow.is_late(), "its time begins when it is encoded");
    lineage.describe(1, vec![1]);
    lineage.expire(now);
    assert!(!slow.is_late() && !lineage.has_failed());
    lineage.expire(now + 2 * limit);
    lineage.expire(now + 2 * limit);
    assert!(slow.is_late() && lineage.has_failed());
    assert_eq!(ownership(&Some(child)), Ownership::Void);
    let late = "it took longer than 60s".to_owned();
    assert_eq!(take_settled(&mut lineage), (0, vec![vec![3]], vec![late]));
    assert_eq!((lineage.stuck(), lineage.has_failed()), (1, false));
    lineage.end(3, Some((Sum(2), 1)));
    assert!(lineage.has_failed(), "all but what is void have ended");
    assert_eq!(take_settled(&mut lineage), (2, vec![], vec![]));
    assert!(!lineage.end(1, Some((Sum(1), 1))), "it comes too late");
    assert_eq!((lineage.stuck(), lineage.has_failed()), (0, false));
}

/// Its failure counts when the task that spawned it has ended, and only then is it shared.
#[test]
fn a_late_task_whose_ancestor_runs_is_shared_when_that_has_ended() {
    let mut lineage = Lineage::new(100);
    let (limit, now) = (Duration::from_secs(60), Instant::now());
    let root = begin(&mut lineage, 1, None);
    let slow = lineage.begin(2, Some(root), Some(limit));
    assert!(slow.is_some());
    lineage.describe(2, vec![2]);
    lineage.expire(now + 2 * limit);
    assert!(!lineage.has_failed());
    assert_eq!(take_settled(&mut lineage), (0, vec![vec![1]], vec![]));
    lineage.end(1, Some((Sum(5), 1)));
    assert!(lineage.has_failed());
    let late = "it took longer than 60s".to_owned();
    assert_eq!(take_settled(&mut lineage), (5, vec![], vec![late]));
}

#[test]
fn a_task_that_is_being_encoded_puts_a_cut_off() {
    let mut lineage: Lineage<Sum<u64>> = Lineage::new(100);
    lineage.begin(1, None, None);
    assert!(lineage.take_settled().is_none());
    lineage.describe(1, vec![1]);
    assert!(lineage.take_settled().is_some());
}

#[test]
fn results_are_divided_where_they_get_large_and_only_there() {
    let mut parts: ResultParts<crate::Max<Vec<u8>>> = ResultParts::default();
    for _ in 0..1000 {
        parts.add(crate::Max(vec![7; 30]), 31, 100);
    }
    assert_eq!(parts.parts.len(), 1, "the largest of them is no larger");
    #[derive(serde::Serialize, serde::Deserialize)]
    struct All(Vec<u8>);
    impl Reduce for All {
        fn identity() -> All {
            All(Vec::new())
        }
        fn combine(&mut self, other: All) {
            self.0.extend(other.0);
        }
    }
    let mut parts = ResultParts::default();
    for number in 0..10 {
        parts.add(All(vec![number; 30]), 31, 100);
    }
    let sizes: Vec<usize> = parts.parts.iter().map(|(part, _)| part.0.len()).collect();
    assert_eq!(sizes, [90, 90, 90, 30]);
}
