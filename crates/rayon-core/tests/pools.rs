//! Pools that end, and pools that call each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().expect("the pool starts")
}

fn join_a_lot(depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let (a, b) = rayon_core::join(|| join_a_lot(depth - 1), || join_a_lot(depth - 1));
    a + b
}

/// Checks that the threads of a pool end after `work` is done and the pool is dropped.
fn threads_end_after(work: impl FnOnce(&ThreadPool)) {
    let mut threads = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(22)
        .spawn_handler(|builder| {
            threads.push(thread::spawn(|| builder.run()));
            Ok(())
        })
        .build()
        .unwrap();
    work(&pool);
    drop(pool);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn busy_threads_end_with_their_pool() {
    threads_end_after(|pool| assert_eq!(pool.install(|| join_a_lot(12)), 1 << 12));
}

#[test]
fn sleeping_threads_end_with_their_pool() {
    threads_end_after(|_| thread::sleep(Duration::from_millis(100)));
}

#[test]
fn dropping_a_pool_does_not_wait_and_loses_nothing() {
    let (go, wait) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel();
    let pool = pool(1);
    pool.spawn(move || {
        wait.recv().unwrap();
        rayon_core::spawn(move || sender.send(7).unwrap());
    });
    drop(pool);
    go.send(()).unwrap();
    assert_eq!(receiver.recv(), Ok(7));
}

#[test]
fn pools_of_one_thread_call_each_other() {
    let (a, b) = (pool(1), pool(1));
    for _ in 0..100 {
        let depth = a.install(|| b.install(|| a.install(|| b.install(|| a.install(|| 5)))));
        assert_eq!(depth, 5);
    }
}

#[test]
fn pools_of_one_thread_wake_each_other() {
    let (a, b) = (pool(1), pool(1));
    let nap = || thread::sleep(Duration::from_millis(50));
    let answer = a.install(|| {
        b.install(|| {
            nap();
            a.install(|| {
                nap();
                b.scope(|s| s.spawn(|_| a.install(nap)));
                7
            })
        })
    });
    assert_eq!(answer, 7);
}

#[test]
fn a_thread_that_waits_in_another_pool_serves_its_own() {
    let (a, b) = (pool(1), pool(1));
    a.install(|| {
        b.install(|| {
            let (sender, receiver) = mpsc::channel();
            // The only thread of `a` waits for this closure, and has to run the task meanwhile.
            a.spawn(move || sender.send(7).unwrap());
            assert_eq!(receiver.recv(), Ok(7));
        });
    });
}

/// A thread that waits for a stolen closure runs what that closure waits for.
#[test]
fn a_waiting_thread_runs_what_it_is_needed_for() {
    let pool = pool(2);
    for _ in 0..20 {
        let (taken, wait_for_taken) = mpsc::channel();
        pool.install(|| {
            let first = move || wait_for_taken.recv().unwrap();
            let second = move || {
                taken.send(()).unwrap();
                let (sender, receiver) = mpsc::channel();
                // The task is in the queue of this thread, which blocks.
                rayon_core::spawn(move || sender.send(()).unwrap());
                receiver.recv().unwrap();
            };
            rayon_core::join(first, second)
        });
    }
}

#[test]
fn names_are_asked_for_where_the_pool_is_built() {
    let here = thread::current().id();
    let named = Arc::new(AtomicUsize::new(0));
    let counter = named.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(move |index| {
            assert_eq!(thread::current().id(), here);
            counter.fetch_add(1, Ordering::Relaxed);
            format!("crew {index}")
        })
        .build()
        .unwrap();
    let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
    let expected = [0, 1, 2].map(|index| Some(format!("crew {index}")));
    assert_eq!(names, expected);
    assert_eq!(named.load(Ordering::Relaxed), 3);
}
