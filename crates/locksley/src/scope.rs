//! Scopes: tasks that may borrow, and are done when the scope is left.

use std::marker::PhantomData;
use std::panic;
use std::sync::Arc;

use crate::injector::Injected;
use crate::job::{Family, HeapJob, Payload, catch};
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::worker::Worker;

/// What a scope and its tasks share.
struct Core {
    latch: CountLatch,
    /// Who waits for the latch.
    waiter: Waiter,
    /// The first panic of a task.
    panic: Mutex<Option<Payload>>,
    cancelled: AtomicBool,
    registry: Arc<Registry>,
}

enum Waiter {
    Worker(usize),
    Thread(std::thread::Thread),
}

impl Core {
    /// Takes one from the count. The core outlives the call: the caller holds an `Arc`.
    fn done(&self) {
        let wake = || match &self.waiter {
            Waiter::Worker(index) => self.registry.unpark(*index),
            Waiter::Thread(thread) => thread.unpark(),
        };
        // SAFETY: the latch is in an `Arc` that the caller holds.
        unsafe { CountLatch::decrement(&raw const self.latch, wake) };
    }

    fn keep_panic(&self, payload: Payload) {
        lock(&self.panic).get_or_insert(payload);
    }
}

/// A scope in which tasks can be spawned. See [`scope`].
pub struct Scope<'scope> {
    core: Arc<Core>,
    /// Invariant in `'scope`, like `std::thread::Scope`.
    marker: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope> Scope<'scope> {
    fn new(registry: Arc<Registry>, waiter: Waiter) -> Self {
        Scope {
            core: Arc::new(Core {
                latch: CountLatch::new(),
                waiter,
                panic: Mutex::new(None),
                cancelled: AtomicBool::new(false),
                registry,
            }),
            marker: PhantomData,
        }
    }

    fn family(&self) -> Family {
        Family::of(&*self.core)
    }

    /// Spawns a task, which may spawn more in the same scope. The newest task of a worker runs
    /// first.
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let core = self.core.clone();
        core.latch.increment();
        let run = move |_: &Worker| {
            let scope = Scope {
                core,
                marker: PhantomData,
            };
            if !scope.is_cancelled()
                && let Err(payload) = catch(|| task(&scope))
            {
                scope.core.keep_panic(payload);
            }
            scope.core.done();
        };
        // SAFETY: the scope is not left before the count is back at zero, so what the task borrows
        // outlives it; `F` is `Send`.
        let job = unsafe { HeapJob::new_ref(self.family(), run) };
        match Worker::current() {
            Some(worker) if std::ptr::eq(worker.registry(), &*self.core.registry) => {
                worker.push_spawned(job);
            }
            _ => self.core.registry.inject(Injected { job, owner: 0 }),
        }
    }

    /// Cancels the scope: tasks that have not started will not run; running ones can ask
    /// [`is_cancelled`](Scope::is_cancelled).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// locksley::scope(|s| {
    ///     s.cancel();
    ///     s.spawn(|_| { runs.fetch_add(1, Ordering::Relaxed); });
    /// });
    /// assert_eq!(runs.into_inner(), 0);
    /// ```
    pub fn cancel(&self) {
        self.core.cancelled.store(true, Ordering::Release);
    }

    /// Was the scope cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.core.cancelled.load(Ordering::Acquire)
    }

    /// Runs the body, waits for the tasks, and passes on what panicked.
    fn complete<R>(self, body: impl FnOnce(&Scope<'scope>) -> R, wait: impl FnOnce(&Self)) -> R {
        let result = catch(|| body(&self));
        self.core.done();
        wait(&self);
        let panic = lock(&self.core.panic).take();
        match (result, panic) {
            (Err(payload), _) | (Ok(_), Some(payload)) => panic::resume_unwind(payload),
            (Ok(result), None) => result,
        }
    }
}

/// Runs `body` in the pool, with a scope in which it can spawn tasks that borrow from
/// the caller; returns when all of them are done.
///
/// While the worker waits it runs the scope's tasks and what descends from them, and nothing else.
/// A panic in the body or in a task reaches the caller when all tasks are done.
///
/// ```
/// let mut squares = vec![0; 8];
/// locksley::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49]);
/// ```
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| {
        let scope = Scope::new(worker.registry().shared(), Waiter::Worker(worker.index()));
        let family = scope.family();
        scope.complete(body, |scope| {
            worker.wait_for_scope(&scope.core.latch.latch, family)
        })
    })
}

/// [`scope`] whose body runs on the calling thread, even if that is no worker; only the tasks run
/// in the pool.
///
/// ```
/// let here = std::thread::current().id();
/// let mut done = false;
/// locksley::in_place_scope(|s| {
///     assert_eq!(std::thread::current().id(), here);
///     s.spawn(|_| done = true);
/// });
/// assert!(done);
/// ```
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    match Worker::current() {
        Some(worker) => {
            let scope = Scope::new(worker.registry().shared(), Waiter::Worker(worker.index()));
            let family = scope.family();
            scope.complete(body, |scope| {
                worker.wait_for_scope(&scope.core.latch.latch, family)
            })
        }
        None => {
            let waiter = Waiter::Thread(std::thread::current());
            let scope = Scope::new(crate::pool::global().registry().clone(), waiter);
            scope.complete(body, |scope| scope.core.latch.latch.park(std::thread::park))
        }
    }
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
