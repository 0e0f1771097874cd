//! Deferred tasks of a process: how running tasks make them, and how their slots are filled. The
//! protocol is in [`continuation`](crate::continuation).

use std::sync::{Arc, Mutex};

use super::{Line, NewDeferred, Node, Origin, Shared, Waiting, lock};
use crate::continuation::{Deferred, DeferredId, ErasedContinuation, Merge, Slot};
use crate::reduce::Reduce;

impl<R: Reduce> Shared<R> {
    /// Starts jobs for tasks, from a worker of the pool.
    pub(super) fn start(self: &Arc<Self>, numbers: Vec<u64>) {
        for number in numbers {
            locksley::spawn_detached(self.clone().job(number));
        }
    }

    /// Defers the continuation of a group that a running task makes.
    pub(crate) fn defer(
        &self,
        made: &Mutex<NewDeferred>,
        continuation: Box<dyn ErasedContinuation<R>>,
        slots: usize,
        creator: &Option<Arc<Node<R>>>,
    ) -> DeferredId {
        let deferred = Deferred::new(continuation, slots, creator.clone());
        let id = lock(&self.line).defer(deferred);
        lock(made).groups.push(id);
        id
    }

    /// Returns a slot for a task that is spawned by a task with a slot.
    pub(crate) fn merge_slot(
        &self,
        made: &Mutex<NewDeferred>,
        creator: &Option<Arc<Node<R>>>,
    ) -> Slot {
        let (mut made, mut line) = (lock(made), lock(&self.line));
        let of = *made.merge.get_or_insert_with(|| {
            let merge = Box::new(Merge::new());
            line.defer(Deferred::new(merge, 0, creator.clone()))
        });
        let index = line.deferred.get_mut(&of).map_or(0, Deferred::add_slot);
        Slot { of, index }
    }

    /// Ends a task that has a slot or has made groups. Returns the result if it is combined into
    /// that of the job, and the numbers of tasks that need a job.
    pub(super) fn conclude(
        &self,
        line: &mut Line<R>,
        (to, NewDeferred { merge, groups }): (Option<Slot>, NewDeferred),
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

    /// Notes that the task which made these has ended. Returns the numbers of tasks that need a
    /// job.
    pub(super) fn close(&self, line: &mut Line<R>, ids: &[DeferredId]) -> Vec<u64> {
        let close = |id: &DeferredId| {
            line.deferred.get_mut(id)?.close();
            self.line_up_if_ready(line, *id)
        };
        ids.iter().filter_map(close).collect()
    }

    /// Fills a slot, here or in another process. Returns the number of the task that became ready,
    /// if it needs a job.
    pub(super) fn fill(&self, line: &mut Line<R>, slot: Slot, result: R) -> Option<u64> {
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

    /// Fills a slot with an input from another process. Returns the job that is needed for the task
    /// that became ready, if any; the outer `None` means that there is no such empty slot.
    pub(in crate::local) fn deliver(
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
