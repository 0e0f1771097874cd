//! The tasks that wait in a process, and the jobs that come for them.
//!
//! ```text
//!               pool: a job for each task    line: the same tasks, in the order in which they came
//!   worker 0  | job d | job c | job a |        first | a | b | c | d | last
//!   worker 1  | job b |                              '-- the oldest are withdrawn from here
//!                 '---- each takes its task out of the line; if that is gone, the newest that
//!                       waits, or nothing
//! ```
//!
//! The pool's strategy balances these jobs like any others. A task itself waits in the line, where
//! its job finds it by its number; the first job to look for it takes it. So the surplus of a
//! process, and only that, can leave it, and tasks that stay are never serialised. A job whose task
//! has left is a *ghost*: the next task that comes needs no job of its own, so there are never more
//! jobs than tasks have waited at the same time.
//!
//! **Invariants** of the state behind the lock of the [`Line`]:
//!
//! - There are at least as many jobs as waiting tasks, not counting tasks that are [held](Hold),
//!   which a cut takes: so every waiting task is run or withdrawn.
//! - `pending` is the number of tasks that wait, are delayed, or run here. A task is counted before
//!   its parent ends, and until it has been run and its result is stored, or it was withdrawn. At
//!   zero the process is *idle*: nothing happens here until a task or an input comes from outside.
//!   It is *passive* if, moreover, no continuation waits for inputs, and no inputs are to be sent.
//!
//! For leases the process is *tracked*: it also records which task spawned which
//! ([`lineage`](super::lineage)), the encoded form of each running task, and which results are
//! settled. In a tracked process a [`Cut`] replaces a withdrawal, and a task that panics does not
//! end the run.
//!
//! **Orderings.** All decisions are made under a lock. The atomics are hints, read without it so
//! that a task can poll often; all are `Relaxed`, since no other memory is read on the strength of
//! their values.
//!
//! | tag | atomic | written | effect of a stale value |
//! |---|---|---|---|
//! | L1 | `waiting` | with the line locked | a task is spawned though it is not wanted any more, or a little late |
//! | L2 | `appetite` | by the owner of the process | the same |
//! | L3 | `cancelled` | before the waiting tasks are dropped | a task is run whose result is not needed |
//! | L4 | `late` of a node | with the line locked | a task that has run out of time continues for a little |

mod cut;
mod deferred;
mod execute;
mod later;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use locksley::Pool;

use super::lineage::{Lineage, Node};
use super::{Panicked, Usage};
use crate::continuation::{Deferred, DeferredId, Slot};
use crate::parcel::Parcel;
use crate::reduce::Reduce;
use crate::task::Boxed;
pub use cut::Spawned;
pub(crate) use cut::{Cut, Hold};
use later::Later;

/// The waiting tasks, and the counts of jobs and tasks.
pub(super) struct Line<R> {
    /// Waiting tasks by number. Numbers are in order of arrival.
    tasks: BTreeMap<u64, Waiting<R>>,
    /// Number of jobs that wait in the pool.
    pub(super) jobs: usize,
    /// Number of tasks that wait, are delayed, or run.
    pending: usize,
    /// Number of tasks that were added, and so the number of the next one.
    added: u64,
    withdrawn: u64,
    /// Which task spawned which, if the process is tracked.
    lineage: Option<Lineage<R>>,
    /// Which tasks are not begun here.
    hold: Hold,
    /// Continuations that wait for inputs.
    deferred: BTreeMap<DeferredId, Deferred<R>>,
    /// Number of the next deferred task.
    next_deferred: DeferredId,
    /// Inputs for deferred tasks of other processes.
    outbox: Vec<(Slot, R)>,
    /// Delayed tasks.
    later: Vec<Later<R>>,
    /// Whether a timer thread waits for the first of them.
    has_timer: bool,
}

/// Deferred tasks that a running task has made.
#[derive(Debug, Default)]
pub(crate) struct NewDeferred {
    /// Merges the results of the tasks that it spawned, if it has a slot.
    merge: Option<DeferredId>,
    groups: Vec<DeferredId>,
}

/// A waiting task.
pub(super) struct Waiting<R> {
    pub(super) task: Boxed<R>,
    pub(super) origin: Origin<R>,
    /// Slot that receives its result; `None` if it is combined into the result of the job.
    pub(super) to: Option<Slot>,
}

impl<R> Waiting<R> {
    /// Returns the serialised task, with its slot.
    pub(super) fn pack(&self) -> Parcel {
        Parcel {
            to: self.to,
            ..self.task.pack()
        }
    }
}

/// The origin of a task.
pub(crate) enum Origin<R> {
    /// Not recorded: the process is not tracked.
    Untracked,
    /// Brought from outside, in this encoded form.
    Brought(Vec<u8>),
    /// Spawned by this task.
    Spawned(Arc<Node<R>>),
}

/// A task that a job is about to run.
pub(super) struct TakenTask<R> {
    task: Boxed<R>,
    to: Option<Slot>,
    tracked: Option<Tracked<R>>,
}

struct Tracked<R> {
    number: u64,
    node: Arc<Node<R>>,
    encoded: Option<Vec<u8>>,
    limit: usize,
}

/// The state that the jobs of a process share.
pub(crate) struct Shared<R> {
    pub(super) line: Mutex<Line<R>>,
    /// Weak: a pool must not be shut down from one of its workers.
    pool: Weak<Pool>,
    /// Notified when `pending` becomes zero.
    idle: Condvar,
    /// Notified when `later` changes.
    alarm: Condvar,
    /// Number of tasks in the line.
    waiting: AtomicUsize,
    /// Number of tasks below which more are wanted, see [`Tasks::wanted`](crate::Tasks::wanted).
    appetite: AtomicUsize,
    cancelled: AtomicBool,
    /// A result for each worker, and one for spare threads, to reduce contention on the locks.
    results: Vec<Mutex<WorkerResult<R>>>,
    fault: Mutex<Option<Panicked>>,
}

struct WorkerResult<R> {
    result: R,
    tasks: u64,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No thread panics while holding one of these locks, except in a result's `combine`, which is
    // caught and reported.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Set-up and observation.
impl<R: Reduce> Shared<R> {
    pub(super) fn new(pool: &Arc<Pool>) -> Shared<R> {
        let workers = pool.workers();
        let kept = || {
            Mutex::new(WorkerResult {
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
                lineage: None,
                hold: Hold::Nothing,
                deferred: BTreeMap::new(),
                next_deferred: DeferredId { home: 0, number: 0 },
                outbox: Vec::new(),
                later: Vec::new(),
                has_timer: false,
            }),
            pool: Arc::downgrade(pool),
            idle: Condvar::new(),
            alarm: Condvar::new(),
            waiting: AtomicUsize::new(0),
            appetite: AtomicUsize::new(if workers > 1 { 2 * workers } else { 0 }),
            cancelled: AtomicBool::new(false),
            results: std::iter::repeat_with(kept).take(workers + 1).collect(),
            fault: Mutex::new(None),
        }
    }

    /// Makes the process tracked. Results leave in parts of at most `limit` bytes.
    pub(super) fn track(&self, limit: usize, hold: Hold) {
        let mut line = lock(&self.line);
        (line.lineage, line.hold) = (Some(Lineage::new(limit)), hold);
    }

    /// Sets the first part of the numbers of deferred tasks.
    pub(super) fn set_home(&self, home: u64) {
        lock(&self.line).next_deferred.home = home;
    }

    /// Returns the number of running tasks of a tracked process.
    pub(super) fn running(&self) -> usize {
        let line = lock(&self.line);
        line.lineage.as_ref().map_or(0, Lineage::running)
    }

    /// Marks tasks as failed whose time is over. Returns the number of late tasks that have not
    /// returned.
    pub(super) fn expire(&self) -> usize {
        let mut line = lock(&self.line);
        line.lineage.as_mut().map_or(0, |lineage| {
            lineage.expire(Instant::now());
            lineage.stuck()
        })
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

    /// Returns `true` if the process is idle, no continuation waits for inputs, and no inputs are
    /// to be sent.
    pub(super) fn is_passive(&self) -> bool {
        let line = lock(&self.line);
        line.pending == 0 && line.deferred.is_empty() && line.outbox.is_empty()
    }

    /// Inputs for deferred tasks of other processes.
    pub(super) fn take_outbox(&self) -> Vec<(Slot, R)> {
        std::mem::take(&mut lock(&self.line).outbox)
    }

    /// Waits until the process is idle, but no longer than `at_most`. Returns `true` if it is.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let line = lock(&self.line);
        let busy = |line: &mut Line<R>| line.pending > 0;
        if at_most == Duration::MAX {
            let waited = self.idle.wait_while(line, busy);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return true;
        }
        let waited = self.idle.wait_timeout_while(line, at_most, busy);
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

/// Adding and starting tasks.
impl<R: Reduce> Shared<R> {
    /// Adds a task, from a worker of the pool.
    pub(crate) fn spawn(
        self: Arc<Self>,
        task: Boxed<R>,
        parent: Option<Arc<Node<R>>>,
        to: Option<Slot>,
    ) {
        let origin = parent.map_or(Origin::Untracked, Origin::Spawned);
        if let Some(job) = self.enter(Waiting { task, origin, to }) {
            locksley::spawn_detached(job);
        }
    }

    /// Adds a task to the line. Returns the job that will run it, unless a ghost will.
    pub(super) fn enter(
        self: Arc<Self>,
        waiting: Waiting<R>,
    ) -> Option<impl FnOnce() + Send + 'static> {
        let number = self.line_up(&mut lock(&self.line), waiting)?;
        Some(self.job(number))
    }

    /// Returns the job that runs task `number`, or another one that waits.
    fn job(self: Arc<Self>, number: u64) -> impl FnOnce() + Send + 'static {
        move || {
            if let Some(task) = self.next(number) {
                self.execute(task);
            }
        }
    }

    /// Adds a task to the line. Returns its number if it needs a job.
    fn line_up(&self, line: &mut Line<R>, waiting: Waiting<R>) -> Option<u64> {
        let held = line.hold.holds(&waiting.origin);
        let number = line.added;
        line.added += 1;
        line.pending += 1;
        line.tasks.insert(number, waiting);
        self.count(line);
        // A held task waits for a cut.
        if held || line.jobs >= line.tasks.len() {
            return None;
        }
        line.jobs += 1;
        Some(number)
    }

    /// Returns the task that a job runs: the one that it was made for, or else the newest that
    /// waits.
    fn next(&self, number: u64) -> Option<TakenTask<R>> {
        let mut line = lock(&self.line);
        line.jobs -= 1;
        let own = line.tasks.remove(&number).map(|task| (number, task));
        let next = own.or_else(|| line.tasks.pop_last());
        let (number, Waiting { task, origin, to }) = next?;
        if line.hold.holds(&origin) {
            line.tasks.insert(number, Waiting { task, origin, to });
            return None;
        }
        self.count(&line);
        let Some(lineage) = &mut line.lineage else {
            return Some(TakenTask {
                task,
                to,
                tracked: None,
            });
        };
        let (parent, encoded) = match origin {
            Origin::Untracked => (None, None),
            Origin::Brought(encoded) => (None, Some(encoded)),
            Origin::Spawned(parent) => (Some(parent), None),
        };
        let (timeout, limit) = (task.policy().timeout, lineage.limit());
        let Some(node) = lineage.begin(number, parent, timeout) else {
            self.leave(&mut line, 1);
            drop(line);
            drop(task);
            return None;
        };
        let tracked = Some(Tracked {
            number,
            node,
            encoded,
            limit,
        });
        Some(TakenTask { task, to, tracked })
    }

    fn count(&self, line: &Line<R>) {
        self.waiting.store(line.tasks.len(), Ordering::Relaxed); // [L1]
    }

    fn on_lineage(&self, act: impl FnOnce(&mut Lineage<R>)) {
        if let Some(lineage) = &mut lock(&self.line).lineage {
            act(lineage);
        }
    }

    /// Counts a task that has ended, and stores its result unless that goes to a slot.
    fn keep(&self, result: Option<R>) {
        let last = self.results.len() - 1;
        let place = locksley::current_worker_index().map_or(last, |index| index.min(last));
        let mut kept = lock(&self.results[place]);
        kept.tasks += 1;
        if let Some(result) = result {
            kept.result.combine(result);
        }
    }

    /// Subtracts `tasks` tasks that do not wait or run here any more.
    fn leave(&self, line: &mut Line<R>, tasks: usize) {
        line.pending -= tasks;
        if line.pending == 0 {
            self.idle.notify_all();
        }
    }
}

/// Returns the message of a panic.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a payload that is not text").to_owned()
}

impl<R> fmt::Debug for Shared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}
