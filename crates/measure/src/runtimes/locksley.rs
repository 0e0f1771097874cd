//! Adapters for Locksley: with the worker passed along, with the free function `join`, and with the
//! other waiting rule.

use locksley::prelude::*;
use locksley::{Pool, Scope, Strategy, Waiting};
use locksley_workload::{Fork, Spawned, Task};

use super::{Runtime, STACK};

fn pool(workers: usize, waiting: Waiting) -> Pool {
    let builder = Pool::builder().workers(workers).waiting(waiting);
    builder
        .stack_size(STACK)
        .build()
        .expect("the machine has room for a pool")
}

/// Returns the sum over a parallel loop in the calling worker's pool.
fn sum<I: Fn(u64) -> u64 + Sync>(len: u64, item: &I) -> u64 {
    (0..len).par().map(item).reduce(|| 0, u64::wrapping_add)
}

/// Forks with `worker.join(|w| ..., |w| ...)`.
///
/// ```
/// use locksley_measure::runtimes::OnWorker;
/// use locksley_workload::{FibTask, Task};
///
/// let pool = locksley::Pool::builder().workers(2).build().unwrap();
/// assert_eq!(pool.run(|worker| FibTask(20).run(OnWorker(worker))), 6765);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OnWorker<'w>(pub &'w locksley::Worker);

impl Fork for OnWorker<'_> {
    type Reborrowed<'a>
        = OnWorker<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn reborrow(&mut self) -> OnWorker<'_> {
        *self
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        self.0
            .join(move |w| a.run(OnWorker(w)), move |w| b.run(OnWorker(w)))
    }

    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        sum(len, item)
    }

    fn workers(&self) -> usize {
        self.0.num_workers()
    }

    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        spawn_each(tasks, |task: T| {
            locksley::Worker::with_current(|worker| {
                task.run(OnWorker(
                    worker.expect("a task of a scope runs on a worker"),
                ));
            });
        });
    }
}

/// Spawns tasks into a scope; `run` executes each of them.
fn spawn_each<T, I>(tasks: I, run: impl Fn(T) + Copy + Send + Sync)
where
    T: Task<Output = ()>,
    I: Iterator<Item = Spawned<T>> + Send,
{
    locksley::scope(|scope| {
        for Spawned { task, near } in tasks {
            let run = move |_: &Scope<'_>| run(task);
            match near {
                Some(worker) => scope.spawn_near(worker, run),
                None => scope.spawn(run),
            }
        }
    });
}

/// Forks with `locksley::join(|| ..., || ...)`.
///
/// ```
/// use locksley_measure::runtimes::FreeJoin;
/// use locksley_workload::{FibTask, Task};
///
/// let pool = locksley::Pool::builder().workers(2).build().unwrap();
/// assert_eq!(pool.install(|| FibTask(20).run(FreeJoin)), 6765);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FreeJoin;

impl Fork for FreeJoin {
    type Reborrowed<'a> = FreeJoin;

    #[inline(always)]
    fn reborrow(&mut self) -> FreeJoin {
        FreeJoin
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        locksley::join(move || a.run(FreeJoin), move || b.run(FreeJoin))
    }

    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        sum(len, item)
    }

    fn workers(&self) -> usize {
        locksley::current_num_workers()
    }

    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        spawn_each(tasks, |task: T| task.run(FreeJoin));
    }
}

/// A pool in which the worker is passed along ([`OnWorker`]).
#[derive(Debug)]
pub struct Locksley(pub Pool);

impl Locksley {
    /// Creates a pool with a strategy other than the default.
    pub fn under(strategy: Strategy, workers: usize) -> Locksley {
        let builder = Pool::builder().workers(workers).strategy(strategy);
        let pool = builder.stack_size(STACK).build();
        Locksley(pool.expect("the machine has room for a pool"))
    }
}

impl Runtime for Locksley {
    const NAME: &'static str = "locksley";

    fn start(workers: usize) -> Locksley {
        Locksley(pool(workers, Waiting::default()))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        self.0.run(|worker| task.run(OnWorker(worker)))
    }
}

/// A pool in which the worker is passed along, and a timeline is recorded.
#[derive(Debug)]
pub struct Traced(Pool);

impl Runtime for Traced {
    const NAME: &'static str = "locksley traced";

    fn start(workers: usize) -> Traced {
        let builder = Pool::builder().workers(workers).stack_size(STACK);
        let pool = builder.trace(1 << 16).build();
        Traced(pool.expect("the machine has room for a pool"))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        self.0.run(|worker| task.run(OnWorker(worker)))
    }
}

/// A pool in which the free function finds the worker ([`FreeJoin`]).
#[derive(Debug)]
pub struct LocksleyJoin(Pool);

impl Runtime for LocksleyJoin {
    const NAME: &'static str = "locksley::join";

    fn start(workers: usize) -> LocksleyJoin {
        LocksleyJoin(pool(workers, Waiting::default()))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        self.0.install(|| task.run(FreeJoin))
    }
}

/// A pool in which a waiting worker takes any work.
#[derive(Debug)]
pub struct TakeAny(Pool);

impl Runtime for TakeAny {
    const NAME: &'static str = "locksley TakeAny";

    fn start(workers: usize) -> TakeAny {
        TakeAny(pool(workers, Waiting::TakeAny))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        self.0.run(|worker| task.run(OnWorker(worker)))
    }
}
