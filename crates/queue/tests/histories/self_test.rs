//! The checker must reject wrong histories, and accept those that only look wrong.

use crate::subject::DequeSubject;
use crate::subjects::{Aborting, Disorders, Duplicates, FeignsEmpty, Loses};
use crate::wgl::Op::{Abort, Empty, Pop, Private, Push, Steal, TakeBack};
use crate::wgl::{Aborts, History, Invocation, Op, check};

/// An invocation from `begun` to `completed`.
fn at(begun: u64, completed: u64, op: Op) -> Invocation {
    Invocation {
        begun,
        completed,
        op,
    }
}

fn steal(item: u32) -> Op {
    Steal(vec![item])
}

fn good(history: History) {
    assert_eq!(check(&history, Aborts::Justified), Ok(()));
}

fn bad(history: History) {
    assert!(
        check(&history, Aborts::Justified).is_err(),
        "accepted {history:?}"
    );
}

#[test]
fn serial_runs() {
    let pushes = || vec![at(1, 2, Push(0)), at(3, 4, Push(1)), at(5, 6, Push(2))];
    good(vec![
        [pushes(), vec![at(9, 10, Pop(Some(2)))]].concat(),
        vec![at(7, 8, steal(0))],
    ]);
    good(vec![pushes(), vec![at(7, 8, Steal(vec![0, 1]))]]);
    bad(vec![
        [pushes(), vec![at(9, 10, Pop(Some(1)))]].concat(),
        vec![at(7, 8, steal(0))],
    ]);
}

#[test]
fn a_lost_item() {
    bad(vec![vec![at(1, 2, Push(0)), at(3, 4, Pop(None))]]);
    bad(vec![vec![at(1, 2, Push(0))], vec![at(3, 4, Empty)]]);
    bad(vec![
        vec![at(1, 2, Push(0)), at(3, 4, Push(1))],
        vec![at(5, 6, steal(1))],
    ]);
}

#[test]
fn a_duplicated_item() {
    bad(vec![
        vec![at(1, 2, Push(0)), at(3, 6, Pop(Some(0)))],
        vec![at(3, 6, steal(0))],
    ]);
    bad(vec![
        vec![at(1, 2, Push(0))],
        vec![at(3, 6, steal(0))],
        vec![at(3, 6, steal(0))],
    ]);
    bad(vec![
        vec![at(1, 2, Push(0)), at(3, 4, Push(1))],
        vec![at(5, 6, Steal(vec![0, 0]))],
    ]);
}

#[test]
fn take_backs() {
    let back = |item, taken| at(7, 8, TakeBack { item, taken });
    let pushes = || vec![at(1, 2, Push(0)), at(3, 4, Push(1)), at(5, 6, Push(2))];
    let then = |rest: Vec<Invocation>| [pushes(), rest].concat();
    good(vec![then(vec![
        back(1, true),
        at(9, 10, Pop(Some(2))),
        at(11, 12, Pop(Some(0))),
    ])]);
    good(vec![
        then(vec![back(1, true)]),
        vec![at(9, 10, Steal(vec![0, 2]))],
    ]);
    good(vec![then(vec![back(0, false)]), vec![at(5, 9, steal(0))]]);
    // The item is taken back and stolen too; or neither.
    bad(vec![then(vec![back(0, true)]), vec![at(5, 9, steal(0))]]);
    bad(vec![then(vec![back(0, false)])]);
    bad(vec![then(vec![
        back(1, true),
        at(9, 10, Pop(Some(2))),
        at(11, 12, Pop(Some(1))),
    ])]);
}

#[test]
fn an_invented_item() {
    bad(vec![vec![at(1, 2, Push(0))], vec![at(1, 6, steal(7))]]);
    // Stolen before it was pushed.
    bad(vec![vec![at(3, 4, Push(0))], vec![at(1, 2, steal(0))]]);
}

#[test]
fn a_wrong_order() {
    let pushes = || vec![at(1, 2, Push(0)), at(3, 4, Push(1))];
    bad(vec![pushes(), vec![at(5, 6, steal(1)), at(7, 8, steal(0))]]);
    // Two thieves at once may finish in any order.
    good(vec![
        pushes(),
        vec![at(5, 8, steal(1))],
        vec![at(5, 8, steal(0))],
    ]);
    bad(vec![
        pushes(),
        vec![at(5, 6, steal(1))],
        vec![at(7, 8, steal(0))],
    ]);
    bad(vec![pushes(), vec![at(5, 6, Steal(vec![1, 0]))]]);
}

#[test]
fn emptiness_needs_a_moment() {
    let owner = || vec![at(1, 2, Push(0)), at(3, 6, Pop(Some(0))), at(7, 8, Push(1))];
    good(vec![owner(), vec![at(4, 5, Empty)]]);
    bad(vec![owner(), vec![at(9, 10, Empty)]]);
    good(vec![owner(), vec![at(4, 5, Private)]]);
    bad(vec![
        owner(),
        vec![at(6, 6, Private), at(6, 6, Empty), at(6, 6, Private)],
    ]);
}

#[test]
fn an_unjustified_abort() {
    let push = || vec![at(1, 2, Push(0)), at(3, 4, Push(1))];
    bad(vec![push(), vec![at(5, 6, Abort)]]);
    // Another thread's removal during the abort justifies it; one before or after does not.
    good(vec![
        push(),
        vec![at(5, 8, Abort)],
        vec![at(6, 7, steal(0))],
    ]);
    good(vec![
        push(),
        vec![at(5, 7, Abort)],
        vec![at(6, 9, steal(0))],
    ]);
    bad(vec![
        push(),
        vec![at(7, 8, Abort)],
        vec![at(5, 6, steal(0))],
    ]);
    bad(vec![
        push(),
        vec![at(5, 6, Abort)],
        vec![at(7, 8, steal(0))],
    ]);
}

#[test]
fn a_pop_justifies_an_abort_only_if_it_takes_the_topmost() {
    let one = vec![at(1, 2, Push(0)), at(5, 6, Pop(Some(0)))];
    good(vec![one, vec![at(4, 7, Abort)]]);
    let two = vec![at(1, 2, Push(0)), at(3, 4, Push(1)), at(5, 6, Pop(Some(1)))];
    bad(vec![two, vec![at(4, 7, Abort)]]);
}

#[test]
fn one_removal_does_not_justify_aborts_that_follow_each_other() {
    let push = || vec![at(1, 2, Push(0))];
    bad(vec![
        push(),
        vec![at(4, 5, Abort), at(6, 7, Abort)],
        vec![at(3, 8, steal(0))],
    ]);
    good(vec![
        push(),
        vec![at(4, 6, Abort)],
        vec![at(3, 8, steal(0))],
        vec![at(5, 7, Abort)],
    ]);
}

#[test]
fn weaker_aborts_are_weaker_only_as_far_as_they_say() {
    let alone = vec![vec![at(1, 2, Push(0))], vec![at(3, 4, Abort)]];
    assert!(check(&alone, Aborts::DuringSteals).is_err());
    assert_eq!(check(&alone, Aborts::Always), Ok(()));
    let two = vec![vec![], vec![at(1, 4, Abort)], vec![at(2, 3, Empty)]];
    assert!(check(&two, Aborts::Justified).is_err());
    assert_eq!(check(&two, Aborts::DuringSteals), Ok(()));
}

/// Asserts that the recorded runs of a faulty deque show the fault. One of the first runs does,
/// unless the threads hardly overlap.
fn found_out<S: DequeSubject>() {
    assert!(crate::first_bad_run::<S>(10_000, Aborts::Justified).is_err());
}

#[test]
fn faulty_deques_are_found_out() {
    found_out::<Loses>();
    found_out::<Duplicates>();
    found_out::<Disorders>();
    found_out::<FeignsEmpty>();
    found_out::<Aborting>();
}
