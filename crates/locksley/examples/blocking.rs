//! Blocking calls: a spare takes the place of a worker that waits for something outside the pool.
//!
//! ```sh
//! cargo run --release -p locksley --example blocking
//! ```

use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;

const TASKS: usize = 6;

/// Simulates a request to a server, or a read from a slow disk.
fn fetch() {
    thread::sleep(Duration::from_millis(50));
}

/// Runs several tasks that each call `fetch`. Returns the time.
fn run(pool: &Pool, fetch: impl Fn() + Sync) -> Duration {
    let start = Instant::now();
    pool.scope(|s| {
        for _ in 0..TASKS {
            s.spawn(|_| fetch());
        }
    });
    start.elapsed()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::builder().workers(2).build()?;
    let plain = run(&pool, fetch);
    let told = run(&pool, || locksley::blocking(fetch));
    println!("{TASKS} tasks of 50 ms that block, on 2 workers:");
    println!("  the pool is not told: {plain:>6.0?}");
    println!("  with `blocking`:      {told:>6.0?}");
    println!("Spares took the places of the blocked workers.");
    Ok(())
}
