//! Tasks outside of scopes, and handles to wait for them.

use std::future::Future;
use std::panic::{self, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::thread;

use locksley_trace::Activity;

use crate::observe::record::{self, Spawned};
use crate::observe::stats::Event;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::task::block_on::ThreadWaker;
use crate::task::fifo::push_fifo;
use crate::task::ghosts::EntryQueue;
use crate::task::job::{GroupId, HeapJob, JobRef, catch};
use crate::task::packet::Packet;
use crate::task::panics::reached_no_waiter;

/// Panic message of a handle whose result was taken before.
const TAKEN: &str = "the task's result was already taken";

/// A handle to a spawned task. Wait for the task with [`join`](JoinHandle::join) or `.await`.
/// Dropping the handle detaches the task, which runs all the same.
pub struct JoinHandle<T> {
    packet: NonNull<Packet<T>>,
    queue: EntryQueue,
}

// SAFETY: what threads with a handle share is atomic, locked, or handed over by the latch; the
// result, which may be taken on another thread, is `Send`.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above. With a `&JoinHandle` the result cannot be reached.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

// A panic leaves nothing half changed: the result is there or not.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

/// Spawns a task into the calling worker's pool, or into the global one.
///
/// A panic of the task is propagated to the caller that joins it. If the handle was dropped, the
/// panic goes to the pool's [panic handler](crate::Builder::panic_handler) or, if it has none,
/// aborts the process. If another panic has dropped the handle, the task's panic is ignored.
pub fn spawn<F, T>(task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| spawn_in(registry, SpawnMode::Newest, task))
}

/// [`spawn`] in FIFO order: of the tasks that a worker has spawned this way, the oldest starts
/// first. A task that is waited for may start before its turn.
pub fn spawn_fifo<F, T>(task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| spawn_in(registry, SpawnMode::InOrder, task))
}

/// [`spawn`] for a task without a handle, which costs less. A panic goes to the pool's
/// [panic handler](crate::Builder::panic_handler), or, if it has none, aborts the process.
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
    with_current_registry(|registry| spawn_detached_in(registry, SpawnMode::Newest, task));
}

/// [`spawn_fifo`] for a task without a handle: see [`spawn_detached`].
pub fn spawn_fifo_detached<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current_registry(|registry| spawn_detached_in(registry, SpawnMode::InOrder, task));
}

/// Calls `f` with the calling worker's pool, or with the global one, without changing a reference
/// count.
pub(crate) fn with_current_registry<R>(f: impl FnOnce(&Registry) -> R) -> R {
    match Worker::current() {
        Some(worker) => f(worker.registry()),
        None => f(&crate::pool::global().registry),
    }
}

/// Counts a task that is about to be spawned into a pool. Returns the calling thread's worker, if
/// it belongs to that pool.
#[inline]
pub(crate) fn count_task<'a>(registry: &Registry) -> Option<&'a Worker> {
    let here = Worker::current_in(registry);
    match here {
        Some(worker) => worker.tasks.spawn(),
        None => registry.count_task_outside(),
    }
    here
}

/// How a worker queues a task that it spawns.
#[derive(Clone, Copy)]
pub(crate) enum SpawnMode {
    /// The worker runs the newest task first.
    Newest,
    /// The task runs after those that the worker spawned this way before.
    InOrder,
    /// The task prefers the worker with this index.
    Near(usize),
}

/// Spawns a task without a handle into a pool.
#[inline]
pub(crate) fn spawn_detached_in(
    registry: &Registry,
    mode: SpawnMode,
    task: impl FnOnce() + Send + 'static,
) {
    let here = count_task(registry);
    if let Some(worker) = here {
        record::note_unordered(worker);
    }
    let run = move |worker: &Worker| {
        if let Err(payload) = catch(task) {
            reached_no_waiter(worker.registry(), payload);
        }
        worker.task_done();
    };
    // SAFETY: the closure borrows nothing, and is `Send`.
    let job = unsafe { HeapJob::new_ref(here, GroupId::NONE, run) };
    push(registry, here, mode, job);
}

/// Pushes a task on the worker that spawns it, or from outside to the pool's queue, which is in
/// FIFO order. Returns where its entry is.
#[inline]
pub(crate) fn push(
    registry: &Registry,
    here: Option<&Worker>,
    mode: SpawnMode,
    job: JobRef,
) -> EntryQueue {
    let Some(worker) = here else {
        registry.inject(QueuedJob { job, owner: 0 });
        return EntryQueue::Injector;
    };
    match mode {
        SpawnMode::Newest => worker.push_spawned(job),
        SpawnMode::InOrder => {
            push_fifo(worker, &worker.fifo, job);
            return EntryQueue::Fifo(worker.index());
        }
        SpawnMode::Near(near) => worker.push_near(near, job),
    }
    EntryQueue::Worker(worker.index())
}

pub(crate) fn spawn_in<T: Send + 'static>(
    registry: &Registry,
    mode: SpawnMode,
    task: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let here = count_task(registry);
    let recorded = here.filter(|worker| worker.is_recorded());
    let recorded = recorded.map(Spawned::note_task);
    let (job, packet) = Packet::create(registry, here, recorded, task);
    if let Some(worker) = here {
        worker.sweep_if_many();
    }
    let queue = push(registry, here, mode, job);
    JoinHandle { packet, queue }
}

impl<T> JoinHandle<T> {
    fn packet(&self) -> &Packet<T> {
        // SAFETY: the handle's reference keeps the packet alive.
        unsafe { self.packet.as_ref() }
    }

    /// Returns `true` if the task is done.
    pub fn is_finished(&self) -> bool {
        self.packet().completion.latch.probe()
    }

    /// Waits for the task and returns its result. If the task panicked, resumes its panic.
    ///
    /// A worker that waits here runs the task itself if no other worker has started it, or helps
    /// the worker that has.
    pub fn join(self) -> T {
        unwrap(self.try_join())
    }

    /// Waits for the task as [`join`](JoinHandle::join) does, and returns its result, or the
    /// payload of its panic, like [`std::thread::JoinHandle::join`].
    ///
    /// # Errors
    ///
    /// The payload of the task's panic.
    pub fn try_join(self) -> thread::Result<T> {
        if !self.is_finished() {
            self.wait();
        }
        // SAFETY: this function owns the handle.
        unsafe { self.take() }
    }

    /// Takes the result of the task, which is done.
    ///
    /// # Safety
    ///
    /// The caller has exclusive access to the handle.
    unsafe fn take(&self) -> thread::Result<T> {
        let packet = self.packet();
        if let Some(task) = &packet.recorded {
            task.note_joined();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { packet.take() }.expect(TAKEN)
    }

    fn wait(&self) {
        let packet = self.packet();
        match Worker::current() {
            Some(worker) if packet.is_in_pool_of(worker) => self.help(worker),
            here => {
                if self.subscribe() {
                    return;
                }
                let Some(pool) = packet.pool_of_pending() else {
                    return;
                };
                pool.check_users(|| self.is_finished());
                let latch = &packet.completion.latch;
                match here {
                    Some(worker) => worker.wait_abroad(&pool, latch, packet.group()),
                    None => latch.park(thread::park),
                }
            }
        }
    }

    /// Arranges for the calling thread to be unparked when the task is done. Returns `true` if it
    /// is done already.
    fn subscribe(&self) -> bool {
        self.packet()
            .completion
            .subscribe(ThreadWaker::new().into())
    }

    /// Waits on a worker of the task's pool: runs the task in place, unless another worker has
    /// begun it.
    fn help(&self, worker: &Worker) {
        if !self.try_run(worker) && !self.subscribe() {
            let packet = self.packet();
            worker.wait_with(&packet.completion.latch, packet.group(), |_| None);
        }
    }

    /// Runs the task in place, unless another worker has begun it. Returns `true` if it has run.
    fn try_run(&self, worker: &Worker) -> bool {
        let packet = self.packet();
        let mut is_here = false;
        if self.queue == EntryQueue::Worker(worker.index()) {
            let job = packet.entry();
            let entry = worker.take_newest(|newest| newest.is_same(job));
            if let Some(entry) = entry {
                worker.count_executed(entry);
                packet.head.claim.claim_alone();
                is_here = true;
            }
        }
        let runs = is_here || packet.head.claim.claim();
        if runs {
            self.run(worker);
            if !is_here {
                worker.left_ghost(self.queue);
            }
        }
        runs
    }

    /// Runs the task in place if the calling thread is a worker of its pool, and the pool waits
    /// with [`Waiting::Own`](crate::Waiting::Own): there may be no other worker left to run it.
    fn run_if_alone(&self) {
        let worker = Worker::current().filter(|worker| worker.registry().blocks_alone());
        if let Some(worker) = worker.filter(|worker| self.packet().is_in_pool_of(worker)) {
            self.try_run(worker);
        }
    }

    /// Runs the task, which was claimed, as if the caller called its closure.
    fn run(&self, worker: &Worker) {
        let _pause = record::pause(worker);
        worker.counters.count(Event::Task);
        let _work = worker.traced(Activity::Work);
        // SAFETY: the packet is this handle's, and was claimed.
        unsafe { Packet::run(self.packet, worker) };
    }
}

fn unwrap<T>(result: thread::Result<T>) -> T {
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let completion = &self.packet().completion;
        if !self.is_finished() {
            self.run_if_alone();
        }
        if !self.is_finished() && !completion.subscribe(context.waker().clone()) {
            if let Some(pool) = self.packet().pool_of_pending() {
                pool.check_users(|| self.is_finished());
            }
            return Poll::Pending;
        }
        // SAFETY: the caller has exclusive access to the handle.
        Poll::Ready(unwrap(unsafe { self.take() }))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: the reference is the handle's, which ends here.
        unsafe { Packet::release(self.packet) };
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
