//! Data that is recorded while a program runs: strands, and the events between them.

use std::sync::{Arc, OnceLock};

/// A strand: code that runs sequentially, as times and the events between them.
#[derive(Default)]
pub struct Strand {
    /// Events, each with the nanoseconds before it.
    pub(super) parts: Vec<(u64, Item)>,
    /// Nanoseconds since the last event.
    pub(super) rest: u64,
}

/// The strand of a spawned task. It is set when the task is done.
pub type Slot = Arc<OnceLock<Strand>>;

/// An event in a strand. A scope is identified by a number that no other scope around it has.
pub enum Item {
    /// A join, and the strands of its closures.
    Fork(Box<[Strand; 2]>),
    /// A scope and its body. It ends when the tasks that were spawned into it are done too.
    Scope(usize, Arc<Strand>),
    /// A task that was spawned into a scope.
    ScopeTask(usize, Slot),
    /// A task that was spawned on its own, not into a scope.
    Task(Slot),
    /// The strand has waited for the handle of a task that was spawned on its own.
    Joined(Slot),
    /// The tasks of a flow.
    Tasks(Arc<TaskGraph>),
    /// Work was started, and the recording does not know what waits for it.
    Unordered,
}

/// Tasks with dependencies between them, and the strand of each.
pub struct TaskGraph {
    /// Number of the first task; the others are numbered consecutively.
    first: usize,
    /// For each task, the indices of the tasks that it waits for, where 0 is the first task.
    pub(super) after: Vec<Vec<usize>>,
    /// The strand of each task; empty if the task did not run.
    pub(super) strands: Vec<OnceLock<Strand>>,
}

impl TaskGraph {
    /// Creates a graph of tasks that are numbered from `first` on. Each task waits for those whose
    /// indices `after` has for it.
    pub fn new(first: usize, after: Vec<Vec<usize>>) -> TaskGraph {
        let strands = after.iter().map(|_| OnceLock::new()).collect();
        TaskGraph {
            first,
            after,
            strands,
        }
    }

    /// Returns the slot for the strand of a task, which is set when the task is done.
    pub fn slot(&self, task: usize) -> &OnceLock<Strand> {
        &self.strands[task - self.first]
    }
}

impl Strand {
    /// Returns how many nanoseconds the strand took, without what it forked.
    pub fn time(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.0);
        parts.fold(self.rest, u64::saturating_add)
    }

    /// Adds nanoseconds of running time.
    pub fn add(&mut self, nanoseconds: u64) {
        self.rest = self.rest.saturating_add(nanoseconds);
    }

    /// Adds an event after the time that was added so far.
    pub fn push(&mut self, item: Item) {
        if self.parts.is_empty() {
            // Most strands have one event.
            self.parts.reserve_exact(1);
        }
        self.parts.push((std::mem::take(&mut self.rest), item));
    }
}

// A work list, so that deep programs cannot overflow the stack.
impl Drop for Strand {
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        while let Some((_, item)) = parts.pop() {
            let mut take = |strand: &mut Strand| parts.append(&mut strand.parts);
            match item {
                Item::Fork(mut both) => both.iter_mut().for_each(take),
                Item::Scope(_, body) => {
                    if let Some(mut strand) = Arc::into_inner(body) {
                        take(&mut strand);
                    }
                }
                Item::ScopeTask(_, slot) | Item::Task(slot) | Item::Joined(slot) => {
                    if let Some(strand) = Arc::into_inner(slot).as_mut().and_then(OnceLock::get_mut)
                    {
                        take(strand);
                    }
                }
                Item::Tasks(tasks) => {
                    if let Some(mut tasks) = Arc::into_inner(tasks) {
                        let strands = tasks.strands.iter_mut();
                        strands.filter_map(OnceLock::get_mut).for_each(take);
                    }
                }
                Item::Unordered => {}
            }
        }
    }
}
