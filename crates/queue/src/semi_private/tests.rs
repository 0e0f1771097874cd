//! Tests of the sequential logic.

use std::collections::VecDeque;

use super::*;
use crate::traits::{Steal, Thief};

#[test]
fn an_index_tells_where_its_item_is() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    let first = deque.next_index();
    deque.push(1).unwrap();
    let second = deque.next_index();
    deque.push(2).unwrap();
    assert_eq!(deque.location(first), ItemLocation::Private);
    deque.expose(Exposure::One);
    assert_eq!(deque.location(first), ItemLocation::Public);
    assert_eq!(deque.location(second), ItemLocation::Private);
    assert_eq!(thief.steal(), Steal::Success(1));
    assert_eq!(deque.location(first), ItemLocation::Stolen);
    assert_eq!(deque.location(second), ItemLocation::Private);
}

#[test]
fn half_of_the_private_part_is_rounded_up() {
    let mut deque = Deque::new();
    assert_eq!(deque.expose(Exposure::Half), 0);
    for (pushed, exposed) in [(1, 1), (2, 1), (3, 2), (8, 5)] {
        for item in 0..pushed {
            deque.push(item).unwrap();
        }
        let private = deque.private_len();
        assert_eq!(deque.expose(Exposure::Half), exposed);
        assert_eq!(deque.private_len(), private - exposed);
    }
}

/// Checks every sequence of a few operations on null and other items, with the result that a thief
/// must get after each of them.
#[test]
fn null_items_are_items() {
    const OPS: u32 = 5;
    const LENGTH: u32 = 6;
    for mut sequence in 0..OPS.pow(LENGTH) {
        let (mut deque, mut model, mut public) = (Deque::new(), VecDeque::new(), 0);
        let thief = deque.thief();
        for _ in 0..LENGTH {
            match sequence % OPS {
                item @ (0 | 1) => {
                    deque.push(item).unwrap();
                    model.push_back(item);
                }
                2 => {
                    assert_eq!(deque.pop(), model.pop_back());
                    public = model.len() - deque.private_len();
                }
                3 => public += deque.expose(Exposure::One),
                _ if public > 0 => {
                    assert_eq!(thief.steal(), Steal::Success(model.pop_front().unwrap()));
                    public -= 1;
                }
                _ if model.is_empty() => assert_eq!(thief.steal(), Steal::Empty),
                _ => assert_eq!(thief.steal(), Steal::Private),
            }
            sequence /= OPS;
            assert_eq!(deque.len(), model.len());
            assert_eq!(thief.len(), model.len());
            assert_eq!(thief.is_empty(), model.is_empty());
        }
    }
}

#[test]
fn taking_back_n_public_items_takes_about_log_n_fences() {
    let mut deque = Deque::new();
    for item in 0..1024 {
        deque.push(item).unwrap();
        deque.expose(Exposure::One);
    }
    let before = crate::counts::of_this_thread();
    let popped: Vec<u32> = std::iter::from_fn(|| deque.pop()).collect();
    assert!(popped.into_iter().rev().eq(0..1024));
    let spent = crate::counts::of_this_thread() - before;
    assert_eq!(spent.fences, 10, "halving 1024 items down to the last one");
    assert_eq!(spent.rmws, 1, "the last one");
}

#[test]
fn dropping_the_owner_leaves_everything_to_the_thieves() {
    let mut deque = Deque::new();
    let thief = deque.thief();
    deque.push(7).unwrap();
    drop(deque);
    assert_eq!(thief.steal(), Steal::Success(7));
    assert_eq!(thief.steal(), Steal::Empty);
}
