use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{BuildError, Pool, Strategy};

use crate::everywhere;

#[test]
fn pools_start_and_stop_by_the_thousand() {
    for round in 0..1000 {
        let strategy = Strategy::ALL[round % Strategy::ALL.len()];
        let pool = Pool::builder()
            .workers(1 + round % 3)
            .strategy(strategy)
            .build()
            .unwrap();
        if round % 2 == 0 {
            assert_eq!(pool.install(|| locksley::join(|| 1, || 2)), (1, 2));
        }
    }
}

#[test]
fn dropping_a_pool_runs_what_was_spawned() {
    for strategy in Strategy::ALL {
        let count = Arc::new(AtomicUsize::new(0));
        let pool = Pool::builder()
            .workers(3)
            .strategy(strategy)
            .build()
            .unwrap();
        for _ in 0..1000 {
            let count = count.clone();
            drop(pool.spawn(move || {
                for _ in 0..2 {
                    let count = count.clone();
                    drop(locksley::spawn(move || {
                        count.fetch_add(1, Ordering::Relaxed)
                    }));
                }
            }));
        }
        drop(pool);
        assert_eq!(count.load(Ordering::Relaxed), 2000);
    }
}

#[test]
fn outsiders_hammer_a_pool() {
    everywhere(|pool| {
        let total = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for round in 0..100 {
                        let (a, b) = pool.install(|| locksley::join(|| round, || 1));
                        total.fetch_add(a + b, Ordering::Relaxed);
                        let handle = pool.spawn(move || round);
                        total.fetch_add(handle.join(), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 4 * (2 * 4950 + 100));
    });
}

#[test]
fn a_bad_size_is_an_error_that_says_what_to_do() {
    let error = Pool::builder().workers(1_000_000).build().unwrap_err();
    assert!(matches!(error, BuildError::Workers { .. }));
    assert!(error.to_string().contains("ask for 1 to"), "{error}");
    let by_default = Pool::builder().build().unwrap();
    let pool = Pool::builder().workers(0).build().unwrap();
    assert_eq!(pool.workers(), by_default.workers());
}

#[test]
fn handlers_run_in_every_worker() {
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_start, at_end) = (started.clone(), ended.clone());
    let pool = Pool::builder()
        .workers(3)
        .start_handler(move |_| {
            at_start.fetch_add(1, Ordering::Relaxed);
        })
        .exit_handler(move |_| {
            at_end.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    pool.shutdown();
    assert_eq!(started.load(Ordering::Relaxed), 3);
    assert_eq!(ended.load(Ordering::Relaxed), 3);
}
