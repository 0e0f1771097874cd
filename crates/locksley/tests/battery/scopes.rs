use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Scope;

use crate::everywhere;

#[test]
fn every_task_of_a_scope_runs_once() {
    everywhere(|pool| {
        let runs: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        pool.install(|| {
            locksley::scope(|s| {
                for run in &runs {
                    s.spawn(move |_| {
                        run.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert!(runs.iter().all(|run| run.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn tasks_spawn_tasks() {
    fn grow<'s>(scope: &Scope<'s>, depth: usize, count: &'s AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            for _ in 0..3 {
                scope.spawn(move |s| grow(s, depth - 1, count));
            }
        }
    }
    everywhere(|pool| {
        let count = AtomicUsize::new(0);
        pool.install(|| locksley::scope(|s| grow(s, 6, &count)));
        assert_eq!(count.into_inner(), (3_usize.pow(7) - 1) / 2);
    });
}

#[test]
fn joins_inside_scopes_inside_joins() {
    fn work(depth: usize, count: &AtomicUsize) {
        if depth == 0 {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        locksley::join(
            || {
                locksley::scope(|s| {
                    s.spawn(|_| work(depth - 1, count));
                    locksley::join(
                        || work(depth - 1, count),
                        || s.spawn(|_| work(depth - 1, count)),
                    );
                });
            },
            || work(depth - 1, count),
        );
    }
    everywhere(|pool| {
        let count = AtomicUsize::new(0);
        pool.install(|| work(6, &count));
        assert_eq!(count.into_inner(), 4_usize.pow(6));
    });
}

/// A task spawned by the first closure of a join lies on top of the join's own job.
#[test]
fn spawns_on_top_of_forked_jobs() {
    everywhere(|pool| {
        let count = AtomicUsize::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                for _ in 0..100 {
                    let (a, b) = locksley::join(
                        || {
                            for _ in 0..3 {
                                s.spawn(|_| {
                                    count.fetch_add(1, Ordering::Relaxed);
                                });
                            }
                            1
                        },
                        || 2,
                    );
                    assert_eq!((a, b), (1, 2));
                }
            });
        });
        assert_eq!(count.into_inner(), 300);
    });
}

#[test]
fn a_scope_in_place_of_the_caller() {
    let caller = std::thread::current().id();
    let mut done = [false; 10];
    locksley::in_place_scope(|s| {
        assert_eq!(std::thread::current().id(), caller);
        for flag in &mut done {
            s.spawn(|_| *flag = true);
        }
    });
    assert_eq!(done, [true; 10]);
}

#[test]
fn a_cancelled_scope_runs_nothing_more() {
    everywhere(|pool| {
        let runs = AtomicUsize::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                s.cancel();
                for _ in 0..100 {
                    s.spawn(|_| {
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                }
                assert!(s.is_cancelled());
            });
        });
        assert_eq!(runs.into_inner(), 0);
    });
}

/// The captures of a cancelled task are dropped before the scope ends: they may borrow from the
/// caller.
#[test]
fn a_cancelled_task_is_dropped_inside_the_scope() {
    struct Slow<'a>(&'a AtomicUsize);
    impl Drop for Slow<'_> {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_millis(1));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    everywhere(|pool| {
        let dropped = AtomicUsize::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                s.cancel();
                for _ in 0..4 {
                    let slow = Slow(&dropped);
                    s.spawn(move |_| drop(slow));
                }
            });
            assert_eq!(dropped.load(Ordering::Relaxed), 4);
        });
    });
}
