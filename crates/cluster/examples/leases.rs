//! A program of one's own on leases: any number of workers, and a submitter.
//!
//! ```text
//! cargo build --release -p locksley-cluster --features redis --example leases
//! target/release/examples/leases worker &
//! target/release/examples/leases worker &
//! target/release/examples/leases count 22
//! ```
//!
//! The server is that of LOCKSLEY_REDIS_URL, or redis://127.0.0.1:6379.

use std::error::Error;
use std::sync::Arc;

use locksley_cluster::leases::{Redis, Server, serve_until_ctrl_c, submit_and_wait};
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
    // Changes whenever `Count` or the result changes: workers take tasks of their own build only.
    let build = Build::named("leaves 1");
    let program = Program::new("leaves").with::<Count>();
    let redis = Redis::connect(Server::find(None)?)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => println!("{:?}", serve_until_ctrl_c(Arc::new(redis), build, program)?),
        ["count", height] => {
            let (name, height) = (format!("leaves-{}", std::process::id()), height.parse()?);
            let first = [Count { height }];
            let Sum(leaves) = submit_and_wait(&redis, build, &program, name.parse()?, first)?;
            println!("{leaves} leaves");
        }
        _ => return Err("say `worker`, or `count` and a height".into()),
    }
    Ok(())
}
