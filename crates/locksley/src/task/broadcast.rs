//! Broadcasts: a closure that runs once on every worker.
//!
//! A broadcast targets a job at each worker. A worker looks for targeted jobs in its main loop and
//! whenever it waits: for a join, a scope, a task, another pool or a future. So a broadcast makes
//! progress while workers wait for each other, for it, or for another broadcast; a busy worker
//! finishes its job first.
//!
//! A targeted job is unrelated to what its worker waits for. It is the only such job that a waiter
//! runs, because no other worker can; so the closure should not take a lock that a task holds while
//! it waits. Spare workers get no broadcasts.

use std::fmt;
use std::sync::Arc;

use crate::observe::record;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::sync::{Mutex, lock};
use crate::task::job::{GroupId, HeapJob, catch};
use crate::task::panics::reached_no_waiter;
use crate::task::scope::in_place_scope_in;
use crate::task::spawn::{count_task, with_current_registry};

/// The argument of the closure of a [`broadcast`].
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
}

impl<'a> BroadcastContext<'a> {
    pub(crate) fn new(worker: &'a Worker) -> Self {
        BroadcastContext { worker }
    }

    /// The index of the worker that the closure runs on, below
    /// [`num_workers`](BroadcastContext::num_workers).
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The number of workers, each of which runs the closure.
    pub fn num_workers(&self) -> usize {
        self.worker.registry().size()
    }

    /// The worker that the closure runs on.
    pub fn worker(&self) -> &'a Worker {
        self.worker
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_workers", &self.num_workers())
            .finish()
    }
}

/// Runs a closure once on each worker of the calling worker's pool, or of the global one; returns
/// the results, in the order of the workers.
///
/// A worker runs it when its current job is done, or while it waits for something. If the closure
/// panics, one of the panics is propagated to the caller when all workers are done.
///
/// ```
/// let indices = locksley::broadcast(|context| context.index());
/// assert_eq!(indices, (0..locksley::current_num_workers()).collect::<Vec<_>>());
/// ```
pub fn broadcast<F, R>(f: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current_registry(|registry| broadcast_in(registry, f))
}

/// Spawns a closure once on each worker of the calling worker's pool, or of the global one, and
/// does not wait for it. A panic goes to the pool's
/// [panic handler](crate::Builder::panic_handler), or, if it has none, aborts the process.
///
/// ```
/// use std::sync::mpsc;
///
/// let (sender, receiver) = mpsc::channel();
/// locksley::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().count(), locksley::current_num_workers());
/// ```
pub fn spawn_broadcast<F>(f: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current_registry(|registry| spawn_broadcast_in(registry, f));
}

pub(crate) fn broadcast_in<F, R>(registry: &Registry, f: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results: Vec<Mutex<Option<R>>> = (0..registry.size()).map(|_| Mutex::new(None)).collect();
    let (f, slots) = (&f, &results);
    in_place_scope_in(registry, |scope| {
        scope.spawn_broadcast(move |_, context| {
            let slot = &slots[context.index()];
            let result = f(context);
            *lock(slot) = Some(result);
        });
    });
    let results = results.iter().map(|slot| lock(slot).take());
    results
        .map(|result| result.expect("each worker has run it, and none panicked"))
        .collect()
}

pub(crate) fn spawn_broadcast_in<F>(registry: &Registry, f: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let f = Arc::new(f);
    let _in_order = registry.begin_broadcast();
    for index in 0..registry.size() {
        let f = f.clone();
        if let Some(worker) = count_task(registry) {
            record::note_unordered(worker);
        }
        let run = move |worker: &Worker| {
            if let Err(payload) = catch(move || f(BroadcastContext::new(worker))) {
                reached_no_waiter(worker.registry(), payload);
            }
            worker.task_done();
        };
        // SAFETY: the closure borrows nothing, and is `Send`.
        let job = unsafe { HeapJob::new_ref(None, GroupId::NONE, run) };
        registry.deliver(index, job);
    }
}
