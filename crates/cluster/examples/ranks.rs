//! The unbalanced tree search on ranks: threads of this process, or, with the feature `mpi` and under `mpirun`, processes.
//!
//! ```text
//! cargo run --release -p locksley-cluster --example ranks -- T1 1 2
//! cargo build --release -p locksley-cluster --features mpi --example ranks
//! mpirun -n 4 target/release/examples/ranks T1 1
//! ```
//!
//! Arguments: the tree, the number of workers of each rank, and, without MPI, the number of ranks.

use std::error::Error;

use locksley_cluster::programs::uts::{self, Counted, Search};
use locksley_cluster::ranks::{self, Options, Outcome};
use locksley_workload::UtsTree;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tree, workers, more @ ..] = &arguments[..] else {
        return Err("give a tree, such as T1, and a number of workers".into());
    };
    let tree = UtsTree::named(tree).ok_or("there is no such tree; try T1")?;
    let options = Options {
        workers: workers.parse()?,
        ..Options::default()
    };
    if let Some(outcome) = run(tree, &options, more)? {
        print(&outcome);
    }
    Ok(())
}

#[cfg(feature = "mpi")]
fn run(
    tree: UtsTree,
    options: &Options,
    _: &[String],
) -> Result<Option<Outcome<Counted>>, Box<dyn Error>> {
    let first = [Search::whole(tree)];
    Ok(ranks::run(&uts::program(), first, options, ranks::mpi()?)?)
}

#[cfg(not(feature = "mpi"))]
fn run(
    tree: UtsTree,
    options: &Options,
    more: &[String],
) -> Result<Option<Outcome<Counted>>, Box<dyn Error>> {
    let count = more.first().map_or(Ok(2), |count| count.parse())?;
    let first = [Search::whole(tree)];
    let peers = ranks::threads(count);
    Ok(Some(ranks::run_threads(
        &uts::program(),
        first,
        options,
        peers,
    )?))
}

fn print(outcome: &Outcome<Counted>) {
    println!("{:?} in {:?}", outcome.result.0, outcome.wall);
    println!("{} bytes, {:?}", outcome.bytes(), outcome.counts());
    for rank in &outcome.ranks {
        let time = rank.processor_time.unwrap_or_default();
        println!(
            "rank {} on {}: {} tasks, {time:?}",
            rank.rank, rank.host, rank.usage.tasks
        );
    }
}
