//! The pool's own queue: work that comes from outside, or that a worker may not keep.
//! A worker's targeted jobs are a queue of the same kind.
//!
//! A lock suffices: it is taken once for each task that enters the pool, and counters show without
//! it whether there are jobs. Jobs can be taken by group, which no lock-free queue offers: a scope
//! that waits finds its tasks among all others.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use locksley_strategy::Job;
pub(crate) use locksley_strategy::UNKNOWN_OWNER;
use locksley_trace::recording::AddressHasher;

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::task::ghosts::trim;
use crate::task::job::{GroupId, JobRef};

/// A map whose keys are groups, which are addresses.
type GroupMap<V> = HashMap<GroupId, V, BuildHasherDefault<AddressHasher>>;

/// A job, and the worker in whose queue it was pushed first.
pub(crate) type QueuedJob = locksley_strategy::QueuedJob<JobRef>;

/// The queue, oldest first.
pub(crate) struct Injector {
    /// Length of the queue, to be read without the lock. Written with the lock held.
    len: AtomicUsize,
    /// Number of jobs that were forked by joins, likewise.
    forked: AtomicUsize,
    /// Number of tasks in each [class](class_of) of scopes, likewise. A waiter whose class has none
    /// does not search the queue, so that it does not pay for the tasks of other scopes.
    scoped: [AtomicUsize; CLASSES],
    queue: Mutex<Queue>,
}

/// Number of classes in which scopes are counted.
const CLASSES: usize = 64;

/// Returns the class of a scope.
fn class_of(scope: GroupId) -> usize {
    // Fibonacci hashing: groups are addresses.
    let hash = (scope.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    hash as usize % CLASSES
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<QueuedJob>,
    /// Number of tasks of each scope, so that a waiter whose scope has none does not search the
    /// queue for the sake of others in its class.
    scopes: ScopeCounts,
    /// Upper bound on the number of ghosts.
    ghosts: usize,
}

/// Numbers of tasks by scope.
#[derive(Default)]
struct ScopeCounts {
    /// The scope that was counted last, and its number. It is not in the table, since tasks of a
    /// scope mostly come and go one after the other.
    last: (GroupId, usize),
    others: GroupMap<usize>,
}

impl ScopeCounts {
    fn contains(&self, scope: GroupId) -> bool {
        self.last.1 > 0 && self.last.0 == scope || self.others.contains_key(&scope)
    }

    /// Counts a task that is pushed (1) or taken (-1).
    fn change(&mut self, scope: GroupId, change: isize) {
        if self.last.0 != scope {
            let tasks = self.others.remove(&scope).unwrap_or(0);
            let (before, left) = std::mem::replace(&mut self.last, (scope, tasks));
            if left > 0 {
                self.others.insert(before, left);
            }
        }
        self.last.1 = self.last.1.wrapping_add_signed(change);
    }
}

impl Queue {
    /// Returns the position of the oldest job of a group.
    fn position_of(&self, group: GroupId) -> Option<usize> {
        // SAFETY: what is in the queue has not been executed.
        let is_of_group = |queued: &QueuedJob| unsafe { queued.job.group() } == group;
        self.jobs.iter().position(is_of_group)
    }
}

impl Injector {
    pub(crate) fn new() -> Self {
        Injector {
            len: AtomicUsize::new(0),
            forked: AtomicUsize::new(0),
            scoped: std::array::from_fn(|_| AtomicUsize::new(0)),
            queue: Mutex::new(Queue::default()),
        }
    }

    pub(crate) fn push(&self, queued: QueuedJob) {
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(queued);
        self.count(&mut queue.scopes, queued.job, 1);
        self.len.store(queue.jobs.len(), Ordering::Relaxed);
    }

    /// Counts a job that is pushed (1) or taken (-1). Called with the lock held.
    fn count(&self, scopes: &mut ScopeCounts, job: JobRef, change: isize) {
        let count = if job.is_spawned() {
            // SAFETY: it was in the queue, or will be, and has not been executed.
            let scope = unsafe { (!job.has_handle()).then(|| job.group()) };
            let Some(scope) = scope.filter(|&scope| scope != GroupId::NONE) else {
                return;
            };
            scopes.change(scope, change);
            &self.scoped[class_of(scope)]
        } else {
            &self.forked
        };
        let before = count.load(Ordering::Relaxed);
        count.store(before.wrapping_add_signed(change), Ordering::Relaxed);
    }

    /// Returns how many jobs seem to be there.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Returns `true` if nothing seems to be there.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the oldest job.
    #[inline]
    pub(crate) fn pop(&self) -> Option<QueuedJob> {
        if self.is_empty() {
            return None;
        }
        self.take(|queue| (!queue.jobs.is_empty()).then_some(0))
    }

    /// Takes the oldest job of a group: a spawned one, or the forked one that the group is.
    pub(crate) fn pop_of(&self, group: GroupId) -> Option<QueuedJob> {
        self.take(|queue| queue.position_of(group))
    }

    /// Takes the forked job that the group is, if it is here.
    pub(crate) fn pop_forked(&self, group: GroupId) -> Option<QueuedJob> {
        let none = self.forked.load(Ordering::Relaxed) == 0;
        if none { None } else { self.pop_of(group) }
    }

    /// Takes the oldest task of a scope.
    pub(crate) fn pop_scoped(&self, scope: GroupId) -> Option<QueuedJob> {
        if self.scoped[class_of(scope)].load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.take(|queue| {
            let has_some = queue.scopes.contains(scope);
            has_some.then(|| queue.position_of(scope)).flatten()
        })
    }

    fn take(&self, find: impl Fn(&Queue) -> Option<usize>) -> Option<QueuedJob> {
        if self.is_empty() {
            return None;
        }
        let mut queue = lock(&self.queue);
        let position = find(&queue)?;
        let taken = match position {
            0 => queue.jobs.pop_front()?,
            _ => queue.jobs.remove(position)?,
        };
        self.count(&mut queue.scopes, taken.job, -1);
        self.len.store(queue.jobs.len(), Ordering::Relaxed);
        Some(taken)
    }

    /// Called when up to `left` tasks whose entries may be here were run in place. Frees the ghosts
    /// at the ends of the queue, and all ghosts if there are many. Returns how many of the freed
    /// jobs had been dealt.
    pub(crate) fn left_ghosts(&self, left: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let mut queue = lock(&self.queue);
        queue.ghosts += left;
        let Queue {
            jobs,
            scopes,
            ghosts,
        } = &mut *queue;
        let mut dealt = 0;
        let freed = |job: JobRef| {
            self.count(scopes, job, -1);
            dealt += usize::from(job.is_dealt());
        };
        trim(jobs, ghosts, |queued| queued.job, freed);
        self.len.store(jobs.len(), Ordering::Relaxed);
        dealt
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn ghosts(&self) -> usize {
        lock(&self.queue).ghosts
    }
}
