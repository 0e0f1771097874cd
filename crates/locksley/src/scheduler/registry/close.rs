//! Closing a pool.

use super::Registry;
use crate::pool::thread_builder;
use crate::scheduler::wait::Meanwhile;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, fence, lock};
use crate::task::outstanding::all_done;

/// Added to the count of start handlers when the construction of the pool fails.
const BROKEN_OFF: isize = isize::MIN / 2;

impl Registry {
    /// Counts a task that a thread outside of the pool is about to spawn.
    pub(crate) fn count_task_outside(&self) {
        self.check_adopted();
        self.outside_tasks.spawn_shared();
    }

    /// Counts a start handler that will run.
    pub(crate) fn count_start_handler(&self) {
        self.start_handlers.fetch_add(1, Ordering::Relaxed);
    }

    /// Called when a start handler is done or will not run.
    pub(crate) fn start_handler_done(&self) {
        self.start_handlers.fetch_sub(1, Ordering::Release); // [T4]
        fence(Ordering::SeqCst); // [T5]
        if self.is_drained() {
            self.wake_all();
        }
    }

    /// Ends the pool because its construction failed. It does not wait for start handlers.
    pub(super) fn break_off(&self) {
        self.start_handlers.fetch_add(BROKEN_OFF, Ordering::Relaxed);
        self.end();
    }

    /// Called when a task of a closing pool is done. A worker with a main loop checks there whether
    /// it was the last task, and wakes the others before it leaves; an adopted thread does so here.
    #[cold]
    #[inline(never)]
    pub(crate) fn task_done_while_closing(&self, worker: &Worker) {
        let adopted = self.config.use_current_thread && worker.index() == 0;
        if adopted && self.is_drained() {
            self.wake_all();
        }
    }

    /// Returns `true` if the pool closes, and neither a start handler nor a task is left.
    pub(crate) fn is_drained(&self) -> bool {
        let no_handlers = || self.start_handlers.load(Ordering::Acquire) <= 0; // [T4]
        self.closing.load(Ordering::SeqCst) && no_handlers() && self.has_no_tasks()
    }

    /// Returns `true` if no spawned task was outstanding at some time during the call.
    fn has_no_tasks(&self) -> bool {
        all_done(|| {
            let workers = self.workers_in(0..self.workers());
            workers
                .map(|worker| &worker.tasks)
                .chain([&*self.outside_tasks])
        })
    }

    /// Counts a user of the pool as gone. If the last user leaves tasks behind, which happens if no
    /// thread ever ran the pool's workers, the tasks' handles still refer to the pool, so it is not
    /// freed.
    pub(crate) fn user_leaves(&self) {
        if self.thread_counts.remove_user() && !self.has_no_tasks() {
            std::mem::forget(self.shared());
        }
    }

    /// Lets the workers finish all spawned tasks and end, without waiting for them.
    pub(crate) fn end(&self) {
        if self.is_orphaned() {
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Returns `true` if a worker may have left already. For a worker that is about to deal a job
    /// to it.
    pub(crate) fn may_have_left(&self) -> bool {
        // Pairs with a worker that has seen no outstanding task: the caller's was counted before.
        fence(Ordering::SeqCst);
        self.is_closing()
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Lets the workers finish all spawned tasks, and waits for them to end.
    pub(crate) fn close(&self) {
        if self.is_orphaned() {
            // There are no threads to wait for.
            return;
        }
        self.end();
        match Worker::current() {
            // One of the pool's own tasks drops it: the threads end by themselves. An adopted
            // thread outside of any task may have to run the spawned tasks, if there is no other
            // worker.
            Some(worker) if worker.is_in(self) => {
                let adopted = thread_builder::is_adopted_by(self) && worker.task_stack.depth() == 0;
                if !adopted {
                    return;
                }
                // It also runs jobs that are targeted at it, until all others have left: they may
                // wait for those.
                let (has_ended, or_unpark) = (
                    || self.is_drained() && self.thread_counts.is_empty(),
                    || self.is_drained() && self.thread_counts.is_empty_or_await(),
                );
                worker.serve_until(Meanwhile::Work, &has_ended, &or_unpark, &|| None);
            }
            // A worker of another pool runs jobs that are targeted at it, and a spare takes its
            // place: a task of this pool may wait for that pool.
            Some(worker) => {
                let (is_empty, or_unpark) = (
                    || self.thread_counts.is_empty(),
                    || self.thread_counts.is_empty_or_await(),
                );
                worker.wait_for_pool(&is_empty, &or_unpark);
            }
            None => {}
        }
        self.join_threads();
        // Those that the caller of `build_with` has started, too.
        while !self.thread_counts.is_empty_or_await() {
            std::thread::park();
        }
    }

    /// Waits for the threads that the pool has started itself.
    pub(super) fn join_threads(&self) {
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                return;
            }
            for handle in threads {
                // A worker's thread does not panic: handlers that do are caught.
                let _ = handle.join();
            }
        }
    }
}
