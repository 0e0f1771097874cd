use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Strategy};

use crate::everywhere;
use crate::support::panic_text;

/// Returns the message of the panic that `f` ends with.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| {
        f();
    }))
    .expect_err("it should panic");
    panic_text(&*payload).to_owned()
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn either_side_of_a_join() {
    everywhere(|pool| {
        for _ in 0..20 {
            let done = AtomicUsize::new(0);
            let other = || {
                done.fetch_add(1, Ordering::Relaxed);
            };
            assert_eq!(
                panic_of(|| pool.install(|| locksley::join(|| panic!("left"), other))),
                "left"
            );
            assert_eq!(
                panic_of(|| pool.install(|| locksley::join(other, || panic!("right")))),
                "right"
            );
            assert_eq!(
                done.load(Ordering::Relaxed),
                2,
                "the other side runs all the same"
            );
        }
        assert_eq!(pool.install(|| 7), 7, "the pool stays usable");
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn both_sides_of_a_join() {
    everywhere(|pool| {
        let message =
            panic_of(|| pool.install(|| locksley::join(|| panic!("left"), || panic!("right"))));
        assert_eq!(message, "left");
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn deep_in_a_tree_of_joins() {
    fn tree(depth: usize, number: usize, done: &AtomicUsize) {
        if depth == 0 {
            assert!(number % 7 != 3, "leaf");
            done.fetch_add(1, Ordering::Relaxed);
            return;
        }
        locksley::join(
            || tree(depth - 1, 2 * number, done),
            || tree(depth - 1, 2 * number + 1, done),
        );
    }
    everywhere(|pool| {
        let done = AtomicUsize::new(0);
        assert_eq!(panic_of(|| pool.install(|| tree(8, 0, &done))), "leaf");
        let expected = (0..256).filter(|leaf| leaf % 7 != 3).count();
        assert_eq!(
            done.into_inner(),
            expected,
            "every other leaf runs exactly once"
        );
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn in_a_scope() {
    everywhere(|pool| {
        let done = AtomicUsize::new(0);
        let message = panic_of(|| {
            pool.install(|| {
                locksley::scope(|s| {
                    for task in 0..50 {
                        let done = &done;
                        s.spawn(move |_| {
                            assert!(task != 20, "task 20");
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            });
        });
        assert_eq!(message, "task 20");
        assert_eq!(done.into_inner(), 49);
        let message = panic_of(|| pool.install(|| locksley::scope(|_| panic!("body"))));
        assert_eq!(message, "body");
    });
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn of_a_scope_the_first_one_reaches_the_caller() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let message = panic_of(|| {
        pool.scope(|s| {
            s.spawn(|_| panic!("task"));
            // The only worker runs the task.
            locksley::yield_now();
            panic!("body");
        });
    });
    assert_eq!(message, "task");
    let message = panic_of(|| {
        pool.scope(|s| {
            s.spawn(|_| panic!("task"));
            panic!("body");
        });
    });
    assert_eq!(message, "body");
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn in_a_spawned_task() {
    for strategy in Strategy::ALL {
        let seen = Arc::new(AtomicUsize::new(0));
        let handler = seen.clone();
        let pool = Pool::builder()
            .workers(2)
            .strategy(strategy)
            .panic_handler(move |_| {
                handler.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .unwrap();
        let handle = pool.spawn(|| panic!("waited for"));
        assert_eq!(panic_of(|| handle.join()), "waited for");
        assert_eq!(seen.load(Ordering::Relaxed), 0, "the waiter gets it");
        for _ in 0..10 {
            drop(pool.spawn(|| panic!("no caller waits")));
        }
        pool.shutdown();
        assert_eq!(seen.load(Ordering::Relaxed), 10);
    }
}
