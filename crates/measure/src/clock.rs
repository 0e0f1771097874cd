//! Two clocks. A busy machine takes the processor away for milliseconds at a time, which is as long
//! as a sample: the thread's own clock stands still meanwhile.

use std::time::{Duration, Instant};

/// The processor time of the calling thread, from a start on. Where the system has no such
/// clock, the time on the wall.
///
/// ```
/// let clock = locksley_measure::ThreadClock::start();
/// assert!(clock.elapsed() <= clock.elapsed());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(Duration);

impl ThreadClock {
    /// Starts counting.
    pub fn start() -> ThreadClock {
        ThreadClock(now())
    }

    /// What the thread has used since the start, in which it was this very thread.
    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

/// The time on the wall, for workloads of several threads.
pub type WallClock = Instant;

/// The processor time that all threads of this process have used, where the system can tell.
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

/// The processor time that all threads of this process have used, where the system can tell.
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
