//! The mark phase of a garbage collector: the objects of a heap that can be reached from its roots.
//!
//! Hendler and Shavit name this application for work dealing and for steal-half. Tasks are tiny,
//! the number of tasks that an object leads to is not known before it is visited, and two workers
//! may reach the same object. A worker has a stack of objects to visit; when the stack is long,
//! half of it becomes another task.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fork::{Fork, Task};
use crate::program::{Mismatch, Program, expect};
use crate::random::{below, split_mix};

/// Length of a stack at which it is halved.
const LONG: usize = 64;

/// The shape of the heap.
///
/// ```
/// use locksley_workload::{Heap, Mark};
///
/// assert_eq!(Mark::new(Heap::Lists, 100, 7).reachable(), 75);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heap {
    /// Small objects with a few references, mostly to objects near them.
    Random,
    /// Long lists: almost no parallelism.
    Lists,
    /// A few large arrays of references to objects without references.
    Arrays,
}

/// Marks the reachable objects. An operation is an object.
///
/// ```
/// use locksley_workload::{Heap, Mark, Program, Serial, Task};
///
/// let mut mark = Mark::new(Heap::Random, 1000, 7);
/// mark.task().run(Serial);
/// assert_eq!(mark.check(()), Ok(()));
/// ```
#[derive(Debug)]
pub struct Mark {
    objects: Objects,
    roots: Vec<u32>,
    expected: Vec<bool>,
}

/// A heap, and the marks of its objects.
#[derive(Debug)]
struct Objects {
    /// Index in `targets` of the first reference of each object; one entry more than there are
    /// objects.
    starts: Vec<usize>,
    targets: Vec<u32>,
    marked: Vec<AtomicBool>,
}

impl Objects {
    fn references(&self, object: u32) -> &[u32] {
        let at = object as usize;
        &self.targets[self.starts[at]..self.starts[at + 1]]
    }
}

impl Mark {
    /// Creates a heap of `objects` objects, at least one, of which about a quarter is garbage.
    /// Computes the reachable objects in a loop.
    pub fn new(heap: Heap, objects: u32, seed: u64) -> Mark {
        let count = objects.max(1);
        let mut state = seed;
        let mut starts = vec![0];
        let mut targets = Vec::new();
        for object in 0..count {
            refer(heap, object, count, &mut state, &mut targets);
            starts.push(targets.len());
        }
        let mut roots = vec![0];
        // Objects after the first three quarters are referred to only from there, and no root is
        // among them: they are garbage.
        roots.extend((0..8).map(|_| below(u64::from(live(count)), &mut state) as u32));
        let objects = Objects {
            starts,
            targets,
            marked: (0..count).map(|_| AtomicBool::new(false)).collect(),
        };
        let expected = reachable(&objects, &roots);
        Mark {
            objects,
            roots,
            expected,
        }
    }

    /// Returns the number of reachable objects.
    ///
    /// ```
    /// use locksley_workload::{Heap, Mark};
    ///
    /// let mark = Mark::new(Heap::Random, 10_000, 7);
    /// assert!((5000..8000).contains(&mark.reachable()));
    /// ```
    pub fn reachable(&self) -> usize {
        self.expected.iter().filter(|&&reached| reached).count()
    }
}

/// Returns the number of objects that are not garbage; they come first.
fn live(count: u32) -> u32 {
    (count - count / 4).max(1)
}

/// Adds the references of an object.
fn refer(heap: Heap, object: u32, count: u32, state: &mut u64, targets: &mut Vec<u32>) {
    let live = live(count);
    let (from, to) = if object < live {
        (0, live)
    } else {
        (live, count)
    };
    let anywhere = |state: &mut u64| from + below(u64::from(to - from), state) as u32;
    match heap {
        Heap::Random => {
            for _ in 0..below(5, state) {
                let near = object.saturating_add(1 + below(64, state) as u32);
                let far = split_mix(state).is_multiple_of(8) || near >= to;
                targets.push(if far { anywhere(state) } else { near });
            }
            // Keeps the objects of each part connected, whatever the random numbers are.
            targets.extend((object + 1 < to).then_some(object + 1));
        }
        Heap::Lists => targets.extend((object + 1 < to).then_some(object + 1)),
        Heap::Arrays => {
            const LENGTH: u32 = 4096;
            if object % LENGTH == from % LENGTH {
                let last = to.min(object.saturating_add(LENGTH));
                targets.extend(object + 1..last);
                targets.extend((last < to).then_some(last));
            }
        }
    }
}

fn reachable(objects: &Objects, roots: &[u32]) -> Vec<bool> {
    let mut reached = vec![false; objects.marked.len()];
    let mut stack = roots.to_vec();
    while let Some(object) = stack.pop() {
        if !std::mem::replace(&mut reached[object as usize], true) {
            stack.extend(objects.references(object));
        }
    }
    reached
}

impl Program for Mark {
    type Task<'p> = MarkTask<'p>;
    type Output = ();

    fn operations(&self) -> u64 {
        self.reachable() as u64
    }

    fn task(&mut self) -> MarkTask<'_> {
        for mark in &mut self.objects.marked {
            *mark.get_mut() = false;
        }
        MarkTask {
            objects: &self.objects,
            stack: self.roots.clone(),
        }
    }

    fn check(&self, (): ()) -> Result<(), Mismatch> {
        let marked = self.objects.marked.iter();
        for (at, (mark, reached)) in marked.zip(&self.expected).enumerate() {
            expect((at, *reached), (at, mark.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }
}

/// Marks the objects that are reachable from a stack of objects.
///
/// ```
/// use locksley_workload::{Heap, Mark, MarkTask, Program, Serial, Task};
///
/// let mut mark = Mark::new(Heap::Lists, 10, 7);
/// let task: MarkTask = mark.task();
/// task.run(Serial);
/// ```
#[derive(Debug)]
pub struct MarkTask<'p> {
    objects: &'p Objects,
    stack: Vec<u32>,
}

impl Task for MarkTask<'_> {
    type Output = ();

    fn run<F: Fork>(mut self, fork: F) {
        while let Some(object) = self.stack.pop() {
            let mark = &self.objects.marked[object as usize];
            // Most references lead to marked objects: a load is cheaper than a swap.
            if mark.load(Ordering::Relaxed) || mark.swap(true, Ordering::Relaxed) {
                continue;
            }
            self.stack.extend(self.objects.references(object));
            if self.stack.len() >= LONG {
                let stack = self.stack.split_off(self.stack.len() / 2);
                let objects = self.objects;
                fork.fork(MarkTask { objects, stack }, self);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn exactly_what_can_be_reached_is_marked() {
        for heap in [Heap::Random, Heap::Lists, Heap::Arrays] {
            for objects in [0, 1, 2, 3, 100, 20_000] {
                let mut mark = Mark::new(heap, objects, 5);
                mark.task().run(Serial);
                assert_eq!(mark.check(()), Ok(()), "{heap:?} {objects}");
                *mark.objects.marked[0].get_mut() = false;
                assert!(mark.check(()).is_err(), "a root that is not marked");
            }
        }
    }

    #[test]
    fn a_heap_has_garbage_and_what_lives_hangs_together() {
        for heap in [Heap::Random, Heap::Lists, Heap::Arrays] {
            let mark = Mark::new(heap, 20_000, 5);
            assert_eq!(mark.reachable(), 15_000, "{heap:?}");
        }
    }
}
