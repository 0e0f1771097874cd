//! Ticks as in a game: idle for some milliseconds, then serial work between bursts of short jobs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::hangs::work;

/// Number of jobs of each burst, and number of calls of [`work`] in a job: some microseconds.
const BURSTS: [u64; 8] = [12, 24, 48, 16, 64, 24, 32, 12];
const JOB: u64 = 10;

/// Number of calls of [`work`] in the serial part between two bursts: about 25 microseconds.
const SERIAL: u64 = 70;

/// Time outside of the pool between two ticks.
const OUTSIDE: Duration = Duration::from_millis(3);

fn works(count: u64) -> u64 {
    (0..count).map(work).fold(0, u64::wrapping_add)
}

/// Returns the nanoseconds that a tick took.
pub(crate) fn tick(pool: &rayon::ThreadPool) -> String {
    thread::sleep(OUTSIDE);
    let start = Instant::now();
    let sum = AtomicU64::new(0);
    pool.install(|| {
        for burst in BURSTS {
            sum.fetch_add(works(SERIAL), Ordering::Relaxed);
            rayon::scope(|scope| {
                for _ in 0..burst {
                    scope.spawn(|_| {
                        sum.fetch_add(works(JOB), Ordering::Relaxed);
                    });
                }
            });
        }
    });
    let taken = start.elapsed();
    let jobs = works(JOB).wrapping_mul(BURSTS.iter().sum());
    let serial = works(SERIAL).wrapping_mul(BURSTS.len() as u64);
    assert_eq!(sum.into_inner(), jobs.wrapping_add(serial));
    taken.as_nanos().to_string()
}
