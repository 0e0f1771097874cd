//! Everything that leaves a process: withdrawn tasks, and the contents of a cut.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Line, Origin, Shared, Waiting, lock};
use crate::continuation::{Deferred, DeferredId, Slot};
use crate::local::Failed;
use crate::local::lineage::{Lineage, Ownership, ownership};
use crate::reduce::Reduce;

/// Which tasks wait for a cut instead of being begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    /// Tasks that are spawned here.
    Spawned,
    All,
}

impl Hold {
    pub(super) fn holds<R>(self, origin: &Origin<R>) -> bool {
        match self {
            Hold::Nothing => false,
            Hold::Spawned => matches!(origin, Origin::Spawned(_)),
            Hold::All => true,
        }
    }
}

/// A task that leaves the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// The task, encoded.
    pub task: Vec<u8>,
    /// Time before it may begin.
    pub delay: Duration,
}

impl Spawned {
    fn pack<R>((waiting, delay): &(Waiting<R>, Duration)) -> Spawned {
        Spawned {
            task: waiting.pack().encode(),
            delay: *delay,
        }
    }
}

/// The settled results and tasks of a process. Their new owner does not need the process any more.
pub(crate) struct Cut<R> {
    /// Settled results.
    pub(crate) results: Vec<R>,
    /// Number of tasks that returned them.
    pub(crate) tasks: u64,
    /// Settled tasks that waited or were delayed. They have left the process.
    pub(crate) children: Vec<Spawned>,
    /// Settled deferred tasks. They have left the process.
    pub(crate) deferred: Vec<(DeferredId, Deferred<R>)>,
    /// Inputs for deferred tasks that are not in this process.
    pub(crate) inputs: Vec<(Slot, R)>,
    /// Settled tasks that failed.
    pub(crate) failed: Vec<Failed>,
    /// Settled running tasks, encoded. They continue to run here.
    pub(crate) kept: Vec<Vec<u8>>,
}

impl<R: Reduce> Shared<R> {
    /// Returns `true` if a cut is due: it would take tasks that wait, are delayed, or failed, or
    /// the settled results exceed one part. Void tasks count: while tasks are held only a cut
    /// removes them, and without one the process would never be idle.
    pub(in crate::local) fn is_cut_due(&self) -> bool {
        let line = lock(&self.line);
        let lineage = line.lineage.as_ref();
        let waits = line
            .waiting()
            .any(|task| task.origin.ownership() != Ownership::Owned);
        let failed = lineage.is_some_and(Lineage::has_failed);
        waits || failed || !line.outbox.is_empty() || lineage.is_some_and(Lineage::is_full)
    }

    /// Returns `true` if a cut would take results.
    pub(in crate::local) fn has_results(&self) -> bool {
        let line = lock(&self.line);
        line.lineage.as_ref().is_some_and(Lineage::has_results)
    }

    /// Sets which tasks are held back. Returns jobs for the waiting tasks that are not.
    pub(in crate::local) fn hold(
        self: &Arc<Self>,
        hold: Hold,
    ) -> Vec<impl FnOnce() + Send + 'static> {
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

    /// Records a failure for bytes that are not a task.
    pub(in crate::local) fn reject(&self, task: Vec<u8>, reason: String, hopeless: bool) {
        self.on_lineage(|lineage| lineage.reject(task, reason, hopeless));
    }

    /// Takes the settled results and tasks. Returns `None` while a settled task is being encoded.
    pub(in crate::local) fn cut(&self) -> Option<Cut<R>> {
        let mut line = lock(&self.line);
        let share = line.lineage.as_mut()?.take_settled()?;
        let (mut children, mut void) = (Vec::new(), Vec::new());
        for (number, waiting) in std::mem::take(&mut line.tasks) {
            match waiting.origin.ownership() {
                Ownership::Settled => children.push((waiting, Duration::ZERO)),
                Ownership::Void => void.push(waiting),
                Ownership::Owned => drop(line.tasks.insert(number, waiting)),
            }
        }
        for later in std::mem::take(&mut line.later) {
            match later.waiting.origin.ownership() {
                Ownership::Settled => {
                    let delay = later.delay();
                    children.push((later.waiting, delay));
                }
                Ownership::Void => void.push(later.waiting),
                Ownership::Owned => line.later.push(later),
            }
        }
        self.count(&line);
        line.withdrawn += children.len() as u64;
        let mut deferred = Vec::new();
        for (id, task) in std::mem::take(&mut line.deferred) {
            match ownership(&task.creator) {
                Ownership::Settled => deferred.push((id, task)),
                Ownership::Void => {}
                Ownership::Owned => drop(line.deferred.insert(id, task)),
            }
        }
        let inputs = std::mem::take(&mut line.outbox);
        self.leave(&mut line, children.len() + void.len());
        drop(line);
        Some(Cut {
            results: share.results,
            tasks: share.tasks,
            children: children.iter().map(Spawned::pack).collect(),
            deferred,
            inputs,
            failed: share.failed,
            kept: share.kept,
        })
    }

    /// Removes up to `at_most` of the oldest waiting tasks; if `free`, only tasks without a slot.
    pub(in crate::local) fn withdraw(&self, at_most: usize, free: bool) -> Vec<Waiting<R>> {
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

    pub(in crate::local) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed); // [L3]
        // Waiting tasks are dropped here, so that no worker has to go through them.
        self.discard();
    }

    /// Drops everything that has not begun: waiting and delayed tasks, deferred ones, and inputs.
    pub(super) fn discard(&self) {
        drop(self.withdraw(usize::MAX, false));
        let mut line = lock(&self.line);
        let deferred = std::mem::take(&mut line.deferred);
        let outbox = std::mem::take(&mut line.outbox);
        let later = std::mem::take(&mut line.later);
        self.leave(&mut line, later.len());
        self.alarm.notify_all();
        drop(line);
        drop((deferred, outbox, later));
    }
}

impl<R> Line<R> {
    /// Returns all tasks that have not begun.
    fn waiting(&self) -> impl Iterator<Item = &Waiting<R>> {
        let later = self.later.iter().map(|later| &later.waiting);
        self.tasks.values().chain(later)
    }
}

impl<R> Origin<R> {
    /// Returns whether a task of this origin may leave.
    fn ownership(&self) -> Ownership {
        match self {
            Origin::Spawned(parent) => ownership(&Some(parent.clone())),
            Origin::Untracked | Origin::Brought(_) => Ownership::Settled,
        }
    }
}
