//! Tasks on their own, and handles to wait for them.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{Condvar, Mutex, lock};
use crate::task::block_on::Bell;
use crate::task::job::{GroupId, HeapJob, JobRef, Payload, catch};
use crate::task::latch::Latch;
use crate::task::scope_fifo::push_fifo;

/// A handle gives its result once.
const TAKEN: &str = "the task's result was given out before";

/// Where a task leaves its result.
struct Packet<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Set when there is a result: a look without the lock. Whom to wake, the state says.
    done: Latch,
}

struct State<T> {
    result: Option<Result<T, Payload>>,
    waker: Option<Waker>,
    /// The handle was dropped: a panic has nobody to go to but the pool's handler.
    abandoned: bool,
}

/// A handle to a spawned task: wait for it with [`join`](JoinHandle::join) or `.await` it.
/// Dropping it lets the task run on by itself.
///
/// ```
/// let handle = locksley::spawn(|| 6 * 7);
/// assert_eq!(locksley::block_on(handle), 42);
/// ```
pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
    registry: Arc<Registry>,
    /// The worker in whose queue the task was put, if it was spawned in order.
    queue: Option<usize>,
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
    spawn_in(&crate::pool::current_registry(), task)
}

/// [`spawn`] that keeps the order: of the tasks that a worker spawned this way, the oldest starts
/// first. One that is waited for may start before its turn.
///
/// ```
/// let handles: Vec<_> = (0..4).map(|n| locksley::spawn_fifo(move || n * n)).collect();
/// let squares: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
pub fn spawn_fifo<F, T>(task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn_fifo_in(&crate::pool::current_registry(), task)
}

/// [`spawn`] for a task that nobody will wait for: there is no handle, and it costs less. A panic goes to
/// the pool's panic handler.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// locksley::spawn_detached(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_detached<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_detached_in(&crate::pool::current_registry(), task);
}

/// [`spawn_fifo`] for a task that nobody will wait for: see [`spawn_detached`].
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// locksley::spawn_fifo_detached(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_fifo_detached<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_detached_in(&crate::pool::current_registry(), task);
}

pub(crate) fn spawn_detached_in<F>(registry: &Registry, task: F)
where
    F: FnOnce() + Send + 'static,
{
    let job = make_detached(registry, task);
    match Worker::current_in(registry) {
        Some(worker) => worker.push_spawned(job),
        None => registry.inject(QueuedJob { job, owner: 0 }),
    }
}

pub(crate) fn spawn_fifo_detached_in<F>(registry: &Registry, task: F)
where
    F: FnOnce() + Send + 'static,
{
    let job = make_detached(registry, task);
    match Worker::current_in(registry) {
        Some(worker) => push_fifo(worker, job),
        None => registry.inject(QueuedJob { job, owner: 0 }),
    }
}

/// Makes a job of a task that has no handle, and counts it.
fn make_detached<F>(registry: &Registry, task: F) -> JobRef
where
    F: FnOnce() + Send + 'static,
{
    registry.task_spawned();
    let run = move |worker: &Worker| worker.registry().task_done(catch(task).err());
    // SAFETY: the closure borrows nothing, and is `Send`.
    unsafe { HeapJob::new_ref(GroupId::NONE, run) }
}

/// Spawns a task into a pool.
pub(crate) fn spawn_in<F, T>(registry: &Arc<Registry>, task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, handle) = make(registry, task);
    match Worker::current_in(registry) {
        Some(worker) => worker.push_spawned(job),
        None => registry.inject(QueuedJob { job, owner: 0 }),
    }
    handle
}

/// Spawns a task into a pool, in order.
pub(crate) fn spawn_fifo_in<F, T>(registry: &Arc<Registry>, task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, mut handle) = make(registry, task);
    match Worker::current_in(registry) {
        Some(worker) => {
            handle.queue = Some(worker.index());
            push_fifo(worker, job);
        }
        // The pool's queue is in order already.
        None => registry.inject(QueuedJob { job, owner: 0 }),
    }
    handle
}

/// Makes a job of a task, and counts it.
pub(crate) fn make<F, T>(registry: &Arc<Registry>, task: F) -> (JobRef, JoinHandle<T>)
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
        done: Latch::new(),
    });
    let handle = JoinHandle {
        packet: packet.clone(),
        registry: registry.clone(),
        queue: None,
    };
    registry.task_spawned();
    let group = GroupId::of(&*packet);
    let run = move |worker: &Worker| {
        // Whatever of the user's panics here (a result that nobody wants, a waker, also when it is dropped with
        // the packet), the task is counted as done.
        let finish = move || packet.finish(catch(task));
        let panic = catch(finish).unwrap_or_else(Some);
        worker.registry().task_done(panic);
    };
    // SAFETY: the closure borrows nothing, and is `Send`.
    let job = unsafe { HeapJob::new_ref(group, run) };
    (job, handle)
}

impl<T> Packet<T> {
    /// Leaves the result. A panic that nobody waits for comes back.
    fn finish(&self, result: Result<T, Payload>) -> Option<Payload> {
        let mut state = lock(&self.state);
        if state.abandoned {
            drop(state);
            return result.err();
        }
        state.result = Some(result);
        let waker = state.waker.take();
        // SAFETY: the packet is in an `Arc` that the caller holds.
        unsafe { Latch::set(&raw const self.done, || {}) };
        self.changed.notify_all();
        // The waker is the user's, and may poll the handle there and then.
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }

    fn wait(&self) -> Result<T, Payload> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            assert!(!self.done.probe(), "{TAKEN}");
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl<T> JoinHandle<T> {
    /// Is the task done?
    ///
    /// ```
    /// let handle = locksley::spawn(|| 7);
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(handle.join(), 7);
    /// ```
    pub fn is_finished(&self) -> bool {
        self.packet.done.probe()
    }

    /// Waits for the task and returns its result. If it panicked, so does this.
    ///
    /// A worker that waits here runs the task itself if nobody has started it, or helps whoever
    /// has.
    ///
    /// ```
    /// let handle = locksley::spawn(|| "done");
    /// assert_eq!(handle.join(), "done");
    /// ```
    pub fn join(self) -> T {
        if !self.is_finished() {
            self.registry.check_process();
        }
        if let Some(worker) = Worker::current()
            && !self.is_finished()
        {
            lock(&self.packet.state).waker = Some(Bell::new().into());
            if worker.is_in(&self.registry) {
                self.help(worker);
            } else {
                let group = GroupId::of(&*self.packet);
                worker.wait_abroad(&self.registry, &self.packet.done, group);
            }
        }
        unwrap(self.packet.wait())
    }

    /// Waits on a worker of the task's pool.
    fn help(&self, worker: &Worker) {
        let group = GroupId::of(&*self.packet);
        let queue = self.queue.map(|index| &self.registry.worker(index).fifo);
        worker.wait_with(&self.packet.done, group, || {
            worker
                .take_of(group)
                .or_else(|| queue.and_then(|queue| queue.pop_of(group)))
        });
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
                assert!(!self.packet.done.probe(), "{TAKEN}");
                self.registry.check_process();
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
        let result = state.result.take();
        // What is dropped here is the user's.
        drop(state);
        if let Some(Err(payload)) = result {
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
