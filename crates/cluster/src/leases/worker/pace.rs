//! How often a worker does what nothing asks for: the more workers there are, the more rarely, and
//! never all at the same time.
//!
//! | what | how often | of 10,000 workers, in a second |
//! |---|---|---|
//! | says that it is alive, and renews what it holds, in one request | every [`BEAT`] or three times in a lease, or more rarely from 400 workers on | 200 |
//! | looks for leases that ran out | all together some [`LOOKERS`] times in an interval | a few |
//! | asks for work, while there is none | every second, or more rarely from 2000 workers on | 1000 |

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// How often a worker says that it is alive, where there are few.
pub const BEAT: Duration = Duration::from_secs(2);

/// So many workers look for leases that ran out where one would do: some of them may be gone.
pub const LOOKERS: u32 = 4;

/// So long it takes until all workers together have each made one request: 200 in a second, and
/// each every 50 s at least.
///
/// A request, with eight leases to renew, costs a server that has something else to do on its
/// processor some 0.25 to 0.36 ms, and one of its own much less. So this is less than a tenth of a
/// processor.
fn crowded(workers: u32) -> Duration {
    (Duration::from_millis(5) * workers).min(Duration::from_secs(50))
}

/// How often a worker says that it is alive.
pub fn beat(workers: u32) -> Duration {
    crowded(workers).max(BEAT)
}

/// How often a worker renews a lease of this length: three times in it. With many workers leases
/// are longer than that, as long as three [beats](beat).
pub fn renew(workers: u32, lease: Duration) -> Duration {
    (lease / 3)
        .max(crowded(workers))
        .max(Duration::from_millis(10))
}

/// For how long that is taken to be true: a beat may be late, and one may be lost.
pub fn alive_for(workers: u32) -> Duration {
    7 * beat(workers) / 2
}

/// How long a worker that has free slots blocks on the server.
pub fn wait(workers: u32) -> Duration {
    Duration::from_secs(u64::from(workers / 1000).clamp(1, 10))
}

/// When a worker looks for leases that ran out, if the next one may run out after so long.
pub fn look(workers: u32, next: Option<Duration>) -> Duration {
    let next = next.unwrap_or(BEAT);
    let next = next.clamp(Duration::from_millis(10), BEAT);
    next * (workers / LOOKERS).max(1)
}

/// Chance.
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn new() -> Jitter {
        Jitter(RandomState::new().hash_one(Instant::now()) | 1)
    }

    /// From 0 to 1.
    pub(super) fn chance(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A time between three quarters of this and all of it.
    pub(super) fn before(&mut self, time: Duration) -> Duration {
        time.mul_f64(0.75 + 0.25 * self.chance())
    }

    /// A time between three quarters of this and five quarters.
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
