use locksley_queue::chase_lev::{Deque, Stealer};
use locksley_queue::{Owner, Thief};
use loom::thread;

use crate::support::{Payload, assert_each_once, pop, push, race, steal_times};

#[test]
fn last_item_against_two_thieves() {
    race(Deque::new, 1, 2, pop, 1);
}

#[test]
fn pop_against_two_thieves() {
    race(
        Deque::new,
        2,
        2,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn push_against_steal() {
    race(
        Deque::new,
        0,
        2,
        |deque, seen| {
            push(deque, 0);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn pop_then_push_against_two_thieves() {
    race(
        Deque::new,
        2,
        2,
        |deque, seen| {
            pop(deque, seen);
            push(deque, 2);
        },
        3,
    );
}

/// The circle has two slots under loom: the third push doubles it.
#[test]
fn grow_against_steal() {
    race(Deque::new, 2, 2, |deque, _| push(deque, 2), 3);
}

/// The third push doubles the circle, the fifth doubles it again.
#[test]
fn grow_twice_against_steal() {
    race(
        Deque::new,
        2,
        1,
        |deque, _| {
            push(deque, 2);
            push(deque, 3);
            push(deque, 4);
        },
        5,
    );
}

/// Slots are used again after a thief emptied them.
#[test]
fn slot_reuse_against_steal() {
    race(
        Deque::new,
        2,
        1,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
            push(deque, 2);
            push(deque, 3);
        },
        4,
    );
}

/// The circle of two is full; the slot of the stolen item is written again.
#[test]
fn slot_reuse_after_a_theft() {
    race(Deque::new, 2, 1, |deque, _| push(deque, 2), 3);
}

/// Under loom a deque that was once found empty shrinks.
#[test]
fn shrink_against_steal() {
    loom::model(|| {
        let mut deque = Deque::with_capacity(4);
        push(&mut deque, 0);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || steal_times(&thief, 2));
        let mut seen = Vec::new();
        pop(&mut deque, &mut seen);
        pop(&mut deque, &mut seen);
        push(&mut deque, 1);
        seen.extend(thief_thread.join().unwrap());
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, 2);
        assert_eq!(deque.capacity(), 2);
    });
}

#[test]
fn what_is_left_is_dropped_once() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || thief.steal().is_success());
        drop(deque);
        thief_thread.join().unwrap();
    });
}

/// The deque has an item at any time, so a thief must find one, even if it learns of the theft
/// before it learns of the push.
#[test]
fn never_empty() {
    for look in [is_empty, steals_nothing] {
        loom::model(move || {
            let mut deque = one_item();
            let thief = deque.thief();
            let looking = thread::spawn(move || look(&thief));
            push(&mut deque, 1);
            drop(deque.thief().steal());
            assert!(!looking.join().unwrap());
        });
    }
}

fn is_empty(thief: &Stealer<Payload>) -> bool {
    thief.is_empty()
}

fn steals_nothing(thief: &Stealer<Payload>) -> bool {
    thief.steal().is_empty()
}

fn one_item() -> Deque<Payload> {
    let mut deque = Deque::new();
    push(&mut deque, 0);
    deque
}

#[test]
fn empty_stays_empty() {
    crate::support::empty_stays_empty(|| {
        let mut deque = Deque::new();
        crate::support::push(&mut deque, 0);
        crate::support::push(&mut deque, 1);
        deque
    });
}
