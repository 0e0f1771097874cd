//! One process: a Locksley pool, and the tasks that wait for it.
//!
//! A [`Local`] runs the tasks of one process: alone ([`Local::run`]), for [ranks](crate::ranks), or
//! for [leases](crate::leases). The module `shared` describes how tasks wait, and how some of them
//! leave.

mod lineage;
mod shared;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;

use crate::continuation::Slot;
use crate::parcel::{Malformed, Parcel};
use crate::reduce::Reduce;
use crate::task::{Boxed, Program, Task};
use shared::{Origin, Waiting};

pub use lineage::Failed;
pub(crate) use lineage::{Node, ResultParts};
pub use shared::Spawned;
pub(crate) use shared::{Cut, Hold, NewDeferred, Shared, message};

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
    // Not in `Shared`: the last `Arc` of that may be dropped by a job on a worker, and a pool must
    // not be shut down from one of its own workers.
    pool: Arc<Pool>,
    program: Program<R>,
    shared: Arc<Shared<R>>,
}

/// Counts of the tasks of a process so far.
///
/// ```
/// assert_eq!(locksley_cluster::Usage::default().tasks, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// Number of tasks that it has run.
    pub tasks: u64,
    /// Number of tasks that were added, by tasks or from outside.
    pub added: u64,
    /// Number of waiting tasks that left the process.
    pub withdrawn: u64,
}

/// The error for a task that panicked.
///
/// ```
/// use locksley_cluster::Panicked;
///
/// let panicked = Panicked { kind: "count", message: "overflow".to_owned() };
/// assert_eq!(panicked.to_string(), "a task of the kind count panicked: overflow");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task of the kind {kind} panicked: {message}")]
pub struct Panicked {
    /// Name of the task's kind.
    pub kind: &'static str,
    /// Message of the panic.
    pub message: String,
}

impl<R: Reduce> Local<R> {
    /// Creates a process with this pool, which it may share with others, and without tasks.
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
        let shared = Shared::new(&pool);
        Local {
            pool,
            program: program.clone(),
            shared: Arc::new(shared),
        }
    }

    /// Creates a process that tracks which task spawned which, so that its settled results and
    /// tasks can be [cut](Local::cut) off at any time. Results are given in parts of at most
    /// `limit` bytes.
    pub(crate) fn tracked(
        pool: impl Into<Arc<Pool>>,
        program: &Program<R>,
        limit: usize,
        hold: Hold,
    ) -> Local<R> {
        let local = Local::new(pool, program);
        local.shared.track(limit, hold);
        local
    }

    /// Adds a task from outside. `encoded` is its encoded form.
    pub(crate) fn submit_encoded(&self, task: Boxed<R>, to: Option<Slot>, encoded: Vec<u8>) {
        let origin = Origin::Brought(encoded);
        self.bring(Waiting { task, origin, to });
    }

    /// Sets the first part of the numbers of deferred tasks, which must be unique in the job.
    pub(crate) fn set_home(&self, home: u64) {
        self.shared.set_home(home);
    }

    /// Adds a task that came from another process.
    pub(crate) fn submit_parcel(&self, parcel: &Parcel) -> Result<(), Malformed> {
        let task = self.program.unpack(parcel)?;
        let (origin, to) = (Origin::Untracked, parcel.to);
        self.bring(Waiting { task, origin, to });
        Ok(())
    }

    /// Removes up to `at_most` of the oldest waiting tasks, including those with slots.
    pub(crate) fn withdraw_parcels(&self, at_most: usize) -> Vec<Parcel> {
        let taken = self.shared.withdraw(at_most, false);
        taken.iter().map(Waiting::pack).collect()
    }

    /// Takes the inputs for deferred tasks of other processes.
    pub(crate) fn take_outbox(&self) -> Vec<(Slot, R)> {
        self.shared.take_outbox()
    }

    /// Fills a slot with an input that came from another process.
    ///
    /// # Errors
    ///
    /// If this process has no such empty slot.
    pub(crate) fn deliver(&self, slot: Slot, input: R) -> Result<(), Malformed> {
        match self.shared.deliver(slot, input) {
            Some(Some(job)) => self.pool.spawn_detached(job),
            Some(None) => {}
            None if self.shared.cancelled() => {}
            None => {
                let Slot { of, index } = slot;
                return Err(Malformed(format!(
                    "no slot {index} of a deferred task {of}"
                )));
            }
        }
        Ok(())
    }

    /// Takes the settled results and tasks. Returns `None` if that is not possible at the moment,
    /// because a task is being encoded.
    pub(crate) fn cut(&self) -> Option<Cut<R>> {
        self.shared.cut()
    }

    /// Sets which waiting tasks are held back for a cut instead of being begun.
    pub(crate) fn hold(&self, hold: Hold) {
        for job in self.shared.hold(hold) {
            self.pool.spawn_detached(job);
        }
    }

    /// Records a failure for bytes that are not a task.
    pub(crate) fn reject(&self, task: Vec<u8>, reason: String, hopeless: bool) {
        self.shared.reject(task, reason, hopeless);
    }

    /// Returns the number of running tasks, if the process is tracked.
    pub(crate) fn running(&self) -> usize {
        self.shared.running()
    }

    /// Marks tasks as failed whose [time](crate::Policy::timeout) is over. Returns the number of
    /// tasks that have run out of time so far and have not returned.
    pub(crate) fn expire(&self) -> usize {
        self.shared.expire()
    }

    /// Returns `true` if a cut is due: it would take tasks that wait or failed, or the settled
    /// results exceed one part.
    pub(crate) fn is_cut_due(&self) -> bool {
        self.shared.is_cut_due()
    }

    /// Returns `true` if a cut would take results.
    pub(crate) fn has_results(&self) -> bool {
        self.shared.has_results()
    }

    /// Runs tasks, and all tasks that they spawn, to the end, in this process alone.
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
    /// The first task that panicked, once all running tasks have ended. Waiting tasks are dropped.
    pub fn run<T: Task<Output = R>>(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(R, Usage), Panicked> {
        for task in tasks {
            self.submit(Box::new(task));
        }
        while !self.wait(Duration::MAX) {}
        debug_assert!(
            self.is_passive(),
            "all inputs come from tasks of this process"
        );
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
        let (origin, to) = (Origin::Untracked, None);
        self.bring(Waiting { task, origin, to });
    }

    fn bring(&self, waiting: Waiting<R>) {
        if let Some(job) = self.shared.clone().enter(waiting) {
            self.pool.spawn_detached(job);
        }
    }

    /// Returns the program.
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

    /// Returns the pool.
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

    /// Sets the number of waiting tasks below which tasks are [wanted](crate::Tasks::wanted). The
    /// default is twice the number of workers, or 0 if there is one worker: enough for the pool,
    /// without a surplus for other processes.
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
        self.shared.set_appetite(tasks);
    }

    /// Returns the number of waiting tasks, which could be [withdrawn](Local::withdraw). The value
    /// may be stale immediately.
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
        self.shared.waiting()
    }

    /// Removes up to `at_most` of the oldest waiting tasks. Tasks whose results go to a
    /// [continuation](crate::continuation) stay.
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
        let taken = self.shared.withdraw(at_most, true);
        taken.into_iter().map(|waiting| waiting.task).collect()
    }

    /// Returns the number of tasks that wait or run. The value may be stale immediately.
    pub fn pending(&self) -> usize {
        self.shared.pending()
    }

    /// Returns `true` if the process is passive: it is [idle](Local::wait), no
    /// [continuation](crate::continuation) waits for inputs, and no inputs wait to be sent to other
    /// processes. A process without others is passive when it is idle.
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
        self.shared.is_passive()
    }

    /// Waits until the process is idle, but no longer than `at_most`: no task waits, is delayed or
    /// runs. Returns `true` if it is. [Continuations](crate::continuation) may still wait for
    /// inputs from other processes ([`is_passive`](Local::is_passive)).
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
        self.shared.wait(at_most)
    }

    /// Cancels the run: waiting tasks are dropped, and running tasks are
    /// [told](crate::Tasks::cancelled).
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

    /// Returns the first task that panicked, if any. After a panic no further task is started.
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
        self.shared.fault()
    }

    /// Returns the combined result of all tasks that have ended since the last call.
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
        self.shared.take_result()
    }

    /// Returns the counts so far.
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
        self.shared.usage()
    }
}
