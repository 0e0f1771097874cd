//! The tasks of a frame that are ready, by the worker that they had better run on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ptr::NonNull;

use super::task::Task;

/// A task that is ready. The first one in the order of the program is taken first.
#[derive(Debug)]
struct Ready(NonNull<Task>, usize);

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.1.cmp(&other.1)
    }
}

type Heap = BinaryHeap<Reverse<Ready>>;

/// Tasks that are ready and that no worker has taken. Under the frame's lock.
#[derive(Debug, Default)]
pub(crate) struct ReadyTasks {
    /// Those without a hint.
    anywhere: Heap,
    /// Those with a hint, by the index of the worker; empty while there was none.
    near: Vec<Heap>,
    count: usize,
}

impl ReadyTasks {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn push(&mut self, task: NonNull<Task>) {
        // SAFETY: it is in the list, so it stays.
        let this = unsafe { task.as_ref() };
        let entry = Reverse(Ready(task, this.index));
        self.count += 1;
        let Some(worker) = this.near() else {
            return self.anywhere.push(entry);
        };
        if self.near.len() <= worker {
            self.near.resize_with(worker + 1, Heap::new);
        }
        self.near[worker].push(entry);
    }

    /// Takes the first task that `worker` had better run, or that may run anywhere.
    pub(crate) fn pop_for(&mut self, worker: usize) -> Option<NonNull<Task>> {
        if self.is_empty() {
            return None;
        }
        let near = self.near.get(worker).and_then(|heap| heap.peek());
        let from_near = match (near, self.anywhere.peek()) {
            // The smaller index is the greater one here.
            (Some(near), Some(other)) => near > other,
            (near, _) => near.is_some(),
        };
        let heap = if from_near {
            &mut self.near[worker]
        } else {
            &mut self.anywhere
        };
        let Reverse(Ready(task, _)) = heap.pop()?;
        self.count -= 1;
        Some(task)
    }

    /// Takes a task that another worker had better run: the first of the longest list.
    pub(crate) fn pop_any(&mut self) -> Option<NonNull<Task>> {
        let heap = self.near.iter_mut().max_by_key(|heap| heap.len())?;
        let Reverse(Ready(task, _)) = heap.pop()?;
        self.count -= 1;
        Some(task)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::engine::{List, Turn};
    use super::super::task::{Context, Kind};
    use super::*;

    const KIND: &Kind = &Kind { run };

    unsafe fn run(_: NonNull<Task>, _: &Context<'_>) {}

    /// A list of tasks that depend on nothing, near these workers.
    fn with_list(near: &[Option<usize>], test: impl Fn(&dyn Fn(usize) -> Option<usize>)) {
        let list = List::new();
        let mut tasks: Vec<Task> = near
            .iter()
            .enumerate()
            .map(|(index, near)| {
                let mut task = Task::new(KIND, index, 0);
                near.iter().for_each(|&worker| task.set_near(worker));
                task
            })
            .collect();
        for task in &mut tasks {
            // SAFETY: the tasks outlive the list's use, and have no entries.
            unsafe { list.add(NonNull::from(task)) };
        }
        test(&|worker| match list.take(worker, None) {
            // SAFETY: it is in the list.
            Turn::Task(task) => Some(unsafe { task.as_ref() }.index),
            _ => None,
        });
    }

    #[test]
    fn a_worker_prefers_what_is_near_it_and_takes_the_rest_too() {
        with_list(&[Some(0), Some(1), None, Some(0), Some(1)], |take| {
            assert_eq!([take(1), take(1), take(1)], [Some(1), Some(2), Some(4)]);
            assert_eq!([take(1), take(0), take(0)], [Some(0), Some(3), None]);
        });
    }

    #[test]
    fn a_worker_does_not_look_past_everything() {
        let mut near = [Some(0); 200];
        near[199] = Some(1);
        with_list(&near, |take| {
            assert_eq!([take(1), take(1), take(0)], [Some(0), Some(1), Some(2)]);
        });
    }

    #[test]
    fn a_worker_that_no_task_can_name_is_no_hint() {
        let mut task = Task::new(KIND, 0, 0);
        task.set_near(usize::MAX);
        assert_eq!(task.near(), None);
        task.set_near(7);
        assert_eq!(task.near(), Some(7));
    }
}
