//! The pace of a worker's periodic requests: the more workers there are, the less frequent they
//! are, and they are spread over time.
//!
//! | request | how often | requests per second of 10,000 workers |
//! |---|---|---|
//! | heartbeat and renewal, in one request | every [`HEARTBEAT`] or three times in a lease; less often from 400 workers on | 200 |
//! | search for expired leases | all together some [`RECLAIMERS`] times in an interval | a few |
//! | request for work, while there is none | every second; less often from 2000 workers on | 1000 |

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use locksley_policy::{Random, Source};

/// Interval between heartbeats if there are few workers.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

/// Number of workers that look for expired leases in an interval. One would suffice, but some may
/// be gone.
pub const RECLAIMERS: u32 = 4;

/// Returns the time in which each worker makes one request if all together make 200 a second, but
/// at most 50 s.
///
/// A request, with eight leases to renew, costs a server some 0.25 to 0.36 ms if it shares its
/// processor with other work, and much less otherwise. So this is less than a tenth of a processor.
fn crowded(workers: u32) -> Duration {
    (Duration::from_millis(5) * workers).min(Duration::from_secs(50))
}

/// Returns the interval between heartbeats.
pub fn heartbeat(workers: u32) -> Duration {
    crowded(workers).max(HEARTBEAT)
}

/// Returns the interval between renewals of a lease of this length: a third of it. With many
/// workers leases are longer than that, as long as three [heartbeats](heartbeat).
pub fn renew(workers: u32, lease: Duration) -> Duration {
    (lease / 3)
        .max(crowded(workers))
        .max(Duration::from_millis(10))
}

/// Returns the time for which a heartbeat counts: one may be late, and one may be lost.
pub fn alive_for(workers: u32) -> Duration {
    7 * heartbeat(workers) / 2
}

/// Returns how long a worker with free slots blocks on the server.
pub fn wait(workers: u32) -> Duration {
    Duration::from_secs(u64::from(workers / 1000).clamp(1, 10))
}

/// Returns the time until a worker looks for expired leases, if the next one may expire after
/// `next`.
pub fn reclaim_interval(workers: u32, next: Option<Duration>) -> Duration {
    let next = next.unwrap_or(HEARTBEAT);
    let next = next.clamp(Duration::from_millis(10), HEARTBEAT);
    next * (workers / RECLAIMERS).max(1)
}

/// Random variation of times.
pub(super) struct Jitter(Random);

impl Jitter {
    pub(super) fn new() -> Jitter {
        Jitter(Random::new(RandomState::new().hash_one(Instant::now()), 0))
    }

    /// Returns a random number from 0 to 1.
    pub(super) fn chance(&mut self) -> f64 {
        self.0.unit()
    }

    /// Returns a random time between three quarters of `time` and all of it.
    pub(super) fn before(&mut self, time: Duration) -> Duration {
        time.mul_f64(0.75 + 0.25 * self.chance())
    }

    /// Returns a random time between three quarters and five quarters of `time`.
    pub(super) fn about(&mut self, time: Duration) -> Duration {
        time.mul_f64(0.75 + 0.5 * self.chance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_workers_ask_a_server_no_more_than_it_bears() {
        let a_second = |time: Duration| 10_000.0 / time.as_secs_f64();
        assert_eq!(heartbeat(1), HEARTBEAT);
        assert!(a_second(heartbeat(10_000)) <= 200.0);
        assert!(a_second(wait(10_000)) <= 1000.0);
        assert!(a_second(reclaim_interval(10_000, None)) <= f64::from(RECLAIMERS));
        let leases = |workers| renew(workers, Duration::from_secs(15));
        assert_eq!(leases(100), Duration::from_secs(5));
        assert!(a_second(leases(10_000)) <= 200.0);
        assert_eq!(
            reclaim_interval(1, Some(Duration::ZERO)),
            Duration::from_millis(10)
        );
        for workers in [1, 100, 10_000] {
            assert!(alive_for(workers) > 3 * heartbeat(workers));
        }
    }

    #[test]
    fn jitter_is_spread() {
        let mut jitter = Jitter::new();
        let times: Vec<f64> = (0..1000)
            .map(|_| jitter.about(Duration::from_secs(4)).as_secs_f64())
            .collect();
        assert!(times.iter().all(|time| (3.0..=5.0).contains(time)));
        assert!(times.iter().any(|time| *time < 3.2) && times.iter().any(|time| *time > 4.8));
    }
}
