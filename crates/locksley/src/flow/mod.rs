//! Dataflow: tasks that declare what they read and write, in the order of the sequential program.
//!
//! A [`flow`] has objects, and forks tasks with accesses to them. Whatever the schedule, the result
//! is that of the program in which each fork is a plain call of the task: a task that reads an
//! object sees what the last task forked before it wrote there. Independent tasks run in parallel.
//!
//! The [guide](crate::guide::dataflow) has examples.
//!
//! The model is that of Athapascan and Kaapi, as in Danjean's lecture "Work Stealing": fork with
//! access modes read, write, read-write and cumulative write, execution in the reference order,
//! synchronisation by the data. Here the accesses of a task are part of its type, so it cannot
//! touch anything else.
#![cfg_attr(doc, doc = include_str!("../../docs/examples/flow.md"))]

mod access;
mod arena;
mod drawing;
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

use std::marker::PhantomData;
use std::ptr::NonNull;

pub use access::{Accesses, Cumulating, Lend, Reading, Renewing, Updating, Write, Writing};
pub use drawing::{Drawing, draw};
use frame::{BODY, Frame, Record, Root};
pub use graph::{Graph, GraphError, NodeId, Plan};
pub use object::Object;
pub use reduce::{Cumulative, Reduce, Sum};
pub use tile::{Grid, Tile};

use crate::scheduler::worker::Worker;
use crate::task::cancel::CancelToken;
use crate::task::job::catch;

/// A scope in which tasks are forked with accesses to objects. See [`flow`].
///
/// `'f` lasts until the tasks are done; `'env` is the lifetime of what the body may borrow.
pub struct Flow<'f, 'env: 'f> {
    frame: Frame,
    /// Invariant, so that objects and tasks of different flows do not mix.
    time: PhantomData<&'f mut &'f ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `body` in the pool, with a flow in which it can fork tasks; returns when all of them are
/// done. The [guide](crate::guide::dataflow) has examples, and shows what does not compile.
pub fn flow<'env, F, R>(body: F) -> R
where
    F: for<'f> FnOnce(&'f Flow<'f, 'env>) -> R + Send,
    R: Send,
{
    crate::pool::on_worker(|worker| flow_here(worker, &Root::default(), body))
}

/// [`flow`], called on a worker.
pub(crate) fn flow_here<'env, R>(
    worker: &Worker,
    root: &Root,
    body: impl for<'f> FnOnce(&'f Flow<'f, 'env>) -> R,
) -> R {
    let flow = Flow::new(worker, root, BODY);
    let result = catch(|| body(&flow));
    // SAFETY: the body is over, so no `Object` handles are left.
    let result = unsafe { flow.frame.complete(result) };
    result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Panics: one task has two conflicting accesses to the same object.
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

    /// Makes an object of borrowed data, until the flow is over.
    pub fn object<T: ?Sized + Send>(&'f self, data: &'f mut T) -> Object<'f, T> {
        Object::new(self.frame.storage.borrow(NonNull::from(data), None))
    }

    /// Makes an object of a value, which is dropped when the flow is over.
    #[inline]
    pub fn value<T: Send + 'f>(&'f self, value: T) -> Object<'f, T> {
        Object::new(self.frame.storage.own(value, None))
    }

    /// Makes an object that tasks can [add](Object::cumulate) to, of borrowed data. `operation`
    /// combines the values: [`Sum`], a closure that changes its first argument, or any other
    /// [`Reduce`]. The initial value comes before all that are added.
    pub fn cumulative<T, O>(&'f self, data: &'f mut T, operation: O) -> Object<'f, T, O>
    where
        T: Send,
        O: Reduce<T> + Sync + 'f,
    {
        Object::new(
            self.frame
                .storage
                .borrow(NonNull::from(data), Some(operation)),
        )
    }

    /// [`cumulative`](Flow::cumulative) of a value, which is dropped when the flow is over.
    pub fn cumulative_value<T, O>(&'f self, value: T, operation: O) -> Object<'f, T, O>
    where
        T: Send + 'f,
        O: Reduce<T> + Sync + 'f,
    {
        Object::new(self.frame.storage.own(value, Some(operation)))
    }

    /// Forks a task with accesses: one, or a tuple or vector of them. The task gets one reference
    /// for each.
    ///
    /// # Panics
    ///
    /// If two of the accesses are to the same object, and not both are reads. The task is not
    /// forked then; but the versions that it was to [write](Object::write_new) exist.
    #[inline]
    pub fn fork<A, F>(&'f self, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        let run = Record::<A, F>::run_leaf;
        // SAFETY: by `'f`, the accesses are to this frame's objects, and what the task captures
        // outlives it; objects and task are `Send`.
        unsafe { self.frame.add(accesses, task, run, None) };
    }

    /// Forks a task that has a flow of its own, in which it may fork others. The task is done when
    /// they are.
    ///
    /// The task can access only the objects that it was forked with. The [module](self) has an
    /// example.
    #[inline]
    pub fn fork_nested<A, F>(&'f self, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(&'t Flow<'t, 'f>, <A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        let run = Record::<A, F>::run_nested;
        // SAFETY: as in `fork`.
        unsafe { self.frame.add(accesses, task, run, None) };
    }

    /// [`fork`](Flow::fork) of a task that preferably runs on the worker with this index.
    ///
    /// A hint, never a constraint: a worker that looks for a task prefers those with a hint for
    /// itself or with no hint, and takes one with a hint for another worker rather than none. An
    /// index that no worker has is ignored.
    pub fn fork_near<A, F>(&'f self, worker: usize, accesses: A, task: F)
    where
        A: Accesses<'f>,
        F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs) + Send + 'f,
    {
        let near = (worker < self.frame.worker().num_workers()).then_some(worker);
        let run = Record::<A, F>::run_leaf;
        // SAFETY: as in `fork`.
        unsafe { self.frame.add(accesses, task, run, near) };
    }

    /// Runs the tasks that were forked so far, and returns when they are done.
    pub fn sync(&'f self) {
        self.frame.run_all();
    }

    /// Sets the name of the task that is forked next in a drawing of the flow: see [`draw`].
    pub fn label(&'f self, label: impl Into<String>) -> &'f Self {
        if self.frame.root().drawing.is_some() {
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

    /// Returns the flow's token, with which a task or another thread can test whether the flow was
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
