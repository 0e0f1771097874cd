//! The program of the examples `leases` and `ranks`.

use locksley_cluster::{Build, Program, Sum, Task, Tasks};
use serde::{Deserialize, Serialize};

/// The build number. Change the text whenever `Count` or the result changes: workers take tasks of
/// their own build only, and ranks of other builds end the job.
pub(crate) fn build() -> Build {
    Build::named("leaves 1")
}

pub(crate) fn program() -> Program<Sum<u64>> {
    Program::new("leaves").with::<Count>()
}

/// Counts the leaves of a binary tree.
#[derive(Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) height: u32,
}

impl Task for Count {
    const KIND: &'static str = "count";
    type Output = Sum<u64>;

    fn run(self, tasks: &Tasks<Sum<u64>>) -> Sum<u64> {
        if self.height <= 14 {
            return Sum((0..1 << self.height).map(|_: u64| 1).sum());
        }
        let height = self.height - 1;
        (0..2).for_each(|_| tasks.spawn(Count { height }));
        Sum(0)
    }
}
