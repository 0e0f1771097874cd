//! How a pool ends.

use super::Registry;
use crate::pool::thread_builder;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, fence, lock};
use crate::task::outstanding::all_done;

impl Registry {
    /// Counts a task that a thread outside of the pool is about to spawn.
    pub(crate) fn count_task_outside(&self) {
        self.check_adopted();
        self.outside_tasks.spawn_shared();
    }

    /// A start handler is over, or will not run, that counted as a task from outside.
    pub(crate) fn start_handler_done(&self) {
        self.outside_tasks.finish_shared();
        if self.closed() {
            self.wake_all();
        }
    }

    /// A task of a pool that closes is done. A worker that has a main loop sees there whether it
    /// was the last one, and wakes the others before it leaves; an adopted thread does so here.
    #[cold]
    #[inline(never)]
    pub(crate) fn task_done_while_closing(&self, worker: &Worker) {
        let adopted = self.config.use_current_thread && worker.index() == 0;
        if adopted && self.closed() {
            self.wake_all();
        }
    }

    pub(crate) fn closed(&self) -> bool {
        self.closing.load(Ordering::SeqCst) && self.has_no_tasks()
    }

    /// Returns `true` if no spawned task was outstanding at some time during the call.
    fn has_no_tasks(&self) -> bool {
        all_done(|| {
            let workers = self.workers_in(0..self.workers());
            let inside = workers.map(|worker| &worker.tasks);
            inside.chain([&*self.outside_tasks])
        })
    }

    /// Counts a user of the pool as gone. If the last one leaves tasks behind, which happens if no
    /// thread ever ran the pool's workers, their handles still refer to the pool: it is not freed.
    pub(crate) fn user_leaves(&self) {
        if self.roll.remove_user() && !self.has_no_tasks() {
            std::mem::forget(self.shared());
        }
    }

    /// Lets the workers finish what was spawned and end, and waits for nothing.
    pub(crate) fn end(&self) {
        if self.is_orphaned() {
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Returns `true` if a worker may have left already. For one that is about to deal a job to it.
    pub(crate) fn may_have_left(&self) -> bool {
        // Against a worker that has seen no task outstanding: this one's was counted before.
        fence(Ordering::SeqCst);
        self.is_closing()
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Lets the workers finish what was spawned, and waits for them to end.
    pub(crate) fn close(&self) {
        if self.is_orphaned() {
            // There are no threads to wait for.
            return;
        }
        self.end();
        match Worker::current() {
            // A task of its own drops the pool: the threads end by themselves. An adopted thread
            // that is in no task may have to run what was spawned, for want of others.
            Some(worker) if worker.is_in(self) => {
                let adopted = thread_builder::is_adopted_by(self) && worker.task_stack.depth() == 0;
                if !adopted {
                    return;
                }
                // It also runs what is targeted at it, until all others have left: they may wait
                // for that.
                let (has_ended, or_unpark) = (
                    || self.closed() && self.roll.is_empty(),
                    || self.closed() && self.roll.is_empty_or_unpark(),
                );
                worker.serve_until(None, &has_ended, &or_unpark, &|| None);
            }
            // A worker of another pool runs what is targeted at it, and a spare takes its place: a
            // task of this pool may wait for that one.
            Some(worker) => {
                let (is_empty, or_unpark) =
                    (|| self.roll.is_empty(), || self.roll.is_empty_or_unpark());
                worker.wait_for_pool(&is_empty, &or_unpark);
            }
            None => {}
        }
        self.wait_for_threads();
    }

    /// Waits until all threads have left, those of the caller included.
    fn wait_for_threads(&self) {
        self.join_threads();
        self.roll.wait_until_empty();
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
