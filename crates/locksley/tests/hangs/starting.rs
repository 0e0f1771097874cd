//! Workers that must all wake after a pause, and forked processes.

use std::any::Any;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Idle, Pool};

use crate::child::assert_finishes;
use crate::support::{fib, panic_text};

/// Eight tasks meet at a barrier in a pool of eight workers on two processors, each time after all
/// workers have gone to sleep. They can meet only if each has a worker of its own, so all sleepers
/// must be woken although enough workers for the processors are awake. The times are printed.
#[test]
fn tasks_that_meet_after_a_pause() {
    assert_finishes("starting::tasks_that_meet_after_a_pause", || {
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

/// `build_with` fails after some workers were given out, of which one runs already and one is kept
/// for the calling thread: neither `build_with` nor the kept worker waits for the start handler of
/// the other.
#[test]
fn a_failed_construction_waits_for_no_start_handler() {
    assert_finishes(
        "starting::a_failed_construction_waits_for_no_start_handler",
        || {
            for spawned in [0, 1] {
                let mut kept = Vec::new();
                let builder = Pool::builder().workers(4).start_handler(|_| ());
                let pool = builder.build_with(|worker| match worker.index() {
                    3 => Err(std::io::Error::other("refused")),
                    index if index < spawned => worker.spawn(),
                    _ => {
                        kept.push(worker);
                        Ok(())
                    }
                });
                assert!(pool.is_err());
                kept.into_iter().for_each(|worker| worker.run());
            }
        },
    );
}

/// The same inside of the pool: the task that spawns the others is one of the eight.
#[test]
fn tasks_that_meet_their_parent() {
    assert_finishes("starting::tasks_that_meet_their_parent", || {
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

/// Two tasks use both processors, and fork until a third one has run. That task lies in a queue
/// that changes all the time, so no worker seems stuck; a sleeper must take it nevertheless.
#[test]
fn tasks_that_fork_until_another_has_run() {
    assert_finishes("starting::tasks_that_fork_until_another_has_run", || {
        let pool = Pool::builder().workers(3).processors(2).build().unwrap();
        for _ in 0..10 {
            let (begun, run) = (AtomicBool::new(false), AtomicBool::new(false));
            let fork_until = |event: &AtomicBool| {
                while !event.load(Ordering::Acquire) {
                    locksley::join(|| (), || ());
                }
            };
            pool.scope(|s| {
                s.spawn(|_| {
                    begun.store(true, Ordering::Release);
                    fork_until(&run);
                });
                fork_until(&begun);
                s.spawn(|_| run.store(true, Ordering::Release));
                fork_until(&run);
            });
        }
    });
}

/// Tasks that meet in a pool whose workers hardly search before they sleep: a worker that was
/// woken, and cannot take its job at once, still wakes the next worker when it does.
#[test]
fn tasks_that_meet_among_light_sleepers() {
    assert_finishes("starting::tasks_that_meet_among_light_sleepers", || {
        let (spins, yields) = (0, 0);
        let builder = Pool::builder().workers(8).processors(2);
        let pool = builder.idle(Idle { spins, yields }).build().unwrap();
        for round in 0..200 {
            thread::sleep(Duration::from_millis(round % 3));
            let barrier = Barrier::new(8);
            pool.scope(|s| {
                for _ in 0..7 {
                    s.spawn(|_| {
                        barrier.wait();
                    });
                }
                barrier.wait();
            });
        }
    });
}

/// A process that was forked has none of its parent's threads. A join in it must still end.
#[test]
fn a_join_in_a_forked_process() {
    assert_finishes("starting::a_join_in_a_forked_process", || {
        assert_eq!(locksley::join(|| 1, || 2), (1, 2));
        forked(|| locksley::join(|| 1, || 2) == (1, 2));
    });
}

/// A thousand forked processes, each of which computes while the parent's pool has work too.
#[test]
fn a_thousand_forked_processes() {
    assert_finishes("starting::a_thousand_forked_processes", || {
        for _ in 0..1000 {
            let busy = locksley::spawn(|| fib(12));
            forked(|| fib(10) == 55);
            assert_eq!(busy.join(), 144);
            assert_eq!(fib(10), 55);
        }
    });
}

/// A child forks another child, and becomes a daemon.
#[test]
fn a_child_of_a_forked_process() {
    assert_finishes("starting::a_child_of_a_forked_process", || {
        assert_eq!(fib(10), 55);
        forked(|| {
            assert_eq!(fib(11), 89);
            forked(|| fib(12) == 144);
            // SAFETY: it forks and ends the parent; both processes have one thread that runs Rust
            // code.
            let daemon = unsafe { libc::daemon(1, 1) };
            daemon == 0 && fib(13) == 233
        });
        assert_eq!(fib(10), 55);
    });
}

/// A task forks the process. The child can compute, and ends without waiting for the thief.
#[test]
fn a_task_that_forks() {
    assert_finishes("starting::a_task_that_forks", || {
        let pool = Pool::builder().workers(2).build().unwrap();
        for _ in 0..50 {
            pool.install(|| {
                locksley::join(|| forked(|| fib(10) == 55), || fib(10));
            });
        }
        // The thief stays in the second closure until the first has forked.
        let (taken, forked_it) = (Barrier::new(2), Barrier::new(2));
        pool.install(|| {
            locksley::join(
                || {
                    taken.wait();
                    forked(|| {
                        let stolen = locksley::spawn(|| 7);
                        stolen.join() == 7 && locksley::current_worker_index().is_none()
                    });
                    forked_it.wait();
                },
                || {
                    taken.wait();
                    forked_it.wait();
                },
            );
        });
    });
}

/// A join whose job was stolen before the fork panics in the child, which has no thief.
#[test]
fn a_child_that_waits_for_its_parents_thief() {
    assert_finishes("starting::a_child_that_waits_for_its_parents_thief", || {
        let pool = Pool::builder().workers(2).build().unwrap();
        let (taken, child) = (Barrier::new(2), AtomicI32::new(-1));
        pool.install(|| {
            let joined = catch_unwind(|| {
                locksley::join(
                    || {
                        taken.wait();
                        // SAFETY: the child calls nothing but the pool, and `_exit`.
                        let number = unsafe { libc::fork() };
                        child.store(number, Ordering::SeqCst);
                    },
                    || {
                        taken.wait();
                        // Until the fork: a child whose thief was done would not panic.
                        while child.load(Ordering::SeqCst) < 0 {
                            thread::yield_now();
                        }
                    },
                )
            });
            if child.load(Ordering::SeqCst) == 0 {
                let code = i32::from(!joined.is_err_and(|payload| is_about_forks(&*payload)));
                // SAFETY: it ends the process at once.
                unsafe { libc::_exit(code) };
            }
        });
        assert_eq!(wait_for(child.into_inner()), Some(0));
    });
}

/// In a forked process, a pool of the parent has no threads, and panics when it is used.
#[test]
fn a_pool_of_the_parents() {
    assert_finishes("starting::a_pool_of_the_parents", || {
        let pool = Pool::builder().workers(2).build().unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let handle = pool.spawn(move || wait.recv().is_ok());
        assert_eq!(pool.install(|| fib(10)), 55);
        let refused = |f: &mut dyn FnMut()| {
            catch_unwind(AssertUnwindSafe(f)).is_err_and(|payload| is_about_forks(&*payload))
        };
        let mut used = Some((pool, handle));
        forked(|| {
            let (pool, handle) = used.take().unwrap();
            assert!(refused(&mut || pool.install(|| ())));
            assert!(refused(&mut || drop(pool.spawn(|| 1))));
            assert!(refused(&mut || drop(pool.broadcast(|_| 1))));
            assert!(refused(&mut || pool.spawn_broadcast(|_| ())));
            assert!(refused(&mut || pool.in_place_scope(|s| s.spawn(|_| ()))));
            let mut handle = Some(handle);
            assert!(refused(&mut || assert!(handle.take().unwrap().join())));
            drop(pool);
            let own = Pool::builder().workers(2).build().unwrap();
            own.install(|| fib(10)) == 55
        });
        let (pool, handle) = used.take().unwrap();
        go.send(()).unwrap();
        assert!(handle.join());
        assert_eq!(pool.install(|| fib(10)), 55);
    });
}

/// Starting a program has no effect on the pool, whether it forks and calls handlers or not.
#[test]
fn programs_that_are_started() {
    assert_finishes("starting::programs_that_are_started", || {
        locksley::scope(|s| {
            for number in 0..20 {
                s.spawn(move |_| {
                    let mut command = Command::new("true");
                    if number % 2 == 0 {
                        // SAFETY: the closure does nothing; it only makes `Command` fork.
                        unsafe { command.pre_exec(|| Ok(())) };
                    }
                    assert!(command.status().unwrap().success());
                    assert_eq!(fib(10), 55);
                });
            }
        });
    });
}

/// The global pool ends with all its threads, and starts again, any number of times.
#[test]
fn a_global_pool_that_ends() {
    assert_finishes("starting::a_global_pool_that_ends", || {
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = threads();
        for _ in 0..200 {
            assert_eq!(fib(10), 55);
            assert!(threads() > before);
            locksley::shutdown_global();
            // A joined thread stays listed until the system has removed it.
            while threads() > before {
                thread::yield_now();
            }
        }
    });
}

/// A pool that loses processors parks workers, and wakes them when the processors return.
#[test]
fn processors_that_go_and_come_back() {
    assert_finishes("starting::processors_that_go_and_come_back", || {
        let all = allowed();
        if all.len() < 2 {
            println!("there is one processor only");
            return;
        }
        let pool = Pool::builder().workers(2).build().unwrap();
        let works_until = |active: usize| {
            let start = Instant::now();
            while pool.active_workers() != active && start.elapsed() < Duration::from_secs(4) {
                pool.scope(|s| (0..8).for_each(|_| s.spawn(|_| assert_eq!(fib(10), 55))));
            }
            pool.active_workers() == active
        };
        // If the pool's first look comes after the processors are gone, tries again.
        loop {
            allow(&all[..1]);
            let held_back = works_until(1);
            allow(&all);
            if held_back {
                break;
            }
            works_until(0);
        }
        while !works_until(2) {}
    });
}

/// Returns the processors that the process may use.
fn allowed() -> Vec<usize> {
    // SAFETY: the set is plain data, and as large as the call is told.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(0, size, &raw mut set), 0);
        let cpus = 0..libc::CPU_SETSIZE as usize;
        cpus.filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

/// Restricts all threads of the process to these processors.
fn allow(cpus: &[usize]) {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus {
            libc::CPU_SET(cpu, &mut set);
        }
        for task in std::fs::read_dir("/proc/self/task").unwrap() {
            let number = task
                .unwrap()
                .file_name()
                .into_string()
                .unwrap()
                .parse()
                .unwrap();
            // A thread may have ended meanwhile.
            libc::sched_setaffinity(number, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

/// Returns `true` for the panic of a pool that belongs to another process.
fn is_about_forks(payload: &(dyn Any + Send)) -> bool {
    panic_text(payload).contains("forked")
}

/// Runs a closure in a forked process, and fails if it does not end or returns `false`.
fn forked(run: impl FnOnce() -> bool) {
    // SAFETY: the child calls only the pool, which is under test, and `_exit`. The allocator and
    // the standard library's locks that the pool needs are usable in a forked process.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a process can be forked");
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(run));
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(i32::from(!matches!(done, Ok(true)))) };
    }
    assert_eq!(
        wait_for(child),
        Some(0),
        "the forked process hangs or failed"
    );
}

/// Waits for a forked process. Returns its exit code, or `None` if it had to be killed.
fn wait_for(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    for _ in 0..2000 {
        // SAFETY: `status` is valid for the result.
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
