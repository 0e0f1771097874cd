//! Spawned tasks as futures: any executor can await a handle. `block_on` is the simplest executor.
//!
//! ```sh
//! cargo run --release -p locksley --example spawn_await
//! ```

use std::time::{Duration, Instant};

/// Returns the number of steps of the Collatz sequence from `n` to 1.
fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// Returns the number below `limit` with the longest sequence, and its length. Spawns all tasks
/// first, and then awaits them.
async fn longest(limit: u64) -> (u64, u32) {
    let width = limit.div_ceil(16);
    let tasks: Vec<_> = (0..16)
        .map(|part| {
            locksley::spawn(move || {
                let numbers = (1 + part * width)..(1 + (part + 1) * width).min(limit);
                numbers.map(|n| (n, collatz(n))).max_by_key(|pair| pair.1)
            })
        })
        .collect();
    let mut best = (1, 0);
    for task in tasks {
        if let Some(found) = task.await.filter(|found| found.1 > best.1) {
            best = found;
        }
    }
    best
}

fn main() {
    let start = Instant::now();
    let (number, steps) = locksley::block_on(longest(300_000));
    println!(
        "{number} takes {steps} steps, found in {:.2?}",
        start.elapsed()
    );
    assert_eq!((number, steps), (230_631, 442));

    // Outside of asynchronous code, a handle is joined or polled.
    let task = locksley::spawn(|| std::thread::sleep(Duration::from_millis(20)));
    println!("finished at once? {}", task.is_finished());
    task.join();
    println!("finished now.");
}
