//! The tasks that wait in a process, and the jobs that come for them.
//!
//! ```text
//!               pool: a job for each task          line: the same tasks, in the order in which they came
//!   worker 0  | job d | job c | job a |        first | a | b | c | d | last
//!   worker 1  | job b |                              '-- the oldest are withdrawn from here --> another process
//!                 '---- each takes its task out of the line; if that is gone, the newest that waits, or nothing
//! ```
//!
//! The pool's strategy balances its workers, as it does for any other jobs. A task itself waits in the line, where its job finds it by
//! its number; whoever comes first takes it out. So the surplus of a process, and only that, can leave it, and what stays is never
//! serialised. A job whose task has left is a *ghost*: the next task that comes needs no job of its own, so there are never more jobs
//! than tasks have waited at the same time.
//!
//! **Invariants**, of what is behind the lock of the [`Line`]:
//!
//! - At least as many jobs as tasks wait: so every task that waits is run, or withdrawn.
//! - `pending` is the number of tasks that wait or run here: a task is counted before its parent is finished and until it has been run
//!   and its result is kept, or it was withdrawn. So zero means that nothing will happen here until somebody submits a
//!   task: the process is *passive*.
//!
//! **Orderings.** What decides anything is behind a lock. The atomics are hints, read without it so that a task can look often; all are
//! `Relaxed`, since nothing is read because of what they say.
//!
//! | tag | atomic | written | what follows from an old value |
//! |---|---|---|---|
//! | L1 | `waiting` | with the line locked | a task is spawned that is not wanted any more, or a little later |
//! | L2 | `appetite` | by whoever owns the process | the same |
//! | L3 | `cancelled` | before what waits is dropped | a task is run whose result nobody wants |

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Panicked, Usage};
use crate::reduce::Reduce;
use crate::task::{Boxed, Tasks};

/// The tasks that wait, the jobs that will come for them, and how many there were.
pub(super) struct Line<R> {
    /// By their numbers, which are in the order in which they came.
    tasks: BTreeMap<u64, Boxed<R>>,
    /// How many jobs wait in the pool.
    pub(super) jobs: usize,
    /// How many tasks wait or run.
    pending: usize,
    /// How many tasks came: the number of the next one.
    added: u64,
    withdrawn: u64,
}

/// What the jobs of a process share.
pub(crate) struct Shared<R> {
    pub(super) line: Mutex<Line<R>>,
    /// `pending` has become zero.
    passive: Condvar,
    /// How many tasks are in the line.
    waiting: AtomicUsize,
    /// How many had better be, see [`Tasks::wanted`].
    appetite: AtomicUsize,
    cancelled: AtomicBool,
    /// A result for each worker, and one for spares: fewer quarrels about the locks.
    results: Vec<Mutex<Kept<R>>>,
    fault: Mutex<Option<Panicked>>,
}

struct Kept<R> {
    result: R,
    tasks: u64,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nobody panics while holding one of these locks, except in a result's `combine`, which is caught and reported.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What others see.
impl<R: Reduce> Shared<R> {
    pub(super) fn new(workers: usize) -> Shared<R> {
        let kept = || {
            Mutex::new(Kept {
                result: R::identity(),
                tasks: 0,
            })
        };
        Shared {
            line: Mutex::new(Line {
                tasks: BTreeMap::new(),
                jobs: 0,
                pending: 0,
                added: 0,
                withdrawn: 0,
            }),
            passive: Condvar::new(),
            waiting: AtomicUsize::new(0),
            appetite: AtomicUsize::new(if workers > 1 { 2 * workers } else { 0 }),
            cancelled: AtomicBool::new(false),
            results: std::iter::repeat_with(kept).take(workers + 1).collect(),
            fault: Mutex::new(None),
        }
    }

    pub(crate) fn wanted(&self) -> bool {
        self.waiting() < self.appetite.load(Ordering::Relaxed) // [L2]
    }

    pub(super) fn set_appetite(&self, tasks: usize) {
        self.appetite.store(tasks, Ordering::Relaxed); // [L2]
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed) // [L1]
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) // [L3]
    }

    pub(super) fn pending(&self) -> usize {
        lock(&self.line).pending
    }

    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let line = lock(&self.line);
        let busy = |line: &mut Line<R>| line.pending > 0;
        if at_most == Duration::MAX {
            let waited = self.passive.wait_while(line, busy);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return true;
        }
        let waited = self.passive.wait_timeout_while(line, at_most, busy);
        let (line, _) = waited.unwrap_or_else(PoisonError::into_inner);
        line.pending == 0
    }

    pub(super) fn fault(&self) -> Option<Panicked> {
        lock(&self.fault).clone()
    }

    pub(super) fn take_result(&self) -> R {
        let mut result = R::identity();
        for kept in &self.results {
            let kept = std::mem::replace(&mut lock(kept).result, R::identity());
            result.combine(kept);
        }
        result
    }

    pub(super) fn usage(&self) -> Usage {
        let tasks = self.results.iter().map(|kept| lock(kept).tasks).sum();
        let line = lock(&self.line);
        Usage {
            tasks,
            added: line.added,
            withdrawn: line.withdrawn,
        }
    }
}

/// What happens.
impl<R: Reduce> Shared<R> {
    /// Adds a task, from a worker of the pool.
    pub(crate) fn spawn(self: Arc<Self>, task: Boxed<R>) {
        if let Some(job) = self.enter(task) {
            locksley::spawn_detached(job);
        }
    }

    /// Lets a task wait, and gives the job that runs it, unless there is a ghost that will.
    pub(super) fn enter(self: Arc<Self>, task: Boxed<R>) -> Option<impl FnOnce() + Send + 'static> {
        let mut line = lock(&self.line);
        let number = line.added;
        line.added += 1;
        line.pending += 1;
        line.tasks.insert(number, task);
        self.count(&line);
        if line.jobs >= line.tasks.len() {
            return None;
        }
        line.jobs += 1;
        drop(line);
        Some(move || {
            if let Some(task) = self.next(number) {
                self.execute(task);
            }
        })
    }

    /// What a job runs: the task that it came with, or else the newest that waits.
    fn next(&self, number: u64) -> Option<Boxed<R>> {
        let mut line = lock(&self.line);
        line.jobs -= 1;
        let own = line.tasks.remove(&number);
        let task = own.or_else(|| line.tasks.pop_last().map(|(_, newest)| newest));
        self.count(&line);
        task
    }

    fn count(&self, line: &Line<R>) {
        self.waiting.store(line.tasks.len(), Ordering::Relaxed); // [L1]
    }

    fn execute(self: Arc<Self>, task: Boxed<R>) {
        if !self.cancelled() {
            let kind = task.kind();
            let tasks = Tasks {
                shared: self.clone(),
            };
            let done = catch_unwind(AssertUnwindSafe(|| {
                let result = task.run(&tasks);
                self.keep(result);
            }));
            if let Err(payload) = done {
                let message = message(payload.as_ref());
                lock(&self.fault).get_or_insert(Panicked { kind, message });
                self.cancel();
            }
        }
        self.leave(&mut lock(&self.line), 1);
    }

    fn keep(&self, result: R) {
        let last = self.results.len() - 1;
        let place = locksley::current_worker_index().map_or(last, |index| index.min(last));
        let mut kept = lock(&self.results[place]);
        kept.tasks += 1;
        kept.result.combine(result);
    }

    /// So many tasks no longer wait or run here.
    fn leave(&self, line: &mut Line<R>, tasks: usize) {
        line.pending -= tasks;
        if line.pending == 0 {
            self.passive.notify_all();
        }
    }

    pub(super) fn withdraw(&self, at_most: usize) -> Vec<Boxed<R>> {
        let mut line = lock(&self.line);
        let some = at_most.min(line.tasks.len());
        let oldest = || line.tasks.pop_first().map(|(_, task)| task);
        let taken: Vec<Boxed<R>> = std::iter::from_fn(oldest).take(some).collect();
        self.count(&line);
        line.withdrawn += some as u64;
        self.leave(&mut line, some);
        taken
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed); // [L3]
        // What waits is dropped, so that nobody must run through it.
        drop(self.withdraw(usize::MAX));
    }
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("something that is no text").to_owned()
}

impl<R> fmt::Debug for Shared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}
