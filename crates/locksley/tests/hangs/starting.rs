//! Workers that are needed at once, after a pause; and processes that begin as a copy of another.

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;

use crate::child::finishes;

/// Eight tasks meet at a barrier in a pool of eight workers on two processors, each time after all
/// workers have gone to sleep. They can only meet if each has a worker of its own, so all sleepers
/// must be woken though the processors are taken by tasks that do nothing. The times are printed.
#[test]
fn tasks_that_meet_after_a_pause() {
    finishes("starting::tasks_that_meet_after_a_pause", || {
        let pool = Pool::builder().workers(8).processors(2).build().unwrap();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(30));
            let (barrier, threads) = (Barrier::new(8), Mutex::new(BTreeSet::new()));
            let start = Instant::now();
            pool.in_place_scope(|s| {
                for _ in 0..8 {
                    s.spawn(|_| {
                        barrier.wait();
                        let worker = locksley::current_worker_index();
                        threads.lock().unwrap().insert(worker.expect("a worker"));
                    });
                }
            });
            println!("met after {:?}", start.elapsed());
            assert_eq!(threads.into_inner().unwrap().len(), 8);
        }
    });
}

/// The same from inside: the task that spawns the others is one of the eight.
#[test]
fn tasks_that_meet_their_parent() {
    finishes("starting::tasks_that_meet_their_parent", || {
        let pool = Pool::builder().workers(8).processors(2).build().unwrap();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(30));
            let barrier = Barrier::new(8);
            let start = Instant::now();
            pool.scope(|s| {
                for _ in 0..7 {
                    s.spawn(|_| {
                        barrier.wait();
                    });
                }
                barrier.wait();
            });
            println!("met after {:?}", start.elapsed());
        }
    });
}

/// A process that was forked has none of its parent's threads. A join in it must still end.
#[test]
fn a_join_in_a_forked_process() {
    finishes("starting::a_join_in_a_forked_process", || {
        assert_eq!(locksley::join(|| 1, || 2), (1, 2));
        // SAFETY: the child calls nothing but the pool, which it is here to test, and `_exit`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "a process can be forked");
        if child == 0 {
            let sum = locksley::join(|| 1, || 2);
            // SAFETY: it ends the process at once.
            unsafe { libc::_exit(i32::from(sum != (1, 2))) };
        }
        assert_eq!(
            wait_for(child),
            Some(0),
            "the forked process stands still or failed"
        );
    });
}

/// The exit code of a forked process; `None` if it had to be killed.
fn wait_for(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    for _ in 0..2000 {
        // SAFETY: `status` is a place for the result.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the process was forked above and has not been waited for, so the number is its own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    None
}
