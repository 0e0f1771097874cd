//! What is recorded while a program runs: strands, and what happened between them.

use std::sync::{Arc, OnceLock};

/// What ran one after another: time, and what happened in between.
#[derive(Default)]
pub struct Strand {
    /// What happened, and how many nanoseconds went by before.
    pub(super) parts: Vec<(u64, Item)>,
    /// Nanoseconds since.
    pub(super) rest: u64,
}

/// The strand of a spawned task. It is there when the task is done.
pub type Slot = Arc<OnceLock<Strand>>;

/// What happens in a strand. A scope is known by a number that no other scope around it has.
pub enum Item {
    /// A join, and the strands of its closures.
    Fork(Box<[Strand; 2]>),
    /// A scope and its body. It ends when the tasks that were spawned into it are done too.
    Scope(usize, Arc<Strand>),
    /// A task that was spawned into a scope.
    ScopeTask(usize, Slot),
    /// A task that was spawned on its own.
    Task(Slot),
    /// The strand has waited for the handle of such a task.
    Joined(Slot),
    /// The tasks of a flow.
    Tasks(Arc<TaskGraph>),
    /// Something was started of which the recording does not know what waits for it.
    Unordered,
}

/// Tasks that wait for each other, and the strand of each.
pub struct TaskGraph {
    /// The number of the first task, from which the numbers of the others go on.
    first: usize,
    /// The tasks that each task waits for, counted from the first.
    pub(super) after: Vec<Vec<usize>>,
    /// Empty for a task that did not run.
    pub(super) strands: Vec<OnceLock<Strand>>,
}

impl TaskGraph {
    /// Creates a graph of tasks that are numbered from `first` on, and of which each waits for those
    /// that `after` has for it.
    pub fn new(first: usize, after: Vec<Vec<usize>>) -> TaskGraph {
        let strands = after.iter().map(|_| OnceLock::new()).collect();
        TaskGraph {
            first,
            after,
            strands,
        }
    }

    /// Returns where the strand of a task is left when it is done.
    pub fn slot(&self, task: usize) -> &OnceLock<Strand> {
        &self.strands[task - self.first]
    }
}

impl Strand {
    /// Returns how many nanoseconds it took, without what it forked.
    pub fn time(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.0);
        parts.fold(self.rest, u64::saturating_add)
    }

    /// Adds nanoseconds that went by.
    pub fn add(&mut self, nanoseconds: u64) {
        self.rest = self.rest.saturating_add(nanoseconds);
    }

    /// Notes what happens behind the time that was added.
    pub fn push(&mut self, item: Item) {
        if self.parts.is_empty() {
            // Most strands fork once.
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
