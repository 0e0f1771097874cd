//! Handles: where a joined task runs, and the pool's state meanwhile.
#![cfg(not(loom))]

mod support;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use locksley::{Builder, JoinHandle, Pool, Waiting, WorkerActivity};

/// A task that lies in the queue of a busy worker, on top of others, runs on the worker that joins
/// it, and the others do not.
#[test]
fn a_joiner_takes_its_task_out_of_another_workers_queue() {
    for waiting in [Waiting::Leapfrog, Waiting::TakeAny] {
        // Without spares, no third worker can take the task.
        let builder = Pool::builder().workers(2).waiting(waiting).spares(0);
        let pool = builder.build().unwrap();
        for _ in 0..100 {
            let (sender, handles) = mpsc::channel();
            let (done, over) = mpsc::channel();
            let others = AtomicUsize::new(0);
            let count = &others;
            pool.scope(move |s| {
                let spawn = move || {
                    for _ in 0..10 {
                        s.spawn(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
                    }
                    let task = || locksley::current_worker_index().unwrap();
                    sender.send(locksley::spawn(task)).unwrap();
                    // Busy until the other worker has joined the task.
                    over.recv().unwrap();
                };
                let join = move || {
                    let ran = handles.recv().unwrap().join();
                    assert_eq!(ran, locksley::current_worker_index().unwrap());
                    assert_eq!(count.load(Ordering::Relaxed), 0);
                    done.send(()).unwrap();
                };
                locksley::join(spawn, join);
            });
            assert_eq!(others.into_inner(), 10);
        }
    }
}

/// Handles are joined in any order, on any worker, and dropped: each task runs once.
#[test]
fn each_task_runs_once_whichever_thread_joins_it() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let spawned: usize = pool.install(|| {
        let rounds = 50;
        for round in 0..rounds {
            let spawn = |n: usize| {
                let runs = runs.clone();
                let task = move || {
                    runs.fetch_add(1, Ordering::Relaxed);
                    n
                };
                match n % 3 {
                    0 => locksley::spawn_fifo(task),
                    _ => locksley::spawn(task),
                }
            };
            let mut handles: Vec<_> = (0..100).map(spawn).map(Some).collect();
            let step = [1, 7, 13, 99][round % 4];
            for number in 0..100 {
                let number = number * step % 100;
                if let Some(handle) = handles[number].take() {
                    match number % 5 {
                        0 => drop(handle),
                        1 => assert_eq!(locksley::join(|| handle.join(), || ()).0, number),
                        2 => assert_eq!(locksley::block_on(handle), number),
                        _ => assert_eq!(handle.join(), number),
                    }
                }
            }
        }
        rounds * 100
    });
    drop(pool);
    assert_eq!(runs.load(Ordering::Relaxed), spawned);
}

#[test]
fn the_state_tells_running_blocked_and_idle_workers() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let task = pool.spawn(move || locksley::blocking(|| receiver.recv()));
    let of = |wanted: WorkerActivity| {
        let state = pool.state();
        let count = |worker: &&locksley::WorkerState| worker.activity == wanted;
        state.workers.iter().filter(count).count()
    };
    while of(WorkerActivity::Blocked) == 0 {
        std::thread::yield_now();
    }
    // The other worker finds no work.
    while of(WorkerActivity::Asleep) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(pool.state().blocked, 1);
    let inside = pool.install(|| of(WorkerActivity::Running));
    assert_eq!(inside, 1);
    let text = pool.state().to_string();
    assert!(text.contains("blocked"), "{text}");
    sender.send(7).unwrap();
    assert_eq!(task.join(), Ok(7));
    while of(WorkerActivity::Blocked) > 0 {
        std::thread::yield_now();
    }
}

/// Spawns a task into a pool that ends before any thread can run it: the handle refers to the pool,
/// whose memory must stay valid. `end` ends the pool on a thread that ends too.
fn never_run(end: fn(Builder) -> JoinHandle<i32>) {
    let pool = Arc::new(());
    let kept = pool.clone();
    let name = move |index| {
        let _kept = &kept;
        format!("never {index}")
    };
    let builder = Pool::builder().thread_name(name);
    let handle = thread::spawn(move || end(builder)).join().unwrap();
    assert!(!handle.is_finished());
    assert_eq!(Arc::strong_count(&pool), 2, "the pool was freed");
    let payload = catch_unwind(|| handle.join()).unwrap_err();
    let message = support::panic_text(&*payload);
    assert!(message.contains("the pool has ended"), "{message}");
}

#[test]
fn a_handle_of_a_task_that_never_ran_refers_to_a_pool_that_is_there() {
    never_run(|builder| {
        let pool = builder.workers(1).use_current_thread().build().unwrap();
        let handle = pool.spawn(|| 5);
        pool.shutdown_background();
        handle
    });
    never_run(|builder| {
        let pool = builder.workers(1).use_current_thread().build().unwrap();
        let handle = pool.spawn(|| 5);
        thread::spawn(move || drop(pool)).join().unwrap();
        handle
    });
    never_run(|builder| {
        let never = builder.workers(2).build_with(|thread| {
            drop(thread);
            Ok(())
        });
        never.unwrap().spawn(|| 5)
    });
}

#[test]
fn a_pool_whose_tasks_are_done_is_freed() {
    let pool = Arc::new(());
    let kept = pool.clone();
    let name = move |index| {
        let _kept = &kept;
        format!("freed {index}")
    };
    let handle = thread::spawn(move || {
        let builder = Pool::builder().workers(2).use_current_thread();
        let pool = builder.thread_name(name).build().unwrap();
        let handle = pool.spawn(|| 5);
        pool.spawn_detached(|| ());
        drop(pool);
        handle
    });
    assert_eq!(handle.join().unwrap().join(), 5);
    assert_eq!(Arc::strong_count(&pool), 1);
}

/// The worker that ran the task, the last of its pool, may exit while the handle is polled.
#[test]
fn a_task_that_ends_its_pool_has_a_result() {
    for round in 0..2000 {
        let pool = Arc::new(Pool::builder().workers(1).build().unwrap());
        let last = pool.clone();
        let handle = pool.spawn(move || {
            for _ in 0..round % 100 {
                std::hint::spin_loop();
            }
            drop(last);
            7
        });
        drop(pool);
        assert_eq!(handle.join(), 7);
    }
}
