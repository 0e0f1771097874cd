//! The two generations of a list: what bounds the memory of a body that forks without end.
//!
//! Each generation has an arena for its records. When the younger one is full, the owner runs tasks
//! until the older one is done: no access of it is left at an object, and the cursor is behind it,
//! both under the lock. Then the older one's memory is used anew, and the body goes on, while
//! helpers have the tasks of the other one.

use std::ptr::NonNull;

use super::engine::{List, Turn, answer, index_of};
use super::frame::Root;
use super::task::Task;
use crate::scheduler::worker::Worker;
use crate::sync::{Ordering, lock};

impl List {
    /// Begins another generation; the younger one becomes the older. For the owner, when there is
    /// no older one.
    pub(crate) fn begin_generation(&self) {
        self.generation.set(1 - self.generation.get());
        self.young.set(None);
        self.count.set(0);
    }

    /// Forgets the older generation if all of its tasks are done. For the owner. Returns `true` if
    /// no worker touches their records any more.
    pub(crate) fn retire(&self) -> bool {
        let Some(young) = self.young.get() else {
            return false;
        };
        let mut agenda = lock(&self.agenda);
        // SAFETY: what is in the list stays.
        let is_old = |task: NonNull<Task>| unsafe { task.as_ref().index < young.as_ref().index };
        if agenda.watched[1 - self.generation()] > 0
            || self.first_undone(&mut agenda).is_some_and(is_old)
        {
            return false;
        }
        agenda.looked = agenda.looked.filter(|&looked| !is_old(looked));
        if NonNull::new(self.front.load(Ordering::Relaxed)).is_some_and(is_old) {
            self.front.store(young.as_ptr(), Ordering::Release); // [E4]
        }
        true
    }

    /// Runs tasks until the older generation is retired. For the owner. Returns `false` if nothing
    /// is ready before that. `before` is called before each task that is not in order.
    pub(crate) fn run_generation(
        &self,
        worker: Option<&Worker>,
        root: &Root,
        before: impl Fn(),
    ) -> bool {
        let Some(young) = self.young.get() else {
            return false;
        };
        // SAFETY: it is in the list, so it stays.
        let until = unsafe { young.as_ref() }.index;
        let front = NonNull::new(self.front.load(Ordering::Relaxed));
        let mut turn = self.run_simply(front, until, worker, root);
        while !self.retire() {
            turn = match turn {
                Turn::Task(task) => {
                    before();
                    // SAFETY: it was handed out, once.
                    unsafe { self.execute(task, worker, root, false) };
                    answer(worker);
                    self.exchange(task, index_of(worker), true)
                }
                Turn::InOrder(task) => self.run_simply(Some(task), until, worker, root),
                Turn::None => return false,
            };
        }
        if let Turn::Task(task) = turn {
            self.put_back(task);
        }
        true
    }
}
