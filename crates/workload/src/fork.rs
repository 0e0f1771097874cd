//! Tasks, and the interface that they need from a runtime.

use crate::loops::Items;

/// A piece of work that may fork.
///
/// ```
/// use locksley_workload::{Fork, Serial, Task};
///
/// /// Counts the leaves of a binary tree of that height.
/// struct Leaves(u32);
///
/// impl Task for Leaves {
///     type Output = u64;
///
///     fn run<F: Fork>(self, fork: F) -> u64 {
///         if self.0 == 0 {
///             return 1;
///         }
///         let (left, right) = fork.fork(Leaves(self.0 - 1), Leaves(self.0 - 1));
///         left + right
///     }
/// }
///
/// assert_eq!(Leaves(10).run(Serial), 1024);
/// ```
pub trait Task: Send {
    /// The result.
    type Output: Send;

    /// Runs the task on the calling thread.
    fn run<F: Fork>(self, fork: F) -> Self::Output;
}

/// The permission to fork once. A runtime's adapter implements it for the context that the runtime
/// passes along (`&Worker`, `&mut Scope`), or for a type of size zero.
///
/// See the [crate's documentation](crate) for an example.
pub trait Fork: Sized {
    /// The borrowed permission.
    type Reborrowed<'a>: Fork
    where
        Self: 'a;

    /// Borrows the permission, for a task that forks more than once.
    fn reborrow(&mut self) -> Self::Reborrowed<'_>;

    /// Runs two tasks, potentially in parallel; on one worker, `a` first.
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output);

    /// Returns the sum of the results of a loop's items, with wrapping. A runtime that has parallel
    /// loops overrides this; otherwise the loop is halved until one item is left.
    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        let all = Items {
            from: 0,
            to: len,
            item,
        };
        all.run(self)
    }

    /// Returns the number of workers, for programs that give hints for where their tasks should
    /// run.
    fn workers(&self) -> usize {
        1
    }

    /// Spawns tasks, one by one as the iterator yields them, and returns when all are done.
    ///
    /// For a runtime without spawns, the default collects the tasks and forks halves.
    ///
    /// ```
    /// use locksley_workload::{Fork, Serial, Spawned, Task};
    ///
    /// struct Set<'a>(&'a mut u32);
    ///
    /// impl Task for Set<'_> {
    ///     type Output = ();
    ///
    ///     fn run<F: Fork>(self, _: F) {
    ///         *self.0 = 7;
    ///     }
    /// }
    ///
    /// let mut numbers = [0; 5];
    /// Serial.spawn_each(numbers.iter_mut().map(|number| Spawned::anywhere(Set(number))));
    /// assert_eq!(numbers, [7; 5]);
    /// ```
    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        Halves(tasks.map(|spawned| spawned.task).collect()).run(self);
    }
}

/// A task to be spawned.
///
/// ```
/// use locksley_workload::{FibTask, Spawned};
///
/// assert_eq!(Spawned::near(3, FibTask(7)).near, Some(3));
/// assert_eq!(Spawned::anywhere(FibTask(7)).near, None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spawned<T> {
    /// The task.
    pub task: T,
    /// The worker that it should preferably run on: a hint.
    pub near: Option<usize>,
}

impl<T> Spawned<T> {
    /// Creates a task that may run anywhere.
    pub fn anywhere(task: T) -> Spawned<T> {
        Spawned { task, near: None }
    }

    /// Creates a task that should preferably run on this worker.
    pub fn near(worker: usize, task: T) -> Spawned<T> {
        Spawned {
            task,
            near: Some(worker),
        }
    }
}

/// Tasks that are halved recursively by forks.
pub(crate) struct Halves<T>(pub(crate) Vec<T>);

impl<T: Task<Output = ()>> Task for Halves<T> {
    type Output = ();

    fn run<F: Fork>(mut self, fork: F) {
        if self.0.len() <= 1 {
            if let Some(task) = self.0.pop() {
                task.run(fork);
            }
            return;
        }
        let rest = self.0.split_off(self.0.len().div_ceil(2));
        fork.fork(self, Halves(rest));
    }
}

/// A fork that runs the first task, then the second, on the calling thread.
///
/// ```
/// use locksley_workload::{Fib, Program, Serial, Task};
///
/// assert_eq!(Fib::new(10).task().run(Serial), 55);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Fork for Serial {
    type Reborrowed<'a> = Serial;

    #[inline(always)]
    fn reborrow(&mut self) -> Serial {
        Serial
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        let a = a.run(Serial);
        (a, b.run(Serial))
    }

    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        (0..len).map(item).fold(0, u64::wrapping_add)
    }

    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        tasks.for_each(|spawned| spawned.task.run(Serial));
    }
}
