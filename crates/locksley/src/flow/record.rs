//! Recording the tasks of a frame: each is a strand, and waits for the tasks that its accesses
//! conflict with. The schedule (which worker ran a task, and when) is not recorded.

use std::ptr::NonNull;

use super::drawing::Histories;
use super::engine::List;
use super::task::Task;
use crate::observe::record::{self, RecordedTasks};
use crate::scheduler::worker::Worker;
use crate::sync::Ordering;

impl List {
    /// Records the tasks until the result is dropped, when all of them are done and the list is
    /// [reset](List::reset). Only the owner calls this, while no other worker knows of the list.
    #[cold]
    pub(super) fn record<'w>(&self, worker: &'w Worker) -> RecordedTasks<'w> {
        let (mut histories, mut after) = (Histories::default(), Vec::new());
        let front = NonNull::new(self.front.load(Ordering::Relaxed));
        // SAFETY: tasks in the list stay valid.
        let tasks = std::iter::successors(front, |task| unsafe { task.as_ref() }.next_of_own());
        let mut first = None;
        for task in tasks {
            // SAFETY: as above.
            let task = unsafe { task.as_ref() };
            first.get_or_insert(task.index);
            after.push(histories.enter(after.len(), task.entries(), |core| core));
        }
        let tasks = RecordedTasks::new(worker, first.unwrap_or(0), after);
        let graph = std::sync::Arc::as_ptr(&tasks.graph).cast_mut();
        self.record.store(graph, Ordering::Relaxed);
        tasks
    }

    /// Runs a task, and records it if the list is recorded.
    pub(super) fn run_recorded<R>(
        &self,
        task: &Task,
        worker: Option<&Worker>,
        run: impl FnOnce() -> R,
    ) -> R {
        // SAFETY: the graph stays valid while tasks of the list run.
        let graph = unsafe { self.record.load(Ordering::Relaxed).as_ref() };
        match (graph, worker) {
            (Some(graph), Some(worker)) => record::run_task(graph, worker, task.index, run),
            _ => run(),
        }
    }
}
