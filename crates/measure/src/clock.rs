//! Two clocks: wall time and the processor time of a thread. On a busy machine a thread loses its
//! processor for milliseconds at a time, which is as long as a sample; its own clock stands still
//! meanwhile.

use std::time::{Duration, Instant};

/// The processor time of the calling thread since a start. On systems without such a clock, wall
/// time.
///
/// ```
/// let clock = locksley_measure::ThreadClock::start();
/// assert!(clock.elapsed() <= clock.elapsed());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(Duration);

impl ThreadClock {
    /// Starts the clock.
    pub fn start() -> ThreadClock {
        ThreadClock(now())
    }

    /// Returns the processor time that the thread has used since the start. To be called by the
    /// thread that started the clock.
    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

/// Wall time, for workloads of several threads.
pub type WallClock = Instant;

/// Returns the processor time that all threads of this process have used, if the system has such a
/// clock.
///
/// ```
/// assert!(locksley_measure::clock::process() <= locksley_measure::clock::process());
/// ```
#[cfg(unix)]
pub fn process() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec as u32,
    ))
}

/// Returns the processor time that all threads of this process have used, if the system has such a
/// clock.
#[cfg(not(unix))]
pub fn process() -> Option<Duration> {
    None
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(not(unix))]
fn now() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn waiting_costs_a_thread_nothing() {
        let own = ThreadClock::start();
        let busy = std::thread::spawn(|| {
            let clock = ThreadClock::start();
            while clock.elapsed() < Duration::from_millis(20) {}
            clock.elapsed()
        });
        let other = busy.join().expect("it does not panic");
        assert!(own.elapsed() < other / 2);
    }
}
