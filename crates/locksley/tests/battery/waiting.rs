use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use locksley::{JoinHandle, Pool, Strategy, Waiting};

use crate::everywhere;
use crate::support::{kept, limit, until, until_blocked, until_state};

fn spread(depth: usize) -> usize {
    if depth == 0 {
        std::hint::black_box((0..200).sum::<usize>());
        return 1;
    }
    let (a, b) = locksley::join(|| spread(depth - 1), || spread(depth - 1));
    a + b
}

/// Several tasks each lock a mutex and call a parallel function while they hold it. A waiter that
/// took any task would take one that wants the lock it holds.
#[test]
fn a_lock_held_while_waiting_is_no_deadlock() {
    everywhere(|pool| {
        let lock = Mutex::new(0);
        pool.install(|| {
            locksley::scope(|s| {
                for _ in 0..50 {
                    s.spawn(|_| {
                        let mut total = lock.lock().unwrap();
                        *total += spread(6);
                    });
                }
            });
        });
        assert_eq!(lock.into_inner().unwrap(), 50 * 64);
    });
}

/// Leaving a scope runs only the scope's tasks, not others in the queue.
#[test]
fn leaving_a_scope_runs_no_unrelated_task() {
    everywhere(|pool| {
        let leaving = Arc::new(AtomicBool::new(false));
        let unrelated = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let here = std::thread::current().id();
            for _ in 0..100 {
                let (leaving, unrelated) = (leaving.clone(), unrelated.clone());
                drop(locksley::spawn(move || {
                    if leaving.load(Ordering::Relaxed) && std::thread::current().id() == here {
                        unrelated.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
            for _ in 0..20 {
                leaving.store(true, Ordering::Relaxed);
                locksley::scope(|s| {
                    for _ in 0..10 {
                        s.spawn(|_| {
                            spread(3);
                        });
                    }
                });
                leaving.store(false, Ordering::Relaxed);
            }
        });
        assert_eq!(unrelated.load(Ordering::Relaxed), 0);
    });
}

/// Every worker waits for a task that another worker runs and that ends when a worker is blocked:
/// spares do the rest of the work.
#[test]
fn spares_take_the_place_of_waiters() {
    everywhere(|pool| {
        let workers = pool.workers();
        let (blocked, over) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
        let call = || {
            let (here, blocked) = (locksley::current_worker_index(), blocked.clone());
            let handle = locksley::spawn(move || {
                if locksley::current_worker_index() != here {
                    until(&blocked);
                }
                1
            });
            assert_eq!(handle.join(), 1);
            over.fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|threads| {
            for _ in 0..workers {
                threads.spawn(|| pool.install(call));
            }
            until_state(pool, |state| {
                state.blocked > 0 || over.load(Ordering::Relaxed) == workers
            });
            blocked.store(true, Ordering::Release);
        });
        assert_eq!(over.into_inner(), workers);
    });
}

/// A pool of one worker whose task calls into another pool, which calls back into the first.
#[test]
fn pools_that_call_each_other_finish() {
    let first = Pool::builder().workers(1).build().unwrap();
    let second = Pool::builder().workers(1).build().unwrap();
    let answer = first.install(|| second.install(|| first.install(|| second.install(|| 42))));
    assert_eq!(answer, 42);
}

/// Two nested joins on one worker while the other worker stays busy: the inner join's first closure
/// calls `wait` with a task that the other worker is running. Each job must run once.
fn joins_around_a_wait(waiting: Waiting, wait: impl Fn(JoinHandle<()>) + Sync) {
    let _limit = limit();
    for strategy in Strategy::ALL {
        let builder = Pool::builder().workers(2).strategy(strategy);
        let pool = kept(builder.waiting(waiting).build().unwrap());
        for _ in 0..10 {
            let runs = pool.install(|| joins_around(pool, waiting, &wait));
            assert_eq!(runs, [1, 1], "{strategy}");
        }
        pool.shutdown_static();
    }
}

/// Returns how often the second closures of the inner and the outer join have run.
fn joins_around(
    pool: &'static Pool,
    waiting: Waiting,
    wait: &(dyn Fn(JoinHandle<()>) + Sync),
) -> [usize; 2] {
    let runs = [const { AtomicUsize::new(0) }; 2];
    let count = |job: usize| runs[job].fetch_add(1, Ordering::Relaxed);
    let here = locksley::current_worker_index().unwrap();
    let events: [Arc<AtomicBool>; 4] = std::array::from_fn(|_| Arc::default());
    let [begun, helped, ended, over] = events.clone();
    let set = |event: &AtomicBool| event.store(true, Ordering::Release);
    // The task ends while its waiter runs the inner join's job, or when the waiter is blocked.
    let task = from_outside(pool, move || {
        set(&begun);
        match waiting {
            Waiting::TakeAny => until(&helped),
            _ => until_blocked(pool, here),
        }
        set(&ended);
    });
    let [begun, helped, ended, _] = &events;
    until(begun);
    drop(from_outside(pool, move || {
        if locksley::current_worker_index() != Some(here) {
            until(&over);
        }
    }));
    let inner = || {
        count(0);
        set(helped);
        if waiting == Waiting::TakeAny {
            until(ended);
        }
    };
    locksley::join(|| locksley::join(|| wait(task), inner), || count(1));
    set(&events[3]);
    runs.map(AtomicUsize::into_inner)
}

/// Spawns a task from a thread that is not a worker.
fn from_outside(pool: &Pool, task: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::scope(|threads| threads.spawn(|| pool.spawn(task)).join().unwrap())
}

/// A waiter that takes any work takes the job of an enclosing join: the join must notice, and must
/// not mistake an outer join's job for its own.
#[test]
fn taking_any_work_may_take_the_job_of_a_join() {
    joins_around_a_wait(Waiting::TakeAny, |task| task.join());
}

/// A yield has taken the inner join's job; the wait then pops the outer join's job, and puts it
/// back.
#[test]
fn a_wait_after_a_yield_that_took_the_job_of_a_join() {
    joins_around_a_wait(Waiting::Leapfrog, |task| {
        locksley::yield_local();
        locksley::scope(|s| s.spawn(move |_| task.join()));
    });
    joins_around_a_wait(Waiting::Leapfrog, |task| {
        locksley::yield_local();
        task.join();
    });
}

/// Each call blocks a worker of one pool until the other pool is done: spares take their places.
#[test]
fn pools_that_call_each_other_deeply_finish() {
    fn call(here: &Pool, there: &Pool, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        here.install(|| 1 + call(there, here, depth - 1))
    }
    let first = Pool::builder().workers(1).build().unwrap();
    let second = Pool::builder().workers(1).build().unwrap();
    assert_eq!(call(&first, &second, 100), 100);
}

/// As many tasks as workers wait for each other. If there are fewer processors, the pool must find
/// out that the workers which are awake do not use them.
#[test]
fn tasks_that_wait_for_each_other_get_a_worker_each() {
    let _limit = limit();
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(16).strategy(strategy).build();
        let pool = pool.expect("the pool starts");
        for _ in 0..3 {
            let all = Arc::new(Barrier::new(16));
            let wait = || {
                let all = all.clone();
                pool.spawn(move || all.wait().is_leader())
            };
            let tasks: Vec<_> = (0..16).map(|_| wait()).collect();
            let leaders = tasks.into_iter().map(|task| task.join());
            assert_eq!(leaders.filter(|&leader| leader).count(), 1);
        }
    }
}

/// Tasks that wait by spinning use all processors; the task that they wait for still gets a worker.
#[test]
fn tasks_that_spin_for_another_get_it() {
    let _limit = limit();
    let pool = Pool::builder()
        .workers(16)
        .build()
        .expect("the pool starts");
    let flag = Arc::new(AtomicBool::new(false));
    let spin = || {
        let flag = flag.clone();
        pool.spawn(move || {
            while !flag.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            1
        })
    };
    let spinners: Vec<_> = (0..15).map(|_| spin()).collect();
    let told = flag.clone();
    pool.spawn(move || told.store(true, Ordering::Release))
        .join();
    let ended: usize = spinners.into_iter().map(JoinHandle::join).sum();
    assert_eq!(ended, 15);
}
