//! What a worker is executing and waiting for, published for its waiters.
//!
//! A worker publishes the groups of the stolen jobs that it is executing, and of what it waits
//! for in between, outermost first:
//!
//! ```text
//!   | root F | wait J | root X |        executing F's task, waiting for J, helping with X
//! ```
//!
//! Every forked job in its queue descends from every root here, unless the worker runs a foreign
//! job; so a waiter for F may steal from this worker, and from a worker that executes a task of J.
//!
//! A sequence lock: the owner makes the version odd while it writes. A thief that steals between
//! two reads of the same even version has stolen from a worker that was inside those roots: had the
//! owner left one of them first, it would have changed the version before it pushed the
//! next job, and the thief, which has synchronised with that push, would see it.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | F1 | version becomes odd; fence | Relaxed; Release | F4 | not shown by loom: a thief that steals has synchronised with the push; the fences keep it from reading later entries as those of this version | - |
//! | F2 | version becomes even | Release | F3 | a reader of the new version must see the new entries | `task_stack::models::a_sighting_is_of_one_moment` |
//! | F3 | first read of the version | Acquire | F2 | as F2 | as F2 |
//! | F4 | fence; second read | Acquire; Relaxed | F1 | not shown by loom: as F1 | - |

use crate::sync::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::task::job::GroupId;

/// Number of levels that are published. No waiter can help with deeper ones. Enough for the default
/// limit of nested waits, each of which takes two levels: the wait, and the job on top of it. With
/// fewer, a loop that must be searched from both ends (rayon's `find_last` over 2^63 items) hangs
/// in a pool without spares, because its waiters lose sight of what they wait for.
const LEVELS: usize = if cfg!(loom) { 16 } else { 256 };

/// The bit of an entry that marks a wait. It is free, since groups are addresses of aligned
/// objects.
const WAIT: usize = 1;

#[derive(Debug)]
pub(crate) struct TaskStack {
    version: AtomicU64,
    depth: AtomicUsize,
    /// Number of jobs on the stack that are foreign, that is, unrelated to what is below them.
    foreign: AtomicUsize,
    entries: [AtomicUsize; LEVELS],
    /// For each wait, the worker that the owner knows to run what it waits for, plus one; 0 if it
    /// knows none. A hint, which no version covers.
    runners: [AtomicUsize; LEVELS],
}

/// Changes a word that only the caller writes.
fn add(word: &AtomicUsize, change: isize) {
    let before = word.load(Ordering::Relaxed);
    word.store(before.wrapping_add_signed(change), Ordering::Relaxed);
}

/// A version at which a worker was seen inside a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sighting(u64);

impl TaskStack {
    pub(crate) fn new() -> Self {
        TaskStack {
            version: AtomicU64::new(0),
            depth: AtomicUsize::new(0),
            foreign: AtomicUsize::new(0),
            entries: std::array::from_fn(|_| AtomicUsize::new(0)),
            runners: std::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    fn write(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed); // [F1]
        fence(Ordering::Release); // [F1]
        change();
        self.version.store(version + 2, Ordering::Release); // [F2]
    }

    fn enter(&self, entry: usize) {
        self.write(|| {
            if let Some(level) = self.entries.get(self.depth()) {
                level.store(entry, Ordering::Relaxed);
            }
            add(&self.depth, 1);
        });
    }

    /// Notes that the owner starts to execute a job of a group.
    pub(crate) fn enter_root(&self, group: GroupId) {
        self.enter(group.0);
    }

    /// Notes that the owner starts to wait for a group.
    pub(crate) fn enter_wait(&self, group: GroupId) {
        if let Some(runner) = self.runners.get(self.depth()) {
            runner.store(0, Ordering::Relaxed);
        }
        self.enter(group.0 | WAIT);
    }

    /// Notes which worker runs what the owner waits for in its innermost entry.
    pub(crate) fn note_runner(&self, index: usize) {
        let level = self.depth().checked_sub(1);
        if let Some(runner) = level.and_then(|level| self.runners.get(level)) {
            runner.store(index + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn leave(&self) {
        self.write(|| add(&self.depth, -1));
    }

    /// Notes that the owner is about to execute a foreign job, which is unrelated to those below
    /// it. Jobs in the queue then need not descend from every root, so no waiter may help through
    /// this worker until the foreign job is done.
    pub(crate) fn enter_foreign(&self) {
        self.write(|| add(&self.foreign, 1));
    }

    /// Notes that the owner is done with the innermost foreign job.
    pub(crate) fn leave_foreign(&self) {
        self.write(|| add(&self.foreign, -1));
    }

    /// A number that changes whenever the owner begins or ends a job or a wait. For other workers.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns how deep the owner's executions and waits are nested.
    pub(crate) fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Returns `true` if the owner is out of work, or waits. For loops of other workers.
    #[inline]
    pub(crate) fn is_hungry(&self) -> bool {
        let Some(last) = self.depth().checked_sub(1) else {
            return true;
        };
        let entry = self.entries.get(last);
        entry.is_some_and(|entry| entry.load(Ordering::Relaxed) & WAIT != 0)
    }

    /// Calls `entry` with each group that the owner seems to execute (`false`) or to wait for
    /// (`true`), outermost first. The owner goes on meanwhile.
    pub(crate) fn show(&self, mut entry: impl FnMut(GroupId, bool)) {
        let depth = self.depth.load(Ordering::Relaxed);
        for level in self.entries.iter().take(depth) {
            let level = level.load(Ordering::Relaxed);
            entry(GroupId(level & !WAIT), level & WAIT != 0);
        }
    }

    /// Returns `true` if the owner seems to be executing a task of this group.
    #[inline]
    pub(crate) fn seems_inside(&self, group: GroupId) -> bool {
        let entries = self.entries.iter().take(self.depth());
        entries
            .into_iter()
            .any(|entry| entry.load(Ordering::Relaxed) == group.0)
    }

    /// Returns the version at which the owner was executing a task of this group, if it was. Calls
    /// `waits` with each group that the owner waits for inside of that task, and with the worker
    /// that runs it, if the owner knows that.
    pub(crate) fn sight(
        &self,
        group: GroupId,
        mut waits: impl FnMut(GroupId, Option<usize>),
    ) -> Option<Sighting> {
        let version = self.version.load(Ordering::Acquire); // [F3]
        if version % 2 == 1 || self.foreign.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let depth = self.depth.load(Ordering::Relaxed).min(LEVELS);
        let load = |level: usize| (self.entries[level].load(Ordering::Relaxed), level);
        let mut entries = (0..depth).map(load);
        entries.by_ref().find(|&(entry, _)| entry == group.0)?;
        for (entry, level) in entries {
            if entry & WAIT != 0 {
                let runner = self.runners[level].load(Ordering::Relaxed);
                waits(GroupId(entry & !WAIT), runner.checked_sub(1));
            }
        }
        Some(Sighting(version))
    }

    /// Returns `true` if the owner may be waiting for this group. That is never missed if the owner
    /// is parked, and the caller has seen that it is. Levels that are not published may be any
    /// group.
    pub(crate) fn may_wait_for(&self, group: GroupId) -> bool {
        let depth = self.depth.load(Ordering::Relaxed);
        let wait = group.0 | WAIT;
        let mut entries = self.entries.iter().take(depth);
        depth > LEVELS || entries.any(|entry| entry.load(Ordering::Relaxed) == wait)
    }

    /// Returns `true` if nothing has changed since the sighting.
    pub(crate) fn unchanged(&self, sighting: Sighting) -> bool {
        fence(Ordering::Acquire); // [F4]
        self.version.load(Ordering::Relaxed) == sighting.0
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/scheduler/task_stack.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../../tests/loom/scheduler/task_stack.rs"]
mod models;
