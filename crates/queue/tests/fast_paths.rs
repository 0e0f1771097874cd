//! The claims about the owner's fast path, checked with the counters of `sync`.
#![cfg(not(loom))]

use locksley_queue::counts::{self, Counts};
use locksley_queue::semi_private::Exposure;
use locksley_queue::{Owner, Steal, Thief, barrier, chase_lev, semi_private, split};

/// Returns the operations that the calling thread issues in `work`.
fn cost(work: impl FnOnce()) -> Counts {
    let before = counts::of_this_thread();
    work();
    counts::of_this_thread() - before
}

/// Pushes and pops at every depth up to 1000, far beyond the first circle, and then empties the
/// deque.
fn climb_and_descend(deque: &mut impl Owner<Item = usize>) {
    for depth in 0..1000 {
        deque.push(depth).unwrap();
        deque.push(usize::MAX).unwrap();
        assert_eq!(deque.pop(), Some(usize::MAX));
    }
    for depth in (0..1000).rev() {
        assert_eq!(deque.pop(), Some(depth));
    }
}

#[test]
fn semi_private_owner_issues_no_fence_and_no_cas() {
    let mut deque = semi_private::Deque::with_capacity(1024);
    assert_eq!(cost(|| climb_and_descend(&mut deque)), Counts::default());
}

#[test]
fn semi_private_growth_costs_a_fence_a_doubling() {
    let mut deque = semi_private::Deque::new();
    let spent = cost(|| climb_and_descend(&mut deque));
    assert_eq!(deque.capacity(), 1023, "one slot stays empty");
    assert_eq!(spent.rmws, 0);
    assert_eq!(
        spent.fences, 4,
        "64 to 1024 slots, with one look for visitors each"
    );
}

#[test]
fn split_owner_issues_no_fence_and_no_cas() {
    if !barrier::is_ready() {
        return; // No membarrier here: see below.
    }
    let mut deque = split::Deque::with_capacity(1024);
    assert_eq!(cost(|| climb_and_descend(&mut deque)), Counts::default());
}

#[test]
fn split_owner_pays_a_fence_a_pop_where_there_is_no_membarrier() {
    if barrier::is_ready() {
        return;
    }
    let mut deque = split::Deque::with_capacity(1024);
    let spent = cost(|| climb_and_descend(&mut deque));
    assert_eq!((spent.fences, spent.rmws), (2000, 0));
}

#[test]
fn split_owner_pays_for_what_thieves_asked_for() {
    if !barrier::is_ready() {
        return;
    }
    let mut deque = split::Deque::with_capacity(64);
    let thief = deque.thief();
    deque.push(0).unwrap();
    thief.request();
    let spent = cost(|| deque.push(1).unwrap());
    assert_eq!(
        (spent.fences, spent.rmws),
        (0, 2),
        "the request, the exposure"
    );
    let spent = cost(|| assert_eq!((deque.pop(), deque.pop()), (Some(1), Some(0))));
    assert_eq!((spent.fences, spent.rmws), (0, 1), "the take-back");
}

#[test]
fn split_thief_pays_a_membarrier_to_force_and_none_to_steal() {
    if !barrier::is_ready() {
        return;
    }
    let mut deque = split::Deque::with_capacity(64);
    let thief = deque.thief();
    for item in 0..16 {
        deque.push(item).unwrap();
    }
    let spent = cost(|| assert_eq!(thief.force(), split::Forced::Public));
    assert_eq!(spent.membarriers, 1);
    let spent = cost(|| {
        for item in 0..16 {
            assert_eq!(thief.steal(), Steal::Success(item));
        }
    });
    assert_eq!(spent.membarriers, 0);
}

#[test]
fn chase_lev_owner_pays_a_fence_a_pop_and_a_cas_for_the_last() {
    let mut deque = chase_lev::Deque::with_capacity(1024);
    let spent = cost(|| climb_and_descend(&mut deque));
    assert_eq!(spent.rmws, 1, "the last item");
    assert_eq!(spent.fences, 1999, "every pop but the last");
}

#[test]
fn exposure_costs_the_owner_no_fence_until_it_takes_back() {
    let mut deque = semi_private::Deque::with_capacity(64);
    let spent = cost(|| {
        for item in 0..64 {
            deque.push(item).unwrap();
        }
        while deque.expose(Exposure::Half) > 0 {}
    });
    assert_eq!(spent, Counts::default());
}
