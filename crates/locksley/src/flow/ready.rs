//! The ready tasks of a frame, by the worker that they preferably run on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ptr::NonNull;

use super::task::Task;

/// Ready tasks with their indices. The first one in the order of the program is taken first.
type Heap = BinaryHeap<Reverse<(usize, NonNull<Task>)>>;

/// Tasks that are ready and that no worker has taken. Under the frame's lock.
#[derive(Debug, Default)]
pub(crate) struct ReadyTasks {
    /// Tasks without a hint.
    anywhere: Heap,
    /// Tasks with a hint, by the index of the worker; empty until the first such task.
    near: Vec<Heap>,
    count: usize,
}

impl ReadyTasks {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn push(&mut self, task: NonNull<Task>) {
        // SAFETY: the task is in the list, so it stays valid.
        let this = unsafe { task.as_ref() };
        let entry = Reverse((this.index, task));
        self.count += 1;
        let Some(worker) = this.near() else {
            return self.anywhere.push(entry);
        };
        if self.near.len() <= worker {
            self.near.resize_with(worker + 1, Heap::new);
        }
        self.near[worker].push(entry);
    }

    /// Takes the first task whose hint is for `worker` or absent.
    pub(crate) fn pop_for(&mut self, worker: usize) -> Option<NonNull<Task>> {
        if self.is_empty() {
            return None;
        }
        let near = self.near.get(worker).and_then(|heap| heap.peek());
        let from_near = match (near, self.anywhere.peek()) {
            // `Reverse`: the smaller index compares as the greater one.
            (Some(near), Some(other)) => near > other,
            (near, _) => near.is_some(),
        };
        let heap = if from_near {
            &mut self.near[worker]
        } else {
            &mut self.anywhere
        };
        let Reverse((_, task)) = heap.pop()?;
        self.count -= 1;
        Some(task)
    }

    /// Takes a task with a hint for another worker: the first one of the largest heap.
    pub(crate) fn pop_any(&mut self) -> Option<NonNull<Task>> {
        let heap = self.near.iter_mut().max_by_key(|heap| heap.len())?;
        let Reverse((_, task)) = heap.pop()?;
        self.count -= 1;
        Some(task)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/flow/ready.rs"]
mod tests;
