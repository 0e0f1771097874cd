//! A user-defined program on leases: any number of workers, and a submitter.
//!
//! ```text
//! cargo build --release -p locksley-cluster --features redis --example leases
//! target/release/examples/leases worker &
//! target/release/examples/leases worker &
//! target/release/examples/leases count 22
//! ```
//!
//! The server is given by LOCKSLEY_REDIS_URL; the default is redis://127.0.0.1:6379.

mod leaves;

use std::error::Error;
use std::sync::Arc;

use locksley_cluster::Sum;
use locksley_cluster::leases::{Redis, Server, serve_until_ctrl_c, submit_and_wait};

fn main() -> Result<(), Box<dyn Error>> {
    let (build, program) = (leaves::build(), leaves::program());
    let redis = Redis::connect(Server::find(None)?)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => println!("{:?}", serve_until_ctrl_c(Arc::new(redis), build, program)?),
        ["count", height] => {
            let (name, height) = (format!("leaves-{}", std::process::id()), height.parse()?);
            let first = [leaves::Count { height }];
            let Sum(leaves) = submit_and_wait(&redis, build, &program, name.parse()?, first)?;
            println!("{leaves} leaves");
        }
        _ => return Err("usage: leases worker | leases count HEIGHT".into()),
    }
    Ok(())
}
