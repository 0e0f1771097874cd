//! The number of a pool's unfinished spawned tasks, counted without a shared word.
//!
//! Each worker counts the tasks that it has spawned and those that it has finished, in words that
//! it alone writes. Threads outside of the pool share one pair of words. No task is outstanding
//! when the sums are equal; they are compared only while a pool closes.
//!
//! **Equal sums mean that nothing was outstanding.** All counts only grow, and at any time at least
//! as many tasks are spawned as done. [`all_done`] reads the counts of finished tasks first. If it
//! counts a task as finished, it also sees that the task was spawned. So with `t` a time between
//! the two rounds of reading, `read done <= done(t) <= spawned(t) <= read spawned`; if the ends are
//! equal, so is all between.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | T1 | a task is done: store | Release | T2 | a reader that counts the task as done might miss its spawning, or that of a task which it spawned | `outstanding::models::a_task_that_spawns_is_not_missed` |
//! | T2 | read done | Acquire | T1 | as T1 | as T1 |
//! | T3 | light barrier between T1 and the check whether the pool closes | compiler | the sleeper's heavy one | an adopted thread that finishes the last task, and a worker that goes to sleep while the pool closes, would miss each other | not shown by loom: the sleeper's side is the same as in `sleep::models` |
//! | T4 | a start handler is done: subtract; read the count of start handlers | Release, Acquire | each other | a worker that sees no handler might miss a task that one has spawned | not shown by loom: the same pair as T1 and T2 |
//! | T5 | fence between T4 and the check whether the pool closes | SeqCst | the fence of `wake_all` after the pool closes | a builder that is dropped unrun, and the thread that closes the pool, would miss each other | not shown by loom: as T3 |

use locksley_queue::barrier;

use crate::scheduler::worker::Worker;
use crate::sync::{AtomicUsize, Ordering};

/// Task counts of one worker, or of the threads outside of the pool.
#[derive(Debug, Default)]
pub(crate) struct TaskCounts {
    spawned: AtomicUsize,
    done: AtomicUsize,
}

impl TaskCounts {
    /// Counts a task that is about to be pushed. For the worker that owns the counts.
    #[inline]
    pub(crate) fn spawn(&self) {
        let spawned = self.spawned.load(Ordering::Relaxed);
        self.spawned
            .store(spawned.wrapping_add(1), Ordering::Relaxed);
    }

    /// Counts a task that is about to be pushed. For threads that share the counts.
    pub(crate) fn spawn_shared(&self) {
        self.spawned.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a task as done. For the worker that owns the counts.
    #[inline]
    pub(crate) fn finish(&self) {
        let done = self.done.load(Ordering::Relaxed);
        self.done.store(done.wrapping_add(1), Ordering::Release); // [T1]
    }
}

/// Returns `true` if no task was outstanding at some time during the call. `all` lists the counts
/// of all spawning threads; the second call may list more than the first.
pub(crate) fn all_done<'a, I>(all: impl Fn() -> I) -> bool
where
    I: Iterator<Item = &'a TaskCounts>,
{
    let sum = |one: usize, more| one.wrapping_add(more);
    let done = |counts: &TaskCounts| counts.done.load(Ordering::Acquire); // [T2]
    let done = all().map(done).fold(0, sum);
    let spawned = |counts: &TaskCounts| counts.spawned.load(Ordering::Relaxed);
    all().map(spawned).fold(0, sum) == done
}

impl Worker {
    /// Counts a spawned task as done.
    #[inline]
    pub(crate) fn task_done(&self) {
        self.tasks.finish();
        // Pairs with a worker that goes to sleep: it checks after its heavy barrier whether the
        // pool has closed.
        barrier::light(); // [T3]
        let registry = self.registry();
        if registry.is_closing() {
            registry.task_done_while_closing(self);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/outstanding.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/outstanding.rs"]
mod models;
