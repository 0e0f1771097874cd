//! Arrays that grow and shrink under thieves, and indices that wrap.

use locksley_queue::Owner;
use locksley_queue::split::{Deque, model};
use loom::thread;

use super::{Act, force_and_take, pop_twice, race, run, take, take_two};
use crate::support::{Payload, assert_each_once, pop, push};

/// The circle has two slots under loom, and the push that fills it doubles it.
#[test]
pub(super) fn grow_against_steal() {
    race(1, 1, &[take, take], |deque, _| push(deque, 1), 2);
}

#[test]
pub(super) fn grow_against_force() {
    race(1, 0, &[force_and_take], |deque, _| push(deque, 1), 2);
}

/// As [`race`], but the only thief runs first, and yields to the owner after it has claimed items
/// and before it reads them. The owner only loads the span when it makes room, and loom does not
/// try by itself to run a compare-and-swap before such a load if another load precedes it.
fn behind_a_claim(
    items: usize,
    public: usize,
    act: Act,
    owner: fn(&mut Deque<Payload>, &mut Vec<usize>),
    total: usize,
) {
    model::thieves_pause();
    loom::model(move || {
        let mut deque = Deque::new();
        for value in 0..items {
            push(&mut deque, value);
        }
        deque.expose(public);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || act(&thief));
        let owning = thread::spawn(move || {
            let mut seen = Vec::new();
            owner(&mut deque, &mut seen);
            (deque, seen)
        });
        let mut seen = thief_thread.join().unwrap();
        let (mut deque, kept) = owning.join().unwrap();
        seen.extend(kept);
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, total);
    });
}

/// A thief has claimed two items of a circle of four, but not read them, when the owner fills it.
#[test]
pub(super) fn grow_behind_a_claim() {
    behind_a_claim(3, 3, take_two, |deque, _| push(deque, 3), 4);
}

/// The same, and the owner continues to the slots of these items.
#[test]
pub(super) fn slot_reuse_behind_a_claim() {
    behind_a_claim(
        3,
        3,
        take_two,
        |deque, _| {
            push(deque, 3);
            push(deque, 4);
        },
        5,
    );
}

/// The owner finds the last item stolen, and shrinks the circle.
#[test]
pub(super) fn shrink_behind_a_claim() {
    behind_a_claim(
        3,
        1,
        take,
        |deque, seen| {
            for _ in 0..3 {
                pop(deque, seen);
            }
        },
        3,
    );
}

/// The circle grows and shrinks again, while a thief may still read the items that it has claimed.
#[test]
pub(super) fn shrink_against_steal() {
    race(
        3,
        3,
        &[take_two],
        |deque, seen| {
            while deque.pop().map(|item| seen.push(item.open())).is_some() {}
            push(deque, 3);
            deque.expose(1);
        },
        4,
    );
}

/// A first index with which the 40 bits of `top` in the span wrap around between the two items.
const LAST_TOP: u64 = ((1 << 40) - 1) * 8;

#[test]
pub(super) fn top_wraps_round_under_steals() {
    loom::model(run(LAST_TOP, 2, 2, &[take_two, take], pop_twice, 2));
}

#[test]
pub(super) fn top_wraps_round_under_a_force() {
    loom::model(run(LAST_TOP, 2, 0, &[force_and_take], pop_twice, 2));
}
