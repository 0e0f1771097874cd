//! Blocking on a future.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::scheduler::worker::Worker;
use crate::sync::{AtomicBool, Ordering};

/// A waker that unparks a thread.
pub(crate) struct ThreadWaker {
    thread: Thread,
    woken: AtomicBool,
}

impl ThreadWaker {
    /// Creates a waker for the calling thread.
    pub(crate) fn new() -> Arc<ThreadWaker> {
        Arc::new(ThreadWaker {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        })
    }

    /// Returns `true` if it was woken since the last [`take_woken`](ThreadWaker::take_woken).
    fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// [`is_woken`](ThreadWaker::is_woken), which it resets.
    fn take_woken(&self) -> bool {
        self.is_woken() && self.woken.swap(false, Ordering::Acquire)
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: what happened before the call is seen by the next poll.
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future to completion on the calling thread, and returns its output.
///
/// On a worker, the time in which the future is not ready counts as blocked: a spare worker takes
/// its place, and no task runs on top of it, except the worker's share of a
/// [`broadcast`](crate::broadcast). In a pool without [spares](crate::Builder::spares) the worker
/// takes any work meanwhile, unless the pool waits with [`Waiting::Own`](crate::Waiting::Own).
#[cfg_attr(doc, doc = include_str!("../../docs/examples/block_on.md"))]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let thread_waker = ThreadWaker::new();
    let waker = Waker::from(thread_waker.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if thread_waker.take_woken() {
            continue;
        }
        match Worker::current() {
            Some(worker) => {
                worker.wait_until(&|| thread_waker.is_woken(), &|| thread_waker.is_woken());
                thread_waker.take_woken();
            }
            None => {
                while !thread_waker.take_woken() {
                    thread::park();
                }
            }
        }
    }
}
