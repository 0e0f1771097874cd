//! The pool's own queue: work that comes from outside, or that a worker may not keep.
//! A worker's targeted jobs are a queue of the same kind.
//!
//! A lock suffices: it is touched once for each task that enters the pool, and looked at through a
//! counter. Jobs can be taken by group, which no lock-free queue offers: a scope that waits
//! finds its tasks wherever they were put.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use locksley_strategy::Job;
pub(crate) use locksley_strategy::UNKNOWN_OWNER;
use locksley_trace::recording::AddressHasher;

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::task::ghosts::trim;
use crate::task::job::{GroupId, JobRef};

/// A table by groups, which are addresses.
type GroupMap<V> = HashMap<GroupId, V, BuildHasherDefault<AddressHasher>>;

/// A job, and the worker in whose queue it was pushed first.
pub(crate) type QueuedJob = locksley_strategy::QueuedJob<JobRef>;

/// The queue, oldest first.
pub(crate) struct Injector {
    /// The length, for a look without the lock. Written with the lock held.
    len: AtomicUsize,
    /// How many of the jobs were forked by joins, likewise.
    forked: AtomicUsize,
    /// How many tasks of scopes there are in each [class](class_of) of scopes, likewise. A waiter
    /// looks no further if there is none, so that it does not pay for what others have spawned.
    scoped: [AtomicUsize; CLASSES],
    queue: Mutex<Queue>,
}

/// In how many classes scopes are counted.
const CLASSES: usize = 64;

/// The class of a scope.
fn class_of(scope: GroupId) -> usize {
    // Fibonacci hashing: groups are addresses.
    let hash = (scope.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    hash as usize % CLASSES
}

struct Queue {
    jobs: VecDeque<QueuedJob>,
    /// How many tasks of each scope there are, so that a waiter whose scope has none does not
    /// search all others of its class.
    scopes: GroupMap<usize>,
    /// How many ghosts there may be.
    ghosts: usize,
}

impl Queue {
    /// Where the oldest job of a group is.
    fn place_of(&self, group: GroupId) -> Option<usize> {
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
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                scopes: GroupMap::default(),
                ghosts: 0,
            }),
        }
    }

    pub(crate) fn push(&self, queued: QueuedJob) {
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(queued);
        self.count(&mut queue.scopes, queued.job, 1);
        self.len.store(queue.jobs.len(), Ordering::Relaxed);
    }

    /// Counts a job that comes (1) or goes (-1). With the lock held.
    fn count(&self, scopes: &mut GroupMap<usize>, job: JobRef, change: isize) {
        let count = if job.is_spawned() {
            // SAFETY: it was in the queue, or will be, and has not been executed.
            let scope = unsafe { (!job.has_handle()).then(|| job.group()) };
            let Some(scope) = scope.filter(|&scope| scope != GroupId::NONE) else {
                return;
            };
            let tasks = scopes.entry(scope).or_default();
            *tasks = tasks.wrapping_add_signed(change);
            if *tasks == 0 {
                scopes.remove(&scope);
            }
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
        self.take(|queue| queue.place_of(group))
    }

    /// The same for the forked job that the group is.
    pub(crate) fn pop_forked(&self, group: GroupId) -> Option<QueuedJob> {
        let none = self.forked.load(Ordering::Relaxed) == 0;
        if none { None } else { self.pop_of(group) }
    }

    /// The same for a task of a scope.
    pub(crate) fn pop_scoped(&self, scope: GroupId) -> Option<QueuedJob> {
        if self.scoped[class_of(scope)].load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.take(|queue| {
            let has_some = queue.scopes.contains_key(&scope);
            has_some.then(|| queue.place_of(scope)).flatten()
        })
    }

    fn take(&self, place: impl Fn(&Queue) -> Option<usize>) -> Option<QueuedJob> {
        if self.is_empty() {
            return None;
        }
        let mut queue = lock(&self.queue);
        let place = place(&queue)?;
        let taken = queue.jobs.remove(place)?;
        self.count(&mut queue.scopes, taken.job, -1);
        self.len.store(queue.jobs.len(), Ordering::Relaxed);
        Some(taken)
    }

    /// A task whose entry may be here was run in place: frees what it left, if that is at an end of
    /// the queue, or if there is much of it. Returns how many of the freed ones had been dealt.
    pub(crate) fn left_ghost(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let mut queue = lock(&self.queue);
        queue.ghosts += 1;
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
}
