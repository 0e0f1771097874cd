//! Blocking on a future.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering};

/// A waker that unparks a thread.
pub(crate) struct Bell {
    thread: Thread,
    rung: AtomicBool,
}

impl Bell {
    /// Creates a waker for the calling thread.
    pub(crate) fn new() -> Arc<Bell> {
        Arc::new(Bell {
            thread: thread::current(),
            rung: AtomicBool::new(false),
        })
    }

    /// Returns `true` if it was rung since the last [`rung`](Bell::rung), without resetting it.
    fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Returns `true` if it was rung since the last call, and resets it.
    fn rung(&self) -> bool {
        self.is_rung() && self.rung.swap(false, Ordering::Acquire)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: what happened before the call is seen by the next poll.
        self.rung.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future to completion on the calling thread, and returns its output.
///
/// On a worker, the time in which the future is not ready counts as blocked: a spare worker takes
/// its place, and no task runs on top of it, except the worker's share of a
/// [`broadcast`](crate::broadcast). In a pool without [spares](crate::Builder::spares) the worker
/// takes any work meanwhile, unless the pool waits with [`Waiting::Own`](crate::Waiting::Own).
///
/// ```
/// let sum = locksley::block_on(async {
///     let (a, b) = (locksley::spawn(|| 2), locksley::spawn(|| 3));
///     a.await + b.await
/// });
/// assert_eq!(sum, 5);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if bell.rung() {
            continue;
        }
        match Worker::current() {
            Some(worker) => {
                worker.wait_until(|| bell.is_rung(), || bell.is_rung());
                bell.rung();
            }
            None => {
                while !bell.rung() {
                    thread::park();
                }
            }
        }
    }
}
