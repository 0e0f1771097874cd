//! Adapter for serial execution, without a runtime.

use locksley_workload::Task;

use super::Runtime;

/// Runs everything on the calling thread.
#[derive(Debug)]
pub struct Serial;

impl Runtime for Serial {
    const NAME: &'static str = "serial";

    fn start(_: usize) -> Serial {
        Serial
    }

    fn run<T: Task>(&mut self, task: T) -> T::Output {
        task.run(locksley_workload::Serial)
    }
}
