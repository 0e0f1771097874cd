//! The two generations of a list, which bound the memory of a body that forks without end.
//!
//! Each generation has an arena for its records. When the younger one is full, the owner runs tasks
//! until the older one is done: no access of it is left in the queue of an object, and the cursor
//! is past it, both under the lock. Then the older one's memory is reused, and the body goes on,
//! while helpers run the tasks of the other one.

use std::ptr::NonNull;

use super::engine::{List, NextTask, index_of, poll_requests};
use super::frame::Root;
use super::task::Task;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, lock};

impl List {
    /// Begins another generation; the younger one becomes the older. Only the owner calls this,
    /// when there is no older one.
    pub(crate) fn begin_generation(&self) {
        self.generation.set(1 - self.generation.get());
        self.young.set(None);
        self.count.set(0);
    }

    /// Forgets the older generation if all of its tasks are done. Returns `true` if no worker will
    /// touch their records again. Only the owner calls this.
    pub(crate) fn retire(&self) -> bool {
        let Some(young) = self.young.get() else {
            return false;
        };
        let mut watch_state = lock(&self.watch_state);
        // SAFETY: tasks in the list stay valid.
        let is_old = |task: NonNull<Task>| unsafe { task.as_ref().index < young.as_ref().index };
        if watch_state.watched[1 - self.generation()] > 0
            || self.first_undone(&mut watch_state).is_some_and(is_old)
        {
            return false;
        }
        watch_state.looked = watch_state.looked.filter(|&looked| !is_old(looked));
        if NonNull::new(self.front.load(Ordering::Relaxed)).is_some_and(is_old) {
            self.front.store(young.as_ptr(), Ordering::Release); // [E4]
        }
        true
    }

    /// Runs tasks until the older generation is retired. Returns `false` if no task is ready before
    /// that. Calls `before` before each task that runs out of order. Only the owner calls this.
    pub(crate) fn run_generation(
        &self,
        worker: Option<&Worker>,
        root: &Root,
        before: impl Fn(),
    ) -> bool {
        let Some(young) = self.young.get() else {
            return false;
        };
        // SAFETY: tasks in the list stay valid.
        let until = unsafe { young.as_ref() }.index;
        let front = NonNull::new(self.front.load(Ordering::Relaxed));
        let mut turn = self.run_unwatched(front, until, worker, root);
        while !self.retire() {
            turn = match turn {
                NextTask::Task(task) => {
                    before();
                    // SAFETY: the task was handed out, once.
                    unsafe { self.execute(task, worker, root, false) };
                    poll_requests(worker);
                    self.exchange(task, index_of(worker), true)
                }
                NextTask::InOrder(task) => self.run_unwatched(Some(task), until, worker, root),
                NextTask::None => return false,
            };
        }
        if let NextTask::Task(task) = turn {
            self.put_back(task);
        }
        true
    }
}
