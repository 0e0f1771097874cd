//! Continuations: tasks that get the results of other tasks, in order.
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
//! The *whole result* of a task is what it returns, combined with the whole results of the tasks
//! that it [spawned](Tasks::spawn) and of its continuations. The tasks of a
//! [group](Tasks::spawn_all) are not part of it: their whole results are the inputs of the group's
//! continuation, in the order of the group. The result of a job is the combination of the whole
//! results of its first tasks. So without groups nothing changes: all results are combined in any
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
//! of the deferred task, and an index. A task that belongs to a slot carries it wherever it goes
//! ([`Parcel::to`](crate::Parcel)), and **each slot is filled exactly once**:
//!
//! - A task of a group has a slot of the group's continuation. A task that spawns nothing fills its
//!   slot with its result when it ends.
//! - A task that made one group and spawned nothing else hands its slot on to the group's
//!   continuation, with its own result: the continuation's result is combined with that.
//! - A task with a slot that spawned others, or made several groups, gets a deferred task of the
//!   built-in kind `locksley/merge`, with a slot for each of them. It combines its inputs.
//!
//! A continuation runs when all of its slots are filled and the task that made it has ended. From
//! then on it is a task like any other, with its inputs inside, and may be stolen, handed over, or
//! tried again.
//!
//! | | in one process | ranks | leases |
//! |---|---|---|---|
//! | owner of a deferred task | the process | the rank that ran the task which made it | the worker's process, until its lease is completed or goes on with a part; then the server |
//! | where inputs wait | with it | with it, as values | with it: as values in the process, as bytes on the server |
//! | how a result gets there | directly | a message `Inputs` to the owner | in the completion of the lease, in one step with everything else |
//! | how the end is known | nothing waits or runs | a rank that owns a deferred task is not passive (see below) | every empty slot belongs to a task that waits, is leased or was set aside, so the number of these is enough |
//! | a crash | ends the run | ends the job | the lease runs out. What its completions had left on the server stays; all that came later had no effect and is done again |
//!
//! **Ranks.** Safra's algorithm needs that only work makes a passive rank active. A message with
//! inputs may do that, too. So a rank with a deferred task counts as active while it waits: the
//! message finds its receiver active, and termination cannot be detected while it is under way.
//!
//! **Leases.** While a task runs, the deferred tasks that it made belong to it, as the tasks do
//! that it spawned (`local/lineage.rs`): if it fails, all of them are void. They are settled when
//! the task and its ancestors have ended. A completion then hands over all deferred tasks that are
//! settled, with the inputs that they have, and fills slots of those that were handed over before.
//! The server makes an entry of a deferred task when its last slot is filled, in the same step.
//!
//! *Who fills a slot of a deferred task on the server is settled.* The deferred task is there
//! because the task T that made it and all ancestors of T have ended. The slot is filled by a task
//! C of the group, or by what C handed its slot on to. That runs only after C has ended, and after
//! everything in the slots of its own deferred tasks has. So nothing that could fail is left above
//! what fills the slot, and the fencing of the lease makes it happen once.
//!
//! *Numbers of deferred tasks are unique.* A number has two parts: the rank, or the number of the
//! lease's delivery, which a job never uses twice; and a counter of the process. A server that lost
//! its last second cannot have a deferred task of a delivery that it does not know.
//!
//! **A task that was set aside** leaves its slot empty. The continuation never runs, and the job
//! ends without it, as it ends without the task.
//!
//! # Costs
//!
//! In a process a group costs an allocation and a lock more than its tasks do, and an input is
//! moved, not copied. On ranks a message is sent for each input that was computed elsewhere. On a
//! server, an input is at most as large as a result ([`Limits`](crate::leases::Limits)); and it
//! travels twice, to the server and to who runs the continuation, unless one lease does both.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::local::Node;
use crate::policy::Policy;
use crate::reduce::Reduce;
use crate::task::{Boxed, Malformed, Parcel, Runnable, Tasks, Unpack, decode, encode};

/// What is done with the results of a [group](Tasks::spawn_all) of tasks. The [module](self) has an
/// example.
pub trait Continuation: Serialize + DeserializeOwned + Send + 'static {
    /// The name by which every process knows it: unique in its program, among tasks too.
    const KIND: &'static str;

    /// How continuations of this kind are treated on [leases](crate::leases).
    const POLICY: Policy = Policy::new();

    /// The result, which is that of the program's tasks.
    type Output: Reduce;

    /// Makes one result of those of the group's tasks, which are in the order of the group. It may
    /// spawn further tasks and groups.
    fn run(self, inputs: Vec<Self::Output>, tasks: &Tasks<Self::Output>) -> Self::Output;
}

/// The number of a deferred task in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeferredId {
    /// The rank that owns it, or the delivery of the lease in which it was made.
    pub home: u64,
    /// Which one of these it is.
    pub number: u64,
}

impl fmt::Display for DeferredId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.home, self.number)
    }
}

/// Where a result goes: an input of a deferred task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The deferred task.
    pub of: DeferredId,
    /// Which input it is.
    pub index: u32,
}

/// Tasks whose results go to a continuation: see [`Tasks::spawn_all`].
#[must_use = "nothing is spawned before `then`"]
pub struct Group<'a, R> {
    pub(crate) tasks: &'a Tasks<R>,
    pub(crate) children: Vec<Boxed<R>>,
}

impl<R: Reduce> Group<'_, R> {
    /// Adds tasks, which may be of another kind. Their results come after the others.
    pub fn and<T: crate::Task<Output = R>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        let more = more.into_iter().map(|task| Box::new(task) as Boxed<R>);
        self.children.extend(more);
        self
    }

    /// Spawns the tasks. When all of them, what they spawned, and the calling task have ended, the
    /// continuation runs with their results.
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

/// Combines the results of all that a task with a slot has spawned.
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

/// A continuation with its inputs: a task.
struct Ready<C: Continuation> {
    continuation: C,
    /// What the task returned that made it.
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

/// How many results are in the parcel of a continuation.
fn inputs_in<R>(own: &Option<R>, inputs: usize) -> u32 {
    u32::try_from(inputs + usize::from(own.is_some())).unwrap_or(u32::MAX)
}

/// Reads a continuation with its inputs.
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
pub(crate) trait Waits<R>: Send {
    fn kind(&self) -> &'static str;

    fn policy(&self) -> Policy;

    /// The continuation alone, encoded.
    fn head(&self) -> Vec<u8>;

    fn ready(self: Box<Self>, own: Option<R>, inputs: Vec<R>) -> Boxed<R>;
}

impl<C: Continuation> Waits<C::Output> for C {
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

/// A deferred task of this process.
pub(crate) struct Deferred<R> {
    continuation: Box<dyn Waits<R>>,
    /// Where its result goes. Known when the task that made it has ended.
    pub(crate) to: Option<Slot>,
    /// What that task returned, if it handed its slot on.
    pub(crate) own: Option<R>,
    inputs: Vec<Option<R>>,
    /// How many inputs are missing; and one more until the task has ended that made it.
    missing: usize,
    /// That task, where it is kept who spawned whom.
    pub(crate) creator: Option<Arc<Node<R>>>,
}

impl<R: Reduce> Deferred<R> {
    /// A deferred task whose maker runs, with so many empty slots.
    pub(crate) fn new(
        continuation: Box<dyn Waits<R>>,
        slots: usize,
        creator: Option<Arc<Node<R>>>,
    ) -> Deferred<R> {
        Deferred {
            continuation,
            to: None,
            own: None,
            inputs: std::iter::repeat_with(|| None).take(slots).collect(),
            missing: slots + 1,
            creator,
        }
    }

    /// Adds an empty slot. Returns its index.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.inputs.push(None);
        self.missing += 1;
        (self.inputs.len() - 1) as u32
    }

    /// Fills a slot. Returns `false` if there is no such empty slot.
    pub(crate) fn fill(&mut self, index: u32, input: R) -> bool {
        match self.inputs.get_mut(index as usize) {
            Some(slot @ None) => {
                *slot = Some(input);
                self.missing -= 1;
                true
            }
            _ => false,
        }
    }

    /// The task that made it has ended.
    pub(crate) fn close(&mut self) {
        self.missing -= 1;
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.missing == 0
    }

    /// The task, if it is ready.
    pub(crate) fn into_task(self) -> Boxed<R> {
        let inputs = self.inputs.into_iter().flatten().collect();
        self.continuation.ready(self.own, inputs)
    }

    /// The deferred task as a server keeps it.
    pub(crate) fn pack(&self, id: DeferredId) -> DeferredTask {
        let count = self.inputs.len();
        let mut front = encode(self.continuation.kind());
        front.extend(encode(&inputs_in(&self.own, count)));
        front.extend(encode(&self.to));
        let mut head = self.continuation.head();
        head.extend(encode(&self.own));
        head.extend(encode(&(count as u64)));
        let filled = self.inputs.iter().enumerate();
        let filled =
            filled.filter_map(|(index, input)| Some((index as u32, encode(input.as_ref()?))));
        DeferredTask {
            id,
            front,
            head,
            slots: count as u32,
            filled: filled.collect(),
            urgent: self.continuation.policy().urgent,
        }
    }
}

/// A deferred task as a server keeps it: the encoded [parcel](Parcel) in pieces, between which the
/// inputs go.
///
/// The parcel is `front`, the length of what follows as a variable-length integer, `head`, and the
/// inputs in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredTask {
    /// Its number.
    pub id: DeferredId,
    /// The parcel up to its argument.
    pub front: Vec<u8>,
    /// The argument up to the inputs.
    pub head: Vec<u8>,
    /// How many slots it has.
    pub slots: u32,
    /// Those that are filled: index and input, encoded.
    pub filled: Vec<(u32, Vec<u8>)>,
    /// Whether it goes before others when it is ready.
    pub urgent: bool,
}

impl DeferredTask {
    /// The parcel, if all slots are filled with these inputs.
    pub(crate) fn assemble<'a>(&self, inputs: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut argument = self.head.clone();
        inputs
            .into_iter()
            .for_each(|input| argument.extend_from_slice(input));
        let mut parcel = self.front.clone();
        parcel.extend(encode(&argument));
        parcel
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sum;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Weigh(String, u32);

    impl Continuation for Weigh {
        const KIND: &'static str = "weigh";
        type Output = Sum<u64>;

        fn run(self, inputs: Vec<Sum<u64>>, _: &Tasks<Sum<u64>>) -> Sum<u64> {
            let weighed = inputs.iter().enumerate();
            Sum(weighed.map(|(place, Sum(n))| (place as u64 + 1) * n).sum())
        }
    }

    fn slot(number: u64, index: u32) -> Slot {
        let of = DeferredId { home: 300, number };
        Slot { of, index }
    }

    /// What a server puts together is what the process would have packed.
    #[test]
    fn pieces_and_inputs_are_the_parcel_of_the_ready_task() {
        for (own, to) in [(None, None), (Some(Sum(70_000)), Some(slot(5, 900)))] {
            for count in [0_u64, 1, 3, 200] {
                let make = || {
                    let continuation = Box::new(Weigh("scales".repeat(50), 7));
                    let mut deferred = Deferred::new(continuation, count as usize, None);
                    (deferred.own, deferred.to) = (own, to);
                    deferred
                };
                let mut whole = make();
                whole.close();
                let mut part = make();
                part.close();
                for index in 0..count {
                    assert!(whole.fill(index as u32, Sum(1000 * index)));
                    if index % 2 == 0 {
                        assert!(part.fill(index as u32, Sum(1000 * index)));
                    }
                }
                assert!(whole.is_ready());
                let mut packed = part.pack(slot(1, 0).of);
                assert_eq!(packed.filled.len() as u64, count.div_ceil(2));
                for index in (0..count).filter(|index| index % 2 == 1) {
                    let late = (index as u32, encode(&Sum(1000 * index)));
                    packed.filled.push(late);
                }
                packed.filled.sort();
                let inputs = packed.filled.iter().map(|(_, input)| input.as_slice());
                let mut expected = whole.into_task().pack();
                expected.to = to;
                assert_eq!(packed.assemble(inputs), expected.encode());
                assert_eq!(u64::from(expected.inputs), count + u64::from(own.is_some()));
            }
        }
    }

    #[test]
    fn a_slot_is_filled_once_and_the_maker_counts() {
        let mut deferred = Deferred::new(Box::new(Merge::<Sum<u64>>::new()), 1, None);
        assert_eq!(deferred.add_slot(), 1);
        assert!(deferred.fill(1, Sum(1)));
        assert!(!deferred.fill(1, Sum(2)), "it is full");
        assert!(!deferred.fill(2, Sum(2)), "there is none");
        assert!(deferred.fill(0, Sum(3)));
        assert!(!deferred.is_ready(), "who made it runs");
        deferred.close();
        assert!(deferred.is_ready());
    }
}
