//! Capacities for which there cannot be memory are refused at once, even without overflow checks:
//! run with `--release` too, since overflow checks hide a wrong capacity.
#![cfg(not(loom))]

use std::panic::catch_unwind;

use locksley_queue::{Owner, chase_lev, semi_private, split};

/// Capacities that wrap to a small number when they are rounded up or counted in bytes, and some
/// that only an allocation would refuse.
const TOO_MANY: [usize; 7] = [
    usize::MAX,
    usize::MAX - 1,
    usize::MAX / 2 + 2,
    usize::MAX / 2 + 1,
    usize::MAX / 4 + 2,
    usize::MAX / 8 + 1,
    usize::MAX / 16 + 2,
];

/// Asserts that `make` panics with a message about the capacity, not for lack of memory.
fn refuses<D>(make: fn(usize) -> D) {
    for capacity in TOO_MANY {
        let Err(panic) = catch_unwind(|| drop(make(capacity))) else {
            panic!("a deque for {capacity:#x} items was made");
        };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        assert!(text.is_some_and(|text| text.contains("capacity overflow")));
    }
}

#[test]
fn chase_lev_refuses_what_no_memory_holds() {
    refuses(chase_lev::Deque::<usize>::with_capacity);
}

#[test]
fn semi_private_refuses_what_no_memory_holds() {
    refuses(semi_private::Deque::<usize>::with_capacity);
}

#[test]
fn split_refuses_what_no_memory_holds() {
    refuses(split::Deque::<usize>::with_capacity);
}

/// Asserts that a deque has the capacity that was asked for, and grows beyond it.
fn holds<D: Owner<Item = usize>>(make: fn(usize) -> D, capacity: fn(&D) -> usize) {
    for wanted in [0, 1, 63, 64, 65, 127, 128, 1000] {
        let mut deque = make(wanted);
        let room = capacity(&deque);
        assert!(room >= wanted);
        (0..room).for_each(|item| deque.push(item).unwrap());
        assert_eq!(capacity(&deque), room, "it grew early");
        deque.push(room).unwrap();
        assert!(capacity(&deque) > room);
        for item in (0..=room).rev() {
            assert_eq!(deque.pop(), Some(item));
        }
    }
}

#[test]
fn chase_lev_holds_what_was_asked_for() {
    holds(chase_lev::Deque::with_capacity, chase_lev::Deque::capacity);
}

#[test]
fn semi_private_holds_what_was_asked_for() {
    holds(
        semi_private::Deque::with_capacity,
        semi_private::Deque::capacity,
    );
}
