//! Affinity: sweeps the same blocks repeatedly, each near the worker that has it in its cache.
//!
//! ```sh
//! cargo run --release -p locksley --example affinity
//! ```

use std::time::{Duration, Instant};

use locksley::Pool;

const BLOCKS: usize = 8;
const SWEEPS: usize = 200;

/// Sweeps all blocks. Returns the time, and how often a block changed its worker.
fn sweep(pool: &Pool, blocks: &mut [(Vec<u64>, Option<usize>)]) -> (Duration, usize) {
    let (start, mut moves) = (Instant::now(), 0);
    for _ in 0..SWEEPS {
        let before: Vec<_> = blocks.iter().map(|block| block.1).collect();
        pool.scope(|s| {
            for (number, (values, ran_on)) in blocks.iter_mut().enumerate() {
                s.spawn_near(pool.worker_for_key(&number), move |_| {
                    values
                        .iter_mut()
                        .for_each(|value| *value = value.wrapping_mul(3) + 1);
                    *ran_on = locksley::current_worker_index();
                });
            }
        });
        moves += blocks
            .iter()
            .zip(before)
            .filter(|(block, old)| block.1 != *old)
            .count();
    }
    (start.elapsed(), moves - BLOCKS)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", locksley::topology());
    println!();
    for strategy in ["stealing", "sharing", "dealing:locality"] {
        let pool = Pool::builder()
            .workers(2)
            .strategy(strategy.parse()?)
            .build()?;
        let mut blocks = vec![(vec![1; 8192], None); BLOCKS];
        let (time, moves) = sweep(&pool, &mut blocks);
        println!(
            "{strategy:>17}: {time:>8.2?}, {moves:>4} of {} blocks changed their worker",
            BLOCKS * SWEEPS
        );
    }
    Ok(())
}
