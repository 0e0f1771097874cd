//! Affinity: tasks that prefer a certain worker, because its caches have their data.
//!
//! A hint, never a constraint. `sharing` follows Acar, Blelloch and Blumofe's scheme as Rito gives
//! it ("Scheduling computations", Algorithm 14): the task is in the spawner's queue like any other,
//! and an offer of it in the preferred worker's mailbox. `dealing:locality` is Hendler and Shavit's
//! ("Work Dealing", Figure 5). Under other strategies the call costs as much as a plain spawn.
//!
//! **No wake-up is lost.** If the push wakes the preferred worker, that worker searches everywhere,
//! so no other need be woken. If that worker does not sleep, the push wakes a worker like any other
//! push.

use std::hash::{DefaultHasher, Hash, Hasher};

use locksley_queue::barrier;

use crate::scheduler::worker::{Worker, current_num_workers};
use crate::sync::{Ordering, fence};
use crate::task::job::JobRef;
use crate::task::spawn::{JoinHandle, SpawnMode, spawn_in, with_current_registry};

/// [`spawn`](crate::spawn()) of a task that prefers the worker with this index.
///
/// A hint, never a constraint: any idle worker may run the task. Under the strategy `sharing`, a
/// worker without work looks for tasks that prefer it before it steals. Under `dealing:locality`
/// the task is dealt to its preferred worker, unless that worker has been dealt too much; under
/// `dealing:adaptive` that worker is one of those compared. Under other strategies, and for an
/// index that no worker has, this is the same as `spawn`.
#[cfg_attr(doc, doc = include_str!("../../docs/examples/spawn_near.md"))]
pub fn spawn_near<F, T>(worker: usize, task: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| spawn_in(registry, SpawnMode::Near(worker), task))
}

/// Maps a key to the index of a worker in the calling thread's pool, or in the global pool if the
/// thread belongs to none. Equal keys get the same index, and many keys are spread evenly.
pub fn worker_for_key<K: Hash + ?Sized>(key: &K) -> usize {
    worker_for(current_num_workers(), key)
}

/// Maps a key to one of `workers` workers.
pub(crate) fn worker_for<K: Hash + ?Sized>(workers: usize, key: &K) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    // Scales the hash down to the number of workers.
    let scaled = u128::from(hasher.finish()) * workers as u128;
    (scaled >> u64::BITS) as usize
}

impl Worker {
    /// [`push_spawned`](Worker::push_spawned) of a job that prefers the worker `near`.
    pub(super) fn push_near(&self, near: usize, job: JobRef) {
        // SAFETY: the queue does not call back into the worker.
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
                    // The preferred worker must see the job, should it be woken now and have
                    // something else to do.
                    fence(Ordering::SeqCst); // [Z5]
                }
                barrier::light(); // [Z3]
                if !told || !self.registry().wake_near(near) {
                    self.notify_push();
                }
            }
            Err(job) => self.registry().inject(self.queued(job)),
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/affinity.rs"]
mod tests;
