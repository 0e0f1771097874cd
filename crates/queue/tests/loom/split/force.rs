//! Thieves that force the exposure of private items.

use locksley_queue::Owner;
use locksley_queue::barrier::{self};
use locksley_queue::split::{Deque, Embedded, Forced, TakenBack};
use loom::sync::Arc;
use loom::thread;

use super::{
    Act, force_and_take, force_and_take_two, pop_twice, race, run, take, take_force_and_take,
    take_two,
};
use crate::support::{deep, pop, push};

#[test]
pub(super) fn force_against_pops() {
    race(2, 0, &[force_and_take], pop_twice, 2);
}

#[test]
pub(super) fn force_against_the_last_pop() {
    race(1, 0, &[force_and_take, take], pop, 1);
}

#[test]
pub(super) fn force_against_push() {
    deep(run(
        0,
        0,
        0,
        &[force_and_take, take],
        |deque, seen| {
            push(deque, 0);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    ));
}

#[test]
pub(super) fn force_against_pop_and_push() {
    race(
        1,
        0,
        &[force_and_take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

/// Marks make every pop store the limit and load the span.
#[test]
pub(super) fn force_against_marks() {
    race(
        2,
        0,
        &[force_and_take],
        |deque, seen| {
            deque.mark();
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

/// One thief forces, after the owner has pushed another item at the same index, and another steals
/// it.
#[test]
pub(super) fn forced_for_another_thief() {
    race(
        1,
        0,
        &[
            |thief| {
                thief.force();
                Vec::new()
            },
            take,
        ],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
        },
        2,
    );
}

/// While the owner does nothing, a force makes everything public.
#[test]
pub(super) fn force_without_resistance() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        let thief = deque.thief();
        assert_eq!(thief.force(), Forced::Public);
        assert_eq!(take_two(&thief), [0, 1]);
        assert_eq!(thief.force(), Forced::Empty);
    });
}

/// The owner takes public items back and lowers the limit, while a thief that has stolen a public
/// item forces the items that became private.
#[test]
pub(super) fn force_against_a_lowered_limit() {
    race(3, 3, &[take_force_and_take], pop_twice, 3);
}

#[test]
pub(super) fn force_against_expose() {
    race(
        2,
        0,
        &[force_and_take],
        |deque, seen| {
            deque.expose(1);
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
pub(super) fn two_forces() {
    deep(run(0, 2, 0, &[force_and_take, force_and_take], pop, 2));
}

/// A force that the owner has cancelled has no effect later, even if another force follows.
#[test]
pub(super) fn two_forces_against_pop_and_push() {
    deep(run(
        0,
        1,
        0,
        &[force_and_take, force_and_take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    ));
}

#[test]
pub(super) fn steal_of_many_against_force() {
    deep(run(0, 2, 0, &[force_and_take_two, take_two], pop, 2));
}

/// A force whose barrier is refused removes its mark, and no item is lost.
#[test]
pub(super) fn refused_force_against_pops() {
    barrier::model_refusal(true);
    let act: Act = |thief| {
        assert_ne!(thief.force(), Forced::Public);
        take(thief)
    };
    let thieves: &'static [Act] = Box::leak(Box::new([act]));
    race(
        2,
        0,
        thieves,
        |deque, seen| {
            pop(deque, seen);
            push(deque, 2);
            pop(deque, seen);
        },
        3,
    );
}

/// The owner takes back the newest item, or a thief has it.
#[test]
pub(super) fn taken_back_or_forced() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let thief = deque.clone();
        // SAFETY: this thread is the owner.
        let (place, _) = unsafe { deque.push(1_usize) };
        let thief_thread = thread::spawn(move || {
            let forced = thief.force();
            let stolen = thief.steal().is_success();
            assert!(!stolen || forced == Forced::Public);
            stolen
        });
        // SAFETY: as above; the item was not popped.
        let back = unsafe { deque.take_back(place) } == TakenBack::Yes;
        assert!(back != thief_thread.join().unwrap());
    });
}
