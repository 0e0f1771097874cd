//! Affinity: tasks that had better run on a certain worker, whose caches have their data.
//!
//! A hint, never a constraint.
//!
//! | strategy | what becomes of the hint |
//! |---|---|
//! | `sharing` | the task lies in the spawner's queue like any other, where its owner may pop it and a thief may steal it; an offer of it is left in the worker's mailbox besides (Acar, Blelloch and Blumofe's scheme as Rito puts it, "Scheduling computations", Algorithm 14), and the worker is woken if it sleeps |
//! | `dealing:locality` | the task is dealt to the worker, unless that has got L times the average (Hendler and Shavit, "Work Dealing", Figure 5); others leave it there while the worker takes what it was dealt |
//! | `dealing:adaptive` | the worker is one of those compared, and wins a tie |
//! | any other | it is ignored, at the price of a plain spawn |
//!
//! **No wake-up is lost.** A push that wakes the worker it is for has woken one who looks for work
//! everywhere; it need not wake another. If that one does not sleep, the push goes on as any other.

use std::hash::{DefaultHasher, Hash, Hasher};

use locksley_queue::barrier;

use crate::scheduler::injector::QueuedJob;
use crate::scheduler::registry::Registry;
use crate::scheduler::worker::{Worker, current_num_workers};
use crate::sync::{Ordering, fence};
use crate::task::job::JobRef;
use crate::task::spawn::{JoinHandle, Way, spawn_in, with_current_registry};

/// [`spawn`](crate::spawn()) of a task that had better run on the worker with this index.
///
/// A hint, never a constraint: any idle worker may run the task. Under the strategy
/// `sharing` the worker, when it is out of work, looks for such tasks before it steals; under
/// `dealing:locality` the task is dealt to it, unless it has been dealt too much. Under other
/// strategies, and for an index that no worker has, this is `spawn`.
pub fn spawn_near<F, T>(worker: usize, task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| spawn_in(registry, Way::Near(worker), task))
}

/// The index of a worker of the pool that the calling thread belongs to (the global one, if it
/// belongs to none): the same for the same key, and for many keys each about equally often.
pub fn worker_for_key<K: Hash + ?Sized>(key: &K) -> usize {
    worker_for(current_num_workers(), key)
}

/// The worker for a key, of so many.
pub(crate) fn worker_for<K: Hash + ?Sized>(workers: usize, key: &K) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    // Scales the hash down to the number of workers.
    let scaled = u128::from(hasher.finish()) * workers as u128;
    (scaled >> u64::BITS) as usize
}

/// Pushes a spawned job that had better run on this worker.
pub(crate) fn push_near(registry: &Registry, near: usize, job: JobRef) {
    match Worker::current_in(registry) {
        Some(worker) => worker.push_near(near, job),
        None => registry.inject(QueuedJob { job, owner: 0 }),
    }
}

impl Worker {
    /// [`push_spawned`](Worker::push_spawned) of a job that had better run on a certain worker.
    pub(super) fn push_near(&self, near: usize, job: JobRef) {
        // SAFETY: the queue does not come back here.
        let Some(queue) = (unsafe { self.local_queue() }) else {
            return self.push_spawned(job);
        };
        let pushed = if queue.is_dedicated() && self.registry().may_have_left() {
            Err(job)
        } else {
            queue.push_near(job, near)
        };
        self.count_down();
        match pushed {
            Ok(told) => {
                if told {
                    // It sees the job if it is woken now, and then does something else.
                    fence(Ordering::SeqCst); // [Z5]
                }
                barrier::light(); // [Z3]
                if !told || !self.registry().wake_near(near) {
                    self.notify_push();
                }
            }
            Err(job) => self.registry().inject(QueuedJob {
                job,
                owner: self.index(),
            }),
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/affinity.rs"]
mod tests;
