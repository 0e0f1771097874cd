//! Loops on threads that are not workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::prelude::*;

use crate::busy;

/// A long loop begins on the calling thread, and goes on in the global pool.
#[test]
fn a_long_loop_goes_to_the_global_pool() {
    let here = std::thread::current().id();
    let (mine, theirs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sum: u64 = (0..20_000_u64)
        .par()
        .inspect(|_| {
            busy(1);
            let counter = if std::thread::current().id() == here {
                &mine
            } else {
                &theirs
            };
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .sum();
    assert_eq!(sum, (0..20_000).sum::<u64>());
    let (mine, theirs) = (mine.into_inner(), theirs.into_inner());
    assert!(mine > 0 && theirs > 0 && mine + theirs == 20_000);
}

#[test]
fn a_single_item_stays_where_it_is() {
    let here = std::thread::current().id();
    let ids: Vec<_> = [1].par().map(|_| std::thread::current().id()).collect();
    assert_eq!(ids, [here]);
    let none: Vec<u8> = [].par().copied().collect();
    assert!(none.is_empty());
}
