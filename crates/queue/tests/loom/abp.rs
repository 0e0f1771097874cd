//! Models of the ABP deque. Items are indices into an array of cells, which the owner writes before
//! the push, and the thread that takes the item reads and marks. A missing happens-before edge is a
//! data race, an item taken twice is a wrong mark.

use locksley_queue::{Owner, Steal, Thief, abp};
use loom::sync::Arc;
use loom::thread;

use crate::support::Cells;

fn push(cells: &Cells, owner: &mut abp::Deque<usize>, item: usize) {
    cells.write(item);
    owner.push(item).unwrap();
}

fn steal(cells: &Cells, thief: &abp::Stealer<usize>) -> usize {
    cells.take(thief.steal().success())
}

fn drain(cells: &Cells, owner: &mut abp::Deque<usize>) -> usize {
    let mut taken = 0;
    while let Some(item) = owner.pop() {
        taken += cells.take(Some(item));
    }
    taken
}

/// Runs the owner's `part` against a thief for each entry of `steals`, which tries to steal that
/// many times. Each of the `n` items must be taken exactly once.
fn model(capacity: usize, n: usize, steals: &'static [usize], part: Part) {
    loom::model(move || {
        let cells = Cells::new(n);
        let mut owner = abp::Deque::starting_at(capacity, u64::MAX);
        let thieves: Vec<_> = steals
            .iter()
            .map(|&steals| {
                let (cells, thief) = (Arc::clone(&cells), owner.thief());
                thread::spawn(move || (0..steals).map(|_| steal(&cells, &thief)).sum::<usize>())
            })
            .collect();
        let mut taken = part(&cells, &mut owner);
        taken += thieves
            .into_iter()
            .map(|thief| thief.join().unwrap())
            .sum::<usize>();
        taken += drain(&cells, &mut owner);
        assert_eq!(taken, n, "an item was lost");
    });
}

type Part = fn(&Cells, &mut abp::Deque<usize>) -> usize;

#[test]
fn owner_and_two_thieves() {
    model(2, 1, &[1, 1], |cells, owner| {
        push(cells, owner, 0);
        cells.take(owner.pop())
    });
}

#[test]
fn owner_and_two_thieves_with_two_items() {
    model(2, 2, &[1, 1], |cells, owner| {
        push(cells, owner, 0);
        push(cells, owner, 1);
        cells.take(owner.pop()) + cells.take(owner.pop())
    });
}

/// The owner is a spawned thread, so that loom starts with the order in which the thieves run
/// first.
#[test]
fn two_thieves_before_the_owner() {
    loom::model(|| {
        let cells = Cells::new(2);
        let mut owner = abp::Deque::with_capacity(2);
        push(&cells, &mut owner, 0);
        push(&cells, &mut owner, 1);
        let (thief, other) = (owner.thief(), owner.thief());
        let owner = {
            let cells = Arc::clone(&cells);
            thread::spawn(move || drain(&cells, &mut owner))
        };
        let other = {
            let cells = Arc::clone(&cells);
            thread::spawn(move || steal(&cells, &other))
        };
        let taken = steal(&cells, &thief) + other.join().unwrap() + owner.join().unwrap();
        assert_eq!(taken, 2, "an item was lost");
    });
}

#[test]
fn owner_takes_two_while_a_thief_steals_two() {
    model(3, 3, &[2], |cells, owner| {
        push(cells, owner, 0);
        push(cells, owner, 1);
        push(cells, owner, 2);
        cells.take(owner.pop()) + cells.take(owner.pop())
    });
}

#[test]
fn pop_republishes_what_push_published() {
    model(2, 2, &[1], |cells, owner| {
        push(cells, owner, 0);
        push(cells, owner, 1);
        cells.take(owner.pop())
    });
}

#[test]
fn reset_against_a_slow_thief() {
    model(2, 3, &[1, 1], |cells, owner| {
        push(cells, owner, 0);
        let taken = cells.take(owner.pop());
        push(cells, owner, 1);
        push(cells, owner, 2);
        taken
    });
}

#[test]
fn reset_after_everything_was_stolen() {
    model(2, 2, &[1, 1], |cells, owner| {
        push(cells, owner, 0);
        let taken = cells.take(owner.pop());
        push(cells, owner, 1);
        taken
    });
}

#[test]
fn push_at_the_end_resets() {
    loom::model(|| {
        let cells = Cells::new(2);
        let mut owner = abp::Deque::with_capacity(1);
        push(&cells, &mut owner, 0);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (cells, thief) = (Arc::clone(&cells), owner.thief());
                thread::spawn(move || steal(&cells, &thief))
            })
            .collect();
        cells.write(1);
        let pushed = owner.push(1).is_ok();
        let stolen: usize = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
        assert_eq!(stolen + drain(&cells, &mut owner), 1 + usize::from(pushed));
    });
}

/// The owner finds that items were stolen, on each path where it can, and writes their slots again.
#[test]
fn slots_are_used_again_after_thefts() {
    // One item and two, so that it finds the theft with and without the fence; and a third push,
    // which reaches the end of the array.
    model(2, 3, &[2], |cells, owner| {
        push(cells, owner, 0);
        push(cells, owner, 1);
        let taken = cells.take(owner.pop()) + cells.take(owner.pop());
        push(cells, owner, 2);
        taken
    });
    model(1, 2, &[1], |cells, owner| {
        push(cells, owner, 0);
        let taken = cells.take(owner.pop());
        push(cells, owner, 1);
        taken
    });
}

/// The owner reaches the end of the array, and everything was stolen. It is a spawned thread, so
/// that the thief runs first.
#[test]
fn push_at_the_end_after_a_theft() {
    loom::model(|| {
        let cells = Cells::new(2);
        let mut owner = abp::Deque::with_capacity(1);
        push(&cells, &mut owner, 0);
        let thief = owner.thief();
        let pusher = {
            let cells = Arc::clone(&cells);
            thread::spawn(move || {
                cells.write(1);
                let pushed = owner.push(1).is_ok();
                (owner, pushed)
            })
        };
        let stolen = steal(&cells, &thief);
        let (mut owner, pushed) = pusher.join().unwrap();
        assert_eq!(stolen + drain(&cells, &mut owner), 1 + usize::from(pushed));
    });
}

/// A failed steal returns `Retry` only if another thief took the topmost item during the call.
#[test]
fn a_reset_answers_empty() {
    loom::model(|| {
        let mut owner = abp::Deque::with_capacity(2);
        owner.push(0_usize).unwrap();
        assert_eq!(owner.thief().steal(), Steal::Success(0));
        let thief = owner.thief();
        let steal = thread::spawn(move || thief.steal());
        assert_eq!(owner.pop(), None);
        owner.push(1).unwrap();
        owner.push(2).unwrap();
        assert!(!steal.join().unwrap().is_retry());
    });
}

#[test]
fn empty_stays_empty() {
    crate::support::empty_stays_empty(|| {
        let mut deque = locksley_queue::abp::Deque::with_capacity(4);
        crate::support::push(&mut deque, 0);
        crate::support::push(&mut deque, 1);
        deque
    });
}
