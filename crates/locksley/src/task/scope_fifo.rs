//! Scopes whose tasks start in the order in which a worker spawned them.
//!
//! Such a scope has a queue with tokens for each worker: see [`fifo`](super::fifo). The tokens
//! carry the scope's group, so a waiter that finds a token runs one of the scope's tasks.

use std::fmt;

use crate::pool::on_worker;
use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::task::broadcast::BroadcastContext;
use crate::task::cancel::CancelToken;
use crate::task::fifo::{FifoQueue, push_fifo};
use crate::task::scope::Scope;
use crate::task::spawn::with_current_registry;

/// A scope whose tasks run in the order in which a worker spawned them. See [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    scope: Scope<'scope>,
    /// One queue for each worker slot of the pool, spares included.
    queues: Box<[FifoQueue]>,
}

impl<'scope> ScopeFifo<'scope> {
    /// Runs `body` with a FIFO scope that wraps `scope`.
    fn run<R>(scope: Scope<'scope>, body: impl FnOnce(&Self) -> R) -> R {
        let slots = scope.registry().slots();
        let mut fifo = ScopeFifo {
            scope,
            queues: Box::default(),
        };
        // The scope does not move any more, so its address is its group.
        let group = fifo.scope.group();
        fifo.queues = (0..slots).map(|_| FifoQueue::of_scope(group)).collect();
        fifo.scope.complete(|| body(&fifo))
    }

    /// Spawns a task, which may spawn more in the same scope. The oldest task of a worker starts
    /// first.
    pub fn spawn_fifo<F>(&self, task: F)
    where
        F: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let here = self.scope.worker();
        let job = self.scope.job(here, self, |scope, _| task(scope));
        match here {
            Some(worker) => push_fifo(worker, &self.queues[worker.index()], job),
            // The pool's queue is in FIFO order anyway.
            None => self.scope.registry().inject(QueuedJob { job, owner: 0 }),
        }
    }

    /// [`Scope::spawn_broadcast`].
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.scope.deliver(self, task);
    }

    /// [`Scope::cancel`].
    pub fn cancel(&self) {
        self.scope.cancel();
    }

    /// [`Scope::is_cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }

    /// [`Scope::token`].
    pub fn token(&self) -> CancelToken {
        self.scope.token()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// [`scope`](crate::scope()) whose tasks start in the order in which a worker spawned them.
///
/// ```
/// use std::sync::Mutex;
///
/// let pool = locksley::Pool::builder().workers(1).build().unwrap();
/// let order = Mutex::new(Vec::new());
/// pool.install(|| {
///     locksley::scope_fifo(|s| {
///         for task in 0..5 {
///             let order = &order;
///             s.spawn_fifo(move |_| order.lock().unwrap().push(task));
///         }
///     });
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
/// ```
pub fn scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    // SAFETY: the worker is the calling thread's, and `run` keeps the scope in its frame.
    on_worker(|worker| ScopeFifo::run(unsafe { Scope::on(worker) }, body))
}

/// [`scope_fifo`] whose body runs on the calling thread, even if it is not a worker.
pub fn in_place_scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current_registry(|registry| in_place_scope_fifo_in(registry, body))
}

pub(crate) fn in_place_scope_fifo_in<'scope, R>(
    registry: &Registry,
    body: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    // SAFETY: the caller keeps the registry alive, and `run` keeps the scope in its frame.
    ScopeFifo::run(unsafe { Scope::in_place(registry) }, body)
}
