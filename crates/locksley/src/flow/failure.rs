//! Failed tasks of a frame, and the panic that its waiter gets.

use super::queue::AccessMode;
use super::task::Task;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::task::job::{Payload, discard};

/// The failures of a frame's tasks.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// Set if a task of the frame has failed. Written before the task is marked as done.
    failed: AtomicBool,
    /// The panic of the first task, in the order of the program, that has panicked, and its index.
    panic: Mutex<Option<(usize, Payload)>>,
}

impl Failures {
    /// Returns `true` if the task needs an object that a failed one might have written.
    #[inline]
    pub(crate) fn affects(&self, task: &Task) -> bool {
        self.failed.load(Ordering::Relaxed) && depends_on_failed(task)
    }

    /// Records that a task has failed, and marks the objects that it might have written.
    #[cold]
    pub(crate) fn record(&self, task: &Task, payload: Option<Payload>) {
        self.failed.store(true, Ordering::Relaxed);
        let written = task.entries().iter().filter(|e| e.mode != AccessMode::Read);
        written.for_each(|entry| entry.core().fail());
        if let Some(payload) = payload {
            self.record_panic(task.index, payload);
        }
    }

    /// Keeps the panic of the task `index`, unless there is one of an earlier task.
    pub(crate) fn record_panic(&self, index: usize, payload: Payload) {
        self.failed.store(true, Ordering::Relaxed);
        let mut first = lock(&self.panic);
        let other = match &*first {
            Some((before, _)) if *before <= index => Some(payload),
            _ => first.replace((index, payload)).map(|(_, other)| other),
        };
        drop(first);
        other.into_iter().for_each(discard);
    }

    /// Takes the panic that reaches the waiter of the frame.
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        if !self.failed.load(Ordering::Relaxed) {
            return None;
        }
        lock(&self.panic).take().map(|(_, payload)| payload)
    }
}

/// Returns `true` if the task needs an object that a failed one might have written. A cumulative
/// write does not need the object's value.
#[cold]
fn depends_on_failed(task: &Task) -> bool {
    let mut needs = task
        .entries()
        .iter()
        .filter(|e| e.mode != AccessMode::Cumulate);
    needs.any(|entry| entry.core().has_failed())
}
