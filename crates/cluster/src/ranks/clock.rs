//! Times: on the wall, of the processor, and that in which a rank was awake.

use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since 1970.
pub(super) fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// The processor time that all threads of this process have used, where the system can tell.
#[cfg(feature = "mpi")]
pub(super) fn process() -> Option<Duration> {
    #[cfg(unix)]
    return Some(read(rustix::time::ClockId::ProcessCPUTime));
    #[cfg(not(unix))]
    None
}

/// The processor time that this thread has used, where the system can tell.
pub(super) fn thread() -> Option<Duration> {
    #[cfg(unix)]
    return Some(read(rustix::time::ClockId::ThreadCPUTime));
    #[cfg(not(unix))]
    None
}

#[cfg(unix)]
fn read(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// More than this between two readings is not counted.
const NAP: Duration = Duration::from_millis(250);

/// The time that a rank has spent awake. If it was stopped itself, or its machine had no time for
/// it, that is no other rank's silence.
pub(super) struct Awake {
    last: Instant,
    awake: Duration,
}

impl Awake {
    pub(super) fn new() -> Awake {
        Awake {
            last: Instant::now(),
            awake: Duration::ZERO,
        }
    }

    /// How long it has been awake.
    pub(super) fn now(&mut self) -> Duration {
        let now = Instant::now();
        self.awake += now.duration_since(self.last).min(NAP);
        self.last = now;
        self.awake
    }
}
