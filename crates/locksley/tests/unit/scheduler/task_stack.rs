use super::*;

#[test]
fn a_sighting_tells_roots_and_later_waits() {
    let stack = TaskStack::new();
    stack.enter_wait(GroupId(8));
    stack.enter_root(GroupId(16));
    stack.enter_wait(GroupId(24));
    stack.enter_root(GroupId(32));
    let waits_of = |group| {
        let mut waits = Vec::new();
        stack
            .sight(GroupId(group), |wait, _| waits.push(wait.0))
            .map(|_| waits)
    };
    assert_eq!(waits_of(8), None, "waited for, not executed");
    assert_eq!(waits_of(16), Some(vec![24]));
    assert_eq!(waits_of(32), Some(vec![]));
    stack.leave();
    assert_eq!(waits_of(32), None);
}

#[test]
fn a_sighting_tells_which_worker_runs_the_awaited_job() {
    let stack = TaskStack::new();
    stack.enter_root(GroupId(16));
    stack.enter_wait(GroupId(24));
    let runner = || {
        let mut seen = None;
        stack.sight(GroupId(16), |_, runner| seen = Some(runner));
        seen
    };
    assert_eq!(runner(), Some(None));
    stack.note_runner(0);
    assert_eq!(runner(), Some(Some(0)));
    stack.leave();
    stack.enter_wait(GroupId(32));
    assert_eq!(runner(), Some(None), "that was another wait");
}

#[test]
fn a_sighting_is_void_after_any_change() {
    let stack = TaskStack::new();
    stack.enter_root(GroupId(16));
    let sighting = stack.sight(GroupId(16), |_, _| {}).unwrap();
    assert!(stack.unchanged(sighting));
    stack.leave();
    stack.enter_root(GroupId(16));
    assert!(!stack.unchanged(sighting));
}

#[test]
fn no_waiter_helps_through_a_foreign_job() {
    let stack = TaskStack::new();
    stack.enter_root(GroupId(16));
    stack.enter_foreign();
    stack.enter_root(GroupId(24));
    assert!(stack.sight(GroupId(16), |_, _| {}).is_none());
    assert!(stack.sight(GroupId(24), |_, _| {}).is_none());
    assert_eq!(stack.depth(), 2);
    stack.leave();
    stack.leave_foreign();
    assert!(stack.sight(GroupId(16), |_, _| {}).is_some());
}

#[test]
fn a_wait_is_seen_from_its_beginning_to_its_end() {
    let stack = TaskStack::new();
    stack.enter_wait(GroupId(8));
    stack.enter_root(GroupId(16));
    assert!(stack.may_wait_for(GroupId(8)));
    assert!(!stack.may_wait_for(GroupId(16)), "executed, not waited for");
    for _ in 2..=LEVELS {
        stack.enter_root(GroupId(24));
    }
    assert!(
        stack.may_wait_for(GroupId(32)),
        "on a level that is not shown"
    );
    for _ in 0..LEVELS {
        stack.leave();
    }
    assert!(stack.may_wait_for(GroupId(8)));
    stack.leave();
    assert!(!stack.may_wait_for(GroupId(8)));
}

#[test]
fn levels_beyond_the_last_are_counted_and_not_shown() {
    let stack = TaskStack::new();
    for level in 1..=LEVELS + 3 {
        stack.enter_root(GroupId(level * 8));
    }
    assert_eq!(stack.depth(), LEVELS + 3);
    assert!(stack.sight(GroupId((LEVELS + 2) * 8), |_, _| {}).is_none());
    for _ in 0..LEVELS + 3 {
        stack.leave();
    }
    assert_eq!(stack.depth(), 0);
}
