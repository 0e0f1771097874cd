//! A timeline of what each worker did, for https://ui.perfetto.dev.
//!
//! ```sh
//! cargo run --release -p locksley --example trace
//! ```

use std::fs::File;
use std::io::BufWriter;

use locksley::Pool;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::builder().workers(4).trace(100_000).build()?;
    let result = pool.install(|| fib(32));
    // A pause, which shows as parked time, and a scope of short tasks.
    std::thread::sleep(std::time::Duration::from_millis(2));
    pool.scope(|s| (0..200).for_each(|_| s.spawn(|_| _ = std::hint::black_box(fib(12)))));

    let trace = pool.take_trace();
    let path = std::env::temp_dir().join("locksley-trace.json");
    trace.write(BufWriter::new(File::create(&path)?))?;
    println!("fib(32) = {result}");
    println!("{} entries were lost", trace.source.lost);
    println!("open {} in https://ui.perfetto.dev", path.display());
    Ok(())
}
