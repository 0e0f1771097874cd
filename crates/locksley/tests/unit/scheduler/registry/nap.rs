use super::*;

fn sight(queues: &[(usize, usize)]) -> Sight {
    Sight(queues.to_vec())
}

#[test]
fn jobs_that_stay_where_they_are_are_stuck() {
    let before = sight(&[(0, 0), (3, 1), (2, 0)]);
    assert!(
        sight(&[(0, 0), (3, 1), (1, 0)]).is_stuck(&before),
        "one queue"
    );
    assert!(
        !sight(&[(0, 0), (2, 1), (3, 0)]).is_stuck(&before),
        "both move"
    );
    assert!(
        !sight(&[(0, 0), (3, 0), (1, 0)]).is_stuck(&before),
        "one was stolen"
    );
}

#[test]
fn empty_queues_are_not_stuck() {
    let empty = sight(&[(0, 0), (0, 0)]);
    assert!(!empty.is_stuck(&empty));
    assert_eq!(empty.jobs(), 0);
    let started = sight(&[(0, 0), (0, 0), (4, 4)]);
    assert!(
        !started.is_stuck(&empty),
        "a spare that was not there before"
    );
    assert_eq!(started.jobs(), 4);
}
