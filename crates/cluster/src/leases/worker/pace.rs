//! The pace of a worker's periodic requests: the more workers there are, the less frequent they
//! are, and they are spread over time.
//!
//! | request | how often | requests per second of 10,000 workers |
//! |---|---|---|
//! | heartbeat and renewal, in one request | every [`BEAT`] or three times in a lease; less often from 400 workers on | 200 |
//! | search for expired leases | all together some [`LOOKERS`] times in an interval | a few |
//! | request for work, while there is none | every second; less often from 2000 workers on | 1000 |

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// Interval between heartbeats if there are few workers.
pub const BEAT: Duration = Duration::from_secs(2);

/// Number of workers that look for expired leases in an interval. One would suffice, but some may
/// be gone.
pub const LOOKERS: u32 = 4;

/// Returns the time in which each worker makes one request if all together make 200 a second, but
/// at most 50 s.
///
/// A request, with eight leases to renew, costs a server some 0.25 to 0.36 ms if it shares its
/// processor with other work, and much less otherwise. So this is less than a tenth of a processor.
fn crowded(workers: u32) -> Duration {
    (Duration::from_millis(5) * workers).min(Duration::from_secs(50))
}

/// Returns the interval between heartbeats.
pub fn beat(workers: u32) -> Duration {
    crowded(workers).max(BEAT)
}

/// Returns the interval between renewals of a lease of this length: a third of it. With many
/// workers leases are longer than that, as long as three [beats](beat).
pub fn renew(workers: u32, lease: Duration) -> Duration {
    (lease / 3)
        .max(crowded(workers))
        .max(Duration::from_millis(10))
}

/// Returns the time for which a heartbeat counts: one may be late, and one may be lost.
pub fn alive_for(workers: u32) -> Duration {
    7 * beat(workers) / 2
}

/// Returns how long a worker with free slots blocks on the server.
pub fn wait(workers: u32) -> Duration {
    Duration::from_secs(u64::from(workers / 1000).clamp(1, 10))
}

/// Returns the time until a worker looks for expired leases, if the next one may expire after
/// `next`.
pub fn look(workers: u32, next: Option<Duration>) -> Duration {
    let next = next.unwrap_or(BEAT);
    let next = next.clamp(Duration::from_millis(10), BEAT);
    next * (workers / LOOKERS).max(1)
}

/// Random variation of times.
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn new() -> Jitter {
        Jitter(RandomState::new().hash_one(Instant::now()) | 1)
    }

    /// Returns a random number from 0 to 1.
    pub(super) fn chance(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
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
        assert_eq!(beat(1), BEAT);
        assert!(a_second(beat(10_000)) <= 200.0);
        assert!(a_second(wait(10_000)) <= 1000.0);
        assert!(a_second(look(10_000, None)) <= f64::from(LOOKERS));
        let leases = |workers| renew(workers, Duration::from_secs(15));
        assert_eq!(leases(100), Duration::from_secs(5));
        assert!(a_second(leases(10_000)) <= 200.0);
        assert_eq!(look(1, Some(Duration::ZERO)), Duration::from_millis(10));
        for workers in [1, 100, 10_000] {
            assert!(alive_for(workers) > 3 * beat(workers));
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
