//! Corner cases of waiting, shutdown and panics.
#![cfg(not(loom))]

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use locksley::{Pool, Strategy, WorkerActivity};

use support::{count, kept, limit, until, until_blocked, until_state};

/// Time after which a wait counts as a hang. No test that passes takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// A task that blocks while the pool shuts down gets a spare, although the shutdown woke the spare.
#[test]
fn spares_are_there_after_the_end() {
    let _limit = limit();
    let pool = kept(Pool::builder().workers(1).build().unwrap());
    // Calls up a spare, which goes back to sleep.
    pool.install(|| {
        let task = locksley::spawn(|| 7);
        assert_eq!(locksley::block_on(task), 7);
    });
    until_state(pool, |state| count(state, WorkerActivity::SpareIdle) > 0);
    let done = Arc::new(AtomicBool::new(false));
    let d = done.clone();
    pool.spawn_detached(move || {
        until_state(pool, |state| state.closing);
        let task = locksley::spawn(|| 7);
        assert_eq!(locksley::block_on(task), 7);
        d.store(true, SeqCst);
    });
    pool.shutdown_static();
    assert!(done.load(SeqCst), "the task did not finish");
}

static HOLDER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// A worker waits for a handle inside of a join, and has the join's job in its queue. A worker that
/// leapfrogs must not take that job, which does not descend from the task that it waits for.
#[test]
fn a_wait_inside_a_join_leads_to_nothing_unrelated() {
    let _limit = limit();
    for strategy in Strategy::ALL {
        let pool = Pool::builder().workers(2).strategy(strategy).build();
        let pool = kept(pool.unwrap());
        let flags: [Arc<AtomicBool>; 3] = std::array::from_fn(|_| Arc::default());
        let [started, pushed, stolen] = flags.clone();
        let violated = AtomicUsize::new(0);
        let handle = pool.spawn(move || {
            started.store(true, SeqCst);
            until(&pushed);
            let me = thread::current().id();
            let index = locksley::current_worker_index().unwrap();
            *HOLDER.lock().unwrap() = Some(me); // "holds a lock"
            locksley::join(
                || until(&stolen),
                || {
                    stolen.store(true, SeqCst);
                    // The worker that forked this closure waits, and has looked for a job to run.
                    until_blocked(pool, index);
                },
            );
            *HOLDER.lock().unwrap() = None;
        });
        let [started, pushed, _] = &flags;
        pool.install(|| {
            until(started);
            locksley::join(
                || {
                    pushed.store(true, SeqCst);
                    handle.join();
                },
                || {
                    if *HOLDER.lock().unwrap() == Some(thread::current().id()) {
                        violated.fetch_add(1, SeqCst);
                    }
                },
            );
        });
        assert_eq!(
            violated.into_inner(),
            0,
            "{strategy}: ran an unrelated job while it held a lock"
        );
        pool.shutdown_static();
    }
}

/// The same for an adopted thread that forks outside of any job.
#[test]
fn an_adopted_thread_leads_to_nothing_unrelated() {
    let _limit = limit();
    thread::spawn(|| {
        let pool = Pool::builder().workers(2).use_current_thread().build();
        let pool = kept(pool.unwrap());
        let pushed = Arc::new(AtomicBool::new(false));
        let started = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicBool::new(false));
        let holder: Arc<Mutex<Option<ThreadId>>> = Arc::default();
        let handle = {
            let (pushed, started, sent, holder) = (
                pushed.clone(),
                started.clone(),
                sent.clone(),
                holder.clone(),
            );
            pool.spawn(move || {
                started.store(true, SeqCst);
                until(&pushed);
                *holder.lock().unwrap() = Some(thread::current().id());
                locksley::scope(|s| {
                    s.spawn_broadcast(|_, c| {
                        if c.index() == 0 {
                            until_blocked(pool, 1);
                        }
                    });
                    sent.store(true, SeqCst);
                });
                *holder.lock().unwrap() = None;
            })
        };
        until(&started);
        let violated = AtomicBool::new(false);
        locksley::join(
            || {
                pushed.store(true, SeqCst);
                until(&sent);
                locksley::yield_local();
            },
            || {
                if *holder.lock().unwrap() == Some(thread::current().id()) {
                    violated.store(true, SeqCst)
                }
            },
        );
        handle.join();
        assert!(
            !violated.load(SeqCst),
            "ran an unrelated job while it held a lock"
        );
        pool.shutdown_static();
    })
    .join()
    .unwrap();
}

/// A panic payload that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("a payload that panics when dropped");
        }
    }
}

#[test]
fn a_payload_that_panics_does_not_kill_a_worker() {
    let builder = Pool::builder().workers(1).panic_handler(drop);
    let pool = builder.build().unwrap();
    pool.spawn_detached(|| std::panic::panic_any(Bomb));
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let _ = send.send(pool.install(|| 7));
    });
    assert_eq!(receive.recv_timeout(LIMIT), Ok(7), "the pool is dead");
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {}
}

/// A task whose handle was polled and then dropped drops the waker.
#[test]
fn a_waker_that_panics_does_not_kill_a_worker() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let (go_on, wait) = std::sync::mpsc::channel();
    let mut handle = pool.spawn(move || wait.recv().unwrap());
    let waker = Waker::from(Arc::new(Bomb));
    let polled = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop((waker, handle));
    go_on.send(()).unwrap();
    assert_eq!(pool.install(|| 7), 7);
}

#[test]
fn a_scope_ends_though_payloads_panic() {
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let pool = Pool::builder().workers(1).build().unwrap();
        let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.scope(|s| {
                s.spawn(|_| std::panic::panic_any(Bomb));
                s.spawn(|_| std::panic::panic_any(Bomb));
            })
        }));
        let err = r.is_err();
        std::mem::forget(r);
        let _ = send.send(err);
    });
    assert_eq!(receive.recv_timeout(LIMIT), Ok(true), "the scope hangs");
}

/// A scope waits for all of its tasks, which borrow from its caller, even if panic payloads panic.
#[test]
fn no_payload_lets_a_scope_end_early() {
    let _limit = limit();
    let [running, left, finished] = [const { AtomicBool::new(false) }; 3];
    let bombs = AtomicUsize::new(0);
    let pool = Pool::builder().workers(2).build().unwrap();
    let bomb = || {
        bombs.fetch_add(1, SeqCst);
        std::panic::panic_any(Bomb)
    };
    let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.scope(|s| {
            s.spawn(|_| {
                running.store(true, SeqCst);
                // Until both panics are over and the scope waits for this task, or it has returned.
                until_state(&pool, |state| {
                    bombs.load(SeqCst) == 2 && state.blocked > 0 || left.load(SeqCst)
                });
                finished.store(true, SeqCst);
            });
            until(&running);
            s.spawn(|_| bomb());
            s.spawn(|_| bomb());
        })
    }));
    left.store(true, SeqCst);
    let late = !finished.load(SeqCst);
    std::mem::forget(r);
    // The variables that the task borrows must live until it is done.
    until(&finished);
    assert!(
        !late,
        "the scope was left before its task was done: what that borrows is gone"
    );
}

/// A gate, and the waker of a task that waits for it to open.
#[derive(Default)]
struct Gate {
    is_open: bool,
    waker: Option<Waker>,
}

/// Completes when the gate is open.
struct Wait(Arc<Mutex<Gate>>);

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut gate = self.0.lock().unwrap();
        if gate.is_open {
            return Poll::Ready(());
        }
        gate.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A push with an affinity wakes the preferred worker, which resumes another task instead: another
/// worker must run the pushed task, since both awake workers spin until it has run.
#[test]
fn a_near_push_wakes_a_worker_that_looks() {
    let _limit = limit();
    for _ in 0..5 {
        let pool = Pool::builder()
            .workers(3)
            .strategy("sharing".parse().unwrap())
            .waiting(locksley::Waiting::TakeAny)
            .build()
            .unwrap();
        let gate: Arc<Mutex<Gate>> = Arc::default();
        let index = AtomicUsize::new(99);
        let ran = Arc::new(AtomicBool::new(false));
        let blocks = || {
            index.store(locksley::current_worker_index().unwrap(), SeqCst);
            locksley::block_on(Wait(gate.clone()));
            until(&ran);
        };
        let pushes = || {
            // Until all others sleep, and the first one has stored its waker.
            until_state(&pool, |state| {
                let awake = [WorkerActivity::Running, WorkerActivity::Searching];
                awake.map(|activity| count(state, activity)) == [1, 0]
                    && gate.lock().unwrap().waker.is_some()
            });
            let r = ran.clone();
            drop(locksley::spawn_near(index.load(SeqCst), move || {
                r.store(true, SeqCst)
            }));
            let waker = {
                let mut gate = gate.lock().unwrap();
                gate.is_open = true;
                gate.waker.take()
            };
            waker.unwrap().wake();
            until(&ran);
        };
        thread::scope(|threads| {
            threads.spawn(|| pool.install(blocks));
            while index.load(SeqCst) == 99 {
                thread::yield_now();
            }
            pool.install(pushes);
        });
        assert!(ran.load(SeqCst));
    }
}

#[test]
fn the_second_closure_runs_though_the_first_panics_and_the_deque_is_full() {
    let pool = Pool::builder()
        .workers(1)
        .strategy(Strategy::Abp)
        .stack_size(1 << 28)
        .build()
        .unwrap();
    let (full, empty) = pool.install(|| {
        fn deep(n: usize, last: &(dyn Fn() -> usize + Sync)) -> usize {
            if n == 0 {
                return last();
            }
            locksley::join(|| deep(n - 1, last), || 0).0
        }
        let last = || {
            let ran = AtomicUsize::new(0);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                locksley::join(
                    || panic!("a"),
                    || {
                        ran.fetch_add(1, SeqCst);
                    },
                )
            }));
            ran.into_inner()
        };
        (deep(9000, &last), last())
    });
    assert_eq!(
        (full, empty),
        (1, 1),
        "runs of the second closure, with a full deque and an empty one"
    );
}
