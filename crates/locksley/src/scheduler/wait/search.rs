//! Where a waiter looks for jobs that it may run: at workers that run what it waits for, in all
//! queues, and, if it waits for another pool, among the jobs that this pool waits for.

use std::mem;

use locksley_queue::Steal;

use super::descendants::Descendants;
use crate::observe::stats::Event;
use crate::scheduler::injector::{QueuedJob, UNKNOWN_OWNER};
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::Worker;
use crate::strategy::local_queue::MAX_BATCH;
use crate::task::job::{GroupId, Job};
use crate::task::latch::Awaited;

impl Worker {
    /// Returns a job of another worker to run while waiting for a group.
    pub(super) fn helpful_job(&self, awaited: &impl Awaited, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        if self.pauses_steals() || self.is_deep() {
            return None;
        }
        let descendant = if registry.leapfrogs() {
            self.leapfrog(awaited.runner(), group)
        } else {
            None
        };
        match descendant {
            None if registry.takes_any() => self.take_anything(),
            found => found,
        }
    }

    /// Steals a job that descends from `group`. `runner` is the worker that runs the awaited job,
    /// if it is known: then no other worker is searched for it.
    fn leapfrog(&self, runner: Option<usize>, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        self.begin_search();
        if let Some(runner) = runner {
            self.task_stack.note_runner(runner);
        }
        let mut descendants = Descendants::of(group, runner);
        let mut next = 0;
        while next < descendants.count {
            let victims = match descendants.runners[next] {
                Some(runner) => runner..runner + 1,
                None => 0..registry.workers(),
            };
            for victim in victims.filter(|&v| v != self.index()) {
                if let Some(queued) = self.steal_descendant(victim, next, &mut descendants) {
                    return Some(queued);
                }
            }
            next += 1;
        }
        None
    }

    /// Steals from `victim` if it is executing a job of the group with this index.
    fn steal_descendant(
        &self,
        victim: usize,
        number: usize,
        descendants: &mut Descendants,
    ) -> Option<QueuedJob> {
        let registry = self.registry();
        let worker = registry.worker(victim);
        let sighting = descendants.sight(victim, number, registry)?;
        if !descendants.holds(number, registry) {
            return None;
        }
        let Steal::Success(job) = self.steal_from(victim) else {
            return None;
        };
        let queued = QueuedJob { job, owner: victim };
        let inside = worker.task_stack.unchanged(sighting) && descendants.holds(number, registry);
        // SAFETY: the job has not been executed.
        if inside && (!job.is_spawned() || descendants.includes(unsafe { job.group() }, registry)) {
            self.counters.count(Event::Leapfrogged);
            return Some(queued);
        }
        registry.inject(queued);
        None
    }

    /// Takes a spawned job of a group out of the queues of other workers, if it is among the `most`
    /// oldest jobs of one of them. Older jobs that are in the way go to the pool's queue.
    ///
    /// The job may be among jobs that cannot be finished, for example because they want a lock that
    /// the caller holds. No worker that leapfrogs finds it there, and spares that look for work
    /// take the jobs around it, and block on the same lock.
    ///
    /// From a worker that has begun or ended a job since the last such search (`versions`), it
    /// takes a handful at most, because that worker makes progress.
    #[cold]
    pub(super) fn gather(
        &self,
        tasks: &impl Awaited,
        group: GroupId,
        most: usize,
        versions: &mut Vec<u64>,
    ) -> Option<QueuedJob> {
        let registry = self.registry();
        let workers = registry.workers();
        versions.resize(workers, 0);
        let others = (0..workers).filter(|&index| index != self.index());
        let mut others = others.take_while(|_| !tasks.is_over());
        others.find_map(|index| {
            let other = registry.worker(index);
            let version = other.task_stack.version();
            let stands_still = mem::replace(&mut versions[index], version) == version;
            let most = if stands_still { most } else { MAX_BATCH };
            let mut found = None;
            let moved = other.stealer().map(|stealer| stealer.drain(most));
            for job in moved.unwrap_or_default() {
                let owner = UNKNOWN_OWNER;
                self.keep_or_inject(QueuedJob { job, owner }, group, &mut found);
            }
            if found.is_none() {
                // After the first, a handful more: others of the group may be next to it, and are
                // found in the pool's queue then.
                let mut more = MAX_BATCH;
                self.steal_until(other, most, |job| {
                    self.keep_or_inject(QueuedJob { job, owner: index }, group, &mut found);
                    more -= usize::from(found.is_some());
                    more == 0
                });
            }
            found
        })
    }

    /// Keeps a job that was taken out of a queue if it is the first of this group, and puts any
    /// other into the pool's queue.
    fn keep_or_inject(&self, queued: QueuedJob, group: GroupId, found: &mut Option<QueuedJob>) {
        if found.is_none() && queued.is_spawned_in(group) {
            *found = Some(queued);
        } else if !self.drops_ghost(&queued) {
            self.registry().inject(queued);
        }
    }

    /// Takes a job from this pool's queue that a worker of the pool `abroad` waits for, inside of
    /// the group that this worker waits for there.
    pub(super) fn handed_back(&self, abroad: &Registry, group: GroupId) -> Option<QueuedJob> {
        let registry = self.registry();
        if registry.injector.is_empty() {
            return None;
        }
        let mut descendants = Descendants::of(group, None);
        let mut next = 0;
        while next < descendants.count {
            for worker in 0..abroad.workers() {
                descendants.sight(worker, next, abroad);
            }
            next += 1;
        }
        for number in 1..descendants.count {
            let Some(job) = registry.injector.pop_of(descendants.groups[number]) else {
                continue;
            };
            if descendants.holds(number, abroad) {
                return Some(job);
            }
            registry.inject(job);
        }
        None
    }
}
