//! Tasks that can travel, and programs, which know them by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::continuation::{self, Continuation, Group, Merge, Slot, Waits};
use crate::local::{Made, Node, Shared};
use crate::parcel::{Malformed, Parcel, decode};
use crate::policy::Policy;
use crate::reduce::Reduce;

/// A kind of task: a value that can be sent anywhere and run there.
///
/// What it needs is in it, or can be had from wherever it runs (a file system that all hosts share,
/// say). If it has effects besides its result they must be idempotent: on Redis a task whose worker
/// dies is run again.
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
    /// The name by which every process knows it: unique in its program.
    const KIND: &'static str;

    /// How tasks of this kind are treated on [leases](crate::leases): time limit, tries, pauses
    /// between them, priority.
    const POLICY: Policy = Policy::new();

    /// What is known when all tasks have been run.
    type Output: Reduce;

    /// Does what there is to do, or spawns it. It runs on a worker of a Locksley pool, so
    /// `locksley::join` and its kin work.
    fn run(self, tasks: &Tasks<Self::Output>) -> Self::Output;
}

/// Where a running task spawns others. A [`Task`] has an example.
pub struct Tasks<R> {
    pub(crate) shared: Arc<Shared<R>>,
    /// The task that runs, where it is kept who spawned whom.
    pub(crate) node: Option<Arc<Node<R>>>,
    /// Where the task's result goes, if not into that of the job.
    pub(crate) to: Option<Slot>,
    /// What the task has deferred.
    pub(crate) made: Mutex<Made>,
}

impl<R: Reduce> Tasks<R> {
    /// Adds a task. Who runs it, and where, is open: the pool's strategy moves it between the
    /// workers of this process, and another process may take it away. On Redis it can leave the
    /// process when the task that spawned it has ended.
    ///
    /// It costs an allocation and a lock, so it should be worth some 10 us or more. For finer
    /// parallelism inside of a process there is `locksley::join`.
    pub fn spawn<T: Task<Output = R>>(&self, task: T) {
        let to = self
            .to
            .map(|_| self.shared.merge_slot(&self.made, &self.node));
        let shared = self.shared.clone();
        shared.spawn(Box::new(task), self.node.clone(), to);
    }

    /// Adds a task that begins no earlier than `delay` from now. On [leases](crate::leases) the
    /// server keeps it until then. In one process and on ranks a thread of the process does, and
    /// the run does not end before.
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

    /// Tasks whose results go, in this order, to a [continuation](Continuation) instead of into the
    /// result of the job. [`continuation`](crate::continuation) has an example, and says what the
    /// result of a task is.
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

    /// Spawns a group.
    pub(crate) fn defer(&self, children: Vec<Boxed<R>>, continuation: Box<dyn Waits<R>>) {
        let (shared, node) = (&self.shared, &self.node);
        let of = shared.defer(&self.made, continuation, children.len(), node);
        for (index, child) in children.into_iter().enumerate() {
            let index = index as u32;
            let to = Some(Slot { of, index });
            shared.clone().spawn(child, node.clone(), to);
        }
    }

    /// Returns `true` if more tasks are useful: while fewer wait here than others may come for. A
    /// task that holds much work, such as the nodes of a tree that it has still to visit, looks now
    /// and then, every 50 us or so, and spawns a part of what it has if so. A good part is one with
    /// half of the work.
    pub fn wanted(&self) -> bool {
        self.shared.wanted()
    }

    /// Returns `true` if the result is not wanted any more: the run has been given up, or this try
    /// has [run out of time](Policy::timeout). A long task looks now and then, and returns at once.
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

/// A task of any kind of a program: every [`Task`] is one.
///
/// ```
/// use locksley_cluster::Boxed;
/// use locksley_cluster::programs::uts::{Counted, Search};
/// use locksley_workload::UtsTree;
///
/// let task: Boxed<Counted> = Box::new(Search::whole(UtsTree::named("T1").unwrap()));
/// assert_eq!(task.kind(), "uts/search");
/// assert_eq!(task.pack().kind, "uts/search");
/// ```
pub trait Runnable<R>: Send {
    /// Its name.
    fn kind(&self) -> &'static str;

    /// The task as it travels.
    fn pack(&self) -> Parcel;

    /// How tasks of its kind are treated on leases.
    fn policy(&self) -> Policy;

    /// Runs it.
    fn run(self: Box<Self>, tasks: &Tasks<R>) -> R;
}

/// A task of any kind, in memory.
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

/// The kinds of tasks that belong together, by name.
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
    /// A program with no kinds yet.
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
            "the program {} has two kinds of the name {kind}",
            self.name
        );
        self
    }

    /// The program with one more kind.
    ///
    /// # Panics
    ///
    /// If it has a kind of that name, or the name is empty.
    #[must_use]
    pub fn with<T: Task<Output = R>>(self) -> Program<R> {
        assert!(!T::KIND.is_empty(), "a kind has a name");
        let unpack = |bytes: &[u8]| decode::<T>(bytes).map(|task| Box::new(task) as Boxed<R>);
        self.insert(T::KIND, unpack, T::POLICY)
    }

    /// The program with one more kind of [continuation](Continuation).
    ///
    /// # Panics
    ///
    /// If it has a kind of that name, or the name is empty.
    #[must_use]
    pub fn with_continuation<C: Continuation<Output = R>>(self) -> Program<R> {
        assert!(!C::KIND.is_empty(), "a kind has a name");
        self.insert(C::KIND, continuation::unpack::<C>(), C::POLICY)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let ours = |kind: &&str| *kind != Merge::<R>::KIND;
        self.kinds.keys().copied().filter(ours)
    }

    /// How tasks of a kind are treated on leases.
    pub fn policy(&self, kind: &str) -> Policy {
        let found = self.kinds.get(kind);
        found.map_or(Policy::new(), |(_, policy)| *policy)
    }

    /// The task in a parcel.
    ///
    /// # Errors
    ///
    /// If the program has no such kind, or the argument is none of that kind.
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
