//! Dataflow: tasks that say what they read and write, in the order of the sequential program.
//!
//! A [`flow`] has objects, and forks tasks with accesses to them. It means what the program would
//! mean if each fork were a call of the task there and then, whatever the schedule: a task that
//! reads an object sees what the last task forked before it wrote there. Tasks that have nothing to
//! do with each other run at the same time.
//!
//! The [guide](crate::guide::dataflow) has examples.
//!
//! The model is that of Athapascan and Kaapi, as in Danjean's lecture "Work Stealing": fork with
//! access modes read, write, read-write and cumulative write, execution in the reference order,
//! synchronisation by the data. What a task may touch is in its type here, so it cannot touch
//! anything else.
//!
//! # Objects
//!
//! | to share | use |
//! |---|---|
//! | what the caller has | [`Flow::object`] |
//! | a value of the flow's own | [`Flow::value`] |
//! | pieces of a slice, tiles of a matrix | [`Flow::tiles`], [`Flow::grid`] |
//! | something that many add to | [`Flow::cumulative`], [`Flow::cumulative_value`] |
//!
//! The modes are [`read`](Object::read), [`write`](Object::write), [`update`](Object::update),
//! [`cumulate`](Object::cumulate) and [`write_new`](Object::write_new); [`Accesses`] says what a
//! task gets for each.
//!
//! # Tasks of tasks
//!
//! A task that was forked with [`Flow::fork_nested`] has a flow of its own. It may make objects of
//! what it was given, and fork tasks with accesses to those. It is done when they are; so what it
//! holds it lends on, and its caller cannot tell whether it did the work itself.
//!
//! ```
//! use locksley::flow::{Flow, Object, Write, flow};
//!
//! fn fib<'f>(f: &'f Flow<'f, '_>, n: u64, mut result: Write<'f, u64>) {
//!     if n < 2 {
//!         return result.set(n);
//!     }
//!     let (x, y, result) = (f.value(0), f.value(0), f.value(result));
//!     f.fork_nested(x.write(), move |f, x| fib(f, n - 1, x));
//!     f.fork_nested(y.write(), move |f, y| fib(f, n - 2, y));
//!     f.fork((x.read(), y.read(), result.update()), |(x, y, result)| result.set(x + y));
//! }
//!
//! let mut result = 0;
//! flow(|f| {
//!     let result = f.object(&mut result);
//!     f.fork_nested(result.write(), |f, result| fib(f, 15, result));
//! });
//! assert_eq!(result, 610);
//! ```
//!
//! # Graphs that are known beforehand
//!
//! A [`Graph`] has nodes and edges, which are declared first; it runs many times, and conditions
//! choose what is next.
//!
//! # When tasks run
//!
//! Workers that have nothing to do take tasks as soon as they are forked, while the body goes on:
//! it is they who find out what depends on what (`engine` has the protocol). The worker that runs
//! the body runs what is left, in order, when the body returns or calls [`Flow::sync`]. A body that
//! is thousands of tasks ahead runs the oldest ones before it goes on.
//!
//! # No deadlock
//!
//! A task waits only for tasks that were forked before it, by the same body. So nothing waits in a
//! circle, and the first of those that are not done can always run. No task holds anything while it
//! waits: a task starts when all that it asked for is free.
//!
//! # Panics and cancellation
//!
//! If a task panics, what it might have written is lost: tasks that access it later do not run, nor
//! do those that depend on them. A cumulative write depends on nothing. All others run, and then
//! the panic reaches the caller of the flow; if several tasks have panicked, that of the first one
//! in the order of the program; one of the body itself comes after those of the tasks that it has
//! forked. For a task with a flow of its own, all of that counts as the task's own panic. Objects
//! that were borrowed are left as they are then.
//!
//! A flow that is [cancelled](Flow::cancel) starts no more tasks.

mod access;
mod arena;
mod engine;
mod failure;
mod frame;
mod generations;
mod graph;
mod helpers;
#[cfg(all(test, loom))]
#[path = "../../tests/loom/flow.rs"]
mod models;
mod object;
mod open_offer;
mod queue;
mod ready;
mod record;
mod reduce;
mod task;
mod tile;
mod unfold;

use std::marker::PhantomData;
use std::ptr::NonNull;

pub use access::{Accesses, Cumulating, Lend, Reading, Renewing, Updating, Write, Writing};
use frame::{BODY, Frame, Record, Root};
pub use graph::{Graph, GraphError, NodeId, Plan};
pub use object::Object;
pub use reduce::{Cumulative, Reduce, Sum};
pub use tile::{Grid, Tile};
pub use unfold::{Unfolded, drawn};

use crate::scheduler::worker::Worker;
use crate::task::cancel::CancelToken;
use crate::task::job::catch;

/// Where tasks are forked with accesses to objects. See [`flow`].
///
/// `'f` is the time until the tasks are done; `'env` is that of what the body may borrow.
pub struct Flow<'f, 'env: 'f> {
    frame: Frame,
    /// Invariant, so that objects and tasks of different flows do not mix.
    time: PhantomData<&'f mut &'f ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `body` in the pool, with a flow in which it can fork tasks; returns when all of them are
/// done. The [guide](crate::guide::dataflow) has examples, and shows what the types refuse.
pub fn flow<'env, F, R>(body: F) -> R
where
    F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| flow_here(worker, &Root::default(), body))
}

/// A flow on a worker.
pub(crate) fn flow_here<'env, R>(
    worker: &Worker,
    root: &Root,
    body: impl for<'f> FnOnce(&'f Flow<'f, 'env>) -> R,
) -> R {
    let flow = Flow::new(worker, root, BODY);
    let result = catch(|| body(&flow));
    // SAFETY: the body is over, so no names of objects are left.
    let result = unsafe { flow.frame.complete(result) };
    result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Two accesses of one task to the same object.
#[cold]
fn conflict() -> ! {
    panic!(
        "a task was forked with two accesses to the same object, of which one writes: ask for one \
         access that does both (`update`), or fork two tasks"
    )
}

impl<'f, 'env> Flow<'f, 'env> {
    fn new(worker: &Worker, root: &Root, node: usize) -> Self {
        Flow {
            frame: Frame::new(worker, root, node),
            time: PhantomData,
            env: PhantomData,
        }
    }

    /// Makes an object of what is borrowed, until the flow is over.
    pub fn object<T: ?Sized + Send>(&'f self, data: &'f mut T) -> Object<'f, T> {
        Object::new(self.frame.store.0.borrow(NonNull::from(data), None))
    }

    /// Makes an object of a value, which is dropped when the flow is over.
    #[inline]
    pub fn value<T: Send + 'f>(&'f self, value: T) -> Object<'f, T> {
        Object::new(self.frame.store.0.keep(value, None))
    }

    /// Makes an object that tasks can [add](Object::cumulate) to, of what is borrowed. `operation`
    /// says what it is to add: [`Sum`], a closure that changes its first argument, or what else is
    /// [`Reduce`]. What is there at first comes before all that is added.
    pub fn cumulative<T, O>(&'f self, data: &'f mut T, operation: O) -> Object<'f, T, O>
    where
        T: Send,
        O: Reduce<T> + Sync + 'f,
    {
        Object::new(
            self.frame
                .store
                .0
                .borrow(NonNull::from(data), Some(operation)),
        )
    }

    /// [`cumulative`](Flow::cumulative) of a value, which is dropped when the flow is over.
    pub fn cumulative_value<T, O>(&'f self, value: T, operation: O) -> Object<'f, T, O>
    where
        T: Send + 'f,
        O: Reduce<T> + Sync + 'f,
    {
        Object::new(self.frame.store.0.keep(value, Some(operation)))
    }

    /// Forks a task with accesses: one, or a tuple or vector of them. It gets as many references.
    ///
    /// # Panics
    ///
    /// If two of the accesses are to the same object, and not both to read it. The task is not
    /// forked then; but versions that it was to [write](Object::write_new) are there.
    #[inline]
    pub fn fork<A, F>(&'f self, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        // SAFETY: `'f` says that the accesses are of this frame's objects, and that what is in the
        // task stays; objects and task are `Send`.
        unsafe { self.frame.add(accesses, task, Record::<A, F>::LEAF, None) };
    }

    /// Forks a task that has a flow of its own, in which it may fork others. It is done when they
    /// are.
    ///
    /// It has no access to objects that it was not given. The [module](self) has an example.
    #[inline]
    pub fn fork_nested<A, F>(&'f self, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(&'t Flow<'t, 'f>, <A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        // SAFETY: as in `fork`.
        unsafe { self.frame.add(accesses, task, Record::<A, F>::NESTED, None) };
    }

    /// [`fork`](Flow::fork) of a task that had better run on the worker with this index.
    ///
    /// A hint, never a constraint: a worker that looks for a task prefers those that are near it,
    /// or near no worker, and takes one that is near another rather than none. An index that no
    /// worker has is ignored.
    pub fn fork_near<A, F>(&'f self, worker: usize, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        let near = (worker < self.frame.num_workers()).then_some(worker);
        // SAFETY: as in `fork`.
        unsafe { self.frame.add(accesses, task, Record::<A, F>::LEAF, near) };
    }

    /// Runs what was forked so far, and returns when it is done.
    pub fn sync(&'f self) {
        self.frame.run_all();
    }

    /// Says what the task that is forked next is called in a picture of the flow: see [`drawn`].
    pub fn label(&'f self, label: impl Into<String>) -> &'f Self {
        if self.frame.root().sketch.is_some() {
            self.frame.label.set(Some(label.into()));
        }
        self
    }

    /// Cancels the whole flow: tasks that have not started, nested ones too, will not run.
    ///
    /// ```
    /// let mut n = 1;
    /// locksley::flow(|f| {
    ///     let n = f.object(&mut n);
    ///     f.cancel();
    ///     f.fork(n.update(), |n| *n = 2);
    /// });
    /// assert_eq!(n, 1);
    /// ```
    pub fn cancel(&'f self) {
        self.frame.root().token.cancel();
    }

    /// Returns `true` if the flow was cancelled.
    pub fn is_cancelled(&'f self) -> bool {
        self.frame.root().token.is_cancelled()
    }

    /// The flow's token, by which a task or another thread can ask whether the flow was
    /// cancelled, and cancel it.
    pub fn token(&'f self) -> CancelToken {
        self.frame.root().token.clone()
    }
}

impl std::fmt::Debug for Flow<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = &self.frame.root().token;
        f.debug_struct("Flow")
            .field("cancelled", &token.is_cancelled())
            .finish_non_exhaustive()
    }
}
