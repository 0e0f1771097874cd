//! Clocks: wall time, processor time, and the time for which a rank was awake.

use std::time::{Duration, Instant, SystemTime};

/// Returns the nanoseconds since 1970.
pub(super) fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Returns the processor time that all threads of this process have used, where the system can
/// tell.
#[cfg(feature = "mpi")]
pub(super) fn process() -> Option<Duration> {
    #[cfg(unix)]
    return Some(read(rustix::time::ClockId::ProcessCPUTime));
    #[cfg(not(unix))]
    None
}

/// Returns the processor time that this thread has used, where the system can tell.
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

/// Longest time between two readings that is counted.
const LONGEST_GAP: Duration = Duration::from_millis(250);

/// Measures the time for which a rank was awake. If the rank itself was stopped, or got no
/// processor, other ranks must not be host_note for the silence.
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

    /// Returns how long the rank has been awake.
    pub(super) fn now(&mut self) -> Duration {
        let now = Instant::now();
        self.awake += now.duration_since(self.last).min(LONGEST_GAP);
        self.last = now;
        self.awake
    }
}
