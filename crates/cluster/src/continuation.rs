//! Continuations: tasks that receive the results of other tasks, in order.
//!
//! ```
//! use locksley_cluster::{Continuation, Local, Max, Program, Task, Tasks};
//! use serde::{Deserialize, Serialize};
//!
//! /// The Fibonacci numbers, the slow way.
//! #[derive(Serialize, Deserialize)]
//! struct Fib(u64);
//!
//! #[derive(Serialize, Deserialize)]
//! struct Add;
//!
//! impl Task for Fib {
//!     const KIND: &'static str = "fib";
//!     type Output = Max<u64>;
//!
//!     fn run(self, tasks: &Tasks<Max<u64>>) -> Max<u64> {
//!         if self.0 < 2 {
//!             return Max(self.0);
//!         }
//!         tasks.spawn_all([Fib(self.0 - 1), Fib(self.0 - 2)]).then(Add);
//!         Max(0)
//!     }
//! }
//!
//! impl Continuation for Add {
//!     const KIND: &'static str = "fib/add";
//!     type Output = Max<u64>;
//!
//!     fn run(self, inputs: Vec<Max<u64>>, _: &Tasks<Max<u64>>) -> Max<u64> {
//!         Max(inputs[0].0 + inputs[1].0)
//!     }
//! }
//!
//! let program = Program::new("fib").with::<Fib>().with_continuation::<Add>();
//! let pool = locksley::Pool::builder().workers(2).build()?;
//! let (fib, _) = Local::new(pool, &program).run([Fib(15)])?;
//! assert_eq!(fib, Max(610));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a result is
//!
//! The *whole result* of a task is its return value, combined with the whole results of the tasks
//! that it [spawned](Tasks::spawn) and of its continuations. The tasks of a
//! [group](Tasks::spawn_all) are not part of it: their whole results are the inputs of the group's
//! continuation, in the order of the group. The result of a job is the combination of the whole
//! results of its first tasks. So in a program without groups all results are combined, in any
//! order.
//!
//! ```text
//!   Fib(3) ─── spawn_all ──> Fib(2) ── ... ──> Max(1) ─┐ slot 0
//!     │                 └──> Fib(1) ─────────> Max(1) ─┤ slot 1
//!     │                                                v
//!     └─ ends with Max(0), which waits beside ───────> Add ──> Max(2), the whole result of Fib(3)
//! ```
//!
//! # The protocol
//!
//! A *deferred* task is a continuation that waits for inputs. Each input has a [`Slot`]: the number
//! of the deferred task, and an index. A task that belongs to a slot carries the slot with it
//! ([`Parcel::to`](crate::Parcel)), and **each slot is filled exactly once**:
//!
//! - A task of a group has a slot of the group's continuation. A task that spawns nothing fills its
//!   slot with its result when it ends.
//! - A task that made one group and spawned nothing else passes its slot, and its own result, to
//!   the group's continuation, whose result is combined with it.
//! - A task with a slot that spawned others, or made several groups, gets a deferred task of the
//!   built-in kind `locksley/merge`, with a slot for each of them. It combines its inputs.
//!
//! A continuation runs when all of its slots are filled and the task that made it has ended. From
//! then on it is a task like any other, which contains its inputs, and may be stolen, handed over,
//! or tried again.
//!
//! | | in one process | ranks | leases |
//! |---|---|---|---|
//! | owner of a deferred task | the process | the rank that ran the task which made it | the worker's process, until its lease is completed or split; then the server |
//! | where inputs wait | with it | with it, as values | with it: as values in the process, as bytes on the server |
//! | how a result gets there | directly | a message `Inputs` to the owner | in the completion of the lease, in one atomic step with everything else |
//! | how termination is detected | nothing waits or runs | a rank that owns a deferred task is not passive (see below) | every empty slot belongs to a task that waits, is leased or was set aside, so counting these suffices |
//! | a crash | ends the run | ends the job | the lease expires. What its completions had written to the server stays; anything later had no effect and is done again |
//!
//! **Ranks.** Safra's algorithm requires that only messages with work make a passive rank active. A
//! message with inputs may do that, too. So a rank counts as active while it owns a deferred task:
//! such a message then finds its receiver active, and termination cannot be detected while the
//! message is in transit.
//!
//! **Leases.** While a task runs, the deferred tasks that it made belong to it, like the tasks that
//! it spawns (`local/lineage.rs`): if it fails, all of them are void. They are settled when the
//! task and its ancestors have ended. A completion then hands over all deferred tasks that are
//! settled, with the inputs that they have, and fills slots of those that were handed over before.
//! The server turns a deferred task into an entry in the same step that fills its last slot.
//!
//! *The task that fills a slot of a deferred task on the server is settled.* The deferred task is
//! on the server because the task T that made it and all ancestors of T have ended. The slot is
//! filled by a task C of the group, or by the continuation to which C passed its slot. That
//! continuation runs only after C has ended and all slots of its deferred task are filled. So no
//! ancestor of the filling task can still fail, and the fencing of the lease makes the fill happen
//! once.
//!
//! *Numbers of deferred tasks are unique.* A number has two parts: the rank, or the number of the
//! lease's delivery, which a job never uses twice; and a counter of the process. A server that lost
//! its last second cannot have a deferred task of a delivery that it does not know, and never gives
//! that delivery's number to another, since the numbers have random gaps.
//!
//! **A task that was set aside** leaves its slot empty. The continuation never runs, and the job
//! ends without both.
//!
//! # Costs
//!
//! In a process a group costs an allocation and a lock more than its tasks do, and an input is
//! moved, not copied. On ranks a message is sent for each input that was computed elsewhere. On a
//! server, an input is at most as large as a result ([`Limits`](crate::leases::Limits)); and it
//! travels twice, to the server and to the worker that runs the continuation, unless one lease does
//! both.

mod deferred;

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::parcel::{Malformed, Parcel, decode, encode};
use crate::policy::Policy;
use crate::reduce::Reduce;
use crate::task::{Boxed, Runnable, Tasks, Unpack};

pub(crate) use deferred::Deferred;
pub use deferred::DeferredTask;

/// A task that receives the results of a [group](Tasks::spawn_all) of tasks. The [module](self) has
/// an example.
pub trait Continuation: Serialize + DeserializeOwned + Send + 'static {
    /// The name by which every process identifies the kind. It is unique in its program, among
    /// tasks too.
    const KIND: &'static str;

    /// Time limit, tries, pauses and priority of continuations of this kind on
    /// [leases](crate::leases).
    const POLICY: Policy = Policy::new();

    /// The type of the result, which is that of the program's tasks.
    type Output: Reduce;

    /// Makes one result of the inputs, the results of the group's tasks in the order of the group.
    /// It may spawn further tasks and groups.
    fn run(self, inputs: Vec<Self::Output>, tasks: &Tasks<Self::Output>) -> Self::Output;
}

/// The number of a deferred task, unique in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeferredId {
    /// Rank that owns it, or number of the lease's delivery in which it was made.
    pub home: u64,
    /// Counter of the process that made it.
    pub number: u64,
}

impl fmt::Display for DeferredId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.home, self.number)
    }
}

/// The place of an input of a deferred task, which a result fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The deferred task.
    pub of: DeferredId,
    /// Index of the input.
    pub index: u32,
}

/// A group of tasks whose results are passed to a continuation: see [`Tasks::spawn_all`].
#[must_use = "nothing is spawned before `then`"]
pub struct Group<'a, R> {
    pub(crate) tasks: &'a Tasks<R>,
    pub(crate) children: Vec<Boxed<R>>,
}

impl<R: Reduce> Group<'_, R> {
    /// Adds tasks, which may be of another kind. Their results follow those of the earlier tasks.
    pub fn and<T: crate::Task<Output = R>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        let more = more.into_iter().map(|task| Box::new(task) as Boxed<R>);
        self.children.extend(more);
        self
    }

    /// Spawns the tasks. The continuation runs with their results when all of them, the tasks that
    /// they spawned, and the calling task have ended.
    pub fn then<C: Continuation<Output = R>>(self, continuation: C) {
        self.tasks.defer(self.children, Box::new(continuation));
    }
}

impl<R> fmt::Debug for Group<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("children", &self.children.len())
            .finish_non_exhaustive()
    }
}

/// Combines the results of the tasks and groups that a task with a slot has made.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Merge<R>(PhantomData<fn() -> R>);

impl<R> Merge<R> {
    pub(crate) fn new() -> Merge<R> {
        Merge(PhantomData)
    }
}

impl<R: Reduce> Continuation for Merge<R> {
    const KIND: &'static str = "locksley/merge";
    type Output = R;

    fn run(self, inputs: Vec<R>, _: &Tasks<R>) -> R {
        let mut all = R::identity();
        inputs.into_iter().for_each(|input| all.combine(input));
        all
    }
}

/// A continuation with all of its inputs: a task that can run.
struct Ready<C: Continuation> {
    continuation: C,
    /// Return value of the task that made it, if that passed its slot on.
    own: Option<C::Output>,
    inputs: Vec<C::Output>,
}

impl<C: Continuation> Runnable<C::Output> for Ready<C> {
    fn kind(&self) -> &'static str {
        C::KIND
    }

    fn pack(&self) -> Parcel {
        Parcel {
            kind: C::KIND.to_owned(),
            inputs: inputs_in(&self.own, self.inputs.len()),
            to: None,
            argument: encode(&(&self.continuation, &self.own, &self.inputs)),
        }
    }

    fn policy(&self) -> Policy {
        C::POLICY
    }

    fn run(self: Box<Self>, tasks: &Tasks<C::Output>) -> C::Output {
        let mut result = self.continuation.run(self.inputs, tasks);
        if let Some(own) = self.own {
            result.combine(own);
        }
        result
    }
}

/// Returns the number of results in the parcel of a continuation.
fn inputs_in<R>(own: &Option<R>, inputs: usize) -> u32 {
    u32::try_from(inputs + usize::from(own.is_some())).unwrap_or(u32::MAX)
}

/// Returns the function that deserialises a continuation with its inputs.
pub(crate) fn unpack<C: Continuation>() -> Unpack<C::Output> {
    |bytes: &[u8]| -> Result<Boxed<C::Output>, Malformed> {
        let (continuation, own, inputs) = decode(bytes)?;
        Ok(Box::new(Ready::<C> {
            continuation,
            own,
            inputs,
        }))
    }
}

/// A continuation of any kind that waits for its inputs.
pub(crate) trait ErasedContinuation<R>: Send {
    fn kind(&self) -> &'static str;

    fn policy(&self) -> Policy;

    /// Encodes the continuation without its inputs.
    fn head(&self) -> Vec<u8>;

    fn ready(self: Box<Self>, own: Option<R>, inputs: Vec<R>) -> Boxed<R>;
}

impl<C: Continuation> ErasedContinuation<C::Output> for C {
    fn kind(&self) -> &'static str {
        C::KIND
    }

    fn policy(&self) -> Policy {
        C::POLICY
    }

    fn head(&self) -> Vec<u8> {
        encode(self)
    }

    fn ready(self: Box<Self>, own: Option<C::Output>, inputs: Vec<C::Output>) -> Boxed<C::Output> {
        Box::new(Ready {
            continuation: *self,
            own,
            inputs,
        })
    }
}
