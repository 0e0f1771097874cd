//! Tasks, and programs, which find the kinds of tasks by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::continuation::{self, Continuation, ErasedContinuation, Group, Merge, Slot};
use crate::local::{NewDeferred, Node, Shared};
use crate::parcel::{Malformed, Parcel, decode};
use crate::policy::Policy;
use crate::reduce::Reduce;

/// A kind of task: a value that can be sent to any process and run there.
///
/// A task contains what it needs, or can get it wherever it runs (from a file system that all hosts
/// share, say). If it has effects besides its result they must be idempotent: on Redis a task whose
/// worker dies is run again.
///
/// ```
/// use locksley_cluster::{Sum, Task, Tasks};
/// use serde::{Deserialize, Serialize};
///
/// /// Adds up a range of numbers.
/// #[derive(Serialize, Deserialize)]
/// struct Range {
///     from: u64,
///     to: u64,
/// }
///
/// impl Task for Range {
///     const KIND: &'static str = "range";
///     type Output = Sum<u64>;
///
///     fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
///         let Range { from, mut to } = self;
///         while to - from > 1000 && tasks.wanted() {
///             let middle = from + (to - from) / 2;
///             tasks.spawn(Range { from: middle, to });
///             to = middle;
///         }
///         Sum((from..to).sum())
///     }
/// }
/// # let program = locksley_cluster::Program::new("ranges").with::<Range>();
/// # let pool = locksley::Pool::builder().workers(2).build()?;
/// # let (sum, _) = locksley_cluster::Local::new(pool, &program).run([Range { from: 0, to: 100_000 }])?;
/// # assert_eq!(sum, Sum(4_999_950_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// The name by which every process identifies the kind. It is unique in its program.
    const KIND: &'static str;

    /// How tasks of this kind are treated on [leases](crate::leases): time limit, tries, pauses
    /// between them, priority.
    const POLICY: Policy = Policy::new();

    /// The type of the result. The results of all tasks are combined into one.
    type Output: Reduce;

    /// Runs the task, which may spawn others. It runs on a worker of a Locksley pool, so
    /// `locksley::join` and the like work.
    fn run(self, tasks: &Tasks<Self::Output>) -> Self::Output;
}

/// The handle by which a running task spawns others. A [`Task`] has an example.
pub struct Tasks<R> {
    pub(crate) shared: Arc<Shared<R>>,
    /// The running task in the lineage, if the process is tracked.
    pub(crate) node: Option<Arc<Node<R>>>,
    /// Slot that receives the task's result; `None` if it is combined into the result of the job.
    pub(crate) to: Option<Slot>,
    /// Deferred tasks that the task has made.
    pub(crate) made: Mutex<NewDeferred>,
}

impl<R: Reduce> Tasks<R> {
    /// Adds a task. Any worker may run it: the pool's strategy moves it between the workers of this
    /// process, and another process may take it. On Redis it cannot leave the process before the
    /// task that spawned it has ended.
    ///
    /// Spawning costs an allocation and a lock, so a task should do some 10 us of work or more. For
    /// finer parallelism inside a process use `locksley::join`.
    pub fn spawn<T: Task<Output = R>>(&self, task: T) {
        let to = self
            .to
            .map(|_| self.shared.merge_slot(&self.made, &self.node));
        let shared = self.shared.clone();
        shared.spawn(Box::new(task), self.node.clone(), to);
    }

    /// Adds a task that begins no earlier than `delay` from now. On [leases](crate::leases) the
    /// server keeps it until then. In one process and on ranks a thread of the process keeps it,
    /// and the run does not end before it.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use locksley_cluster::{Local, Max, Program, Task, Tasks};
    /// use serde::{Deserialize, Serialize};
    ///
    /// /// Looks twice whether something is there.
    /// #[derive(Serialize, Deserialize)]
    /// struct Look {
    ///     again: bool,
    /// }
    ///
    /// impl Task for Look {
    ///     const KIND: &'static str = "look";
    ///     type Output = Max<u64>;
    ///
    ///     fn run(self, tasks: &Tasks<Max<u64>>) -> Max<u64> {
    ///         if self.again {
    ///             tasks.spawn_after(Duration::from_millis(20), Look { again: false });
    ///             return Max(1);
    ///         }
    ///         Max(2)
    ///     }
    /// }
    ///
    /// let (start, program) = (Instant::now(), Program::new("looks").with::<Look>());
    /// let pool = locksley::Pool::builder().workers(1).build()?;
    /// let (seen, _) = Local::new(pool, &program).run([Look { again: true }])?;
    /// assert_eq!(seen, Max(2));
    /// assert!(start.elapsed() >= Duration::from_millis(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_after<T: Task<Output = R>>(&self, delay: Duration, task: T) {
        let to = self
            .to
            .map(|_| self.shared.merge_slot(&self.made, &self.node));
        let due = Instant::now() + delay;
        self.shared
            .spawn_at(due, Box::new(task), self.node.clone(), to);
    }

    /// Makes a group of tasks whose results are passed, in this order, to a
    /// [continuation](Continuation) instead of being combined into the result of the job.
    /// [`continuation`](crate::continuation) has an example, and defines the result of a task.
    ///
    /// ```no_run
    /// # use locksley_cluster::{Continuation, Sum, Task, Tasks};
    /// # fn example<T: Task<Output = Sum<u64>>, C: Continuation<Output = Sum<u64>>>(
    /// #     tasks: &Tasks<Sum<u64>>, left: T, right: T, merge: C,
    /// # ) {
    /// tasks.spawn_all([left, right]).then(merge);
    /// # }
    /// ```
    pub fn spawn_all<T: Task<Output = R>>(
        &self,
        children: impl IntoIterator<Item = T>,
    ) -> Group<'_, R> {
        let children = children.into_iter();
        Group {
            tasks: self,
            children: children.map(|task| Box::new(task) as Boxed<R>).collect(),
        }
    }

    /// Spawns the `children` of a group, and defers its continuation.
    pub(crate) fn defer(
        &self,
        children: Vec<Boxed<R>>,
        continuation: Box<dyn ErasedContinuation<R>>,
    ) {
        let (shared, node) = (&self.shared, &self.node);
        let of = shared.defer(&self.made, continuation, children.len(), node);
        for (index, child) in children.into_iter().enumerate() {
            let index = index as u32;
            let to = Some(Slot { of, index });
            shared.clone().spawn(child, node.clone(), to);
        }
    }

    /// Returns `true` if more tasks are useful, that is, if fewer tasks wait in this process than
    /// other workers and processes may take. A task that holds much work, such as the nodes of a
    /// tree that it has still to visit, calls this every 50 us or so and, if it returns `true`,
    /// spawns a part of its work: ideally half.
    pub fn wanted(&self) -> bool {
        self.shared.wanted()
    }

    /// Returns `true` if the result is not needed any more: the run has been cancelled, or this try
    /// has [run out of time](Policy::timeout). A long task polls this, and returns at once if it is
    /// `true`.
    pub fn cancelled(&self) -> bool {
        let late = self.node.as_ref().is_some_and(|node| node.is_late());
        late || self.shared.cancelled()
    }
}

impl<R> fmt::Debug for Tasks<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

/// A task of any kind. Every [`Task`] implements this.
///
/// ```
/// use locksley_cluster::Boxed;
/// use locksley_cluster::programs::uts::{Counted, Search};
/// use locksley_workload::UtsTree;
///
/// let task: Boxed<Counted> = Box::new(Search::whole(UtsTree::published("T1").unwrap()));
/// assert_eq!(task.kind(), "uts/search");
/// assert_eq!(task.pack().kind, "uts/search");
/// ```
pub trait Runnable<R>: Send {
    /// Returns the name of its kind.
    fn kind(&self) -> &'static str;

    /// Returns the serialised task.
    fn pack(&self) -> Parcel;

    /// Returns the policy of its kind.
    fn policy(&self) -> Policy;

    /// Runs the task.
    fn run(self: Box<Self>, tasks: &Tasks<R>) -> R;
}

/// A boxed task of any kind.
pub type Boxed<R> = Box<dyn Runnable<R>>;

impl<T: Task> Runnable<T::Output> for T {
    fn kind(&self) -> &'static str {
        T::KIND
    }

    fn pack(&self) -> Parcel {
        Parcel::of(self)
    }

    fn policy(&self) -> Policy {
        T::POLICY
    }

    fn run(self: Box<Self>, tasks: &Tasks<T::Output>) -> T::Output {
        Task::run(*self, tasks)
    }
}

pub(crate) type Unpack<R> = fn(&[u8]) -> Result<Boxed<R>, Malformed>;

/// A set of task kinds, identified by name.
///
/// ```
/// use locksley_cluster::programs::uts;
/// use locksley_cluster::{Parcel, Program};
///
/// let program: Program<uts::Counted> = Program::new("trees").with::<uts::Search>();
/// assert_eq!(program.kinds().collect::<Vec<_>>(), ["uts/search"]);
/// let stray = Parcel::new("count", Vec::new());
/// let error = program.unpack(&stray).err().unwrap();
/// assert_eq!(error.to_string(), "malformed: the program trees has no kind \"count\"");
/// ```
pub struct Program<R> {
    name: &'static str,
    kinds: BTreeMap<&'static str, (Unpack<R>, Policy)>,
}

impl<R: Reduce> Program<R> {
    /// Creates a program without kinds.
    pub fn new(name: &'static str) -> Program<R> {
        let program = Program {
            name,
            kinds: BTreeMap::new(),
        };
        program.insert(
            Merge::<R>::KIND,
            continuation::unpack::<Merge<R>>(),
            Policy::new(),
        )
    }

    fn insert(mut self, kind: &'static str, unpack: Unpack<R>, policy: Policy) -> Program<R> {
        let before = self.kinds.insert(kind, (unpack, policy));
        assert!(
            before.is_none(),
            "the program {} has two kinds named {kind}",
            self.name
        );
        self
    }

    /// Adds a kind of task.
    ///
    /// # Panics
    ///
    /// If the program already has a kind of that name, or the name is empty.
    #[must_use]
    pub fn with<T: Task<Output = R>>(self) -> Program<R> {
        assert!(!T::KIND.is_empty(), "the name of a kind must not be empty");
        let unpack = |bytes: &[u8]| decode::<T>(bytes).map(|task| Box::new(task) as Boxed<R>);
        self.insert(T::KIND, unpack, T::POLICY)
    }

    /// Adds a kind of [continuation](Continuation).
    ///
    /// # Panics
    ///
    /// If the program already has a kind of that name, or the name is empty.
    #[must_use]
    pub fn with_continuation<C: Continuation<Output = R>>(self) -> Program<R> {
        assert!(!C::KIND.is_empty(), "the name of a kind must not be empty");
        self.insert(C::KIND, continuation::unpack::<C>(), C::POLICY)
    }

    /// Returns the name of the program.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the names of its kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let ours = |kind: &&str| *kind != Merge::<R>::KIND;
        self.kinds.keys().copied().filter(ours)
    }

    /// Returns the policy of a kind; the default one if the program has no such kind.
    pub fn policy(&self, kind: &str) -> Policy {
        let found = self.kinds.get(kind);
        found.map_or(Policy::new(), |(_, policy)| *policy)
    }

    /// Deserialises the task in a parcel.
    ///
    /// # Errors
    ///
    /// If the program has no such kind, or the argument cannot be decoded as one of that kind.
    pub fn unpack(&self, parcel: &Parcel) -> Result<Boxed<R>, Malformed> {
        let (unpack, _) = self.kinds.get(parcel.kind.as_str()).ok_or_else(|| {
            let kind: String = parcel.kind.chars().take(40).collect();
            Malformed(format!("the program {} has no kind {kind:?}", self.name))
        })?;
        unpack(&parcel.argument).map_err(|Malformed(why)| {
            Malformed(format!("not an argument of {}: {why}", parcel.kind))
        })
    }
}

impl<R> Clone for Program<R> {
    fn clone(&self) -> Program<R> {
        Program {
            name: self.name,
            kinds: self.kinds.clone(),
        }
    }
}

impl<R> fmt::Debug for Program<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.kinds.keys().collect();
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("kinds", &kinds)
            .finish()
    }
}
