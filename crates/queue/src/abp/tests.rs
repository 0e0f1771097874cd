use super::*;

#[test]
fn an_age_keeps_its_parts_apart() {
    for capacity in [1, 2, 3, 4, 1023, 1024, MAX_CAPACITY] {
        let bits = TopBits::of(capacity);
        let age = bits.age(u64::MAX) + capacity as u64;
        assert_eq!(bits.top(age), capacity);
        assert_eq!(bits.tag(age), u64::MAX >> bits.0);
        assert_eq!(bits.next_tag(age), 0, "the tag wraps around");
        let before = bits.age(7) + capacity as u64 - 1;
        assert_eq!(bits.top(next_top(before)), capacity);
        assert_eq!(bits.tag(next_top(before)), 7);
    }
}

/// A thief that was suspended for 2^32 resets must fail, so the ages must differ.
#[test]
fn the_tag_has_all_bits_that_the_capacity_leaves() {
    for (capacity, width) in [(1, 63), (2, 62), (1024, 53), (MAX_CAPACITY, 32)] {
        let bits = TopBits::of(capacity);
        for bit in 0..width {
            assert_ne!(bits.age(1 << bit), bits.age(0), "bit {bit} of {width}");
        }
        assert_eq!(bits.age(1 << width), 0);
    }
    let age = |start| {
        let deque = Deque::<u32>::starting_at(1024, start);
        deque.shared.age.load(Ordering::Relaxed)
    };
    assert_ne!(age(1 << 32), age(0));
}

#[test]
fn stolen_items_are_not_popped_again() {
    let mut owner = Deque::with_capacity(8);
    let thief = owner.thief();
    for item in 0..3_u32 {
        owner.push(item).unwrap();
    }
    for item in 0..3 {
        assert_eq!(thief.steal(), Steal::Success(item));
    }
    for _ in 0..4 {
        assert_eq!(owner.pop(), None);
    }
}

#[test]
fn the_tag_wraps_around() {
    let mut owner = Deque::starting_at(2, u64::MAX - 1);
    let thief = owner.thief();
    for round in 0..8_u32 {
        owner.push(round).unwrap();
        owner.push(round + 100).unwrap();
        assert_eq!(thief.steal(), Steal::Success(round));
        assert_eq!(owner.pop(), Some(round + 100));
        assert_eq!(thief.steal(), Steal::Empty);
    }
}

#[test]
fn a_push_at_the_end_resets_only_when_everything_is_stolen() {
    let mut owner = Deque::with_capacity(2);
    let thief = owner.thief();
    owner.push(1_u32).unwrap();
    owner.push(2).unwrap();
    assert_eq!(owner.push(3), Err(Full(3)));
    assert_eq!(thief.steal(), Steal::Success(1));
    assert_eq!(owner.push(3), Err(Full(3)));
    assert_eq!(thief.steal(), Steal::Success(2));
    assert_eq!(owner.push(3), Ok(()));
    assert_eq!((owner.len(), thief.len()), (1, 1));
    assert_eq!(thief.steal(), Steal::Success(3));
}

#[test]
fn a_capacity_of_nothing_is_one() {
    let mut owner = Deque::with_capacity(0);
    assert_eq!(owner.capacity(), 1);
    owner.push(Box::new(1)).unwrap();
    assert!(owner.push(Box::new(2)).is_err());
}

#[cfg(feature = "count")]
#[test]
fn the_last_item_costs_one_swap_and_no_fence() {
    use crate::sync::counts::{Counts, of_this_thread};
    let mut owner = Deque::with_capacity(2);
    let before = of_this_thread();
    owner.push(1_u32).unwrap();
    assert_eq!(owner.pop(), Some(1));
    let one = Counts {
        rmws: 1,
        ..Counts::default()
    };
    assert_eq!(of_this_thread() - before, one);
    assert_eq!(owner.pop(), None);
    assert_eq!(of_this_thread() - before, one);
}
