//! forte. The calling thread is one of the workers.
//!
//! A forte pool is a static. Its heartbeat thread wakes up every 100 microseconds, idle or not.
//! Ending it deadlocks in this version: `resize_to(0)` joins the thread while it holds a lock that
//! the thread needs.

use forte::{ThreadPool, Worker};
use locksley_workload::{Fork, Task};

use super::Runtime;

static POOL: ThreadPool = ThreadPool::new();

#[derive(Clone, Copy)]
struct OnWorker<'w>(&'w Worker);

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
}

/// The only pool of this process.
pub(crate) struct Forte;

impl Runtime for Forte {
    const NAME: &'static str = "forte";

    fn start(workers: usize) -> Forte {
        POOL.resize_to(workers - 1);
        Forte
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        POOL.with_worker(|worker| task.run(OnWorker(worker)))
    }
}
