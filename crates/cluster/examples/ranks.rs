//! A user-defined program on ranks: threads of this process or, with the feature `mpi` and under
//! `mpirun`, processes.
//!
//! ```text
//! cargo run --release -p locksley-cluster --example ranks -- 24
//! cargo build --release -p locksley-cluster --features mpi --example ranks
//! mpirun -n 4 target/release/examples/ranks 24
//! ```

mod leaves;

use std::error::Error;

use locksley_cluster::ranks::{self, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let height = std::env::args().nth(1).ok_or("give a height, such as 24")?;
    let height = height.parse()?;
    let (program, first) = (leaves::program(), [leaves::Count { height }]);
    let options = Options {
        build: Some(leaves::build()),
        ..Options::default()
    };
    #[cfg(feature = "mpi")]
    let outcome = ranks::run(&program, first, &options, ranks::mpi()?)?;
    #[cfg(not(feature = "mpi"))]
    let outcome = ranks::run_threads(&program, first, &options, ranks::threads(2)).map(Some)?;
    // Only rank 0 has an outcome.
    if let Some(outcome) = outcome {
        println!("{} leaves in {:?}", outcome.result.0, outcome.wall);
        let tasks = outcome.ranks.iter().map(|rank| rank.usage.tasks);
        println!("tasks of each rank: {:?}", tasks.collect::<Vec<_>>());
    }
    Ok(())
}
