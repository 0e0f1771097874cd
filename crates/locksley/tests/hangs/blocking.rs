//! Workers that block in a wait: more than there are processors, spares or threads.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use locksley::{Pool, Strategy, Waiting, block_on};

use crate::child::assert_finishes;

/// Rounds of a scope whose tasks each wait for a task of their own, with more workers than there
/// are processors.
fn rounds_of_waiting(workers: usize, waiting: Waiting) {
    for strategy in [Strategy::Stealing, Strategy::ChaseLev] {
        let pool = Pool::builder()
            .workers(workers)
            .processors(2)
            .strategy(strategy)
            .waiting(waiting)
            .build()
            .unwrap();
        for round in 0..600 {
            let done = AtomicUsize::new(0);
            let tasks = round % 8 + 1;
            pool.scope(|s| {
                for _ in 0..tasks {
                    s.spawn(|_| {
                        block_on(locksley::spawn(|| ()));
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(done.into_inner(), tasks);
        }
    }
}

#[test]
fn three_workers_on_two_processors() {
    assert_finishes("blocking::three_workers_on_two_processors", || {
        rounds_of_waiting(3, Waiting::Leapfrog);
    });
}

#[test]
fn three_to_nine_workers_on_two_processors() {
    assert_finishes("blocking::three_to_nine_workers_on_two_processors", || {
        (3..=9).for_each(|workers| rounds_of_waiting(workers, Waiting::Leapfrog));
    });
}

#[test]
fn three_to_nine_workers_that_take_any_work() {
    assert_finishes("blocking::three_to_nine_workers_that_take_any_work", || {
        (3..=9).for_each(|workers| rounds_of_waiting(workers, Waiting::TakeAny));
    });
}

/// A signal that another task sends later.
#[derive(Default)]
struct Promise {
    kept: bool,
    waker: Option<Waker>,
}

fn keep(promise: &Mutex<Promise>) {
    let mut promise = promise.lock().unwrap();
    promise.kept = true;
    if let Some(waker) = promise.waker.take() {
        waker.wake();
    }
}

fn wait_for(promise: &Mutex<Promise>) {
    block_on(poll_fn(|context| {
        let mut promise = promise.lock().unwrap();
        if promise.kept {
            return Poll::Ready(());
        }
        promise.waker = Some(context.waker().clone());
        Poll::Pending
    }));
}

/// `count` tasks block on futures, which are completed by tasks that are spawned after all of them.
fn promises(pool: &Pool, count: usize) {
    let promises: Arc<Vec<Mutex<Promise>>> =
        Arc::new((0..count).map(|_| Mutex::default()).collect());
    let done = AtomicUsize::new(0);
    pool.in_place_scope(|s| {
        for number in 0..count {
            let (promises, done) = (&promises, &done);
            s.spawn(move |_| {
                wait_for(&promises[number]);
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        for number in 0..count {
            let promises = &promises;
            s.spawn(move |_| keep(&promises[number]));
        }
    });
    assert_eq!(done.into_inner(), count);
}

fn promises_everywhere(count: usize) {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        for workers in [1, 2, 5] {
            // Under `TakeAny` a worker stacks up all blocked tasks.
            let builder = Pool::builder().workers(workers).stack_size(64 << 20);
            promises(&builder.waiting(waiting).build().unwrap(), count);
        }
    }
}

#[test]
fn sixty_six_futures_of_other_tasks() {
    assert_finishes("blocking::sixty_six_futures_of_other_tasks", || {
        promises_everywhere(66);
    });
}

#[test]
fn a_thousand_futures_of_other_tasks() {
    assert_finishes("blocking::a_thousand_futures_of_other_tasks", || {
        promises_everywhere(1000);
    });
}

/// Pools with few spares: when they are used up, a waiter takes any work.
#[test]
fn futures_of_other_tasks_with_few_spares() {
    assert_finishes("blocking::futures_of_other_tasks_with_few_spares", || {
        for spares in [0, 1, 2, 7] {
            for workers in [1, 2, 3] {
                let pool = Pool::builder().workers(workers).spares(spares).build();
                promises(&pool.unwrap(), 30);
            }
        }
    });
}

/// Nested tasks, each of which blocks on the handle of the next: deeper than there are spares.
#[test]
fn nested_handles_beyond_the_spares() {
    assert_finishes("blocking::nested_handles_beyond_the_spares", || {
        fn nest(depth: usize) -> usize {
            match depth {
                0 => 0,
                _ => block_on(locksley::spawn(move || nest(depth - 1))) + 1,
            }
        }
        for workers in [1, 2, 3] {
            let builder = Pool::builder().workers(workers).stack_size(64 << 20);
            assert_eq!(builder.build().unwrap().install(|| nest(300)), 300);
        }
    });
}

/// The first closure of a join waits on a channel for the second, which only another worker can
/// run: every strategy must let a thief take it.
#[test]
fn a_first_closure_that_waits_for_the_second() {
    assert_finishes(
        "blocking::a_first_closure_that_waits_for_the_second",
        || {
            for strategy in Strategy::ALL {
                for workers in [2, 3, 8] {
                    let pool = Pool::builder().workers(workers).strategy(strategy);
                    let pool = pool.build().unwrap();
                    for _ in 0..50 {
                        let (sender, receiver) = channel();
                        let receive = move || receiver.recv().unwrap();
                        let (received, ()) = pool.join(receive, move || sender.send(7).unwrap());
                        assert_eq!(received, 7);
                    }
                    println!("{strategy}, {workers} workers");
                }
            }
        },
    );
}

/// The same for a task of a scope, and for a detached task.
#[test]
fn a_task_that_is_waited_for_on_a_channel() {
    assert_finishes("blocking::a_task_that_is_waited_for_on_a_channel", || {
        for strategy in Strategy::ALL {
            let pool = Pool::builder().workers(2).strategy(strategy).build();
            let pool = pool.unwrap();
            for _ in 0..50 {
                pool.scope(|s| {
                    let (sender, receiver) = channel();
                    s.spawn(move |_| sender.send(7).unwrap());
                    assert_eq!(receiver.recv(), Ok(7));
                });
                pool.install(|| {
                    let (sender, receiver) = channel();
                    locksley::spawn_detached(move || sender.send(7).unwrap());
                    assert_eq!(receiver.recv(), Ok(7));
                });
            }
            println!("{strategy}");
        }
    });
}

/// Under [`Waiting::Own`] there are no spares, so a worker runs the task whose handle it polls.
#[test]
fn futures_of_tasks_where_waiters_run_what_is_theirs() {
    assert_finishes(
        "blocking::futures_of_tasks_where_waiters_run_what_is_theirs",
        || {
            for workers in [1, 2] {
                let builder = Pool::builder().workers(workers).waiting(Waiting::Own);
                let pool = builder.build().unwrap();
                let wait = || locksley::block_on(async { 1 + locksley::spawn(|| 1).await });
                for _ in 0..100 {
                    assert_eq!(pool.install(|| locksley::join(wait, wait)), (2, 2));
                }
            }
        },
    );
}
