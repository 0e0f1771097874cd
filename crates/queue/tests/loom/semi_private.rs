use locksley_queue::semi_private::{Deque, Exposure, ItemLocation, Stealer};
use locksley_queue::{Owner, Steal, Thief};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::support::{Payload, assert_each_once, pop, push, race, steal_times};

/// Creates a deque with `count` public items, exposed one by one before the race starts.
fn exposed(count: usize) -> Deque<Payload> {
    let mut deque = Deque::new();
    for value in 0..count {
        push(&mut deque, value);
        deque.expose(Exposure::One);
    }
    deque
}

#[test]
fn last_item_against_two_thieves() {
    race(|| exposed(1), 0, 2, pop, 1);
}

#[test]
fn take_back_against_two_thieves() {
    race(
        || exposed(2),
        0,
        2,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

#[test]
fn take_back_then_expose_against_two_thieves() {
    race(
        || exposed(2),
        0,
        2,
        |deque, seen| {
            pop(deque, seen);
            push(deque, 2);
            deque.expose(Exposure::Half);
        },
        3,
    );
}

#[test]
fn take_back_half_against_steal() {
    race(
        || exposed(4),
        0,
        1,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
            pop(deque, seen);
        },
        4,
    );
}

#[test]
fn expose_against_steal() {
    race(
        Deque::new,
        2,
        2,
        |deque, seen| {
            deque.expose(Exposure::One);
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

/// The circle has two slots under loom, of which one stays empty: the second push doubles it.
#[test]
fn grow_against_steal() {
    race(|| exposed(1), 0, 2, |deque, _| push(deque, 1), 2);
}

/// The fourth push doubles it again.
#[test]
fn grow_again_against_steal() {
    race(|| exposed(3), 0, 1, |deque, _| push(deque, 3), 4);
}

#[test]
fn slot_reuse_against_steal() {
    race(
        || exposed(2),
        0,
        1,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
            push(deque, 2);
            push(deque, 3);
            deque.expose(Exposure::Half);
        },
        4,
    );
}

/// The circle of four has room for three; the slot of the stolen item is written again. (The owner
/// is a spawned thread: loom then begins with the orders in which the thief comes first.)
#[test]
fn slot_reuse_after_a_theft() {
    loom::model(|| {
        let mut deque = exposed(3);
        let thief = deque.thief();
        let owner = thread::spawn(move || {
            push(&mut deque, 3);
            push(&mut deque, 4);
            deque
        });
        let mut seen = steal_times(&thief, 1);
        let mut deque = owner.join().unwrap();
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, 5);
    });
}

/// Under loom a deque that was once found empty shrinks.
#[test]
fn shrink_against_steal() {
    loom::model(|| {
        let mut deque = Deque::with_capacity(3);
        assert_eq!(deque.capacity(), 3);
        push(&mut deque, 0);
        deque.expose(Exposure::One);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || steal_times(&thief, 2));
        let mut seen = Vec::new();
        pop(&mut deque, &mut seen);
        pop(&mut deque, &mut seen);
        push(&mut deque, 1);
        deque.expose(Exposure::One);
        seen.extend(thief_thread.join().unwrap());
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, 2);
        assert_eq!(deque.capacity(), 1);
    });
}

/// The owner takes back items that look like empty slots while a thief tries to steal them. Each of
/// three items is seen once, and the thief never gets `Empty` while there is an item.
#[test]
fn null_items_are_taken_back() {
    for items in [[0_usize, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] {
        loom::model(move || {
            let mut deque = Deque::new();
            for item in items {
                deque.push(item).unwrap();
                deque.expose(Exposure::One);
            }
            let thief = deque.thief();
            let thief_thread = thread::spawn(move || {
                let answer = thief.steal();
                assert!(!answer.is_empty(), "told empty with an item inside");
                answer.success()
            });
            let mut seen = vec![deque.pop().unwrap()];
            assert_eq!(seen, [items[2]]);
            seen.extend(deque.pop());
            deque.push(0).unwrap();
            seen.extend(thief_thread.join().unwrap());
            seen.extend(std::iter::from_fn(|| deque.pop()));
            assert!(deque.thief().steal().is_empty());
            let count = |list: &[usize]| (list.len(), list.iter().sum::<usize>());
            assert_eq!(count(&seen), (4, items.iter().sum()));
        });
    }
}

/// A thief steals the exposed item, finds private work left and asks for more. Its request must
/// survive the owner's poll that answered the first one.
#[test]
fn request_is_not_lost() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        let thief = deque.thief();
        thief.request();
        let thief_thread = thread::spawn(move || match thief.steal() {
            Steal::Success(item) => {
                let asked = thief.steal().is_private();
                if asked {
                    thief.request();
                }
                (vec![item.open()], asked)
            }
            _ => (Vec::new(), false),
        });
        assert_eq!(deque.poll(Exposure::One), 1);
        let (mut seen, asked) = thief_thread.join().unwrap();
        assert_eq!(deque.is_requested(), asked);
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, 2);
    });
}

#[test]
fn what_is_left_is_dropped_once() {
    loom::model(|| {
        let mut deque = exposed(1);
        let thief = deque.thief();
        let thief_thread = thread::spawn(move || steal_times(&thief, 2));
        push(&mut deque, 1);
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
            let mut deque = exposed(1);
            let thief = deque.thief();
            let looking = thread::spawn(move || look(&thief));
            push(&mut deque, 1);
            deque.expose(Exposure::One);
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

/// The item that a thief looks for is stolen, and its slot emptied, during the thief's call; but
/// the deque has other items all the time.
#[test]
fn never_empty_behind_a_theft() {
    for look in [is_empty, steals_nothing] {
        loom::model(move || {
            let mut deque = Deque::new();
            for value in 0..3 {
                push(&mut deque, value);
            }
            assert_eq!(deque.capacity(), 3);
            let thief = deque.thief();
            let looking = thread::spawn(move || look(&thief));
            deque.expose(Exposure::One);
            drop(deque.thief().steal());
            push(&mut deque, 3); // goes by the theft, and empties the slot
            assert!(!looking.join().unwrap());
        });
    }
}

/// As [`never_empty`], with items that look like empty slots.
#[test]
fn never_empty_with_null_items() {
    for next in [0, 1] {
        loom::model(move || {
            let mut deque = Deque::new();
            deque.push(0_usize).unwrap();
            let thief = deque.thief();
            let looking = thread::spawn(move || thief.is_empty() || thief.steal().is_empty());
            deque.push(next).unwrap();
            assert_eq!(deque.pop(), Some(next));
            deque.push(next).unwrap();
            deque.expose(Exposure::One);
            let _ = deque.thief().steal();
            assert!(!looking.join().unwrap());
        });
    }
}

/// Popped and stolen items leave nothing in their slots that misleads a thief, however often the
/// indices have gone round, and whether or not all slots were in use.
#[test]
fn empty_is_told_empty() {
    for count in [1, 3] {
        loom::model(move || {
            let mut deque = Deque::new();
            let thief = deque.thief();
            for _ in 0..3 {
                (0..count).for_each(|value| push(&mut deque, value));
                while deque.pop().is_some() {}
                assert!(thief.steal().is_empty(), "after pops");
                (0..count).for_each(|value| push(&mut deque, value));
                assert!(thief.steal().is_private());
                while deque.expose(Exposure::One) > 0 {}
                while thief.steal().is_success() {}
                assert!(thief.steal().is_empty(), "after thefts");
            }
        });
    }
}

/// An owner that is told that its item was stolen sees what the thief did before.
#[test]
fn owner_sees_what_the_thief_did() {
    loom::model(|| {
        let mut deque = Deque::new();
        let index = deque.next_index();
        push(&mut deque, 0);
        deque.expose(Exposure::One);
        let thief = deque.thief();
        let left = Arc::new(UnsafeCell::new(0));
        let found = Arc::clone(&left);
        let owner = thread::spawn(move || {
            if deque.location(index) == ItemLocation::Stolen {
                // SAFETY: loom checks that no thread is writing.
                assert_eq!(found.with(|cell| unsafe { *cell }), 1);
            }
            deque
        });
        // SAFETY: loom checks that no thread is reading.
        left.with_mut(|cell| unsafe { *cell = 1 });
        assert!(thief.steal().is_success());
        owner.join().unwrap();
    });
}

#[test]
fn empty_stays_empty() {
    crate::support::empty_stays_empty(|| exposed(2));
}
