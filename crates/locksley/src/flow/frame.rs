//! A frame: the tasks that one body forks, and the objects that it makes.

use std::alloc::Layout;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::access::{Accesses, Lend, Running, Store};
use super::arena::Arena;
use super::helpers;
use super::object::Storage;
use super::open_offer::{OpenOffer, Shared};
use super::queue::{Entry, Mode};
use super::task::{Context, Kind, Task};
use super::unfold::Sketch;
use super::{Flow, conflict};
use crate::scheduler::worker::Worker;
use crate::task::cancel::CancelToken;
use crate::task::job::{Payload, discard};

/// Largest number of tasks in each of a frame's two generations, per worker of the pool. The
/// records of both fill a level-2 cache.
const WINDOW: usize = 1024;

/// State that all frames of a flow share.
#[derive(Debug, Default)]
pub(crate) struct Root {
    pub(crate) token: CancelToken,
    /// The picture of the flow's tasks, if one is drawn.
    pub(crate) sketch: Option<Sketch>,
}

/// The number of the flow's body in the picture.
pub(crate) const BODY: usize = 0;

pub(crate) struct Frame {
    shared: Shared,
    open: OpenOffer,
    /// The task records of each generation.
    records: [Arena; 2],
    /// Set if the older generation has tasks.
    has_older: Cell<bool>,
    pub(crate) store: Store,
    /// Number of tasks that were forked.
    forked: Cell<usize>,
    /// The worker that runs the body, and waits for the tasks.
    worker: NonNull<Worker>,
    /// Number of the frame's task in the picture.
    node: usize,
    /// Label of the next task in the picture.
    pub(crate) label: Cell<Option<String>>,
}

impl Frame {
    pub(crate) fn new(worker: &Worker, root: &Root, node: usize) -> Frame {
        Frame {
            shared: Shared::new(root),
            open: OpenOffer::new(),
            records: [Arena::new(), Arena::new()],
            has_older: Cell::new(false),
            store: Store(Storage::new()),
            forked: Cell::new(0),
            worker: NonNull::from(worker),
            node,
            label: Cell::new(None),
        }
    }

    pub(crate) fn root(&self) -> &Root {
        self.shared.root()
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the frame is on the stack of this worker's thread, and is not `Send`.
        unsafe { self.worker.as_ref() }
    }

    pub(crate) fn num_workers(&self) -> usize {
        self.worker().num_workers()
    }

    /// Adds a task; `near` is the index of the worker that it preferably runs on.
    ///
    /// # Safety
    ///
    /// The frame does not move any more. The accesses are to this frame's objects; `kind` runs
    /// `Record<A, F>`; what the task captures may be sent to other threads, and stays valid until
    /// the frame ends.
    pub(crate) unsafe fn add<'f, A: Accesses<'f>, F>(
        &self,
        accesses: A,
        body: F,
        kind: &'static Kind,
        near: Option<usize>,
    ) {
        let (worker, list) = (self.worker(), &self.shared.list);
        if list.count() >= WINDOW * worker.num_workers() {
            self.make_room();
        }
        let records = &self.records[list.generation()];
        let index = self.forked.get();
        let raw = accesses.prepare(&self.store);
        let entries = Self::list_entries::<A>(records, &raw);
        // SAFETY: they were just written.
        let node = self.note(unsafe { entries.as_ref() });
        let mut task = Task::new(kind, index, node);
        task.set_entries(entries);
        if let Some(worker) = near {
            task.set_near(worker);
        }
        let record = records.put(Record::<A, F> {
            task,
            raw: ManuallyDrop::new(raw),
            body: ManuallyDrop::new(body),
            marker: PhantomData,
        });
        self.forked.set(index + 1);
        // SAFETY: record and entries stay until the list is reset, in `run_all`, or their
        // generation is retired, in `make_room`; the rest is guaranteed by the caller. The offer is
        // closed in `run_all`, and the store's arena stays until then.
        unsafe {
            list.add(record.cast());
            self.note_task();
        }
    }

    /// Offers a task that was added to helpers.
    ///
    /// # Safety
    ///
    /// The frame does not move any more.
    #[inline]
    unsafe fn note_task(&self) {
        let (open, store) = (&self.open, &self.store.0);
        // SAFETY: guaranteed by the caller; `run_all` closes the offer before the store ends.
        unsafe { open.note_task(&self.shared, self.worker(), store.arena()) };
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
            let offer_again = || unsafe { self.note_task() };
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
    fn list_entries<'f, A: Accesses<'f>>(records: &Arena, raw: &A::Raw) -> NonNull<[Entry]> {
        let count = A::count(raw);
        let layout = Layout::array::<Entry>(count).expect("as many as there are accesses");
        let place = records.room_for(layout).cast::<Entry>();
        let mut written = 0;
        A::each(raw, &mut |part| {
            // If `each` gave more parts than `count`, the write would be out of bounds.
            assert!(written < count);
            // SAFETY: there is room for `count` of them.
            unsafe { place.add(written).write(Entry::new(part.core, part.mode)) };
            written += 1;
        });
        let entries = NonNull::slice_from_raw_parts(place, written);
        // SAFETY: they were just written.
        if are_in_conflict(unsafe { entries.as_ref() }) {
            conflict();
        }
        entries
    }

    /// Adds a task to the picture, if there is one. Returns its number there.
    fn note(&self, entries: &[Entry]) -> usize {
        match &self.root().sketch {
            None => BODY,
            Some(sketch) => sketch.note(self.node, self.label.take(), entries),
        }
    }

    /// Runs all tasks that were forked.
    pub(crate) fn run_all(&self) {
        if self.shared.list.is_empty() {
            return;
        }
        helpers::run_all(self.worker(), &self.shared, &self.open);
        self.shared.list.begin_anew();
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
        let broken = |(index, payload)| self.shared.list.failures.note_panic(index, payload);
        // SAFETY: all tasks are done; the caller guarantees that the objects are not used again.
        let object = unsafe { self.store.0.end(&broken) };
        let task = self.shared.list.failures.take_panic();
        match (task, result, object) {
            (None, Ok(result), None) => Ok(result),
            // The body's panic came after its forks, and those of destructors come at the end.
            (Some(first), body, object) => Err(first_of(first, [body.err(), object])),
            (None, Err(first), object) => Err(first_of(first, [object, None])),
            (None, Ok(_), Some(first)) => Err(first),
        }
    }
}

/// Returns the first of several panics, and drops the payloads of the others.
#[cold]
fn first_of(first: Payload, others: [Option<Payload>; 2]) -> Payload {
    others.into_iter().flatten().for_each(discard);
    first
}

const BOTH_READ: (Mode, Mode) = (Mode::Read, Mode::Read);

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
    let mut sorted: Vec<(usize, Mode)> = entries
        .iter()
        .map(|entry| (entry.core.addr().get(), entry.mode))
        .collect();
    sorted.sort_by_key(|&(core, _)| core);
    sorted
        .chunk_by(|one, other| one.0 == other.0)
        .any(|same| same.len() > 1 && same.iter().any(|&(_, mode)| mode != Mode::Read))
}

/// A task with its accesses and its closure.
#[repr(C)]
pub(crate) struct Record<'f, A: Accesses<'f>, F> {
    task: Task,
    raw: ManuallyDrop<A::Raw>,
    body: ManuallyDrop<F>,
    marker: PhantomData<&'f ()>,
}

impl<'f, A: Accesses<'f>, F> Record<'f, A, F> {
    /// Moves the accesses and the closure out of the record.
    ///
    /// # Safety
    ///
    /// The task is of this type, and this function is called once.
    unsafe fn open(task: NonNull<Task>) -> (A::Raw, F) {
        let record = task.cast::<Self>().as_ptr();
        // SAFETY: guaranteed by the caller.
        unsafe {
            let raw = (&raw const (*record).raw).read();
            let body = (&raw const (*record).body).read();
            (
                ManuallyDrop::into_inner(raw),
                ManuallyDrop::into_inner(body),
            )
        }
    }
}

impl<'f, A, F> Record<'f, A, F>
where
    A: Accesses<'f>,
    F: for<'t> FnOnce(<A as Lend<'f, 't>>::Refs),
{
    pub(crate) const LEAF: &'static Kind = &Kind {
        run: Self::run_leaf,
    };

    /// Runs a task that forks nothing.
    unsafe fn run_leaf(task: NonNull<Task>, context: &Context<'_>) {
        // SAFETY: the engine runs a task once, by its own kind.
        let (raw, body) = unsafe { Self::open(task) };
        if context.stopped {
            return;
        }
        let running = Running(context);
        // SAFETY: the task runs now.
        let mut hold = unsafe { A::hold(&raw, &running) };
        // SAFETY: as above, and until the body returns.
        body(unsafe { A::lend(&raw, &mut hold) });
        // SAFETY: the body has run, and the engine has not marked the task as done yet.
        unsafe { A::settle(raw, hold, &running) };
    }
}

impl<'f, A, F> Record<'f, A, F>
where
    A: Accesses<'f>,
    F: for<'t> FnOnce(&'t Flow<'t, 'f>, <A as Lend<'f, 't>>::Refs),
{
    pub(crate) const NESTED: &'static Kind = &Kind {
        run: Self::run_nested,
    };

    /// Runs a task that has a frame of its own.
    unsafe fn run_nested(task: NonNull<Task>, context: &Context<'_>) {
        // SAFETY: the engine runs a task once, by its own kind.
        let (raw, body) = unsafe { Self::open(task) };
        if context.stopped {
            return;
        }
        let running = Running(context);
        // SAFETY: the task runs now.
        let mut hold = unsafe { A::hold(&raw, &running) };
        let worker = context.worker.expect("flows run on workers");
        let result = {
            let flow = Flow::new(worker, context.root, context.node);
            // SAFETY: the task runs now, until the frame ends.
            let result =
                crate::task::job::catch(|| body(&flow, unsafe { A::lend(&raw, &mut hold) }));
            // SAFETY: the body is over, so no `Object` handles are left.
            unsafe { flow.frame.complete(result) }
        };
        if let Err(payload) = result {
            std::panic::resume_unwind(payload);
        }
        // SAFETY: the body and the tasks that it forked have run, and the engine has not marked
        // this task as done yet.
        unsafe { A::settle(raw, hold, &running) };
    }
}
