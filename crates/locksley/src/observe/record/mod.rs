//! Recordings of what a pool runs: forks, joins, and the time between them.
//!
//! ```text
//!   program                          recorded                        as a graph
//!                                                                        w0
//!   w0; join(a, b); w1               w0  fork(a, b)  w1                .'  '.
//!                                                                     a      b
//!                                                                      '.  .'
//!                                                                        w1
//!
//!   w0; scope(|s| {                  w0  scope(x spawn(t) y)  w1         w0
//!       x; s.spawn(t); y                                                 |
//!   }); w1                                                               x
//!                                                                      .'  '.
//!                                                                     y      t
//!                                                                      '.  .'
//!                                                                        w1
//! ```
//!
//! A *strand* is code that runs sequentially: the caller of a join without what it forks, each of
//! the two closures, a scope's body, or one of its tasks. The worker that runs a strand keeps it,
//! and stops its clock when the strand forks, waits, or lets another job run. A strand that ends is
//! stored where it was forked: a join's strands in the join's frame, which exists until both
//! closures are done, a scope task's strand in a slot that it shares with the spawning strand. So
//! the structure is that of the program, whichever worker ran which part of it, and a panic only
//! ends a strand. Unrelated jobs that a worker runs in between are not recorded: two runs that are
//! recorded at the same time do not see each other.
//!
//! **The fast path of a join has no check.** A worker that records seals its deque, so that the
//! next fork goes the slow way, where there is a branch for this. A push opens the deque again.
//! While a strand runs, only the strand itself pushes: its spawns, after which the deque is sealed
//! anew, and its forks, which suspend the strand and resume it.
//!
//! **Synchronisation.** A strand under way is accessed by its worker only. A strand that another
//! worker has run is written before the latch of the join, or the count of the scope, shows that it
//! is done, and read after that.
//!
//! **Tasks outside of scopes** (`spawn` and its variants) are noted where they are spawned, and
//! where their handles are waited for. **Tasks of a flow** are recorded one by one, with what each
//! waits for; which worker helps which is left out.
//!
//! **Not recorded** are tasks that are spawned from outside of the pool, and scopes whose body
//! runs there.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locksley_trace::recording::{Item, Recording, Slot, Strand, TaskGraph};

use crate::machine::clock::Instant;
use crate::machine::insertion;
use crate::scheduler::worker::Worker;
use crate::sync::{Mutex, lock};
use crate::task::job::{GroupId, StackJob};
use crate::task::join::Erased;

/// The strand that a worker records, if it does. Accessed by the owner only.
#[derive(Default)]
pub(crate) struct CurrentStrand {
    active: Cell<Option<ActiveStrand>>,
    /// Set if there is a strand.
    is_set: Cell<bool>,
}

struct ActiveStrand {
    strand: Strand,
    /// The time up to which the strand's time has been noted.
    since: Instant,
}

impl ActiveStrand {
    fn start() -> ActiveStrand {
        ActiveStrand {
            strand: Strand::default(),
            since: Instant::now(),
        }
    }

    /// Adds the time that has gone by to the strand.
    fn stop(&mut self) {
        let time = self.since.elapsed().as_nanos();
        self.strand.add(u64::try_from(time).unwrap_or(u64::MAX));
    }
}

impl Worker {
    /// Returns `true` if the worker runs a strand that is recorded.
    #[inline]
    pub(crate) fn is_recorded(&self) -> bool {
        self.strand.is_set.get()
    }

    /// Removes and returns the current strand.
    fn take_strand(&self) -> Option<ActiveStrand> {
        if self.strand.is_set.replace(false) {
            self.unseal();
        }
        self.strand.active.take()
    }

    /// Sets the current strand. If there is one, the next fork goes the slow way.
    fn set_strand(&self, active: Option<ActiveStrand>) {
        self.strand.is_set.set(active.is_some());
        self.strand.active.set(active);
        if self.is_recorded() {
            self.seal();
        }
    }
}

/// The runs that a pool has recorded.
#[derive(Default)]
pub(crate) struct Recorder {
    runs: Mutex<Vec<Arc<Strand>>>,
    /// The recorded time of an empty strand. Measured before the first run.
    cost: OnceLock<Duration>,
}

impl Recorder {
    /// Returns what was recorded since the last call.
    pub(crate) fn take(&self) -> Option<Recording> {
        let runs = std::mem::take(&mut *lock(&self.runs));
        let cost = self.cost.get().copied().unwrap_or_default();
        (!runs.is_empty()).then(|| Recording::new(runs, cost))
    }

    /// Keeps what has been recorded so far of the run that the calling worker is in, and begins
    /// another run. Inside of a fork, only the forked strand is kept.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn split_run(&self, worker: &Worker) {
        if let Some(mut active) = worker.take_strand() {
            active.stop();
            lock(&self.runs).push(Arc::new(active.strand));
            worker.set_strand(Some(ActiveStrand::start()));
        }
    }
}

/// Runs a call into the pool, and records it if the pool records. A call from a recorded strand is
/// a part of that strand.
#[inline]
pub(crate) fn run<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> R {
    let recorder = worker.registry().config.recorder.as_ref();
    let recorder = recorder.filter(|_| !worker.is_recorded());
    let mut keep = |strand| keep_run(recorder, strand);
    // `f` is called in one place only, since it may be a large program that is inlined here.
    let _running = recorder.map(|recorder| {
        recorder.cost.get_or_init(|| cost_of_a_strand(worker));
        Running::start(worker, &mut keep)
    });
    f(worker)
}

#[cold]
fn keep_run(recorder: Option<&Recorder>, strand: Strand) {
    if let Some(recorder) = recorder {
        lock(&recorder.runs).push(Arc::new(strand));
    }
}

/// Runs `f`, and records it alone. Within a strand that is recorded, it is a part of that as well.
pub(crate) fn record<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> (R, Recording) {
    let part = Enclosing::new(worker, GroupId::NONE);
    let result = part.run_body(worker, || f(worker));
    let run = part.body.get().cloned().unwrap_or_default();
    (result, Recording::new(vec![run], Duration::ZERO))
}

/// Measures the recorded time of an empty strand: the median of several.
pub(crate) fn cost_of_a_strand(worker: &Worker) -> Duration {
    let pause = Pause::now(worker);
    let mut times = [0; 63];
    for time in &mut times {
        strand(worker, &mut |strand| *time = strand.time(), || ());
    }
    drop(pause);
    insertion::sort_by(&mut times, |one, other| one < other);
    Duration::from_nanos(times[times.len() / 2])
}

/// Runs `f` as a strand, and passes what was recorded to `keep`, even if `f` panics.
fn strand<R>(worker: &Worker, keep: &mut dyn FnMut(Strand), f: impl FnOnce() -> R) -> R {
    let _running = Running::start(worker, keep);
    f()
}

/// A strand that is recorded until this is dropped. Not generic, so that not every fork has a copy
/// of it.
struct Running<'r> {
    worker: &'r Worker,
    outer: Option<ActiveStrand>,
    keep: &'r mut dyn FnMut(Strand),
}

impl<'r> Running<'r> {
    #[inline(never)]
    fn start(worker: &'r Worker, keep: &'r mut dyn FnMut(Strand)) -> Running<'r> {
        let outer = worker.take_strand();
        worker.set_strand(Some(ActiveStrand::start()));
        Running {
            worker,
            outer,
            keep,
        }
    }
}

impl Drop for Running<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(mut active) = self.worker.take_strand() {
            active.stop();
            (self.keep)(active.strand);
        }
        self.worker.set_strand(self.outer.take());
    }
}

/// A strand that is suspended, and resumed when this is dropped.
pub(crate) struct Pause<'w>(Option<(&'w Worker, ActiveStrand)>);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if let Some((worker, mut active)) = self.0.take() {
            // Time counts again from here.
            active.since = Instant::now();
            worker.set_strand(Some(active));
        }
    }
}

/// Suspends the worker's strand until the result is dropped: the worker waits, or runs something
/// that is not part of the strand.
#[inline]
pub(crate) fn pause(worker: &Worker) -> Pause<'_> {
    if worker.is_recorded() {
        Pause::now(worker)
    } else {
        Pause(None)
    }
}

impl Pause<'_> {
    #[cold]
    fn now(worker: &Worker) -> Pause<'_> {
        Pause(worker.take_strand().map(|mut active| {
            active.stop();
            (worker, active)
        }))
    }

    /// Returns the suspended strand, if there is one.
    fn strand(&mut self) -> Option<&mut Strand> {
        self.0.as_mut().map(|(_, active)| &mut active.strand)
    }
}

/// A join under way: the strand that forked, and the strands that it forked.
struct Fork<'w> {
    outer: Pause<'w>,
    first: OnceLock<Strand>,
    second: OnceLock<Strand>,
}

impl Drop for Fork<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.strand() {
            // One after the other: a `map` of the pair is ten times the code.
            let strand = |slot: &mut OnceLock<Strand>| slot.take().unwrap_or_default();
            let both = [strand(&mut self.first), strand(&mut self.second)];
            outer.push(Item::Fork(Box::new(both)));
        }
    }
}

/// Stores a strand in a slot that is for this strand alone.
fn into_slot(slot: &OnceLock<Strand>) -> impl FnMut(Strand) + '_ {
    move |strand| drop(slot.set(strand))
}

/// [`into_slot`] for a strand that several recordings may keep.
fn into_arc(slot: &OnceLock<Arc<Strand>>) -> impl FnMut(Strand) + '_ {
    move |strand| drop(slot.set(Arc::new(strand)))
}

impl Worker {
    pub(crate) fn fork_recorded(&self, a: &mut Erased<'_>, b: &mut Erased<'_>) {
        let fork = Fork {
            outer: Pause::now(self),
            first: OnceLock::new(),
            second: OnceLock::new(),
        };
        let (first, second) = (&fork.first, &fork.second);
        let first = |worker: &Worker, migrated| {
            strand(worker, &mut into_slot(first), || a(worker, migrated));
        };
        // The frame, and with it the slot, stays until the job is done.
        let second = |worker: &Worker, migrated| {
            strand(worker, &mut into_slot(second), || b(worker, migrated));
        };
        self.fork_pushed(first, &StackJob::new(second));
    }
}

/// A scope under way, or a part that is recorded by itself: the strand around it, and its body.
pub(crate) struct Enclosing<'w> {
    outer: Pause<'w>,
    scope: GroupId,
    body: OnceLock<Arc<Strand>>,
}

impl Enclosing<'_> {
    /// Notes that a scope begins on a worker. Returns `None` if the worker does not record.
    pub(crate) fn enter(worker: &Worker, scope: GroupId) -> Option<Enclosing<'_>> {
        let recorded = worker.is_recorded();
        recorded.then(|| Enclosing::new(worker, scope))
    }

    fn new(worker: &Worker, scope: GroupId) -> Enclosing<'_> {
        Enclosing {
            outer: Pause::now(worker),
            scope,
            body: OnceLock::new(),
        }
    }

    pub(crate) fn run_body<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        strand(worker, &mut into_arc(&self.body), f)
    }
}

impl Drop for Enclosing<'_> {
    fn drop(&mut self) {
        let body = self.body.take().unwrap_or_default();
        if let Some(outer) = self.outer.strand() {
            outer.push(Item::Scope(self.scope.0, body));
        }
    }
}

/// A spawned task that is recorded, and where its strand will be found.
pub(crate) struct Spawned(Slot);

impl Spawned {
    /// Notes that a worker, which runs a strand that is recorded, spawns a task into a scope.
    #[cold]
    pub(crate) fn note(worker: &Worker, scope: GroupId) -> Spawned {
        Spawned::note_as(worker, |slot| Item::ScopeTask(scope.0, slot))
    }

    /// Notes that a worker, which runs a strand that is recorded, spawns a task on its own.
    #[cold]
    pub(crate) fn note_task(worker: &Worker) -> Spawned {
        Spawned::note_as(worker, Item::Task)
    }

    fn note_as(worker: &Worker, item: impl FnOnce(Slot) -> Item) -> Spawned {
        let slot = Slot::default();
        note_item(worker, item(slot.clone()));
        Spawned(slot)
    }

    /// Notes that the calling thread, if it is a worker that runs a strand which is recorded, has
    /// waited for the task.
    #[cold]
    pub(crate) fn note_joined(&self) {
        if let Some(worker) = Worker::current() {
            note_item(worker, Item::Joined(self.0.clone()));
        }
    }

    pub(crate) fn run<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        strand(worker, &mut into_slot(&self.0), f)
    }
}

/// Adds an item to the strand that a worker runs, if it is recorded.
#[cold]
fn note_item(worker: &Worker, item: Item) {
    if let Some(strand) = Pause::now(worker).strand() {
        strand.push(item);
    }
}

/// Notes that a worker starts something that the recording cannot order: the recording of its
/// strand, if there is one, gives no bounds.
#[inline]
pub(crate) fn note_unordered(worker: &Worker) {
    if worker.is_recorded() {
        note_item(worker, Item::Unordered);
    }
}

pub(crate) fn run_task<R>(
    graph: &TaskGraph,
    worker: &Worker,
    task: usize,
    f: impl FnOnce() -> R,
) -> R {
    strand(worker, &mut into_slot(graph.slot(task)), f)
}

/// The tasks of a flow under way, and the strand that waits for them.
pub(crate) struct RecordedTasks<'w> {
    outer: Pause<'w>,
    pub(crate) graph: Arc<TaskGraph>,
}

impl<'w> RecordedTasks<'w> {
    /// Suspends the strand that `worker` runs, for a graph of tasks: each waits for the tasks that
    /// `after` lists for it. They are numbered from `first` on.
    #[cold]
    pub(crate) fn new(
        worker: &'w Worker,
        first: usize,
        after: Vec<Vec<usize>>,
    ) -> RecordedTasks<'w> {
        RecordedTasks {
            outer: Pause::now(worker),
            graph: Arc::new(TaskGraph::new(first, after)),
        }
    }
}

impl Drop for RecordedTasks<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.strand() {
            outer.push(Item::Tasks(self.graph.clone()));
        }
    }
}
