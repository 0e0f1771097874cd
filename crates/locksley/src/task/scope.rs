//! Scopes: tasks that may borrow from outside, and are done when the scope ends.

use std::marker::PhantomData;
use std::panic;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use locksley_trace::Activity;

use crate::observe::record::{self, Enclosing, Spawned};
use crate::scheduler::registry::Registry;
use crate::scheduler::wait::wait_outside;
use crate::scheduler::worker::Worker;
use crate::task::broadcast::BroadcastContext;
use crate::task::cancel::CancelToken;
use crate::task::count_latch::CountLatch;
use crate::task::job::{GroupId, HeapJob, Job, JobRef, Payload, catch};
use crate::task::latch::{Awaited, Latch};
use crate::task::panics::FirstPanic;
use crate::task::spawn::{SpawnMode, push};

/// A scope in which tasks can be spawned. See [`scope`].
///
/// The scope lies in the frame of its waiter, and its tasks hold its address. The frame stays until
/// all tasks are done.
pub struct Scope<'scope> {
    pending: CountLatch,
    /// The worker or thread that waits for the scope.
    waiter: Waiter,
    panic: FirstPanic,
    /// Created on first use.
    pub(super) token: OnceLock<CancelToken>,
    /// The waiter keeps it alive.
    registry: NonNull<Registry>,
    /// Invariant in `'scope`, like `std::thread::Scope`.
    marker: PhantomData<&'scope mut &'scope ()>,
}

// SAFETY: the registry, which the pointer stands for a reference to, is `Sync`.
unsafe impl Send for Scope<'_> {}
// SAFETY: as above.
unsafe impl Sync for Scope<'_> {}

#[derive(Clone)]
enum Waiter {
    Worker(usize),
    Thread(std::thread::Thread),
}

/// The address of a scope, for its tasks.
struct ScopePtr<S>(*const S);

// SAFETY: it stands for a shared reference, which the scope's count keeps alive.
unsafe impl<S: Sync> Send for ScopePtr<S> {}

impl<S> ScopePtr<S> {
    /// Returns the scope.
    ///
    /// # Safety
    ///
    /// The caller is a task of the scope that is not done.
    unsafe fn get(&self) -> &S {
        // SAFETY: the caller is a task that is not done, and the scope is not left before that.
        unsafe { &*self.0 }
    }
}

impl<'scope> Scope<'scope> {
    fn new(registry: &Registry, waiter: Waiter) -> Self {
        Scope {
            pending: match waiter {
                Waiter::Worker(_) => CountLatch::owned(),
                Waiter::Thread(_) => CountLatch::shared(),
            },
            waiter,
            panic: FirstPanic::new(),
            token: OnceLock::new(),
            registry: NonNull::from(registry),
            marker: PhantomData,
        }
    }

    /// Creates a scope that a worker waits for.
    ///
    /// # Safety
    ///
    /// The worker is the calling thread's, and the scope does not leave the frame that calls
    /// [`complete`](Scope::complete): the thread keeps the pool alive.
    pub(crate) unsafe fn on(worker: &Worker) -> Self {
        Scope::new(worker.registry(), Waiter::Worker(worker.index()))
    }

    /// Creates a scope of a pool that the calling thread waits for, whether or not it is a worker.
    ///
    /// # Safety
    ///
    /// The registry lives as long as the scope.
    pub(crate) unsafe fn in_place(registry: &Registry) -> Self {
        match Worker::current_in(registry) {
            // SAFETY: the worker is the calling thread's; for the rest see above.
            Some(worker) => unsafe { Scope::on(worker) },
            None => {
                registry.check_adopted();
                Scope::new(registry, Waiter::Thread(std::thread::current()))
            }
        }
    }

    #[inline]
    pub(crate) fn group(&self) -> GroupId {
        GroupId::of(self)
    }

    /// Returns `true` if this is the worker that waits for the scope.
    #[inline]
    fn is_owned_by(&self, worker: &Worker) -> bool {
        matches!(self.waiter, Waiter::Worker(index) if index == worker.index())
    }

    /// Subtracts one from the count. The scope may be gone afterwards, unless the caller is its
    /// waiter.
    ///
    /// # Safety
    ///
    /// The scope is alive, and the caller holds one of its count. `worker` is the calling thread's
    /// worker, if it belongs to the scope's pool.
    #[inline]
    unsafe fn done(this: *const Self, worker: Option<&Worker>) {
        // SAFETY: the caller holds one of the count.
        let scope = unsafe { &*this };
        let by_owner = worker.is_some_and(|worker| scope.is_owned_by(worker));
        if scope.pending.take_away(by_owner) {
            let (waiter, latch) = (scope.waiter.clone(), &raw const scope.pending.latch);
            let wake = || match waiter {
                Waiter::Worker(index) => {
                    // The last thread to subtract from a count with an owner is a worker: other
                    // threads only add to it.
                    if let Some(worker) = worker {
                        worker.registry().worker(index).unpark();
                    }
                }
                Waiter::Thread(thread) => thread.unpark(),
            };
            // SAFETY: the count is settled, so the waiter goes on when it sees the latch set, not
            // before.
            unsafe { Latch::set(latch, wake) };
        }
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
        let here = self.worker();
        let job = self.job(here, self, |scope, _| task(scope));
        push(self.registry(), here, SpawnMode::Newest, job);
    }

    /// Spawns a task that prefers the worker with this index. This is a hint, as in
    /// [`spawn_near`](crate::spawn_near).
    pub fn spawn_near<F>(&self, worker: usize, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let here = self.worker();
        let job = self.job(here, self, |scope, _| task(scope));
        push(self.registry(), here, SpawnMode::Near(worker), job);
    }

    /// Spawns a task on each of the pool's workers, with a context that tells which worker it is
    /// on.
    ///
    /// Each worker runs it when its current job is done, or while it waits for something. See
    /// [`broadcast`](crate::broadcast).
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.deliver(self, task);
    }

    /// Targets a task at each worker.
    pub(crate) fn deliver<S, F>(&self, whole: &S, task: F)
    where
        S: Sync,
        F: Fn(&S, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let task = Arc::new(task);
        let (here, registry) = (self.worker(), self.registry());
        let _in_order = registry.begin_broadcast();
        for index in 0..registry.size() {
            let task = task.clone();
            let run = move |whole: &S, worker: &Worker| task(whole, BroadcastContext::new(worker));
            registry.deliver(index, self.job(here, whole, run));
        }
    }

    /// Creates the job of a task, and counts it. `here` is the calling thread's worker, if it
    /// belongs to the scope's pool. `whole` is passed to the task: the scope, or what it is a part
    /// of.
    #[inline]
    pub(crate) fn job<S, F>(&self, here: Option<&Worker>, whole: &S, task: F) -> JobRef
    where
        S: Sync,
        F: FnOnce(&S, &Worker) + Send + 'scope,
    {
        if let Some(worker) = here.filter(|worker| worker.is_recorded()) {
            let spawned = Spawned::note(worker, self.group());
            let recorded =
                move |whole: &S, worker: &Worker| spawned.run(worker, || task(whole, worker));
            return self.make_job(here, whole, recorded);
        }
        self.make_job(here, whole, task)
    }

    #[inline]
    fn make_job<S, F>(&self, here: Option<&Worker>, whole: &S, task: F) -> JobRef
    where
        S: Sync,
        F: FnOnce(&S, &Worker) + Send + 'scope,
    {
        let by_owner = here.is_some_and(|worker| self.is_owned_by(worker));
        self.pending.add(by_owner);
        let (scope, whole) = (ScopePtr(self), ScopePtr(whole));
        let run = move |worker: &Worker| {
            // SAFETY: this is a task of the scope, and is counted.
            let (this, whole) = unsafe { (scope.get(), whole.get()) };
            // A cancelled task is dropped here: once it is counted as done, what it borrows may be
            // gone.
            let result = catch(|| {
                if this.is_cancelled() {
                    drop(task);
                } else {
                    task(whole, worker);
                }
            });
            if let Err(payload) = result {
                this.panic.keep(payload);
            }
            // SAFETY: it was counted above, and is not used any more.
            unsafe { Scope::done(scope.0, Some(worker)) };
        };
        // SAFETY: the scope is not left before the count is back at zero, so what the task borrows
        // outlives it; `F` is `Send`.
        unsafe { HeapJob::new_ref(here, self.group(), run) }
    }

    /// Returns the calling thread's worker, if it belongs to the scope's pool.
    #[inline]
    pub(crate) fn worker<'a>(&self) -> Option<&'a Worker> {
        Worker::current_in(self.registry())
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: it lives as long as the scope: the constructors require it.
        unsafe { self.registry.as_ref() }
    }

    /// Runs the body on the thread that waits, waits for the tasks, and resumes a panic of body or
    /// tasks.
    pub(crate) fn complete<R>(&self, body: impl FnOnce() -> R) -> R {
        match (&self.waiter, Worker::current()) {
            (Waiter::Worker(_), Some(worker)) => self.complete_on(worker, body),
            (_, here) => {
                let result = self.keep_panic(catch(body));
                // SAFETY: the count starts with one for the body; the scope is the caller's.
                unsafe { Scope::done(self, None) };
                match here {
                    Some(worker) => {
                        worker.wait_abroad(self.registry(), &self.pending.latch, self.group());
                    }
                    None => wait_outside(self.registry(), &self.pending.latch),
                }
                self.end(result)
            }
        }
    }

    /// [`complete`](Scope::complete) on the worker that waits.
    #[inline]
    fn complete_on<R>(&self, worker: &Worker, body: impl FnOnce() -> R) -> R {
        // Dropped when this function returns, and what it waits for is done.
        let recorded = Enclosing::enter(worker, self.group());
        let result = self.keep_panic(match &recorded {
            None => catch(body),
            Some(scope) => catch(|| scope.run_body(worker, body)),
        });
        // The count starts with one for the body, and its owner has not waited for it yet.
        self.pending.take_away(true);
        if !self.pending.is_over() {
            worker.run_tasks_of(&self.pending, self.group());
            worker.wait_for_scope(&self.pending, self.group());
        }
        self.end(result)
    }

    /// Returns the body's result. Keeps its panic if it is the first one.
    fn keep_panic<R>(&self, result: Result<R, Payload>) -> Option<R> {
        result.map_err(|payload| self.panic.keep(payload)).ok()
    }

    /// Returns the body's result, or resumes the first panic of body and tasks.
    fn end<R>(&self, result: Option<R>) -> R {
        if let Some(payload) = self.panic.take() {
            panic::resume_unwind(payload);
        }
        result.expect("a body without a panic has a result")
    }
}

impl Worker {
    /// Runs the newest spawned jobs of the worker's own queue while they belong to `group`, which
    /// the worker waits for. The task stack shows all of them as one job, since all descend from
    /// the group.
    fn run_tasks_of(&self, awaited: &impl Awaited, group: GroupId) {
        // A breadth-first worker takes its oldest job first.
        if self.registry().config.breadth_first {
            return;
        }
        let in_group = |job: JobRef| {
            // SAFETY: the job was popped, and not executed.
            job.is_spawned() && unsafe { job.group() } == group
        };
        let _pause = record::pause(self);
        let _wait = self.traced(Activity::Wait);
        self.task_stack.enter_wait(group);
        self.task_stack.enter_root(group);
        while !awaited.is_over() && self.targeted_jobs.is_empty() {
            let Some(job) = self.take_newest(in_group) else {
                break;
            };
            self.poll_requests();
            self.execute(self.queued(job));
        }
        self.task_stack.leave();
        self.task_stack.leave();
    }
}

/// Runs `body` in the pool, with a scope in which it can spawn tasks that borrow from the caller;
/// returns when all of them are done.
///
/// While the worker waits it runs the scope's tasks and what descends from them, and nothing else.
/// A panic in the body or in a task is propagated to the caller when all tasks are done.
#[cfg_attr(doc, doc = include_str!("../../docs/examples/scope.md"))]
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| scope_here(worker, body))
}

pub(crate) fn scope_here<'scope, R>(worker: &Worker, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    // SAFETY: the worker is the calling thread's, and the scope stays here.
    let scope = unsafe { Scope::on(worker) };
    scope.complete_on(worker, || body(&scope))
}

/// [`scope`] whose body runs on the calling thread, even if it is not a worker; only the tasks run
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
        None => in_place_scope_in(&crate::pool::global().registry, body),
    }
}

pub(crate) fn in_place_scope_in<'scope, R>(
    registry: &Registry,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    // SAFETY: the caller keeps the registry alive, and the scope stays here.
    let scope = unsafe { Scope::in_place(registry) };
    scope.complete(|| body(&scope))
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
