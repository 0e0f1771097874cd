//! Models of the extended deque. Each item is a cell, so that an item that passes to another thread
//! without a happens-before edge is a data race. Each has a number, to check that it is seen once.

use locksley_queue::barrier::{self, FenceMode};
use locksley_queue::steal_half::extended;
use locksley_queue::{Owner, Steal, StealBatch, Thief};
use loom::thread;

use crate::support::Payload;

type Deque = extended::Deque<Payload>;

/// The operations that the models need.
trait Subject {
    fn at_the_wrap(capacity: usize) -> Self;
    fn filled(capacity: usize, items: usize) -> Self;
    fn push_all(&mut self, numbers: std::ops::Range<usize>);
    fn pop_some(&mut self, n: usize) -> Vec<usize>;
    fn rest(&mut self) -> Vec<usize>;
}

impl Subject for Deque {
    fn at_the_wrap(capacity: usize) -> Self {
        Deque::starting_at(capacity, u64::MAX)
    }

    fn filled(capacity: usize, items: usize) -> Self {
        let mut deque = Deque::at_the_wrap(capacity);
        deque.push_all(0..items);
        deque
    }

    fn push_all(&mut self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            self.push(Payload::new(number)).unwrap();
        }
    }

    /// Pops up to `n` items.
    fn pop_some(&mut self, n: usize) -> Vec<usize> {
        (0..n)
            .filter_map(|_| self.pop())
            .map(Payload::open)
            .collect()
    }

    /// Checks the lengths, while no thief is at work, and pops the remaining items.
    fn rest(&mut self) -> Vec<usize> {
        let seen = self.inspect();
        assert!(
            8 * seen.range >= seen.len && seen.range <= seen.len,
            "{seen:?}"
        );
        let rest: Vec<_> = std::iter::from_fn(|| self.pop())
            .map(Payload::open)
            .collect();
        assert_eq!(rest.len(), seen.len);
        rest
    }
}

/// Spawns a thread that steals one item, `n` times.
fn thief(deque: &Deque, n: usize) -> thread::JoinHandle<Vec<usize>> {
    let thief = deque.thief();
    thread::spawn(move || {
        (0..n)
            .filter_map(|_| thief.steal().success())
            .map(Payload::open)
            .collect()
    })
}

/// Spawns a thread that steals half into a deque of its own, once, and opens all stolen items.
fn steal_half_thief(deque: &Deque, room: usize) -> thread::JoinHandle<Vec<usize>> {
    let thief = deque.thief();
    thread::spawn(move || {
        let mut own = Deque::at_the_wrap(room);
        let mut all: Vec<_> = thief
            .steal_half(&mut own)
            .success()
            .map(Payload::open)
            .into_iter()
            .collect();
        all.extend(own.rest());
        all
    })
}

fn each_once(mut seen: Vec<usize>, items: usize) {
    seen.sort_unstable();
    assert_eq!(seen, (0..items).collect::<Vec<_>>());
}

/// Two thefts take the items that the owner promised to leave; the second extends the range to the
/// item that the owner is popping.
fn two_thieves_and_pops() {
    let mut deque = Deque::filled(4, 3);
    let (a, b) = (thief(&deque, 1), thief(&deque, 1));
    let mut seen = deque.pop_some(1);
    seen.extend(a.join().unwrap());
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 3);
}

/// A thief adds an item to the range that it knows only from `bot`, and another thief steals it.
fn pushed_item_through_two_thieves() {
    let mut deque = Deque::filled(4, 2);
    let (a, b) = (thief(&deque, 2), thief(&deque, 1));
    deque.push_all(2..3);
    let mut seen = a.join().unwrap();
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 3);
}

/// As before, but the length is a power of two after the push, and one thief takes all items.
fn pushed_item_at_a_power_of_two() {
    let mut deque = Deque::filled(4, 3);
    let a = thief(&deque, 4);
    deque.push_all(3..4);
    let mut seen = a.join().unwrap();
    seen.extend(deque.rest());
    each_once(seen, 4);
}

/// The owner's push reaches a power of two while half is stolen.
fn half_against_push() {
    let mut deque = Deque::filled(4, 3);
    let a = steal_half_thief(&deque, 2);
    deque.push_all(3..4);
    let mut seen = deque.pop_some(1);
    seen.extend(a.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 4);
}

/// The owner pops from a power of two while half is stolen.
fn half_against_pop() {
    let mut deque = Deque::filled(4, 4);
    let a = steal_half_thief(&deque, 4);
    let mut seen = deque.pop_some(3);
    seen.extend(a.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 4);
}

/// Two thieves steal half at once, while the owner pops.
fn two_robbers() {
    let mut deque = Deque::filled(4, 4);
    let (a, b) = (steal_half_thief(&deque, 2), steal_half_thief(&deque, 2));
    let mut seen = deque.pop_some(1);
    seen.extend(a.join().unwrap());
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 4);
}

/// The owner and two thieves compete for the last item.
fn last_item() {
    let mut deque = Deque::filled(4, 1);
    let (a, b) = (thief(&deque, 1), thief(&deque, 1));
    let mut seen = deque.pop_some(1);
    seen.extend(a.join().unwrap());
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 1);
}

/// The owner and a thief compete for the last item; then there is a new one, perhaps at the same
/// index.
fn last_item_and_another() {
    let mut deque = Deque::filled(4, 1);
    let a = steal_half_thief(&deque, 2);
    let mut seen = deque.pop_some(1);
    deque.push_all(1..2);
    seen.extend(a.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 2);
}

/// The first theft relies on the promise, the second passes the barrier and leaves an exact range,
/// and the third relies on that; meanwhile the owner pushes and pops.
fn third_theft() {
    let mut deque = Deque::filled(4, 4);
    let a = thief(&deque, 3);
    let mut seen = deque.pop_some(1);
    deque.push_all(4..5);
    seen.extend(a.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 5);
}

/// As before, with another thief in between, which may use the exact range too.
fn third_theft_by_another() {
    let mut deque = Deque::filled(4, 3);
    let (a, b) = (thief(&deque, 2), thief(&deque, 1));
    let mut seen = deque.pop_some(1);
    seen.extend(a.join().unwrap());
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 3);
}

/// The owner learns of two thefts when its change of the range fails in a pop, and its next pushes
/// write the slots of the stolen items without another load of the range.
fn slots_are_used_again_after_thefts() {
    let mut deque = Deque::filled(8, 8);
    let a = thief(&deque, 2);
    let mut seen = deque.pop_some(1);
    deque.push_all(8..9);
    if deque.push(Payload::new(9)).is_ok() {
        seen.extend(deque.pop_some(1));
    } else {
        seen.push(9);
    }
    seen.extend(a.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, 10);
}

/// The owner reuses the slots that thieves have read.
fn full_ring() {
    let mut deque = Deque::filled(2, 2);
    let (a, b) = (thief(&deque, 1), thief(&deque, 1));
    let (mut seen, mut pushed) = (Vec::new(), 2);
    for _ in 0..2 {
        // The owner only loads the range to check for room, and loom does not try by itself to run
        // a thief before that.
        thread::yield_now();
        match deque.push(Payload::new(pushed)) {
            Ok(()) => pushed += 1,
            Err(full) => drop(full.into_inner()),
        }
    }
    seen.extend(a.join().unwrap());
    seen.extend(b.join().unwrap());
    seen.extend(deque.rest());
    each_once(seen, pushed);
}

/// A thief steals into its own deque, from which a second thief steals.
fn robbed_robber() {
    let mut deque = Deque::filled(4, 4);
    let mut own = Deque::filled(2, 0);
    let second = thief(&own, 1);
    let mut seen: Vec<_> = deque
        .thief()
        .steal_half(&mut own)
        .success()
        .map(Payload::open)
        .into_iter()
        .collect();
    seen.extend(own.pop_some(1));
    seen.extend(second.join().unwrap());
    seen.extend(own.rest());
    seen.extend(deque.rest());
    each_once(seen, 4);
}

/// The remaining items are dropped with the last handle, in whatever thread.
fn dropped_by_the_thief() {
    let deque = Deque::filled(2, 2);
    let a = thief(&deque, 1);
    drop(deque);
    assert!(a.join().unwrap().len() <= 1);
}

/// Runs a model in which both sides of the barrier are fences.
fn with_fences(model: fn()) {
    barrier::model_fence_mode(FenceMode::Symmetric);
    loom::model(model);
}

macro_rules! tests {
    ($($test:ident),*) => {
        mod both_pay {
            $(#[test]
            fn $test() {
                super::with_fences(super::$test);
            })*
        }

        mod extended_deque {
            $(#[test]
            fn $test() {
                loom::model(super::$test);
            })*
        }
    };
}

tests!(
    two_thieves_and_pops,
    pushed_item_through_two_thieves,
    pushed_item_at_a_power_of_two,
    half_against_push,
    half_against_pop,
    two_robbers,
    last_item,
    last_item_and_another,
    third_theft,
    third_theft_by_another,
    slots_are_used_again_after_thefts,
    full_ring,
    robbed_robber,
    dropped_by_the_thief
);

/// Thieves to which the barrier is refused leave the items that they cannot take to the owner.
#[test]
fn refused_thefts_against_pop_and_push() {
    barrier::model_refusal(true);
    loom::model(|| {
        let mut deque = Deque::filled(4, 3);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let thief = deque.thief();
                thread::spawn(move || {
                    let stolen = [thief.steal(), thief.steal()];
                    let items = stolen.into_iter().filter_map(Steal::success);
                    items.map(Payload::open).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut seen = deque.pop_some(1);
        deque.push_all(3..4);
        for thief in thieves {
            seen.extend(thief.join().unwrap());
        }
        seen.extend(deque.rest());
        each_once(seen, 4);
    });
}

#[test]
fn empty_stays_empty_in_the_extended_deque() {
    crate::support::empty_stays_empty(|| {
        let mut deque = locksley_queue::steal_half::extended::Deque::new();
        crate::support::push(&mut deque, 0);
        crate::support::push(&mut deque, 1);
        deque
    });
}
