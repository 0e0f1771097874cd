//! Cancellation: many tasks search, and the first that finds a number stops the others.
//!
//! ```sh
//! cargo run --release -p locksley --example cancel
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::CancelToken;

/// A slow test: `n` is the product of two numbers above 300 that are close to each other.
fn is_wanted(n: u64) -> bool {
    let smallest = (2..n).take_while(|d| d * d <= n).find(|d| n % *d == 0);
    smallest.is_some_and(|d| d > 300 && n / d - d < 10)
}

fn main() {
    let (start, end, width) = (100_000, 400_000, 1000);
    let found = Mutex::new(None);
    let tested = AtomicU64::new(0);

    locksley::scope(|scope| {
        for from in (start..end).step_by(width) {
            let (found, tested) = (&found, &tested);
            scope.spawn(move |scope| {
                for n in from..from + width as u64 {
                    if scope.is_cancelled() {
                        return;
                    }
                    tested.fetch_add(1, Ordering::Relaxed);
                    if is_wanted(n) {
                        *found.lock().unwrap() = Some(n);
                        // Tasks that have not started will not start.
                        scope.cancel();
                    }
                }
            });
        }
    });

    let (found, tested) = (found.into_inner().unwrap(), tested.into_inner());
    println!("found {found:?} after {tested} of {} numbers", end - start);
    assert!(found.is_some_and(is_wanted));

    // Tasks outside of a scope can use a token. A child is cancelled with its parent.
    let all = CancelToken::new();
    let token = all.child();
    let task = locksley::spawn(move || {
        let rounds = (0_u64..).take_while(|_| !token.is_cancelled());
        rounds.count()
    });
    std::thread::sleep(std::time::Duration::from_millis(1));
    all.cancel();
    println!("the other task went round {} times", task.join());
}
