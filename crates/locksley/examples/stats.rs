//! Statistics: the counts of each worker for the same program under several strategies.
//!
//! ```sh
//! cargo run --release -p locksley --example stats
//! ```

#[cfg(feature = "stats")]
use locksley::Pool;

/// Some microseconds of work.
#[cfg(feature = "stats")]
fn work(seed: u64) -> u64 {
    (0..2000).fold(seed, |x, _| {
        x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)
    })
}

#[cfg(feature = "stats")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for strategy in ["stealing", "steal-half", "sharing", "dealing"] {
        let pool = Pool::builder()
            .workers(4)
            .strategy(strategy.parse()?)
            .build()?;
        pool.install(|| ()); // wakes the pool
        let before = pool.stats();
        pool.scope(|s| {
            for seed in 0..1000 {
                s.spawn(move |_| _ = std::hint::black_box(work(seed)));
            }
        });
        println!(
            "{strategy}, 1000 tasks of one worker:\n{}\n",
            pool.stats() - before
        );
    }
    Ok(())
}

#[cfg(not(feature = "stats"))]
fn main() {
    println!("The crate was built without its feature `stats`: nothing is counted.");
}
