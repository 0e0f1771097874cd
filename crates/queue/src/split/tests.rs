//! Tests with one thread.

use super::*;
use crate::traits::{Owner, Steal, StealBatch, Thief};

#[test]
fn a_deque_that_has_shrunk_takes_items_again() {
    for size in [1, 65, 130, 1000] {
        let mut deque = Deque::new();
        for round in 0..200 {
            for item in 0..size {
                deque.push(item).unwrap();
            }
            deque.expose(round % (size + 1));
            for item in (0..size).rev() {
                assert_eq!(deque.pop(), Some(item), "round {round} of {size}");
            }
            assert_eq!(deque.pop(), None);
        }
    }
}

#[test]
fn thieves_get_what_is_public_and_no_more() {
    if !barrier::is_ready() {
        return; // Nothing is private for long: see below.
    }
    let mut deque = Deque::new();
    let thief = deque.thief();
    assert_eq!(thief.steal(), Steal::Empty);
    for item in 1..=4 {
        deque.push(item).unwrap();
    }
    assert_eq!(thief.steal(), Steal::Private);
    assert_eq!(deque.expose(3), 3);
    assert_eq!(thief.steal(), Steal::Success(1));
    let mut stolen = Vec::new();
    assert_eq!(
        thief.steal_some(|public| public, |item| stolen.push(item)),
        Steal::Success(2)
    );
    assert_eq!(stolen, [2, 3]);
    assert_eq!(thief.steal(), Steal::Private);
    assert_eq!(deque.pop(), Some(4));
    assert_eq!(thief.steal(), Steal::Empty);
}

/// Holds with `membarrier` and without.
#[test]
fn what_was_forced_is_popped_or_stolen() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    for item in 0..8 {
        deque.push(item).unwrap();
    }
    assert_eq!(deque.private_len(), 8);
    assert_eq!(thief.force(), Forced::Public);
    assert_eq!(deque.private_len(), 0);
    assert_eq!(deque.pop(), Some(7));
    assert_eq!(deque.private_len(), 3, "half was taken back");
    for item in 0..4 {
        assert_eq!(thief.steal(), Steal::Success(item));
    }
    assert_eq!(thief.steal(), Steal::Private);
    assert_eq!(thief.force(), Forced::Public);
    assert_eq!(deque.pop(), Some(6));
    assert_eq!(thief.steal(), Steal::Success(4));
    assert_eq!(deque.pop(), Some(5));
    assert_eq!((deque.pop(), thief.steal()), (None, Steal::Empty));
}

/// An item can be taken back from anywhere, once, in any state.
#[test]
fn the_handle_takes_back_from_anywhere() {
    for public in 0..=5 {
        for which in 0..5 {
            let mut deque = Deque::with_capacity(2);
            let tokens: Vec<_> = (0..5).map(|item| deque.push_for_take_back(item)).collect();
            deque.expose(public);
            assert_eq!(deque.take_back(tokens[which]), Some(which));
            assert_eq!(deque.take_back(tokens[which]), None, "twice");
            let rest: Vec<_> = std::iter::from_fn(|| deque.pop()).collect();
            let expected: Vec<_> = (0..5).rev().filter(|&item| item != which).collect();
            assert_eq!(rest, expected);
            assert_eq!(deque.take_back(tokens[which]), None, "below the bottom");
            deque.push(7).unwrap();
            assert_eq!(
                deque.take_back(tokens[0]),
                Some(7),
                "the position's next item"
            );
        }
    }
}

#[test]
fn a_thief_skips_holes() {
    let mut deque = Deque::new();
    let tokens: Vec<_> = (0..6).map(|item| deque.push_for_take_back(item)).collect();
    let thief = deque.thief();
    assert_eq!(deque.take_back(tokens[0]), Some(0));
    assert_eq!(deque.take_back(tokens[3]), Some(3));
    deque.expose(6);
    assert_eq!(thief.steal(), Steal::Retry, "a hole alone");
    let mut own = Deque::new();
    assert_eq!(thief.steal_half(&mut own), Steal::Success(2));
    assert_eq!(own.pop(), Some(1));
    assert_eq!(thief.steal(), Steal::Success(4));
    assert_eq!(deque.pop(), Some(5));
    assert_eq!(deque.pop(), None);
}

#[test]
fn an_owner_that_goes_leaves_everything_public() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    for item in 0..3 {
        deque.push(item).unwrap();
    }
    thief.request();
    drop(deque);
    for item in 0..3 {
        assert_eq!(thief.steal(), Steal::Success(item));
    }
    assert_eq!(thief.steal(), Steal::Empty);
}

#[test]
fn thefts_are_counted_from_zero() {
    let deque = Embedded::new();
    // SAFETY: this thread is the owner, for all of these.
    unsafe {
        deque.push(1);
        assert_eq!(deque.stolen(), 0);
        deque.expose(1);
        assert_eq!(deque.steal(), Steal::Success(1));
        assert_eq!((deque.stolen(), deque.exposed()), (1, 1));
    }
}

#[test]
fn a_request_is_answered_after_the_next_push() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    deque.push(1).unwrap();
    assert!(thief.request());
    assert!(!thief.request(), "asked before");
    deque.push(2).unwrap();
    assert_eq!(thief.steal(), Steal::Success(1));
    assert!(thief.request());
}

#[test]
fn a_force_makes_everything_public() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    if !barrier::is_ready() {
        return;
    }
    assert_eq!(thief.force(), Forced::Empty);
    for item in 0..100 {
        deque.push(item).unwrap();
    }
    assert_eq!(thief.force(), Forced::Public);
    assert_eq!(thief.steal(), Steal::Success(0));
    for item in (1..100).rev() {
        assert_eq!(deque.pop(), Some(item));
    }
    assert_eq!(deque.pop(), None);
}

#[test]
fn items_leave_from_the_middle() {
    for public in 0..=4 {
        let deque = Embedded::new();
        // SAFETY: this thread is the owner, for all of these.
        unsafe {
            deque.push(0);
            let (place, _) = deque.push(1);
            deque.push(2);
            deque.mark();
            deque.push(3);
            deque.mark();
            deque.expose(public);
            assert_eq!(deque.take_back(place), TakenBack::FromUnder);
            assert_eq!(deque.pop(), Some(3));
            assert_eq!(deque.pop(), Some(2));
            assert_eq!(deque.pop(), Some(0));
            assert_eq!(deque.pop(), None);
        }
    }
}

#[test]
fn stolen_items_do_not_come_back() {
    let deque = Embedded::new();
    // SAFETY: this thread is the owner, for all of these.
    unsafe {
        let (first, _) = deque.push(1);
        let (second, _) = deque.push(2);
        deque.expose(1);
        assert_eq!(deque.steal(), Steal::Success(1));
        assert_eq!(deque.take_back(second), TakenBack::Yes);
        assert_eq!(deque.take_back(first), TakenBack::No);
        deque.push(3);
        deque.mark();
        assert_eq!(deque.take_back(first), TakenBack::No);
        assert_eq!(deque.pop(), Some(3));
    }
}

/// The owner tries to take back items that were stolen long ago, the older ones after the deque has
/// been empty, filled and emptied by thieves again.
#[test]
fn a_stolen_item_leaves_the_bottom_where_it_was() {
    let deque = Embedded::new();
    // SAFETY: this thread is the owner, for all of these.
    unsafe {
        let places: Vec<_> = (0..4).map(|item| deque.push(item).0).collect();
        deque.expose(4);
        for item in 0..4 {
            assert_eq!(deque.steal(), Steal::Success(item));
        }
        assert_eq!(deque.pop(), None);
        for item in 4..9 {
            deque.push(item);
        }
        deque.expose(5);
        for item in 4..9 {
            assert_eq!(deque.steal(), Steal::Success(item));
        }
        assert_eq!(deque.take_back(places[1]), TakenBack::No);
        deque.push(9);
        assert_eq!(deque.len(), 1);
        assert_eq!(deque.pop(), Some(9));
        assert_eq!(deque.take_back(places[0]), TakenBack::No);
        assert_eq!(deque.pop(), None);
    }
}
