use locksley_queue::asymmetric::{Bare, Deque, Stealer, Unpushed, steal_each};
use locksley_queue::{Owner, Thief};
use loom::sync::Arc;
use loom::thread;

use crate::support::{Payload, assert_each_once, pop, push, race, rob};

#[test]
fn last_item_against_two_thieves() {
    race(Deque::new, 1, 2, pop, 1);
}

#[test]
fn contested_pops_against_two_thieves() {
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

/// The owner takes the last item without moving `top` and pushes another at the same index,
/// while a thief has its eye on the first.
#[test]
fn same_index_again_against_steal() {
    race(
        Deque::new,
        1,
        2,
        |deque, seen| {
            pop(deque, seen);
            push(deque, 1);
            pop(deque, seen);
        },
        2,
    );
}

/// A thief that tries twice: its first claim may come to nothing.
#[test]
fn claim_let_go_against_push() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        let thief = deque.thief();
        let robber = thread::spawn(move || rob(&thief, 2));
        let mut seen = Vec::new();
        pop(&mut deque, &mut seen);
        push(&mut deque, 1);
        pop(&mut deque, &mut seen);
        seen.extend(robber.join().unwrap());
        while !deque.is_empty() {
            pop(&mut deque, &mut seen);
        }
        assert_each_once(seen, 2);
    });
}

/// The circle has two slots under loom: the third push doubles it.
#[test]
fn grow_against_steal() {
    race(Deque::new, 2, 2, |deque, _| push(deque, 2), 3);
}

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

#[test]
fn one_barrier_for_two_victims() {
    loom::model(|| {
        let mut deques = [Deque::new(), Deque::new()];
        for (value, deque) in deques.iter_mut().enumerate() {
            push(deque, value);
        }
        let victims = deques.each_ref().map(Owner::thief);
        let robber = thread::spawn(move || {
            let mut loot = Vec::new();
            steal_each(&victims, |item: Payload| loot.push(item.open()));
            loot
        });
        let mut seen = Vec::new();
        for deque in &mut deques {
            pop(deque, &mut seen);
        }
        seen.extend(robber.join().unwrap());
        for deque in &mut deques {
            pop(deque, &mut seen);
        }
        assert_each_once(seen, 2);
    });
}

#[test]
fn what_is_left_is_dropped_once() {
    loom::model(|| {
        let mut deque = Deque::new();
        push(&mut deque, 0);
        push(&mut deque, 1);
        let thief = deque.thief();
        let robber = thread::spawn(move || thief.steal().is_success());
        drop(deque);
        robber.join().unwrap();
    });
}

/// One item is there at any time, so whoever looks must find one, also if it learns of the theft
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

fn marked(items: usize) -> Deque<Payload> {
    let mut deque = Deque::new();
    for value in 0..items {
        push(&mut deque, value);
    }
    deque.mark();
    deque
}

/// Below a mark the owner pops off the fast path.
#[test]
fn marked_last_item_against_two_thieves() {
    race(|| marked(1), 0, 2, pop, 1);
}

#[test]
fn marked_items_against_a_thief() {
    race(
        || marked(2),
        0,
        1,
        |deque, seen| {
            pop(deque, seen);
            pop(deque, seen);
        },
        2,
    );
}

/// What was pushed last comes back, or a thief has it.
#[test]
fn unpush_against_two_thieves() {
    loom::model(|| {
        let mut deque = Deque::new();
        let robbers = [0, 1].map(|_| {
            let thief = deque.thief();
            thread::spawn(move || usize::from(thief.steal().is_success()))
        });
        deque.push(7_usize).unwrap();
        let back = usize::from(deque.unpush() == Unpushed::Back);
        let stolen: usize = robbers.into_iter().map(|r| r.join().unwrap()).sum();
        assert_eq!(back + stolen, 1);
        assert_eq!(deque.pop(), None);
    });
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

/// Two forks, one inside the other, each taken back by its place, while a thief takes what it can; then
/// a third at whatever index comes next.
#[test]
fn nested_unpushes_against_steals() {
    loom::model(|| {
        let deque = Arc::new(Bare::new());
        // SAFETY: this thread is the owner.
        let (outer, inner) = unsafe { (deque.push(0_usize), deque.push(1)) };
        let thief = deque.clone();
        let robber = thread::spawn(move || {
            let loot = [thief.steal().success(), thief.steal().success()];
            loot.into_iter().flatten().collect::<Vec<_>>()
        });
        let mut seen = Vec::new();
        for (item, place) in [(1, inner), (0, outer)] {
            // SAFETY: as above. Nothing was popped, and nothing lies on top.
            if unsafe { deque.unpush(place) } == Unpushed::Back {
                seen.push(item);
            }
        }
        // SAFETY: as above.
        unsafe { deque.push(2) };
        seen.extend(robber.join().unwrap());
        // SAFETY: as above.
        seen.extend(std::iter::from_fn(|| unsafe { deque.pop() }));
        assert_each_once(seen, 3);
    });
}
