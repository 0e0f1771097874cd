//! A pool without threads of its own: the thread that builds it is its only worker, and runs tasks
//! when it waits for them. On WebAssembly without threads, every pool is like that.
//!
//! ```sh
//! cargo run --release -p locksley --example one_thread
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::flow::Sum;
use locksley::prelude::*;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let builder = locksley::Pool::builder().workers(1);
    let pool = builder.use_current_thread().build().unwrap();
    assert_eq!(locksley::current_worker_index(), Some(0));
    println!("fib(20) is {}", fib(20));
    assert_eq!(fib(20), 6765);

    // No task runs before this thread waits.
    let counter = AtomicUsize::new(0);
    let before = locksley::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|_| _ = counter.fetch_add(1, Ordering::Relaxed));
        }
        counter.load(Ordering::Relaxed)
    });
    assert_eq!((before, counter.into_inner()), (0, 100));
    assert_eq!(locksley::spawn(|| 6 * 7).join(), 42);
    assert_eq!(pool.broadcast(|context| context.index()), [0]);

    let mut numbers: Vec<u64> = (0..100_000).rev().collect();
    let sum: u64 = numbers.par().map(|n| n * n).sum();
    assert_eq!(sum, 333_328_333_350_000);
    numbers.par_sort_unstable();
    assert!(numbers.is_sorted());

    let mut total = 0;
    locksley::flow(|f| {
        let total = f.cumulative(&mut total, Sum);
        for number in 0..10 {
            f.fork(total.cumulate(), move |mut total| total.add(number));
        }
    });
    assert_eq!(total, 45);
}
