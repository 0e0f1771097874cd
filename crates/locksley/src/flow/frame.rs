//! A frame: the tasks that one body forks, and the objects that it makes.

use std::alloc::Layout;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::ptr::NonNull;

use super::access::{Accesses, Lend};
use super::arena::Arena;
use super::drawing::DrawingBuilder;
use super::helpers;
use super::object::Storage;
use super::open_offer::{OpenOffer, SharedState};
use super::queue::{AccessMode, Entry};
use super::task::{Context, RunFn, Task};
use super::{Flow, conflict};
use crate::scheduler::worker::Worker;
use crate::task::cancel::CancelToken;
use crate::task::job::{Payload, catch, discard};

/// Largest number of tasks in each of a frame's two generations, per worker of the pool. The
/// records of both fill a level-2 cache.
const WINDOW: usize = 1024;

/// State that all frames of a flow share.
#[derive(Debug, Default)]
pub(crate) struct Root {
    pub(crate) token: CancelToken,
    /// The drawing of the flow's tasks, if one is made.
    pub(crate) drawing: Option<DrawingBuilder>,
}

/// The number of the flow's body in the drawing.
pub(crate) const BODY: usize = 0;

pub(crate) struct Frame {
    shared: SharedState,
    open: OpenOffer,
    /// The task records of each generation.
    records: [Arena; 2],
    /// Set if the older generation has tasks.
    has_older: Cell<bool>,
    pub(crate) storage: Storage,
    /// Number of tasks that were forked.
    forked: Cell<usize>,
    /// The worker that runs the body, and waits for the tasks.
    worker: NonNull<Worker>,
    /// Number of the frame's task in the drawing.
    node: usize,
    /// Label of the next task in the drawing.
    pub(crate) label: Cell<Option<String>>,
}

impl Frame {
    pub(crate) fn new(worker: &Worker, root: &Root, node: usize) -> Frame {
        Frame {
            shared: SharedState::new(root),
            open: OpenOffer::new(),
            records: Default::default(),
            has_older: Cell::new(false),
            storage: Storage::default(),
            forked: Cell::new(0),
            worker: NonNull::from(worker),
            node,
            label: Cell::new(None),
        }
    }

    pub(crate) fn root(&self) -> &Root {
        self.shared.root()
    }

    pub(crate) fn worker(&self) -> &Worker {
        // SAFETY: the frame is on the stack of this worker's thread, and is not `Send`.
        unsafe { self.worker.as_ref() }
    }

    /// Adds a task; `near` is the index of the worker that it preferably runs on.
    ///
    /// # Safety
    ///
    /// The frame does not move any more. The accesses are to this frame's objects; `run` runs a
    /// `Record<A, F>`; what the task captures may be sent to other threads, and stays valid until
    /// the frame ends.
    pub(crate) unsafe fn add<'f, A: Accesses<'f>, F>(
        &self,
        accesses: A,
        body: F,
        run: RunFn,
        near: Option<usize>,
    ) {
        let (worker, list) = (self.worker(), &self.shared.list);
        if list.count.get() >= WINDOW * worker.num_workers() {
            self.make_room();
        }
        let records = &self.records[list.generation()];
        let index = self.forked.get();
        let versions = accesses.prepare(&self.storage);
        let entries = Self::list_entries::<A>(records, &versions);
        let node = match &self.root().drawing {
            None => BODY,
            // SAFETY: they were just written.
            Some(drawing) => drawing.add(self.node, self.label.take(), unsafe { entries.as_ref() }),
        };
        let record = records.put(Record::<A, F> {
            task: Task::new(run, index, node, entries, near),
            versions,
            body,
            marker: PhantomData,
        });
        self.forked.set(index + 1);
        // SAFETY: record and entries stay until the list is reset, in `run_all`, or their
        // generation is retired, in `make_room`; the rest is guaranteed by the caller.
        unsafe {
            list.add(record.cast());
            self.offer_help();
        }
    }

    /// Offers the tasks to helpers, after one was added.
    ///
    /// # Safety
    ///
    /// The frame does not move any more.
    #[inline]
    unsafe fn offer_help(&self) {
        // SAFETY: guaranteed by the caller; `run_all` closes the offer before the objects' arena
        // ends.
        unsafe { (self.open).make(&self.shared, self.worker(), self.storage.arena()) };
    }

    /// Makes room for another generation: runs tasks until the older one is done.
    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        let list = &self.shared.list;
        if self.worker().is_recorded() {
            // Tasks that are recorded as one graph run in one `run_all`.
            return self.run_all();
        }
        if self.has_older.replace(true) {
            // SAFETY: a task was added, so the frame does not move any more.
            let offer_again = || unsafe { self.offer_help() };
            if !list.run_generation(Some(self.worker()), self.root(), offer_again) {
                // All tasks that are left wait for tasks that other workers are running.
                return self.run_all();
            }
            // SAFETY: all tasks of the older generation are done, and no worker touches their
            // records.
            unsafe { self.records[1 - list.generation()].clear() };
        }
        list.begin_generation();
    }

    /// Writes the list of a task's accesses. Panics if two of them are in conflict.
    #[inline]
    fn list_entries<'f, A: Accesses<'f>>(
        records: &Arena,
        versions: &A::Versions,
    ) -> NonNull<[Entry]> {
        let mut count = 0;
        A::each(versions, &mut |_| count += 1);
        let layout = Layout::array::<Entry>(count).expect("as many as there are accesses");
        let place = records.room_for(layout).cast::<Entry>();
        let mut written = 0;
        A::each(versions, &mut |entry| {
            // If `each` gave more entries than before, the write would be out of bounds.
            assert!(written < count);
            // SAFETY: there is room for `count` of them.
            unsafe { place.add(written).write(entry) };
            written += 1;
        });
        let entries = NonNull::slice_from_raw_parts(place, written);
        // SAFETY: they were just written.
        if are_in_conflict(unsafe { entries.as_ref() }) {
            conflict();
        }
        entries
    }

    /// Runs all tasks that were forked.
    pub(crate) fn run_all(&self) {
        if self.shared.list.is_empty() {
            return;
        }
        helpers::run_all(self.worker(), &self.shared, &self.open);
        self.shared.list.reset();
        self.has_older.set(false);
        for records in &self.records {
            // SAFETY: all tasks are done, and no worker but the owner knows of their records.
            unsafe { records.clear() };
        }
    }

    /// Runs all tasks, and ends the objects. Returns the result of the body, or the first panic in
    /// the order of the program.
    ///
    /// # Safety
    ///
    /// The frame's objects and its tasks are not used again.
    pub(crate) unsafe fn complete<R>(&self, result: Result<R, Payload>) -> Result<R, Payload> {
        self.run_all();
        let failures = &self.shared.list.failures;
        // SAFETY: all tasks are done; the caller guarantees that the objects are not used again.
        let object = unsafe { self.storage.end(failures) };
        let task = failures.take_panic();
        let (value, body) = match result {
            Ok(value) => (Some(value), None),
            Err(payload) => (None, Some(payload)),
        };
        // The body's panic came after its forks, and those of destructors come at the end.
        let mut panics = [task, body, object].into_iter().flatten();
        let first = panics.next();
        panics.for_each(discard);
        first.map_or_else(|| Ok(value.expect("the body has not panicked")), Err)
    }
}

const BOTH_READ: (AccessMode, AccessMode) = (AccessMode::Read, AccessMode::Read);

/// Returns `true` if there are two accesses to one object that are not both reads. Two cumulative
/// ones are refused too: a task that runs in order adds in place, so they would alias.
#[inline]
fn are_in_conflict(entries: &[Entry]) -> bool {
    /// Up to this number of accesses, each is compared with each.
    const FEW: usize = 16;
    if entries.len() <= FEW {
        let mut earlier = entries.iter().enumerate();
        return earlier.any(|(number, one)| {
            let mut others = entries[..number].iter();
            others.any(|other| other.core == one.core && (one.mode, other.mode) != BOTH_READ)
        });
    }
    are_many_in_conflict(entries)
}

#[cold]
fn are_many_in_conflict(entries: &[Entry]) -> bool {
    let mut sorted: Vec<(usize, AccessMode)> = entries
        .iter()
        .map(|entry| (entry.core.addr().get(), entry.mode))
        .collect();
    sorted.sort_by_key(|&(core, _)| core);
    sorted
        .chunk_by(|one, other| one.0 == other.0)
        .any(|same| same.len() > 1 && same.iter().any(|&(_, mode)| mode != AccessMode::Read))
}

/// A task with its accesses and its closure.
#[repr(C)]
pub(crate) struct Record<'f, A: Accesses<'f>, F> {
    task: Task,
    versions: A::Versions,
    body: F,
    marker: PhantomData<&'f ()>,
}

impl<'f, A: Accesses<'f>, F> Record<'f, A, F> {
    /// Runs a task; `call` calls its body. If the task is stopped, only drops its contents.
    ///
    /// # Safety
    ///
    /// The task is of this type, and is run once. `call` lends the references of the accesses once,
    /// and returns when they are not used any more.
    unsafe fn run(
        task: NonNull<Task>,
        context: &Context<'_>,
        call: impl FnOnce(F, &A::Versions, &mut A::Hold),
    ) {
        let record = task.cast::<Self>().as_ptr();
        // SAFETY: guaranteed by the caller; the arena does not drop the record.
        let (versions, body) = unsafe {
            (
                (&raw const (*record).versions).read(),
                (&raw const (*record).body).read(),
            )
        };
        if context.stopped {
            return;
        }
        // SAFETY: the task runs now.
        let mut hold = unsafe { A::hold(&versions, context) };
        call(body, &versions, &mut hold);
        // SAFETY: the body has run, and the engine has not marked the task as done yet.
        unsafe { A::settle(versions, hold, context) };
    }
}

impl<'f, A, F> Record<'f, A, F>
where
    A: Accesses<'f>,
    F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs),
{
    /// Runs a task that forks nothing.
    pub(crate) unsafe fn run_leaf(task: NonNull<Task>, context: &Context<'_>) {
        // SAFETY: the engine runs a task once, by its own function. The task runs until its body
        // returns.
        unsafe {
            Self::run(task, context, |body, versions, hold| {
                body(A::lend(versions, hold));
            });
        }
    }
}

impl<'f, A, F> Record<'f, A, F>
where
    A: Accesses<'f>,
    F: for<'t> FnOnce(&'t Flow<'t, 'f>, <A as Lend<'f, 't>>::Refs),
{
    /// Runs a task that has a frame of its own.
    pub(crate) unsafe fn run_nested(task: NonNull<Task>, context: &Context<'_>) {
        let worker = context.worker.expect("flows run on workers");
        // SAFETY: the engine runs a task once, by its own function. The task runs until its frame
        // ends. The body is over then, so no `Object` handles are left.
        unsafe {
            Self::run(task, context, |body, versions, hold| {
                let flow = Flow::new(worker, context.root, context.node);
                let result = catch(|| body(&flow, A::lend(versions, hold)));
                flow.frame
                    .complete(result)
                    .unwrap_or_else(|payload| resume_unwind(payload));
            });
        }
    }
}
