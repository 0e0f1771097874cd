use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Strategy, Worker};

use crate::everywhere;
use crate::support::fib;

fn worker_fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| worker_fib(w, n - 1), |w| worker_fib(w, n - 2));
    a + b
}

#[test]
fn fib_of_free_joins() {
    everywhere(|pool| assert_eq!(pool.install(|| fib(20)), 6765));
}

#[test]
fn fib_of_worker_joins() {
    everywhere(|pool| assert_eq!(pool.run(|worker| worker_fib(worker, 20)), 6765));
}

/// Workers are preempted in the middle of a fork, a steal or a wait.
#[test]
fn many_more_workers_than_processors() {
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(16).strategy(strategy).build();
        let pool = pool.expect("the pool starts");
        for _ in 0..10 {
            assert_eq!(pool.run(|worker| worker_fib(worker, 22)), 17_711);
        }
    }
}

#[test]
fn the_global_pool_joins() {
    assert_eq!(fib(15), 610);
}

#[test]
fn both_closures_run_once() {
    fn tree(depth: usize, leaves: &AtomicUsize) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        locksley::join(|| tree(depth - 1, leaves), || tree(depth - 1, leaves));
    }
    everywhere(|pool| {
        let leaves = AtomicUsize::new(0);
        pool.install(|| tree(12, &leaves));
        assert_eq!(leaves.into_inner(), 1 << 12);
    });
}

/// Deeper than the capacity of a bounded queue, and than the initial buffer of a growing one.
#[test]
fn a_deep_chain_of_joins() {
    fn chain(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (deeper, one) = locksley::join(|| chain(depth - 1), || 1);
        deeper + one
    }
    everywhere(|pool| assert_eq!(pool.install(|| chain(10_000)), 10_000));
}

#[test]
fn results_and_borrows_come_back() {
    everywhere(|pool| {
        let mut left = vec![1, 2, 3];
        let right = String::from("right");
        let (sum, length) = pool.install(|| {
            locksley::join(
                || {
                    left.push(4);
                    left.iter().sum::<i32>()
                },
                || right.len(),
            )
        });
        assert_eq!((sum, length, left.len()), (10, 5, 4));
    });
}

#[test]
fn n_ary_joins() {
    everywhere(|pool| {
        let all = pool.install(|| locksley::join!(|| 1, || 2, || 3, || 4, || 5, || 6, || 7, || 8));
        assert_eq!(all, (1, 2, 3, 4, 5, 6, 7, 8));
        assert_eq!(pool.install(|| locksley::join!(|| "one")), ("one",));
        let owned = String::from("moved");
        let mut borrowed = 0;
        let (a, b, c, d, ..) = pool.install(|| {
            locksley::join!(
                move || owned,
                || borrowed += 1,
                || 'c',
                || 4_u8,
                || (),
                || (),
                || (),
                || (),
                || (),
                || (),
                || (),
                || 12,
            )
        });
        assert_eq!((a.as_str(), b, c, d, borrowed), ("moved", (), 'c', 4, 1));
    });
}
