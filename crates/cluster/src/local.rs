//! One process: a Locksley pool, and the tasks that wait in it.
//!
//! ```text
//!               pool: a job for each task          line: the same tasks, in the order in which they came
//!   worker 0  | job d | job c | job a |        front | a | b | c | d | back
//!   worker 1  | job b |                              '-- the oldest are withdrawn from here --> another process
//!                 '---- each takes its task out of its slot; if that is empty, the newest that waits, or nothing
//! ```
//!
//! The pool's strategy balances its workers, as it does for any other jobs. A task waits in a *slot* that its job and the line
//! share; whoever comes first takes it out. So the surplus of a process, and only that, can leave it, and what stays is never
//! serialised. A job whose task has left is a *ghost*: the next task that comes needs no job of its own, so there are never more jobs than
//! tasks have waited at the same time.
//!
//! **Invariants.** At least as many jobs as tasks wait: so every task that waits is run, or withdrawn.
//!
//! `pending` is the number of tasks that wait or run here: a task is counted before its parent is finished and
//! until it has been run and its result is kept, or it was withdrawn. So zero means that nothing will happen here until somebody
//! submits a task: the process is *passive*.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use locksley::Pool;

use crate::reduce::Reduce;
use crate::task::{Boxed, Program, Task, Tasks};

/// A process's pool with the tasks of a program.
///
/// ```
/// use locksley_cluster::{Local, Program, Sum, Task, Tasks};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Square(u64);
///
/// impl Task for Square {
///     const KIND: &'static str = "square";
///     type Output = Sum<u64>;
///
///     fn run(self, _: &Tasks<Sum<u64>>) -> Sum<u64> {
///         Sum(self.0 * self.0)
///     }
/// }
///
/// let program = Program::new("squares").with::<Square>();
/// let pool = locksley::Pool::builder().workers(2).build()?;
/// let (sum, usage) = Local::new(pool, &program).run((1..=10).map(Square))?;
/// assert_eq!(sum, Sum(385));
/// assert_eq!(usage.tasks, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Local<R> {
    // Not in `Shared`: the last one who drops that may be a job on a worker, and a pool is not ended from inside.
    pool: Arc<Pool>,
    program: Program<R>,
    shared: Arc<Shared<R>>,
}

/// What a process has done so far.
///
/// ```
/// assert_eq!(locksley_cluster::Usage::default().tasks, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// How many tasks it has run.
    pub tasks: u64,
    /// How many tasks were added here, by tasks or from outside.
    pub added: u64,
    /// How many it gave away.
    pub withdrawn: u64,
}

/// A task panicked.
///
/// ```
/// use locksley_cluster::Panicked;
///
/// let panicked = Panicked { kind: "count", message: "overflow".to_owned() };
/// assert_eq!(panicked.to_string(), "a task of the kind count panicked: overflow");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The name of its kind.
    pub kind: &'static str,
    /// What it said.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a task of the kind {} panicked: {}",
            self.kind, self.message
        )
    }
}

impl std::error::Error for Panicked {}

/// A place where a task waits: its job has it, and so has the line.
type Slot<R> = Arc<Mutex<Option<Boxed<R>>>>;

/// The tasks that wait, and the jobs that will come for them.
struct Line<R> {
    /// In the order in which their tasks came. Some are empty.
    slots: VecDeque<Slot<R>>,
    /// How many jobs wait in the pool.
    jobs: usize,
}

/// What the jobs of a process share.
pub(crate) struct Shared<R> {
    line: Mutex<Line<R>>,
    /// How many tasks wait in slots. Written only by who has locked the line.
    waiting: AtomicUsize,
    /// How many tasks had better wait, see [`Tasks::wanted`].
    appetite: AtomicUsize,
    /// How many tasks wait or run.
    pending: AtomicUsize,
    cancelled: AtomicBool,
    /// A result for each worker, and one for spares: fewer quarrels about the locks.
    results: Vec<Mutex<Kept<R>>>,
    fault: Mutex<Option<Panicked>>,
    /// Goes with `passive`; what is waited for is `pending == 0`.
    door: Mutex<()>,
    passive: Condvar,
    given: AtomicUsize,
    added: AtomicUsize,
}

struct Kept<R> {
    result: R,
    tasks: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nobody panics while holding one of these locks, except in a result's `combine`, which is caught and reported.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Reduce> Local<R> {
    /// A process with this pool, which it may share with others, and nothing to do yet.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert!(local.is_passive());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(pool: impl Into<Arc<Pool>>, program: &Program<R>) -> Local<R> {
        let pool = pool.into();
        let kept = || {
            Mutex::new(Kept {
                result: R::identity(),
                tasks: 0,
            })
        };
        let workers = pool.workers();
        let shared = Shared {
            line: Mutex::new(Line {
                slots: VecDeque::new(),
                jobs: 0,
            }),
            waiting: AtomicUsize::new(0),
            appetite: AtomicUsize::new(if workers > 1 { 2 * workers } else { 0 }),
            pending: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            results: std::iter::repeat_with(kept).take(workers + 1).collect(),
            fault: Mutex::new(None),
            door: Mutex::new(()),
            passive: Condvar::new(),
            given: AtomicUsize::new(0),
            added: AtomicUsize::new(0),
        };
        Local {
            pool,
            program: program.clone(),
            shared: Arc::new(shared),
        }
    }

    /// Runs tasks, and all that they spawn, to the end, in this process alone.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let (counted, usage) = Local::new(pool, &uts::program()).run([Search::whole(tree)])?;
    /// assert!(counted.0.nodes >= 101 && usage.tasks >= 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first task that panicked, when those that were running are done. Those that were waiting are dropped.
    pub fn run<T: Task<Output = R>>(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(R, Usage), Panicked> {
        for task in tasks {
            self.submit(Box::new(task));
        }
        while !self.wait(Duration::MAX) {}
        match self.fault() {
            Some(fault) => Err(fault),
            None => Ok((self.take_result(), self.usage())),
        }
    }

    /// Adds a task from outside.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.submit(Box::new(Search::whole(tree)));
    /// local.wait(std::time::Duration::MAX);
    /// assert!(local.take_result().0.nodes >= 101);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(&self, task: Boxed<R>) {
        if let Some(job) = self.shared.clone().enter(task) {
            self.pool.spawn_detached(job);
        }
    }

    /// The program.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.program().name(), "uts");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn program(&self) -> &Program<R> {
        &self.program
    }

    /// The pool.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.pool().workers(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// From now on tasks are [wanted](Tasks::wanted) while fewer than this many wait. At first it is twice the number of workers, or
    /// none if there is one worker: enough for the pool, and nothing for other processes.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.set_appetite(16); // for others to come and take some
    /// local.run([Search::whole(tree)])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_appetite(&self, tasks: usize) {
        self.shared.appetite.store(tasks, Ordering::Relaxed);
    }

    /// How many tasks wait: what could be [withdrawn](Local::withdraw). It may be out of date at once.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.surplus(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn surplus(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Takes up to this many of the oldest tasks that wait away from here.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.submit(Box::new(Search::whole(tree)));
    /// // It may be running already.
    /// for task in local.withdraw(1) {
    ///     assert_eq!(task.pack().kind, "uts/search");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn withdraw(&self, at_most: usize) -> Vec<Boxed<R>> {
        self.shared.withdraw(at_most)
    }

    /// How many tasks wait or run here. It may be out of date at once.
    pub fn pending(&self) -> usize {
        self.shared.pending.load(Ordering::Relaxed)
    }

    /// Is there nothing to do here, and will there be nothing until somebody submits a task?
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.submit(Box::new(Search::whole(tree)));
    /// while !local.is_passive() {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_passive(&self) -> bool {
        self.shared.pending.load(Ordering::Acquire) == 0
    }

    /// Waits until the process is passive, or for so long. Is it passive?
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.submit(Box::new(Search::whole(tree)));
    /// while !local.wait(std::time::Duration::from_millis(100)) {
    ///     println!("still at it");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&self, at_most: Duration) -> bool {
        let shared = &self.shared;
        let busy = |(): &mut ()| !self.is_passive();
        let door = lock(&shared.door);
        if at_most == Duration::MAX {
            drop(shared.passive.wait_while(door, busy));
            return true;
        }
        match shared.passive.wait_timeout_while(door, at_most, busy) {
            Ok((_, timeout)) => !timeout.timed_out(),
            Err(_) => self.is_passive(),
        }
    }

    /// Gives up: what waits is dropped, and what runs is [told](Tasks::cancelled).
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// local.submit(Box::new(Search::whole(tree)));
    /// local.cancel();
    /// local.wait(std::time::Duration::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    /// The first task that panicked, if any did. After that no further task is started here.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.fault(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fault(&self) -> Option<Panicked> {
        lock(&self.shared.fault).clone()
    }

    /// The result of all tasks that were finished here since the last call.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.take_result(), uts::Counted::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_result(&self) -> R {
        let mut result = R::identity();
        for kept in &self.shared.results {
            let kept = std::mem::replace(&mut lock(kept).result, R::identity());
            result.combine(kept);
        }
        result
    }

    /// What was done here so far.
    ///
    /// ```
    /// # use locksley_cluster::Local;
    /// # use locksley_cluster::programs::uts::{self, Search};
    /// # use locksley_workload::UtsTree;
    /// # let tree = UtsTree::binomial(100.0, 0.2, 4, 42);
    /// # let pool = locksley::Pool::builder().workers(1).build()?;
    /// let local = Local::new(pool, &uts::program());
    /// assert_eq!(local.usage().tasks, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn usage(&self) -> Usage {
        Usage {
            tasks: self
                .shared
                .results
                .iter()
                .map(|kept| lock(kept).tasks)
                .sum(),
            added: self.shared.added.load(Ordering::Relaxed) as u64,
            withdrawn: self.shared.given.load(Ordering::Relaxed) as u64,
        }
    }
}

impl<R: Reduce> Shared<R> {
    pub(crate) fn wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < self.appetite.load(Ordering::Relaxed)
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Adds a task, from a worker of the pool.
    pub(crate) fn spawn(self: Arc<Self>, task: Boxed<R>) {
        if let Some(job) = self.enter(task) {
            locksley::spawn_detached(job);
        }
    }

    /// Lets a task wait, and gives the job that runs it, unless there is a ghost that will.
    fn enter(self: Arc<Self>, task: Boxed<R>) -> Option<impl FnOnce() + Send + 'static> {
        // Relaxed: whoever spawns is counted itself until later, and whoever submits is the one who asks.
        self.pending.fetch_add(1, Ordering::Relaxed);
        self.added.fetch_add(1, Ordering::Relaxed);
        let slot: Slot<R> = Arc::new(Mutex::new(Some(task)));
        let mut line = lock(&self.line);
        let waiting = 1 + self.waiting.fetch_add(1, Ordering::Relaxed);
        line.slots.push_back(slot.clone());
        line.tidy(waiting);
        if line.jobs >= waiting {
            return None;
        }
        line.jobs += 1;
        drop(line);
        Some(move || {
            if let Some(task) = self.next(&slot) {
                self.execute(task);
            }
        })
    }

    /// What a job runs: the task that it came with, or else the newest that waits.
    fn next(&self, slot: &Slot<R>) -> Option<Boxed<R>> {
        let mut line = lock(&self.line);
        line.jobs -= 1;
        let task = lock(slot).take().or_else(|| line.newest())?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(task)
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
        self.leave(1);
    }

    fn keep(&self, result: R) {
        let last = self.results.len() - 1;
        let place = locksley::current_worker_index().map_or(last, |index| index.min(last));
        let mut kept = lock(&self.results[place]);
        kept.tasks += 1;
        kept.result.combine(result);
    }

    /// So many tasks no longer wait or run here.
    fn leave(&self, tasks: usize) {
        // Release: whoever sees zero (`is_passive`) sees the results. AcqRel, since it is a chain of such.
        if self.pending.fetch_sub(tasks, Ordering::AcqRel) == tasks {
            // With the lock, so that nobody looks, is told, and goes to sleep only then.
            drop(lock(&self.door));
            self.passive.notify_all();
        }
    }

    fn withdraw(&self, at_most: usize) -> Vec<Boxed<R>> {
        let mut taken = Vec::new();
        let mut line = lock(&self.line);
        while taken.len() < at_most
            && let Some(slot) = line.slots.pop_front()
        {
            taken.extend(lock(&slot).take());
        }
        self.waiting.fetch_sub(taken.len(), Ordering::Relaxed);
        drop(line);
        if !taken.is_empty() {
            self.given.fetch_add(taken.len(), Ordering::Relaxed);
            self.leave(taken.len());
        }
        taken
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // What waits is dropped, so that nobody must run through it.
        drop(self.withdraw(usize::MAX));
    }
}

impl<R> Line<R> {
    /// Takes the newest task that waits.
    fn newest(&mut self) -> Option<Boxed<R>> {
        while let Some(slot) = self.slots.pop_back() {
            let task = lock(&slot).take();
            if task.is_some() {
                return task;
            }
        }
        None
    }

    /// Throws empty slots away where they are many: at a constant cost for each task that came.
    fn tidy(&mut self, waiting: usize) {
        if self.slots.len() > 2 * waiting + 64 {
            self.slots.retain(|slot| lock(slot).is_some());
        }
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
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
