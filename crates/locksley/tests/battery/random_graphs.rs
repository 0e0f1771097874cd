//! Random trees of joins, scopes and spawned tasks, some of which panic: every leaf runs once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley_policy::mix;

use crate::everywhere;

/// Returns the seeds of a node's children, at most three.
fn children(seed: u64, depth: usize) -> Vec<u64> {
    if depth == 0 || mix(seed) % 8 == 0 {
        return Vec::new();
    }
    (1..=2 + mix(seed) / 8 % 2)
        .map(|child| mix(seed ^ child))
        .collect()
}

fn leaves(seed: u64, depth: usize) -> usize {
    let children = children(seed, depth);
    if children.is_empty() {
        return 1;
    }
    children
        .into_iter()
        .map(|child| leaves(child, depth - 1))
        .sum()
}

/// Runs the tree of a seed. If `panics`, some nodes panic when their children are done, and some
/// catch the panics of their children.
fn run(seed: u64, depth: usize, panics: bool, count: &Arc<AtomicUsize>) {
    let below = || fork(seed, depth, panics, count);
    if panics && mix(seed ^ 77) % 3 == 0 {
        drop(catch_unwind(AssertUnwindSafe(below)));
    } else {
        below();
    }
    if panics && mix(seed ^ 78) % 5 == 0 {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

fn fork(seed: u64, depth: usize, panics: bool, count: &Arc<AtomicUsize>) {
    let kids = children(seed, depth);
    let [first, rest @ ..] = &kids[..] else {
        count.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let child = |seed: u64| run(seed, depth - 1, panics, count);
    match mix(seed ^ 79) % 3 {
        0 => {
            locksley::join(
                || child(*first),
                || match rest {
                    [a, b] => drop(locksley::join(|| child(*a), || child(*b))),
                    _ => rest.iter().for_each(|&seed| child(seed)),
                },
            );
        }
        1 => locksley::scope(|s| {
            for &seed in rest {
                s.spawn(move |_| child(seed));
            }
            child(*first);
        }),
        _ => {
            let handles: Vec<_> = rest
                .iter()
                .map(|&seed| {
                    let count = count.clone();
                    locksley::spawn(move || run(seed, depth - 1, panics, &count))
                })
                .collect();
            let first = catch_unwind(AssertUnwindSafe(|| child(*first)));
            let mut outcomes = vec![first];
            for handle in handles {
                outcomes.push(catch_unwind(AssertUnwindSafe(|| handle.join())));
            }
            if let Some(payload) = outcomes.into_iter().find_map(Result::err) {
                std::panic::resume_unwind(payload);
            }
        }
    }
}

/// Runs the tree of a seed in a pool, and counts its leaves.
pub(crate) fn check_seed(pool: &Pool, seed: u64, panics: bool) {
    let count = Arc::new(AtomicUsize::new(0));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.install(|| run(seed, 7, panics, &count));
    }));
    assert!(panics || outcome.is_ok());
    assert_eq!(
        count.load(Ordering::Relaxed),
        leaves(seed, 7),
        "seed {seed}"
    );
}

fn check(panics: bool) {
    everywhere(|pool| (0..25).for_each(|seed| check_seed(pool, seed, panics)));
}

#[test]
fn every_leaf_runs_once() {
    check(false);
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn every_leaf_runs_once_among_panics() {
    check(true);
}
