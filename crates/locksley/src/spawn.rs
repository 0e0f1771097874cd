//! Tasks on their own, and handles to wait for them.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::injector::Injected;
use crate::job::{Family, HeapJob, Payload, catch};
use crate::registry::Registry;
use crate::sync::{Condvar, Mutex, lock};
use crate::worker::Worker;

/// Where a task leaves its result.
struct Packet<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    result: Option<Result<T, Payload>>,
    waker: Option<Waker>,
    /// The handle was dropped: a panic has nobody to go to but the pool's handler.
    abandoned: bool,
}

/// A handle to a spawned task: wait for it with [`join`](JoinHandle::join) or `.await` it.
/// Dropping it lets the task run on by itself.
pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
    registry: Arc<Registry>,
}

/// Spawns a task into the calling worker's pool, or into the global one.
///
/// If the task panics and its handle was dropped, the pool's panic handler gets to know;
/// otherwise whoever waits for it does.
///
/// ```
/// let handle = locksley::spawn(|| 6 * 7);
/// assert_eq!(handle.join(), 42);
/// ```
pub fn spawn<F, T>(task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Worker::current() {
        Some(worker) => spawn_in(&worker.registry().shared(), task),
        None => spawn_in(crate::pool::global().registry(), task),
    }
}

/// Spawns a task into a pool.
pub(crate) fn spawn_in<F, T>(registry: &Arc<Registry>, task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let packet = Arc::new(Packet {
        state: Mutex::new(State {
            result: None,
            waker: None,
            abandoned: false,
        }),
        changed: Condvar::new(),
    });
    let handle = JoinHandle {
        packet: packet.clone(),
        registry: registry.clone(),
    };
    registry.task_spawned();
    let family = Family::of(&*packet);
    let run = move |worker: &Worker| {
        let panic = packet.finish(catch(task));
        worker.registry().task_done(panic);
    };
    // SAFETY: the closure borrows nothing, and is `Send`.
    let job = unsafe { HeapJob::new_ref(family, run) };
    match Worker::current() {
        Some(worker) if std::ptr::eq(worker.registry(), &**registry) => worker.push_spawned(job),
        _ => registry.inject(Injected { job, owner: 0 }),
    }
    handle
}

impl<T> Packet<T> {
    /// Leaves the result. A panic that nobody waits for comes back.
    fn finish(&self, result: Result<T, Payload>) -> Option<Payload> {
        let mut state = lock(&self.state);
        if state.abandoned {
            return result.err();
        }
        state.result = Some(result);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        self.changed.notify_all();
        None
    }

    fn wait(&self) -> Result<T, Payload> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl<T> JoinHandle<T> {
    /// Is the task done?
    pub fn is_finished(&self) -> bool {
        lock(&self.packet.state).result.is_some()
    }

    /// Waits for the task and returns its result. If it panicked, so does this.
    ///
    /// A worker that waits here runs the task itself if nobody has started it.
    pub fn join(self) -> T {
        let family = Family::of(&*self.packet);
        let Some(worker) = Worker::current() else {
            return unwrap(self.packet.wait());
        };
        let registry = worker.registry();
        if std::ptr::eq(registry, &*self.registry) {
            let own = || {
                worker
                    .pop_of(family)
                    .or_else(|| registry.injector.pop_of(family))
            };
            while !self.is_finished()
                && let Some(injected) = own()
            {
                worker.run_job(injected);
            }
        }
        if self.is_finished() {
            return unwrap(self.packet.wait());
        }
        let mut result = None;
        registry.blocking(|| result = Some(self.packet.wait()));
        unwrap(result.expect("the wait has ended"))
    }
}

fn unwrap<T>(result: Result<T, Payload>) -> T {
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = lock(&self.packet.state);
        match state.result.take() {
            Some(result) => {
                drop(state);
                Poll::Ready(unwrap(result))
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.packet.state);
        state.abandoned = true;
        let panic = match state.result.take() {
            Some(Err(payload)) => Some(payload),
            _ => None,
        };
        drop(state);
        if let Some(payload) = panic {
            self.registry.config.handle_panic(payload);
        }
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
