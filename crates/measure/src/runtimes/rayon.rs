//! Adapter for rayon.

use locksley_workload::{Fork, Spawned, Task};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Runtime, STACK};

#[derive(Clone, Copy)]
struct Join;

impl Fork for Join {
    type Reborrowed<'a> = Join;

    #[inline(always)]
    fn reborrow(&mut self) -> Join {
        Join
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        rayon::join(move || a.run(Join), move || b.run(Join))
    }

    fn sum<I: Fn(u64) -> u64 + Sync>(self, len: u64, item: &I) -> u64 {
        let items = (0..len).into_par_iter().map(item);
        items.reduce(|| 0, u64::wrapping_add)
    }

    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn spawn_each<T, I>(self, tasks: I)
    where
        T: Task<Output = ()>,
        I: Iterator<Item = Spawned<T>> + Send,
    {
        // rayon has no hint for where to run a task.
        rayon::scope(|scope| {
            for Spawned { task, .. } in tasks {
                scope.spawn(move |_| task.run(Join));
            }
        });
    }
}

/// rayon's pool.
#[derive(Debug)]
pub struct Rayon(pub ThreadPool);

impl Runtime for Rayon {
    const NAME: &'static str = "rayon";

    fn start(workers: usize) -> Rayon {
        let builder = ThreadPoolBuilder::new().num_threads(workers);
        let pool = builder.stack_size(STACK).build();
        Rayon(pool.expect("the machine has room for a pool"))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        self.0.install(|| task.run(Join))
    }
}
