//! The tasks that wait in a process, and the jobs that come for them.
//!
//! ```text
//!               pool: a job for each task          line: the same tasks, in the order in which they came
//!   worker 0  | job d | job c | job a |        first | a | b | c | d | last
//!   worker 1  | job b |                              '-- the oldest are withdrawn from here --> another process
//!                 '---- each takes its task out of the line; if that is gone, the newest that waits, or nothing
//! ```
//!
//! The pool's strategy balances its workers, as it does for any other jobs. A task itself waits in the line, where its job finds it by
//! its number; whoever comes first takes it out. So the surplus of a process, and only that, can leave it, and what stays is never
//! serialised. A job whose task has left is a *ghost*: the next task that comes needs no job of its own, so there are never more jobs
//! than tasks have waited at the same time.
//!
//! **Invariants**, of what is behind the lock of the [`Line`]:
//!
//! - At least as many jobs as tasks wait, but for those that are [held](Hold), which a cut takes: so every task that waits is run, or withdrawn.
//! - `pending` is the number of tasks that wait or run here: a task is counted before its parent is finished and until it has been run
//!   and its result is kept, or it was withdrawn. So zero means that nothing will happen here until somebody submits a
//!   task: the process is *passive*.
//!
//! For leases the process is *tracked*: it also keeps who spawned whom ([`lineage`](super::lineage)), each task that runs in its
//! encoded form, and results as far as they are settled. There a [`Cut`] takes the place of a withdrawal, and a task that panics
//! ends nothing but itself.
//!
//! **Orderings.** What decides anything is behind a lock. The atomics are hints, read without it so that a task can look often; all are
//! `Relaxed`, since nothing is read because of what they say.
//!
//! | tag | atomic | written | what follows from an old value |
//! |---|---|---|---|
//! | L1 | `waiting` | with the line locked | a task is spawned that is not wanted any more, or a little later |
//! | L2 | `appetite` | by whoever owns the process | the same |
//! | L3 | `cancelled` | before what waits is dropped | a task is run whose result nobody wants |

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::lineage::{Failed, Lineage, Node, Standing, standing};
use super::{Panicked, Usage};
use crate::continuation::{Deferred, DeferredId, Merge, Slot, Waits};
use crate::reduce::Reduce;
use crate::task::{Boxed, Parcel, Tasks, size};

/// The tasks that wait, the jobs that will come for them, and how many there were.
pub(super) struct Line<R> {
    /// By their numbers, which are in the order in which they came.
    tasks: BTreeMap<u64, Waiting<R>>,
    /// How many jobs wait in the pool.
    pub(super) jobs: usize,
    /// How many tasks wait or run.
    pending: usize,
    /// How many tasks came: the number of the next one.
    added: u64,
    withdrawn: u64,
    /// Who spawned whom, if that is kept.
    lineage: Option<Lineage<R>>,
    /// What is not begun here.
    hold: Hold,
    /// Continuations that wait for inputs.
    deferred: BTreeMap<DeferredId, Deferred<R>>,
    /// The number of the next one.
    next_deferred: DeferredId,
    /// Inputs of deferred tasks that are elsewhere.
    outbox: Vec<(Slot, R)>,
}

/// What a running task has deferred.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// What combines the results of the tasks that it spawned, if it has a slot.
    merge: Option<DeferredId>,
    groups: Vec<DeferredId>,
}

/// Which tasks wait for a cut instead of being begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    /// What is spawned here.
    Spawned,
    All,
}

impl Hold {
    fn holds<R>(self, origin: &Origin<R>) -> bool {
        match self {
            Hold::Nothing => false,
            Hold::Spawned => matches!(origin, Origin::Spawned(_)),
            Hold::All => true,
        }
    }
}

/// A task that waits.
pub(super) struct Waiting<R> {
    pub(super) task: Boxed<R>,
    pub(super) origin: Origin<R>,
    /// Where its result goes, if not into that of the job.
    pub(super) to: Option<Slot>,
}

impl<R> Waiting<R> {
    /// The task as it travels.
    pub(super) fn pack(&self) -> Parcel {
        Parcel {
            to: self.to,
            ..self.task.pack()
        }
    }
}

/// Where a task comes from.
pub(crate) enum Origin<R> {
    /// Of no interest: the process is not tracked.
    Untracked,
    /// From outside, in this form.
    Brought(Vec<u8>),
    /// From this task.
    Spawned(Arc<Node<R>>),
}

/// A task that is to be run.
pub(super) struct Begun<R> {
    task: Boxed<R>,
    to: Option<Slot>,
    tracked: Option<Tracked<R>>,
}

struct Tracked<R> {
    number: u64,
    node: Arc<Node<R>>,
    encoded: Option<Vec<u8>>,
    limit: usize,
}

/// What a process can do without: with it, the process may end.
pub(crate) struct Cut<R> {
    /// Settled results.
    pub(crate) results: Vec<R>,
    /// How many tasks gave them.
    pub(crate) tasks: u64,
    /// Settled tasks that waited, encoded. They are no longer here.
    pub(crate) children: Vec<Vec<u8>>,
    /// Settled deferred tasks. They are no longer here.
    pub(crate) deferred: Vec<(DeferredId, Deferred<R>)>,
    /// Inputs of deferred tasks that are not here.
    pub(crate) inputs: Vec<(Slot, R)>,
    /// Settled tasks that failed.
    pub(crate) failed: Vec<Failed>,
    /// Settled tasks that run, encoded. They go on here.
    pub(crate) kept: Vec<Vec<u8>>,
}

/// What the jobs of a process share.
pub(crate) struct Shared<R> {
    pub(super) line: Mutex<Line<R>>,
    /// `pending` has become zero.
    passive: Condvar,
    /// How many tasks are in the line.
    waiting: AtomicUsize,
    /// How many had better be, see [`Tasks::wanted`].
    appetite: AtomicUsize,
    cancelled: AtomicBool,
    /// A result for each worker, and one for spares: fewer quarrels about the locks.
    results: Vec<Mutex<Kept<R>>>,
    fault: Mutex<Option<Panicked>>,
}

struct Kept<R> {
    result: R,
    tasks: u64,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nobody panics while holding one of these locks, except in a result's `combine`, which is caught and reported.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What others see.
impl<R: Reduce> Shared<R> {
    pub(super) fn new(workers: usize) -> Shared<R> {
        let kept = || {
            Mutex::new(Kept {
                result: R::identity(),
                tasks: 0,
            })
        };
        Shared {
            line: Mutex::new(Line {
                tasks: BTreeMap::new(),
                jobs: 0,
                pending: 0,
                added: 0,
                withdrawn: 0,
                lineage: None,
                hold: Hold::Nothing,
                deferred: BTreeMap::new(),
                next_deferred: DeferredId { home: 0, number: 0 },
                outbox: Vec::new(),
            }),
            passive: Condvar::new(),
            waiting: AtomicUsize::new(0),
            appetite: AtomicUsize::new(if workers > 1 { 2 * workers } else { 0 }),
            cancelled: AtomicBool::new(false),
            results: std::iter::repeat_with(kept).take(workers + 1).collect(),
            fault: Mutex::new(None),
        }
    }

    /// From now on it is kept who spawned whom. Results leave in parts of at most this many bytes.
    pub(super) fn track(&self, limit: usize, hold: Hold) {
        let mut line = lock(&self.line);
        (line.lineage, line.hold) = (Some(Lineage::new(limit)), hold);
    }

    /// Sets the first part of the numbers of deferred tasks.
    pub(super) fn set_home(&self, home: u64) {
        lock(&self.line).next_deferred.home = home;
    }

    /// How many tasks run, of a process that is tracked.
    pub(super) fn running(&self) -> usize {
        let line = lock(&self.line);
        line.lineage.as_ref().map_or(0, Lineage::running)
    }

    /// Whether a cut would take tasks away that wait, or settled results are more than fits into one. Void tasks count: while
    /// tasks are held nothing else takes them away, and the process would never be passive.
    pub(super) fn has_much(&self) -> (bool, bool) {
        let line = lock(&self.line);
        let waits = line.tasks.values().any(|waiting| match &waiting.origin {
            Origin::Spawned(parent) => standing(&Some(parent.clone())) != Standing::Owned,
            _ => true,
        });
        let waits = waits || !line.outbox.is_empty();
        (waits, line.lineage.as_ref().is_some_and(Lineage::is_full))
    }

    pub(crate) fn wanted(&self) -> bool {
        self.waiting() < self.appetite.load(Ordering::Relaxed) // [L2]
    }

    pub(super) fn set_appetite(&self, tasks: usize) {
        self.appetite.store(tasks, Ordering::Relaxed); // [L2]
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed) // [L1]
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) // [L3]
    }

    pub(super) fn pending(&self) -> usize {
        lock(&self.line).pending
    }

    /// Returns `true` if nothing waits or runs, no continuation waits for inputs, and none are to be sent.
    pub(super) fn is_passive(&self) -> bool {
        let line = lock(&self.line);
        line.pending == 0 && line.deferred.is_empty() && line.outbox.is_empty()
    }

    /// Inputs of deferred tasks that are elsewhere.
    pub(super) fn take_outbox(&self) -> Vec<(Slot, R)> {
        std::mem::take(&mut lock(&self.line).outbox)
    }

    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let line = lock(&self.line);
        let busy = |line: &mut Line<R>| line.pending > 0;
        if at_most == Duration::MAX {
            let waited = self.passive.wait_while(line, busy);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return true;
        }
        let waited = self.passive.wait_timeout_while(line, at_most, busy);
        let (line, _) = waited.unwrap_or_else(PoisonError::into_inner);
        line.pending == 0
    }

    pub(super) fn fault(&self) -> Option<Panicked> {
        lock(&self.fault).clone()
    }

    pub(super) fn take_result(&self) -> R {
        let mut result = R::identity();
        for kept in &self.results {
            let kept = std::mem::replace(&mut lock(kept).result, R::identity());
            result.combine(kept);
        }
        result
    }

    pub(super) fn usage(&self) -> Usage {
        let tasks = self.results.iter().map(|kept| lock(kept).tasks).sum();
        let line = lock(&self.line);
        Usage {
            tasks,
            added: line.added,
            withdrawn: line.withdrawn,
        }
    }
}

/// What happens.
impl<R: Reduce> Shared<R> {
    /// Adds a task, from a worker of the pool.
    pub(crate) fn spawn(
        self: Arc<Self>,
        task: Boxed<R>,
        parent: Option<Arc<Node<R>>>,
        to: Option<Slot>,
    ) {
        let origin = parent.map_or(Origin::Untracked, Origin::Spawned);
        if let Some(job) = self.enter(Waiting { task, origin, to }) {
            locksley::spawn_detached(job);
        }
    }

    /// Lets a task wait, and gives the job that runs it, unless there is a ghost that will.
    pub(super) fn enter(
        self: Arc<Self>,
        waiting: Waiting<R>,
    ) -> Option<impl FnOnce() + Send + 'static> {
        let number = self.line_up(&mut lock(&self.line), waiting)?;
        Some(self.job(number))
    }

    /// The job that runs a task, or another one that waits.
    fn job(self: Arc<Self>, number: u64) -> impl FnOnce() + Send + 'static {
        move || {
            if let Some(task) = self.next(number) {
                self.execute(task);
            }
        }
    }

    /// Lets a task wait. Returns its number if it needs a job.
    fn line_up(&self, line: &mut Line<R>, waiting: Waiting<R>) -> Option<u64> {
        let held = line.hold.holds(&waiting.origin);
        let number = line.added;
        line.added += 1;
        line.pending += 1;
        line.tasks.insert(number, waiting);
        self.count(line);
        // What is held waits for a cut.
        if held || line.jobs >= line.tasks.len() {
            return None;
        }
        line.jobs += 1;
        Some(number)
    }

    /// What a job runs: the task that it came with, or else the newest that waits.
    fn next(&self, number: u64) -> Option<Begun<R>> {
        let mut line = lock(&self.line);
        line.jobs -= 1;
        let own = line.tasks.remove(&number).map(|task| (number, task));
        let next = own.or_else(|| line.tasks.pop_last());
        let (number, Waiting { task, origin, to }) = next?;
        if line.hold.holds(&origin) {
            line.tasks.insert(number, Waiting { task, origin, to });
            return None;
        }
        self.count(&line);
        let Some(lineage) = &mut line.lineage else {
            return Some(Begun {
                task,
                to,
                tracked: None,
            });
        };
        let (parent, encoded) = match origin {
            Origin::Untracked => (None, None),
            Origin::Brought(encoded) => (None, Some(encoded)),
            Origin::Spawned(parent) => (Some(parent), None),
        };
        let (first, limit) = (parent.is_none(), lineage.limit());
        let Some(node) = lineage.begin(number, parent, first) else {
            self.leave(&mut line, 1);
            drop(line);
            drop(task);
            return None;
        };
        let tracked = Some(Tracked {
            number,
            node,
            encoded,
            limit,
        });
        Some(Begun { task, to, tracked })
    }

    fn count(&self, line: &Line<R>) {
        self.waiting.store(line.tasks.len(), Ordering::Relaxed); // [L1]
    }

    fn execute(self: Arc<Self>, begun: Begun<R>) {
        let Begun { task, to, tracked } = begun;
        match tracked {
            _ if self.cancelled() => {}
            Some(tracked) => self.clone().execute_tracked(task, to, tracked),
            None => self.clone().execute_untracked(task, to),
        }
        self.leave(&mut lock(&self.line), 1);
    }

    fn execute_untracked(self: Arc<Self>, task: Boxed<R>, to: Option<Slot>) {
        let kind = task.kind();
        let tasks = Tasks {
            shared: self.clone(),
            node: None,
            to,
            made: Mutex::default(),
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            let result = task.run(&tasks);
            let made = tasks.made.into_inner();
            let made = made.unwrap_or_else(PoisonError::into_inner);
            let result = if to.is_none() && made.groups.is_empty() {
                Some(result)
            } else {
                let (result, numbers) =
                    self.conclude(&mut lock(&self.line), (to, made), None, result);
                self.start(numbers);
                result
            };
            self.keep(result);
        }));
        if let Err(payload) = done {
            self.give_up(kind, payload.as_ref());
        }
    }

    /// Ends the run, because of a panic.
    fn give_up(&self, kind: &'static str, payload: &(dyn std::any::Any + Send)) {
        let message = message(payload);
        lock(&self.fault).get_or_insert(Panicked { kind, message });
        self.cancel();
    }

    fn execute_tracked(self: Arc<Self>, task: Boxed<R>, to: Option<Slot>, tracked: Tracked<R>) {
        let (kind, number) = (task.kind(), tracked.number);
        let pack = || {
            let parcel = task.pack();
            Parcel { to, ..parcel }.encode()
        };
        let encoded = tracked
            .encoded
            .map_or_else(|| catch_unwind(AssertUnwindSafe(pack)), Ok);
        match encoded {
            Ok(encoded) => self.on_lineage(|lineage| lineage.describe(number, encoded)),
            // It cannot be tried anywhere else.
            Err(payload) => return self.give_up(kind, payload.as_ref()),
        }
        let node = tracked.node;
        let tasks = Tasks {
            shared: self.clone(),
            node: Some(node.clone()),
            to,
            made: Mutex::default(),
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            let result = task.run(&tasks);
            let bytes = size(&result);
            (result, bytes)
        }));
        let made = tasks.made.into_inner();
        let made = made.unwrap_or_else(PoisonError::into_inner);
        let done = match done {
            Ok((_, bytes)) if bytes > tracked.limit => {
                let limit = tracked.limit;
                let why = format!("{kind} gave a result of {bytes}, where {limit} is the most");
                Err((why, true))
            }
            Ok(done) => Ok(done),
            Err(payload) => {
                let message = message(payload.as_ref());
                Err((Panicked { kind, message }.to_string(), false))
            }
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let numbers = self.end_tracked(number, (to, made), node, done);
            self.start(numbers);
        }));
        // Results that panic when they are combined are worth nothing any more, and which of them is to blame cannot be known.
        if let Err(payload) = ended {
            self.give_up(kind, payload.as_ref());
        }
    }

    /// Enters the end of a tracked task: its result and its size, or why it failed, and whether it
    /// would fail anywhere. Returns the numbers of tasks that need a job.
    fn end_tracked(
        &self,
        number: u64,
        (to, made): (Option<Slot>, Made),
        node: Arc<Node<R>>,
        done: Result<(R, usize), (String, bool)>,
    ) -> Vec<u64> {
        let mut guard = lock(&self.line);
        let line = &mut *guard;
        let Some(lineage) = &mut line.lineage else {
            return Vec::new();
        };
        match done {
            Ok((result, bytes)) if to.is_none() => {
                if lineage.end(number, Some((result, bytes))) {
                    return self.close(line, &made.groups);
                }
            }
            Ok((result, _)) => {
                if lineage.end(number, None) {
                    return self.conclude(line, (to, made), Some(node), result).1;
                }
            }
            Err((why, hopeless)) => lineage.fail(number, why, hopeless),
        }
        // What it has deferred is void.
        for id in made.merge.into_iter().chain(made.groups) {
            line.deferred.remove(&id);
        }
        Vec::new()
    }

    fn on_lineage(&self, act: impl FnOnce(&mut Lineage<R>)) {
        if let Some(lineage) = &mut lock(&self.line).lineage {
            act(lineage);
        }
    }

    /// Sets which tasks are not begun. Gives the jobs that come for those that waited for it.
    pub(super) fn hold(self: &Arc<Self>, hold: Hold) -> Vec<impl FnOnce() + Send + 'static> {
        let mut line = lock(&self.line);
        line.hold = hold;
        let free = line.tasks.iter();
        let free = free.filter(|(_, waiting)| !hold.holds(&waiting.origin));
        let numbers: Vec<u64> = free.map(|(number, _)| *number).collect();
        let missing = numbers.len().saturating_sub(line.jobs);
        line.jobs += missing;
        let job = |number: u64| self.clone().job(number);
        numbers.into_iter().take(missing).map(job).collect()
    }

    /// Lets a task count as failed that is none.
    pub(super) fn reject(&self, task: Vec<u8>, reason: String, hopeless: bool) {
        self.on_lineage(|lineage| lineage.reject(task, reason, hopeless));
    }

    /// Takes away what the process can do without; nothing at a bad moment, which passes.
    pub(super) fn cut(&self) -> Option<Cut<R>> {
        let mut line = lock(&self.line);
        let share = line.lineage.as_mut()?.share()?;
        let (mut children, mut void) = (Vec::new(), Vec::new());
        for (number, waiting) in std::mem::take(&mut line.tasks) {
            let standing = match &waiting.origin {
                Origin::Spawned(parent) => standing(&Some(parent.clone())),
                Origin::Untracked | Origin::Brought(_) => Standing::Settled,
            };
            match standing {
                Standing::Settled => children.push(waiting),
                Standing::Void => void.push(waiting),
                Standing::Owned => drop(line.tasks.insert(number, waiting)),
            }
        }
        self.count(&line);
        line.withdrawn += children.len() as u64;
        let mut deferred = Vec::new();
        for (id, task) in std::mem::take(&mut line.deferred) {
            match standing(&task.creator) {
                Standing::Settled => deferred.push((id, task)),
                Standing::Void => {}
                Standing::Owned => drop(line.deferred.insert(id, task)),
            }
        }
        let inputs = std::mem::take(&mut line.outbox);
        self.leave(&mut line, children.len() + void.len());
        drop(line);
        Some(Cut {
            results: share.results,
            tasks: share.tasks,
            children: children.iter().map(|task| task.pack().encode()).collect(),
            deferred,
            inputs,
            failed: share.failed,
            kept: share.kept,
        })
    }

    /// Counts a task that has ended, with its result unless that goes to a slot.
    fn keep(&self, result: Option<R>) {
        let last = self.results.len() - 1;
        let place = locksley::current_worker_index().map_or(last, |index| index.min(last));
        let mut kept = lock(&self.results[place]);
        kept.tasks += 1;
        if let Some(result) = result {
            kept.result.combine(result);
        }
    }

    /// So many tasks no longer wait or run here.
    fn leave(&self, line: &mut Line<R>, tasks: usize) {
        line.pending -= tasks;
        if line.pending == 0 {
            self.passive.notify_all();
        }
    }

    /// Takes away up to this many of the oldest tasks that wait; if `free`, of those without a slot.
    pub(super) fn withdraw(&self, at_most: usize, free: bool) -> Vec<Waiting<R>> {
        let mut line = lock(&self.line);
        let eligible = line.tasks.iter();
        let eligible = eligible.filter(|(_, waiting)| !free || waiting.to.is_none());
        let numbers: Vec<u64> = eligible.map(|(number, _)| *number).take(at_most).collect();
        let taken: Vec<Waiting<R>> = numbers
            .iter()
            .filter_map(|number| line.tasks.remove(number))
            .collect();
        self.count(&line);
        line.withdrawn += taken.len() as u64;
        self.leave(&mut line, taken.len());
        taken
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed); // [L3]
        // What waits is dropped, so that nobody must run through it.
        drop(self.withdraw(usize::MAX, false));
        let mut line = lock(&self.line);
        let deferred = std::mem::take(&mut line.deferred);
        let outbox = std::mem::take(&mut line.outbox);
        drop(line);
        drop((deferred, outbox));
    }
}

/// Deferred tasks.
impl<R: Reduce> Shared<R> {
    /// Starts jobs for tasks, from a worker of the pool.
    fn start(self: &Arc<Self>, numbers: Vec<u64>) {
        for number in numbers {
            locksley::spawn_detached(self.clone().job(number));
        }
    }

    /// Defers the continuation of a group that a running task makes.
    pub(crate) fn defer(
        &self,
        made: &Mutex<Made>,
        continuation: Box<dyn Waits<R>>,
        slots: usize,
        creator: &Option<Arc<Node<R>>>,
    ) -> DeferredId {
        let deferred = Deferred::new(continuation, slots, creator.clone());
        let id = lock(&self.line).defer(deferred);
        lock(made).groups.push(id);
        id
    }

    /// A slot for a task that is spawned by a task with a slot.
    pub(crate) fn merge_slot(&self, made: &Mutex<Made>, creator: &Option<Arc<Node<R>>>) -> Slot {
        let (mut made, mut line) = (lock(made), lock(&self.line));
        let of = *made.merge.get_or_insert_with(|| {
            let merge = Box::new(Merge::new());
            line.defer(Deferred::new(merge, 0, creator.clone()))
        });
        let index = line.deferred.get_mut(&of).map_or(0, Deferred::add_slot);
        Slot { of, index }
    }

    /// Enters the end of a task that has a slot or has made groups. Returns the result if it goes
    /// into that of the job, and the numbers of tasks that need a job.
    fn conclude(
        &self,
        line: &mut Line<R>,
        (to, Made { merge, groups }): (Option<Slot>, Made),
        creator: Option<Arc<Node<R>>>,
        result: R,
    ) -> (Option<R>, Vec<u64>) {
        let Some(slot) = to else {
            return (Some(result), self.close(line, &groups));
        };
        let heir = match (merge, groups.as_slice()) {
            (None, []) => return (None, self.fill(line, slot, result).into_iter().collect()),
            (None, [only]) => *only,
            (merge, _) => merge
                .unwrap_or_else(|| line.defer(Deferred::new(Box::new(Merge::new()), 0, creator))),
        };
        let mut closing = vec![heir];
        for id in groups.into_iter().filter(|id| *id != heir) {
            let index = line.deferred.get_mut(&heir).map_or(0, Deferred::add_slot);
            if let Some(group) = line.deferred.get_mut(&id) {
                group.to = Some(Slot { of: heir, index });
            }
            closing.push(id);
        }
        if let Some(heir) = line.deferred.get_mut(&heir) {
            (heir.to, heir.own) = (Some(slot), Some(result));
        }
        (None, self.close(line, &closing))
    }

    /// The task has ended that made these.
    fn close(&self, line: &mut Line<R>, ids: &[DeferredId]) -> Vec<u64> {
        let close = |id: &DeferredId| {
            line.deferred.get_mut(id)?.close();
            self.line_up_if_ready(line, *id)
        };
        ids.iter().filter_map(close).collect()
    }

    /// Fills a slot, here or elsewhere. Returns the number of a task that needs a job.
    fn fill(&self, line: &mut Line<R>, slot: Slot, result: R) -> Option<u64> {
        let Some(deferred) = line.deferred.get_mut(&slot.of) else {
            if !self.cancelled() {
                line.outbox.push((slot, result));
            }
            return None;
        };
        deferred.fill(slot.index, result);
        self.line_up_if_ready(line, slot.of)
    }

    fn line_up_if_ready(&self, line: &mut Line<R>, id: DeferredId) -> Option<u64> {
        if !line.deferred.get(&id)?.is_ready() {
            return None;
        }
        let mut deferred = line.deferred.remove(&id)?;
        let (creator, to) = (deferred.creator.take(), deferred.to);
        let origin = creator.map_or(Origin::Untracked, Origin::Spawned);
        let task = deferred.into_task();
        self.line_up(line, Waiting { task, origin, to })
    }

    /// Fills a slot with what came from elsewhere; the job that is needed. Returns nothing if there
    /// is no such empty slot.
    pub(super) fn deliver(
        self: &Arc<Self>,
        slot: Slot,
        input: R,
    ) -> Option<Option<impl FnOnce() + Send + 'static>> {
        let mut line = lock(&self.line);
        if !line.deferred.get_mut(&slot.of)?.fill(slot.index, input) {
            return None;
        }
        let number = self.line_up_if_ready(&mut line, slot.of);
        Some(number.map(|number| self.clone().job(number)))
    }
}

impl<R: Reduce> Line<R> {
    fn defer(&mut self, deferred: Deferred<R>) -> DeferredId {
        let id = self.next_deferred;
        self.next_deferred.number += 1;
        self.deferred.insert(id, deferred);
        id
    }
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("something that is no text").to_owned()
}

impl<R> fmt::Debug for Shared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}
