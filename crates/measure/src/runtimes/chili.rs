//! Adapter for chili. The calling thread is one of the workers.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};
use locksley_workload::{Fork, Task};

use super::Runtime;

struct InScope<'a, 's>(&'a mut Scope<'s>);

impl<'s> Fork for InScope<'_, 's> {
    type Reborrowed<'b>
        = InScope<'b, 's>
    where
        Self: 'b;

    #[inline(always)]
    fn reborrow(&mut self) -> InScope<'_, 's> {
        InScope(self.0)
    }

    #[inline(always)]
    fn fork<A: Task, B: Task>(self, a: A, b: B) -> (A::Output, B::Output) {
        self.0
            .join(move |s| a.run(InScope(s)), move |s| b.run(InScope(s)))
    }
}

/// chili's pool.
#[derive(Debug)]
pub struct Chili(ThreadPool);

impl Runtime for Chili {
    const NAME: &'static str = "chili";

    fn start(workers: usize) -> Chili {
        Chili(ThreadPool::with_config(Config {
            thread_count: NonZero::new(workers),
            ..Config::default()
        }))
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        task.run(InScope(&mut self.0.scope()))
    }
}
