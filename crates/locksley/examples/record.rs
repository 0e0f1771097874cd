//! Records a run for the simulator, which predicts it for other numbers of cores.
//!
//! ```sh
//! cargo run --release -p locksley --example record
//! ```

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::time::Duration;

use locksley::Pool;

/// Duration of a step of the recorded graph.
const UNIT: Duration = Duration::from_nanos(200);

fn is_prime(n: u64) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

/// Counts the primes of a range. Large numbers take longer, so the halves are uneven.
fn primes(range: Range<u64>) -> usize {
    if range.end - range.start <= 500 {
        return range.filter(|n| is_prime(*n)).count();
    }
    let middle = range.start.midpoint(range.end);
    let (low, high) = locksley::join(|| primes(range.start..middle), || primes(middle..range.end));
    low + high
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With one worker, others do not disturb the times.
    let pool = Pool::builder().workers(1).build()?;
    let (count, recording) = pool.record(|| primes(0..200_000));
    println!("{count} primes below 200000");
    println!(
        "{} forks, {:.1?} of work",
        recording.forks(),
        recording.work()
    );

    let path = std::env::temp_dir().join("primes.dag.json");
    recording.write(BufWriter::new(File::create(&path)?), UNIT)?;
    println!("What 1 to 64 processors would make of it:");
    println!("  cargo run --release -- replay {}", path.display());
    Ok(())
}
