use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use locksley::{JoinHandle, block_on};

use crate::everywhere;

#[test]
fn a_ready_future() {
    assert_eq!(block_on(async { 7 }), 7);
    everywhere(|pool| assert_eq!(pool.install(|| block_on(async { 7 })), 7));
}

#[test]
fn a_future_that_wakes_itself() {
    let countdown = || {
        let mut left = 100;
        poll_fn(move |context| {
            if left == 0 {
                return Poll::Ready("done");
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    };
    assert_eq!(block_on(countdown()), "done");
    everywhere(|pool| assert_eq!(pool.install(|| block_on(countdown())), "done"));
}

#[test]
fn a_waker_from_another_thread() {
    let (sender, receiver) = mpsc::channel::<(Waker, Arc<Mutex<bool>>)>();
    let ringer = std::thread::spawn(move || {
        let mut rung = 0;
        for (waker, ready) in receiver {
            std::thread::yield_now();
            *ready.lock().unwrap() = true;
            waker.wake();
            rung += 1;
        }
        rung
    });
    let wait = || {
        let (sender, ready) = (sender.clone(), Arc::new(Mutex::new(false)));
        let mut asked = false;
        poll_fn(move |context| {
            if *ready.lock().unwrap() {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut asked, true) {
                sender
                    .send((context.waker().clone(), ready.clone()))
                    .unwrap();
            }
            Poll::Pending
        })
    };
    for _ in 0..20 {
        block_on(wait());
    }
    let calls = std::cell::Cell::new(20);
    everywhere(|pool| {
        pool.install(|| (0..20).for_each(|_| block_on(wait())));
        calls.set(calls.get() + 20);
    });
    drop(sender);
    assert_eq!(ringer.join().unwrap(), calls.get());
}

/// The task lies in the queue of the worker that blocks: only another worker can run it.
#[test]
fn a_worker_that_blocks_on_its_own_task() {
    everywhere(|pool| {
        let sum = pool.install(|| {
            let (a, b) = (locksley::spawn(|| 1), locksley::spawn_fifo(|| 2));
            let joined = block_on(async { a.await + b.await });
            joined + block_on(async { locksley::spawn(|| block_on(locksley::spawn(|| 3))).await })
        });
        assert_eq!(sum, 6);
    });
}

/// No task runs on the stack of a worker that blocks on a future.
#[test]
fn nothing_runs_on_top() {
    everywhere(|pool| {
        pool.install(|| {
            let here = std::thread::current().id();
            let tasks: Vec<JoinHandle<bool>> = (0..20)
                .map(|_| locksley::spawn(move || std::thread::current().id() == here))
                .collect();
            for task in tasks {
                assert!(!block_on(task));
            }
        });
    });
}

/// A pool is shut down while one of its tasks blocks on another.
#[test]
fn shutdown_while_a_task_blocks() {
    for strategy in locksley::Strategy::ALL {
        let pool = locksley::Pool::builder()
            .workers(1)
            .strategy(strategy)
            .build()
            .unwrap();
        let (sender, receiver) = mpsc::channel();
        drop(pool.spawn(move || {
            let inner = locksley::spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                42
            });
            sender.send(block_on(inner)).unwrap();
        }));
        pool.shutdown();
        assert_eq!(receiver.recv(), Ok(42));
    }
}

#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_panic_of_the_task_reaches_who_awaits_it() {
    everywhere(|pool| {
        let task = pool.spawn(|| panic!("in the task"));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| block_on(task)));
        let payload = result.unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "in the task");
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.install(|| block_on(async { panic!("in the future") }));
        }));
        assert!(result.is_err());
        assert_eq!(pool.install(|| block_on(async { 1 })), 1);
    });
}

/// A waker that polls the handle inside of `wake`, as an executor's waker may.
#[test]
fn a_waker_that_polls_at_once() {
    struct Inline {
        handle: Mutex<Option<Pin<Box<JoinHandle<u32>>>>>,
        results: mpsc::Sender<u32>,
    }
    impl Inline {
        fn poll(self: &Arc<Self>) {
            let waker = self.clone().into();
            let mut handle = self.handle.lock().unwrap();
            let mut context = Context::from_waker(&waker);
            let polled = handle
                .as_mut()
                .map(|future| future.as_mut().poll(&mut context));
            if let Some(Poll::Ready(result)) = polled {
                *handle = None;
                self.results.send(result).unwrap();
            }
        }
    }
    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            self.poll();
        }
    }
    everywhere(|pool| {
        let (gate, closed) = mpsc::channel::<()>();
        let (results, received) = mpsc::channel();
        let handle = pool.spawn(move || {
            let _ = closed.recv();
            5
        });
        let inline = Arc::new(Inline {
            handle: Mutex::new(Some(Box::pin(handle))),
            results,
        });
        inline.poll();
        drop(gate);
        assert_eq!(received.recv(), Ok(5));
    });
}

/// A result that is not taken and panics when it is dropped.
#[test]
#[cfg_attr(panic = "abort", ignore = "it unwinds")]
fn a_result_that_panics_when_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "bomb");
        }
    }
    everywhere(|pool| {
        for _ in 0..3 {
            let (gate, closed) = mpsc::channel::<()>();
            let handle = pool.spawn(move || {
                let _ = closed.recv();
                Bomb
            });
            drop(handle);
            drop(gate);
        }
        assert_eq!(pool.install(|| 7), 7);
    });
}
