//! What a pool runs, recorded: forks, joins, and the time between them.
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
//! A *strand* is what runs one after another: the caller of a join without what it forks, each of
//! the two closures, a scope's body, a task of it. The worker that runs a strand keeps it, and
//! stops its time when the strand forks, waits, or lets something else run. At the end the strand
//! goes to where it was forked: a join's into the join's frame, which is there until both closures
//! are done, a scope's task's into what it shares with the spawning strand. So the structure is
//! that of the program, whichever worker ran which part of it, and a panic only ends a strand. What
//! a worker runs beside it, on behalf of others, is not recorded: two runs that are recorded at the
//! same time do not see each other.
//!
//! **Nothing is asked on the fast path.** A worker that records seals its deque (the default
//! strategy's), so that the next fork goes the slow way, as those of every other strategy do; there
//! is a branch for this. A push opens the deque again. What pushes while a strand runs is the
//! strand's own spawns, after which the deque is sealed anew, and its forks, which leave the strand
//! and come back to it.
//!
//! **Who sees what.** A strand under way is its worker's alone. A strand that another worker has
//! run is written before the latch of the join, or the count of the scope, says that it is done,
//! and read after that.
//!
//! **Tasks on their own** (`spawn` and its kin) are noted where they are spawned, and where their
//! handles are waited for. **Tasks of a flow** are recorded one by one, with what each waits for;
//! who helps whom is left out.
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

/// The strand that a worker records, if it does. The owner's alone.
#[derive(Default)]
pub(crate) struct CurrentStrand {
    active: Cell<Option<ActiveStrand>>,
    /// Set if there is one.
    is_set: Cell<bool>,
}

/// A strand under way.
struct ActiveStrand {
    strand: Strand,
    /// Up to when its time has been noted.
    since: Instant,
}

impl ActiveStrand {
    fn start() -> ActiveStrand {
        ActiveStrand {
            strand: Strand::default(),
            since: Instant::now(),
        }
    }

    /// Notes the time that has gone by.
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

    /// Takes the strand away.
    fn take_strand(&self) -> Option<ActiveStrand> {
        if self.strand.is_set.replace(false) {
            self.unseal();
        }
        self.strand.active.take()
    }

    /// Sets the strand, and sends the next fork the slow way if there is one.
    fn set_strand(&self, active: Option<ActiveStrand>) {
        self.strand.is_set.set(active.is_some());
        self.strand.active.set(active);
        if self.is_recorded() {
            self.seal();
        }
    }
}

/// The runs that a pool has recorded.
pub(crate) struct Recorder {
    runs: Mutex<Vec<Arc<Strand>>>,
    /// How long an empty strand is recorded to take. Measured before the first run.
    cost: OnceLock<Duration>,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder {
            runs: Mutex::new(Vec::new()),
            cost: OnceLock::new(),
        }
    }

    /// What was recorded since the last call.
    pub(crate) fn take(&self) -> Option<Recording> {
        let runs = std::mem::take(&mut *lock(&self.runs));
        let cost = self.cost.get().copied().unwrap_or_default();
        (!runs.is_empty()).then(|| Recording::new(runs, cost))
    }
}

impl Recorder {
    /// Keeps what has been recorded so far of the run that the calling worker is in, and goes on
    /// with another one. Inside of a fork that is the forked strand alone.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn split_run(&self, worker: &Worker) {
        if let Some(mut active) = worker.take_strand() {
            active.stop();
            lock(&self.runs).push(Arc::new(active.strand));
            worker.set_strand(Some(ActiveStrand::start()));
        }
    }
}

/// Runs what was called for from outside of the pool; or from within, which is a part of what
/// calls.
#[inline]
pub(crate) fn run<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> R {
    let recorder = worker.registry().config.recorder.as_ref();
    let recorder = recorder.filter(|_| !worker.is_recorded());
    let mut keep = |strand| keep_run(recorder, strand);
    // One call of `f`, which may be a large program that is inlined here.
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

/// Runs something, and records that alone. Within a strand that is recorded, it is a part of that
/// as well.
pub(crate) fn record<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> (R, Recording) {
    let part = Enclosing::new(worker, GroupId::NONE);
    let result = strand(worker, &mut into_arc(&part.body), || f(worker));
    let run = part.body.get().cloned().unwrap_or_default();
    (result, Recording::new(vec![run], Duration::ZERO))
}

/// How long a strand in which nothing happens is recorded to take, here and now: the median of
/// some.
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

/// Runs a strand, and leaves what was recorded to `keep`, though it panics.
fn strand<R>(worker: &Worker, keep: &mut dyn FnMut(Strand), f: impl FnOnce() -> R) -> R {
    let _running = Running::start(worker, keep);
    f()
}

/// A strand that is recorded until this is dropped. Not generic, or every fork had a copy of it.
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

/// A strand that is left for another one, and is gone on with when this is dropped.
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

/// The worker waits, or runs something that is no part of its strand, until this is dropped.
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

    /// The strand that is left, if one is.
    fn strand(&mut self) -> Option<&mut Strand> {
        self.0.as_mut().map(|(_, active)| &mut active.strand)
    }
}

/// A join under way: the strand that forked, and what it forked.
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

/// Leaves a strand in a place, of which it is the only one.
fn into_slot(slot: &OnceLock<Strand>) -> impl FnMut(Strand) + '_ {
    move |strand| drop(slot.set(strand))
}

/// The same for a strand that several recordings may keep.
fn into_arc(slot: &OnceLock<Arc<Strand>>) -> impl FnMut(Strand) + '_ {
    move |strand| drop(slot.set(Arc::new(strand)))
}

impl Worker {
    /// A join that is recorded.
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

/// A scope under way, or a part that is recorded for itself: the strand around it, and its body.
pub(crate) struct Enclosing<'w> {
    outer: Pause<'w>,
    scope: GroupId,
    body: OnceLock<Arc<Strand>>,
}

impl Enclosing<'_> {
    /// A scope begins on a worker, if that runs a strand that is recorded.
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
}

impl Drop for Enclosing<'_> {
    fn drop(&mut self) {
        let body = self.body.take().unwrap_or_default();
        if let Some(outer) = self.outer.strand() {
            outer.push(Item::Scope(self.scope.0, body));
        }
    }
}

/// Runs a scope's body.
pub(crate) fn body<R>(scope: Option<(&Worker, &Enclosing<'_>)>, f: impl FnOnce() -> R) -> R {
    match scope {
        None => f(),
        Some((worker, scope)) => strand(worker, &mut into_arc(&scope.body), f),
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

    /// Runs the task.
    pub(crate) fn run<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        strand(worker, &mut into_slot(&self.0), f)
    }
}

/// Adds to the strand that a worker runs, if it is recorded.
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

/// Runs a task of a graph.
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
    /// Leaves the strand that `worker` runs for tasks, of which each waits for those that `after`
    /// has for it. They are numbered from `first` on.
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
