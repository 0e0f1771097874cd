//! A program of one's own on ranks: threads of this process, or, with the feature `mpi` and under
//! `mpirun`, processes.
//!
//! ```text
//! cargo run --release -p locksley-cluster --example ranks -- 24
//! cargo build --release -p locksley-cluster --features mpi --example ranks
//! mpirun -n 4 target/release/examples/ranks 24
//! ```

use std::error::Error;

use locksley_cluster::ranks::{self, Options};
use locksley_cluster::{Build, Program, Sum, Task, Tasks};
use serde::{Deserialize, Serialize};

/// Counts the leaves of a binary tree.
#[derive(Serialize, Deserialize)]
struct Count {
    height: u32,
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

fn main() -> Result<(), Box<dyn Error>> {
    let height = std::env::args().nth(1).ok_or("give a height, such as 24")?;
    let height = height.parse()?;
    let (program, first) = (Program::new("leaves").with::<Count>(), [Count { height }]);
    let options = Options {
        // Changes whenever `Count` or the result changes: ranks of other builds end the job.
        build: Some(Build::named("leaves 1")),
        ..Options::default()
    };
    #[cfg(feature = "mpi")]
    let outcome = ranks::run(&program, first, &options, ranks::mpi()?)?;
    #[cfg(not(feature = "mpi"))]
    let outcome = ranks::run_threads(&program, first, &options, ranks::threads(2)).map(Some)?;
    // Only rank 0 has it.
    if let Some(outcome) = outcome {
        println!("{} leaves in {:?}", outcome.result.0, outcome.wall);
        let tasks = outcome.ranks.iter().map(|rank| rank.usage.tasks);
        println!("tasks of each rank: {:?}", tasks.collect::<Vec<_>>());
    }
    Ok(())
}
