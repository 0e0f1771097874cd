//! The claims about the owner's fast path, counted through the shim.
#![cfg(not(loom))]

use locksley_queue::counts::{self, Counts};
use locksley_queue::semi_private::Exposure;
use locksley_queue::{Owner, Steal, Thief, asymmetric, barrier, chase_lev, semi_private};

/// What `work` costs the calling thread.
fn cost(work: impl FnOnce()) -> Counts {
    let before = counts::of_this_thread();
    work();
    counts::of_this_thread() - before
}

/// Pushes and pops at every depth up to 1000, far beyond the first circle, and down to nothing.
fn mountain(deque: &mut impl Owner<Item = usize>) {
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
    assert_eq!(cost(|| mountain(&mut deque)), Counts::default());
}

#[test]
fn semi_private_growth_costs_a_fence_a_doubling() {
    let mut deque = semi_private::Deque::new();
    let spent = cost(|| mountain(&mut deque));
    assert_eq!(deque.capacity(), 1023, "one slot stays empty");
    assert_eq!(spent.rmws, 0);
    assert_eq!(
        spent.fences, 4,
        "64 to 1024 slots, with one look for visitors each"
    );
}

#[test]
fn asymmetric_owner_issues_no_fence_and_no_cas_even_on_the_last_item() {
    if barrier::payer() == barrier::Payer::Both {
        return; // No membarrier here: the owner pays a fence for each pop, as documented.
    }
    let mut deque = asymmetric::Deque::with_capacity(1024);
    assert_eq!(cost(|| mountain(&mut deque)), Counts::default());
}

#[test]
fn asymmetric_thief_pays_only_where_there_is_something() {
    let mut deque = asymmetric::Deque::new();
    let thief = deque.thief();
    assert_eq!(
        cost(|| assert_eq!(thief.steal(), Steal::Empty)),
        Counts::default()
    );
    deque.push(1).unwrap();
    let spent = cost(|| assert_eq!(thief.steal(), Steal::Success(1)));
    assert_eq!(spent.membarriers + spent.fences, 1);
}

#[test]
fn asymmetric_barrier_serves_a_batch() {
    let mut deques: Vec<_> = (0..16).map(|_| asymmetric::Deque::new()).collect();
    for deque in &mut deques {
        deque.push(1).unwrap();
    }
    let victims: Vec<_> = deques.iter().map(Owner::thief).collect();
    let spent = cost(|| assert_eq!(asymmetric::steal_each(&victims, |_| {}), 16));
    assert_eq!(spent.membarriers + spent.fences, 1);
}

#[test]
fn chase_lev_owner_pays_a_fence_a_pop_and_a_cas_for_the_last() {
    let mut deque = chase_lev::Deque::with_capacity(1024);
    let spent = cost(|| mountain(&mut deque));
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
