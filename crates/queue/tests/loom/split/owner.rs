//! The owner's operations against thieves that steal or request, and against sleepers.

use locksley_queue::barrier;
use locksley_queue::split::{Deque, Embedded, TakenBack};
use locksley_queue::{Owner, Thief};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::{ask_and_take, pop_twice, race, take, take_two};
use crate::support::{Payload, assert_each_once, pop, push};

#[test]
pub(super) fn last_public_item_against_two_thieves() {
    race(1, 1, &[take, take], pop, 1);
}

#[test]
pub(super) fn take_back_against_two_thieves() {
    race(2, 2, &[take, take], pop_twice, 2);
}

#[test]
pub(super) fn half_is_taken_back_against_a_thief_of_two() {
    race(
        3,
        3,
        &[take_two],
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
        },
        3,
    );
}

#[test]
pub(super) fn expose_against_steal() {
    race(
        0,
        0,
        &[take, take],
        |deque, seen| {
            push(deque, 0);
            push(deque, 1);
            deque.expose(1);
            pop(deque, seen);
        },
        2,
    );
}

/// The owner takes an item back, pushes another at the same index, and exposes that.
#[test]
pub(super) fn same_index_again_against_steal() {
    race(
        1,
        1,
        &[take, take],
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            deque.expose(1);
        },
        2,
    );
}

#[test]
pub(super) fn request_against_push() {
    race(
        1,
        0,
        &[ask_and_take, take],
        |deque, seen| {
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

/// A thief of several items skips the hole of an item that was taken back from between them.
#[test]
pub(super) fn hole_against_a_thief_of_two() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        let token = deque.push_for_take_back(Payload::new(1));
        push(&mut deque, 2);
        deque.expose(2);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || take_two(&thief));
        let mut seen: Vec<_> = deque
            .take_back(token)
            .map(Payload::open)
            .into_iter()
            .collect();
        pop(&mut deque, &mut seen);
        seen.extend(thief_thread.join().unwrap());
        seen.extend(std::iter::from_fn(|| deque.pop()).map(Payload::open));
        assert_each_once(seen, 3);
    });
}

/// A sleeper calls, passes the heavy barrier, and checks the deque; an owner pushes, and checks
/// whether it was called. At least one of them sees the other.
#[test]
pub(super) fn sleeper_against_push() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let sleeper = deque.clone();
        let asleep = thread::spawn(move || {
            sleeper.request_attention();
            assert!(barrier::heavy());
            sleeper.is_empty()
        });
        // SAFETY: this thread is the owner.
        let (_, attention) = unsafe { deque.push(1_usize) };
        // SAFETY: as above.
        let woken = attention && unsafe { deque.attend() }.requested;
        assert!(!asleep.join().unwrap() || woken);
    });
}

/// The same while the owner takes an item back from under another one, which the sleeper cannot see
/// meanwhile.
#[test]
pub(super) fn sleeper_against_take_back() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        // SAFETY: this thread is the owner, for all of these.
        let (token, _) = unsafe { deque.push(1_usize) };
        // SAFETY: as above.
        unsafe {
            if deque.push(2).1 {
                deque.attend();
            }
            deque.mark();
        }
        let sleeper = deque.clone();
        let asleep = thread::spawn(move || {
            sleeper.request_attention();
            assert!(barrier::heavy());
            sleeper.is_empty()
        });
        // SAFETY: as above.
        let taken = unsafe { deque.take_back(token) };
        let called = deque.is_attention_requested();
        assert_eq!(taken, TakenBack::FromUnder);
        assert!(!asleep.join().unwrap() || called);
    });
}

/// A request made while the owner makes room stays pending, or the owner has seen it.
#[test]
pub(super) fn request_against_making_room() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        // SAFETY: this thread is the owner, for all of these.
        unsafe { deque.push(0_usize) };
        let thief = deque.clone();
        let asking = thread::spawn(move || thief.request_attention());
        // SAFETY: as above.
        let (_, attention) = unsafe { deque.push(1) };
        assert!(attention, "the circle is full");
        // SAFETY: as above.
        let seen = unsafe { deque.attend() }.requested;
        asking.join().unwrap();
        assert!(seen || deque.is_attention_requested());
    });
}

/// The stores of a thief before its request are visible to the owner that clears the request.
#[test]
pub(super) fn request_brings_its_reason() {
    loom::model(|| {
        let deque = Arc::new(Embedded::new());
        let thief = deque.clone();
        let reason = Arc::new(UnsafeCell::new(0));
        let written = reason.clone();
        let asking = thread::spawn(move || {
            // SAFETY: the owner reads it only if it has seen the request; loom checks that.
            written.with_mut(|reason| unsafe { *reason = 1 });
            thief.request();
        });
        // SAFETY: this thread is the owner.
        let (_, attention) = unsafe { deque.push(1_usize) };
        // SAFETY: as above.
        if attention && unsafe { deque.attend() }.requested {
            // SAFETY: the thief writes it before its request alone.
            assert_eq!(reason.with(|reason| unsafe { *reason }), 1);
        }
        asking.join().unwrap();
    });
}

/// The owner takes a join's item back from under a spawned one, public or not, or a thief has it.
#[test]
pub(super) fn taken_from_the_middle() {
    for public in 0..3 {
        for force in [false, true] {
            loom::model(move || {
                let deque = Arc::new(Embedded::new());
                let thief = deque.clone();
                // SAFETY: this thread is the owner, for all of these.
                let place = unsafe {
                    let (place, _) = deque.push(Payload::new(0));
                    deque.push(Payload::new(1));
                    deque.mark();
                    deque.expose(public);
                    place
                };
                let thief_thread = thread::spawn(move || {
                    if force {
                        thief.force();
                    }
                    let stolen = thief.steal().success();
                    stolen.map(Payload::open).into_iter().collect::<Vec<_>>()
                });
                let mut seen = Vec::new();
                // SAFETY: as above; the item was not popped.
                if unsafe { deque.take_back(place) } != TakenBack::No {
                    seen.push(0);
                }
                // SAFETY: as above.
                seen.extend(unsafe { deque.pop() }.map(Payload::open));
                seen.extend(thief_thread.join().unwrap());
                // SAFETY: as above.
                while let Some(item) = unsafe { deque.pop() } {
                    seen.push(item.open());
                }
                seen.sort_unstable();
                assert_eq!(seen, [0, 1]);
            });
        }
    }
}

#[test]
pub(super) fn what_is_left_is_dropped_once() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        deque.expose(1);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || thief.steal().is_success());
        drop(deque);
        thief_thread.join().unwrap();
    });
}

/// The deque has an item at any time, so a thief must find one.
#[test]
pub(super) fn never_empty() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        deque.expose(1);
        let thief = deque.thief();
        let looking = thread::spawn(move || (thief.is_empty(), thief.steal().is_empty()));
        push(&mut deque, 1);
        drop(deque.thief().steal());
        let (empty, steals_nothing) = looking.join().unwrap();
        assert!(!empty && !steals_nothing);
    });
}
