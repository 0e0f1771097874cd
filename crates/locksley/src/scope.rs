//! Scopes: tasks that may borrow, and are done when the scope is left.

use std::marker::PhantomData;
use std::panic;
use std::sync::Arc;

use crate::affinity::push_near;
use crate::broadcast::BroadcastContext;
use crate::cancel::CancelToken;
use crate::injector::Injected;
use crate::job::{Family, HeapJob, JobRef, Payload, catch};
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::sync::{Mutex, lock};
use crate::worker::Worker;

/// What a scope and its tasks share.
struct Core {
    latch: CountLatch,
    /// Who waits for the latch.
    waiter: Waiter,
    /// The first panic of a task.
    panic: Mutex<Option<Payload>>,
    token: CancelToken,
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
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(payload);
        }
        // Another one is dropped when the lock is free.
    }
}

/// A scope in which tasks can be spawned. See [`scope`].
///
/// ```
/// let mut parts = [0; 4];
/// locksley::scope(|s| {
///     for (number, part) in parts.iter_mut().enumerate() {
///         s.spawn(move |_| *part = number * number);
///     }
/// });
/// assert_eq!(parts, [0, 1, 4, 9]);
/// ```
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
                token: CancelToken::new(),
                registry,
            }),
            marker: PhantomData,
        }
    }

    pub(crate) fn family(&self) -> Family {
        Family::of(&*self.core)
    }

    /// Spawns a task, which may spawn more in the same scope. The newest task of a worker runs
    /// first.
    ///
    /// ```
    /// let (mut outer, mut inner) = (0, 0);
    /// locksley::scope(|s| {
    ///     s.spawn(|s| {
    ///         outer = 1;
    ///         // A task may spawn others into the same scope.
    ///         s.spawn(|_| inner = 2);
    ///     });
    /// });
    /// assert_eq!((outer, inner), (1, 2));
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(|scope, _| task(scope));
        self.push(job);
    }

    /// Spawns a task that had better run on the worker with this index: a hint, as in
    /// [`spawn_near`](crate::spawn_near).
    ///
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).strategy("sharing".parse().unwrap()).build().unwrap();
    /// let mut tiles = [0; 8];
    /// for _ in 0..3 {
    ///     pool.scope(|s| {
    ///         for (number, tile) in tiles.iter_mut().enumerate() {
    ///             // The same tile goes to the same worker each time.
    ///             s.spawn_near(locksley::worker_for_key(&number), move |_| *tile += number);
    ///         }
    ///     });
    /// }
    /// assert_eq!(tiles, [0, 3, 6, 9, 12, 15, 18, 21]);
    /// ```
    pub fn spawn_near<F>(&self, worker: usize, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(|scope, _| task(scope));
        push_near(&self.core.registry, worker, job);
    }

    /// Spawns a task on each of the pool's workers, with what it needs to know which it is on.
    ///
    /// Each worker runs it when it is done with what it does, or waits for something. See
    /// [`broadcast`](crate::broadcast).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// locksley::scope(|s| {
    ///     s.spawn_broadcast(|_, _| { runs.fetch_add(1, Ordering::Relaxed); });
    /// });
    /// assert_eq!(runs.into_inner(), locksley::current_num_workers());
    /// ```
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let task = Arc::new(task);
        for index in 0..self.core.registry.size() {
            let task = task.clone();
            let job = self.job(move |scope, worker| task(scope, BroadcastContext::new(worker)));
            self.core.registry.deliver(index, job);
        }
    }

    /// Makes a job of a task, and counts it.
    pub(crate) fn job<F>(&self, task: F) -> JobRef
    where
        F: FnOnce(&Scope<'scope>, &Worker) + Send + 'scope,
    {
        let core = self.core.clone();
        core.latch.increment();
        let run = move |worker: &Worker| {
            let scope = Scope {
                core,
                marker: PhantomData,
            };
            // A task that does not run goes here too: once it is counted as done, what it
            // borrows may be gone.
            let result = catch(|| match scope.is_cancelled() {
                true => drop(task),
                false => task(&scope, worker),
            });
            if let Err(payload) = result {
                scope.core.keep_panic(payload);
            }
            scope.core.done();
        };
        // SAFETY: the scope is not left before the count is back at zero, so what the task borrows
        // outlives it; `F` is `Send`.
        unsafe { HeapJob::new_ref(self.family(), run) }
    }

    /// Leaves a job to the pool.
    fn push(&self, job: JobRef) {
        match self.worker() {
            Some(worker) => worker.push_spawned(job),
            None => self.core.registry.inject(Injected { job, owner: 0 }),
        }
    }

    /// The worker that the calling thread is, if it is one of the scope's pool.
    pub(crate) fn worker<'a>(&self) -> Option<&'a Worker> {
        Worker::current_in(&self.core.registry)
    }

    /// Another handle to this scope, for a task of it.
    pub(crate) fn again(&self) -> Scope<'scope> {
        Scope {
            core: self.core.clone(),
            marker: PhantomData,
        }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.core.registry
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
        self.core.token.cancel();
    }

    /// Was the scope cancelled?
    ///
    /// ```
    /// locksley::scope(|s| {
    ///     assert!(!s.is_cancelled());
    ///     s.cancel();
    ///     assert!(s.is_cancelled());
    /// });
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.core.token.is_cancelled()
    }

    /// The scope's token: whoever has it can ask whether the scope was cancelled, and cancel it.
    ///
    /// ```
    /// use locksley::CancelToken;
    ///
    /// fn search(values: &[u64], wanted: u64, found: &CancelToken) {
    ///     for chunk in values.chunks(100) {
    ///         if found.is_cancelled() {
    ///             return;
    ///         }
    ///         if chunk.contains(&wanted) {
    ///             found.cancel();
    ///         }
    ///     }
    /// }
    ///
    /// let values: Vec<u64> = (0..10_000).collect();
    /// let found = locksley::scope(|s| {
    ///     let token = s.token();
    ///     for part in values.chunks(1000) {
    ///         let token = token.clone();
    ///         s.spawn(move |_| search(part, 1234, &token));
    ///     }
    ///     token
    /// });
    /// assert!(found.is_cancelled());
    /// ```
    pub fn token(&self) -> CancelToken {
        self.core.token.clone()
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
    crate::pool::on_worker(|worker| scope_here(worker, body))
}

/// A scope on a worker.
pub(crate) fn scope_here<'scope, R>(worker: &Worker, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope = Scope::new(worker.registry().shared(), Waiter::Worker(worker.index()));
    let family = scope.family();
    scope.complete(body, |scope| {
        worker.wait_for_scope(&scope.core.latch.latch, family);
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
        Some(worker) => scope_here(worker, body),
        None => in_place_scope_in(crate::pool::global().registry(), body),
    }
}

/// A scope of a pool, on the calling thread.
pub(crate) fn in_place_scope_in<'scope, R>(
    registry: &Arc<Registry>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    let here = Worker::current();
    if let Some(worker) = here
        && worker.is_in(registry)
    {
        return scope_here(worker, body);
    }
    let waiter = Waiter::Thread(std::thread::current());
    let scope = Scope::new(registry.clone(), waiter);
    scope.complete(body, |scope| {
        let latch = &scope.core.latch.latch;
        match here {
            Some(worker) => worker.wait_abroad(latch),
            None => latch.park(std::thread::park),
        }
    })
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
