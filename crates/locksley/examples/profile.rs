//! A profile shows how parallel a program is: work, span, and the speed-up that more workers allow.
//!
//! ```sh
//! cargo run --release -p locksley --example profile
//! ```

use locksley::Pool;

/// Sums in halves: almost everything can run in parallel.
fn by_halves(values: &[f64]) -> f64 {
    if values.len() <= 10_000 {
        return values.iter().map(|value| value.sqrt()).sum();
    }
    let (left, right) = values.split_at(values.len() / 2);
    let (a, b) = locksley::join(|| by_halves(left), || by_halves(right));
    a + b
}

/// Adds up a tenth, and only then forks the rest: the same work, but nothing runs in parallel.
fn by_tenths(values: &[f64]) -> f64 {
    if values.len() <= 10_000 {
        return values.iter().map(|value| value.sqrt()).sum();
    }
    let (piece, rest) = values.split_at(values.len() / 10);
    let sum = piece.iter().map(|value| value.sqrt()).sum::<f64>();
    let (a, b) = locksley::join(|| by_tenths(rest), || sum);
    a + b
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f64> = (0..2_000_000).map(f64::from).collect();
    let pool = Pool::builder().build()?;
    let (first, profile) = pool.profile(|| by_halves(&values));
    println!("by halves:\n{profile}\n");
    let (second, profile) = pool.profile(|| by_tenths(&values));
    println!("by tenths:\n{profile}\n");
    println!("the sums: {first:.3e} and {second:.3e}");
    Ok(())
}
