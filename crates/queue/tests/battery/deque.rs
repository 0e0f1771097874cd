//! The battery of a deque.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use locksley_queue::{Owner, Steal, Thief};

use crate::items::{Item, Ledger};
use crate::noise::Noise;
use crate::rng::Rng;
use crate::scale;
use crate::subject::{DequeSubject as Subject, Room};

const THIEVES: usize = 3;

/// Runs every test of the battery on a subject, each as a test of its own.
macro_rules! deque_battery {
    ($module:ident: $subject:ident) => {
        mod $module {
            use $crate::{deque, model, subject::DequeSubject, subjects::$subject as Subject};

            #[test]
            fn smoke() {
                deque::smoke::<Subject>();
            }

            #[test]
            fn behaves_like_the_model() {
                model::deque::<Subject>(Subject::small);
            }

            #[test]
            fn behaves_like_the_model_across_the_wrap() {
                model::deque::<Subject>(Subject::near_wrap);
            }

            #[test]
            fn every_item_is_seen_once() {
                deque::seen_once::<Subject>(Subject::new(), 100_000);
            }

            #[test]
            fn every_item_is_seen_once_in_little_room() {
                deque::seen_once::<Subject>(Subject::small(), 100_000);
            }

            #[test]
            fn every_item_is_seen_once_across_the_wrap() {
                for _ in 0..50 {
                    deque::seen_once::<Subject>(Subject::near_wrap(), 100);
                }
            }

            #[test]
            fn one_of_many_gets_the_last_item() {
                deque::stampede::<Subject>();
            }

            #[test]
            fn one_of_two_gets_the_last_item() {
                deque::duel::<Subject>();
            }

            #[test]
            fn it_grows_or_fills_while_robbed() {
                deque::growth::<Subject>();
            }

            #[test]
            fn what_is_inside_is_dropped_once() {
                deque::destructors::<Subject>();
            }

            #[test]
            fn the_owner_may_go_first() {
                deque::orphaned::<Subject>();
            }

            #[test]
            fn boxes_come_through() {
                deque::boxes::<Subject>();
            }

            #[test]
            fn no_thief_starves() {
                deque::no_starvation::<Subject>();
            }

            #[test]
            fn batches_are_seen_once() {
                if Subject::BATCHES {
                    deque::batches::<Subject>(Subject::new, 50_000);
                    deque::batches::<Subject>(Subject::small, 20_000);
                }
            }
        }
    };
}

/// Steals one item, without other threads, and asks the owner to expose it if needed.
fn steal_now<S: Subject>(owner: &mut S::Owner<u32>, thief: &S::Thief<u32>) -> Steal<u32> {
    let first = thief.steal();
    if !first.is_private() {
        return first;
    }
    S::ask(thief);
    S::attend(owner);
    thief.steal()
}

/// Thieves get the oldest item, the owner the newest, and both nothing from an empty deque.
pub(crate) fn smoke<S: Subject>() {
    let mut owner = S::new::<u32>();
    let thief = owner.thief();
    assert!(owner.is_empty() && thief.is_empty());
    assert_eq!(owner.pop(), None);
    assert_eq!(thief.steal(), Steal::Empty);
    for item in 1..=3 {
        owner.push(item).expect("there is room for three");
    }
    assert_eq!(owner.len(), 3);
    assert_eq!(steal_now::<S>(&mut owner, &thief), Steal::Success(1));
    assert_eq!(owner.pop(), Some(3));
    assert_eq!(owner.len(), 1);
    assert_eq!(
        steal_now::<S>(&mut owner, &thief.clone()),
        Steal::Success(2)
    );
    assert_eq!(owner.pop(), None);
    assert_eq!(thief.steal(), Steal::Empty);
    owner.push(4).expect("there is room for one");
    assert_eq!(owner.pop(), Some(4));
    assert_eq!(owner.pop(), None);
    assert!(owner.is_empty() && thief.is_empty());
}

/// Steals until the deque is empty after `closed` was set. Returns the number of items stolen.
fn steal_until_closed<S: Subject>(thief: &S::Thief<Item>, closed: &AtomicBool) -> usize {
    let mut got = 0;
    loop {
        let closed_before = closed.load(Ordering::Acquire);
        match thief.steal() {
            Steal::Success(item) => {
                item.take();
                got += 1;
            }
            Steal::Empty | Steal::Private if closed_before => return got,
            Steal::Empty => thread::yield_now(),
            Steal::Private => {
                S::ask(thief);
                thread::yield_now();
            }
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

/// Pushes `item`; while there is no room, pops items.
fn push_or_pop<S: Subject>(owner: &mut S::Owner<Item>, item: Item) {
    let id = item.id();
    let mut refused = owner.push(item);
    while let Err(full) = refused {
        assert_eq!(full.0.id(), id, "a refused push gave back another item");
        assert!(S::ROOM != Room::Grows, "a deque that grows refused a push");
        if let Some(item) = owner.pop() {
            item.take();
        } else {
            // Thieves have taken all items.
            thread::yield_now();
        }
        refused = owner.push(full.0);
    }
}

/// Pops the items that are left.
fn drain<S: Subject>(owner: &mut S::Owner<Item>) {
    while let Some(item) = owner.pop() {
        item.take();
        S::attend(owner);
    }
}

/// Tells the thieves to stop when dropped, even if the owner panics.
struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// One owner, many thieves, every item taken and dropped once.
pub(crate) fn seen_once<S: Subject>(mut owner: S::Owner<Item>, items: usize) {
    let ledger = Ledger::new(items * scale());
    let closed = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..THIEVES {
            let thief = owner.thief();
            scope.spawn(move || steal_until_closed::<S>(&thief, closed));
        }
        let _close = Close(closed);
        let mut rng = Rng::new(items as u64);
        let mut next = 0;
        while next < ledger.count() {
            for _ in 0..=rng.below(8) {
                if next < ledger.count() {
                    push_or_pop::<S>(&mut owner, ledger.item(next));
                    next += 1;
                }
                S::attend(&mut owner);
            }
            for _ in 0..=rng.below(8) {
                if let Some(item) = owner.pop() {
                    item.take();
                }
                S::attend(&mut owner);
            }
        }
        drain::<S>(&mut owner);
    });
    drop(owner);
    ledger.assert_each_taken_once();
}

/// In each round the owner and all thieves compete for a single item.
pub(crate) fn stampede<S: Subject>() {
    let ledger = Ledger::new(5_000 * scale());
    let mut owner = S::new::<Item>();
    let round = &AtomicUsize::new(0);
    let back = &AtomicUsize::new(0);
    let mut wrong = None;
    thread::scope(|scope| {
        for _ in 0..THIEVES {
            let thief = owner.thief();
            scope.spawn(move || {
                for now in 1..=ledger.count() {
                    while round.load(Ordering::Acquire) < now {
                        thread::yield_now();
                    }
                    try_for_one::<S>(&thief);
                    back.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
        let thief = owner.thief();
        for now in 1..=ledger.count() {
            let refused = owner.push(ledger.item(now - 1)).is_err();
            S::ask(&thief);
            S::attend(&mut owner);
            round.store(now, Ordering::Release);
            for _ in 0..now % 64 {
                std::hint::spin_loop();
            }
            owner.pop().map(Item::take);
            while back.load(Ordering::Acquire) < now * THIEVES {
                thread::yield_now();
            }
            // The owner has tried once, and each thief until it got the item or found the deque
            // empty.
            let taken = ledger.taken(now - 1);
            if refused || taken != 1 {
                wrong.get_or_insert((now, refused, taken));
            }
        }
    });
    if let Some((now, refused, taken)) = wrong {
        panic!("round {now}: refused: {refused}, the last item was taken {taken} times");
    }
    ledger.assert_each_taken_once();
}

/// Owner and thief compete for the last one or two items without ever waiting for each other. On
/// real hardware this shows a missing fence.
pub(crate) fn duel<S: Subject>() {
    let ledger = Ledger::new(200_000 * scale());
    let mut owner = S::new::<Item>();
    let closed = &AtomicBool::new(false);
    let noise = &Noise::default();
    thread::scope(|scope| {
        let thief = owner.thief();
        let asker = owner.thief();
        scope.spawn(move || {
            while !closed.load(Ordering::Relaxed) {
                for _ in 0..3 {
                    try_for_one::<S>(&thief);
                }
                noise.make();
            }
        });
        let _close = Close(closed);
        for pair in 0..ledger.count() / 2 {
            for id in [2 * pair, 2 * pair + 1] {
                push_or_pop::<S>(&mut owner, ledger.item(id));
            }
            S::ask(&asker);
            S::attend(&mut owner);
            for _ in 0..2 {
                noise.make();
                owner.pop().map(Item::take);
            }
        }
        drain::<S>(&mut owner);
    });
    ledger.assert_each_taken_once();
}

/// Steals until the result is not `Retry`.
fn try_for_one<S: Subject>(thief: &S::Thief<Item>) {
    loop {
        match thief.steal() {
            Steal::Success(item) => {
                item.take();
                return;
            }
            Steal::Empty | Steal::Private => return,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

/// Grows and empties the deque several times, with thieves at work all the time.
pub(crate) fn growth<S: Subject>() {
    const TIMES: usize = 4;
    let each = 10_000 * scale();
    let ledger = Ledger::new(each * TIMES);
    let mut owner = S::small::<Item>();
    let closed = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..THIEVES {
            let thief = owner.thief();
            scope.spawn(move || steal_until_closed::<S>(&thief, closed));
        }
        let _close = Close(closed);
        for time in 0..TIMES {
            for id in time * each..(time + 1) * each {
                push_or_pop::<S>(&mut owner, ledger.item(id));
                S::attend(&mut owner);
            }
            drain::<S>(&mut owner);
        }
    });
    drop(owner);
    ledger.assert_each_taken_once();
}

/// Drops a deque that holds items, after growth or thefts or neither, the owner or the thief first.
pub(crate) fn destructors<S: Subject>() {
    for inside in [0, 1, 2, 3, 5, 8, 100, 1_000] {
        for stolen in [0, 1, inside / 2] {
            for owner_first in [false, true] {
                let ledger = Ledger::new(inside);
                let mut owner = S::small::<Item>();
                let thief = owner.thief();
                for id in 0..inside {
                    push_or_pop::<S>(&mut owner, ledger.item(id));
                }
                for _ in 0..stolen {
                    S::ask(&thief);
                    S::attend(&mut owner);
                    drop(thief.steal());
                }
                if owner_first {
                    drop(owner);
                    drop(thief.clone());
                    drop(thief);
                } else {
                    drop(thief);
                    drop(owner);
                }
                ledger.assert_each_dropped_once();
            }
        }
    }
}

/// Drops the owner while thieves are at work; items that they do not get are dropped once.
pub(crate) fn orphaned<S: Subject>() {
    for round in 0..100 {
        let ledger = Ledger::new(64);
        let mut owner = S::small::<Item>();
        thread::scope(|scope| {
            for _ in 0..THIEVES {
                let thief = owner.thief();
                scope.spawn(move || {
                    for _ in 0..round {
                        if let Steal::Success(item) = thief.steal() {
                            item.take();
                        }
                    }
                });
            }
            for id in 0..ledger.count() {
                push_or_pop::<S>(&mut owner, ledger.item(id));
                S::attend(&mut owner);
            }
            drop(owner);
        });
        ledger.assert_each_dropped_once();
    }
}

/// Items that own memory: a checker of memory sees a leak or a double free here.
pub(crate) fn boxes<S: Subject>() {
    let items = 20_000 * scale() as u64;
    let mut owner = S::small::<Box<u64>>();
    let closed = &AtomicBool::new(false);
    let mut sum = 0;
    thread::scope(|scope| {
        let thieves = [owner.thief(), owner.thief()].map(|thief| {
            scope.spawn(move || {
                let mut sum = 0;
                loop {
                    let last = closed.load(Ordering::Acquire);
                    match thief.steal() {
                        Steal::Success(item) => sum += *item,
                        Steal::Retry => {}
                        Steal::Private if !last => S::ask(&thief),
                        Steal::Empty if !last => thread::yield_now(),
                        Steal::Empty | Steal::Private => return sum,
                    }
                }
            })
        });
        let close = Close(closed);
        for item in 1..=items {
            let mut refused = owner.push(Box::new(item));
            while let Err(full) = refused {
                sum += owner.pop().map_or(0, |item| *item);
                refused = owner.push(full.0);
            }
            S::attend(&mut owner);
        }
        while let Some(item) = owner.pop() {
            sum += *item;
            S::attend(&mut owner);
        }
        drop(close);
        sum += thieves
            .map(|t| t.join().expect("thieves don't panic"))
            .iter()
            .sum::<u64>();
    });
    assert_eq!(sum, items * (items + 1) / 2);
}

/// Every thief gets an item eventually.
pub(crate) fn no_starvation<S: Subject>() {
    // Each push is followed by a yield, so a correct structure needs a few dozen.
    no_starvation_within::<S>(2_000_000);
}

/// Every thief gets an item within `pushes` pushes.
pub(crate) fn no_starvation_within<S: Subject>(pushes: u32) {
    let mut owner = S::new::<Arc<()>>();
    let hungry = &AtomicUsize::new(THIEVES);
    let closed = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..THIEVES {
            let thief = owner.thief();
            scope.spawn(move || {
                let mut got = false;
                while !closed.load(Ordering::Acquire) {
                    match thief.steal() {
                        Steal::Success(_) if !got => {
                            got = true;
                            hungry.fetch_sub(1, Ordering::AcqRel);
                        }
                        Steal::Private => S::ask(&thief),
                        _ => {}
                    }
                    if got {
                        // Gives the other thieves a chance, even on one processor.
                        thread::sleep(Duration::from_millis(1));
                    }
                    thread::yield_now();
                }
            });
        }
        let _close = Close(closed);
        let item = Arc::new(());
        for _ in 0..pushes {
            if hungry.load(Ordering::Acquire) == 0 {
                break;
            }
            drop(owner.push(item.clone()));
            S::attend(&mut owner);
            thread::yield_now();
        }
    });
    assert_eq!(hungry.load(Ordering::Acquire), 0, "a thief starved");
}

/// Thieves steal batches into deques of their own, from which they steal from each other.
pub(crate) fn batches<S: Subject>(make: fn() -> S::Owner<Item>, items: usize) {
    let ledger = Ledger::new(items * scale());
    let mut owner = make();
    let closed = &AtomicBool::new(false);
    let own: [_; 2] = std::array::from_fn(|_| make());
    let targets: [_; 2] = std::array::from_fn(|i| own[i].thief());
    thread::scope(|scope| {
        for (i, mut own) in own.into_iter().enumerate() {
            let victims = [owner.thief(), targets[1 - i].clone()];
            scope.spawn(move || {
                let mut rng = Rng::new(i as u64 + 1);
                loop {
                    let last = closed.load(Ordering::Acquire);
                    let victim = &victims[usize::from(rng.below(4) == 0)];
                    let answer = S::steal_half(victim, &mut own);
                    let last = last && answer.is_empty();
                    match answer {
                        Steal::Success(item) => _ = item.take(),
                        Steal::Private => S::ask(victim),
                        Steal::Empty | Steal::Retry => {}
                    }
                    // Leaves some items for the other thief to steal, until the end.
                    for _ in 0..rng.below(4) {
                        own.pop().map(Item::take);
                    }
                    S::attend(&mut own);
                    if last {
                        while own.pop().map(Item::take).is_some() {}
                        return;
                    }
                }
            });
        }
        let _close = Close(closed);
        let mut rng = Rng::new(7);
        for id in 0..ledger.count() {
            push_or_pop::<S>(&mut owner, ledger.item(id));
            if rng.below(4) == 0 {
                owner.pop().map(Item::take);
            }
            S::attend(&mut owner);
        }
        drain::<S>(&mut owner);
    });
    drop((owner, targets));
    ledger.assert_each_taken_once();
}
