use super::*;

#[test]
fn a_sighting_tells_roots_and_later_waits() {
    let frames = TaskStack::new();
    frames.enter_wait(GroupId(8));
    frames.enter_root(GroupId(16));
    frames.enter_wait(GroupId(24));
    frames.enter_root(GroupId(32));
    let waits_of = |group| {
        let mut waits = Vec::new();
        frames
            .sight(GroupId(group), |wait, _| waits.push(wait.0))
            .map(|_| waits)
    };
    assert_eq!(waits_of(8), None, "waited for, not executed");
    assert_eq!(waits_of(16), Some(vec![24]));
    assert_eq!(waits_of(32), Some(vec![]));
    frames.leave();
    assert_eq!(waits_of(32), None);
}

#[test]
fn a_sighting_tells_who_runs_what_is_waited_for() {
    let frames = TaskStack::new();
    frames.enter_root(GroupId(16));
    frames.enter_wait(GroupId(24));
    let runner = || {
        let mut seen = None;
        frames.sight(GroupId(16), |_, runner| seen = Some(runner));
        seen
    };
    assert_eq!(runner(), Some(None));
    frames.note_runner(0);
    assert_eq!(runner(), Some(Some(0)));
    frames.leave();
    frames.enter_wait(GroupId(32));
    assert_eq!(runner(), Some(None), "that was another wait");
}

#[test]
fn a_sighting_is_void_after_any_change() {
    let frames = TaskStack::new();
    frames.enter_root(GroupId(16));
    let sighting = frames.sight(GroupId(16), |_, _| {}).unwrap();
    assert!(frames.unchanged(sighting));
    frames.leave();
    frames.enter_root(GroupId(16));
    assert!(!frames.unchanged(sighting));
}

#[test]
fn nobody_helps_through_a_foreign_job() {
    let frames = TaskStack::new();
    frames.enter_root(GroupId(16));
    frames.enter_foreign();
    frames.enter_root(GroupId(24));
    assert!(frames.sight(GroupId(16), |_, _| {}).is_none());
    assert!(frames.sight(GroupId(24), |_, _| {}).is_none());
    assert_eq!(frames.depth(), 2);
    frames.leave();
    frames.leave_foreign();
    assert!(frames.sight(GroupId(16), |_, _| {}).is_some());
}

#[test]
fn who_may_wait_for_what() {
    let frames = TaskStack::new();
    frames.enter_wait(GroupId(8));
    frames.enter_root(GroupId(16));
    assert!(frames.may_wait_for(GroupId(8)));
    assert!(
        !frames.may_wait_for(GroupId(16)),
        "executed, not waited for"
    );
    for _ in 2..=LEVELS {
        frames.enter_root(GroupId(24));
    }
    assert!(
        frames.may_wait_for(GroupId(32)),
        "on a level that is not shown"
    );
    for _ in 0..LEVELS {
        frames.leave();
    }
    assert!(frames.may_wait_for(GroupId(8)));
    frames.leave();
    assert!(!frames.may_wait_for(GroupId(8)));
}

#[test]
fn levels_beyond_the_last_are_counted_and_not_shown() {
    let frames = TaskStack::new();
    for level in 1..=LEVELS + 3 {
        frames.enter_root(GroupId(level * 8));
    }
    assert_eq!(frames.depth(), LEVELS + 3);
    assert!(frames.sight(GroupId((LEVELS + 2) * 8), |_, _| {}).is_none());
    for _ in 0..LEVELS + 3 {
        frames.leave();
    }
    assert_eq!(frames.depth(), 0);
}
