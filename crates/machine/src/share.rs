//! The number of a pool's workers that have a processor, which can change.
//!
//! A container's quota or the affinity mask may be changed while a program runs. Workers without a
//! processor would only take time from the others, and use up a quota sooner. So a pool checks once
//! a second how many processors there are. If there are fewer than before, the workers in excess
//! hold back before they take a job. So do workers for which make has no job (`jobserver`).
//!
//! They are not stopped, because a task may wait for another one that only such a worker is free to
//! run. A worker that holds back sleeps for [`PAUSE`] at a time. It continues to hold back only as
//! long as the process uses the processors that it has, and no longer than `LONGEST`.

use std::time::Duration;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Time between two checks.
const EVERY: Duration = Duration::from_secs(1);

/// Time for which a worker that holds back sleeps at a time.
pub const PAUSE: Duration = Duration::from_millis(20);

/// Time after which such a worker takes a job even if all processors are in use: other threads of
/// the program may use them, or tasks that wait for that job.
const LONGEST: Duration = Duration::from_millis(200);

/// The number of workers that have a processor.
pub struct ActiveShare {
    /// The largest number of processors at any check; 0 before the first. There is no check when
    /// the pool is built, to spare programs that end soon the system calls.
    most: AtomicUsize,
    /// Number of workers of the pool.
    size: usize,
    /// Number of workers that have a processor.
    active: AtomicUsize,
    /// Number of processors at the last check.
    processors: AtomicUsize,
    /// Time of the next check, in nanoseconds of the pool's clock.
    next: AtomicU64,
}

impl ActiveShare {
    /// Creates the share of a pool of `size` workers, which all have a processor at first.
    pub fn new(size: usize) -> ActiveShare {
        ActiveShare {
            most: AtomicUsize::new(0),
            size,
            active: AtomicUsize::new(size),
            processors: AtomicUsize::new(size),
            next: AtomicU64::new(nanoseconds(EVERY)),
        }
    }

    /// Returns the number of workers that have a processor.
    #[inline]
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Returns the number of processors that these workers share.
    pub fn processors(&self) -> usize {
        self.active().min(self.processors.load(Ordering::Relaxed))
    }

    /// Calls `processors` for the number of processors, if the last check was a second or more
    /// before `now`.
    pub fn look(&self, now: u64, processors: impl FnOnce() -> usize) {
        let next = self.next.load(Ordering::Relaxed);
        if now < next {
            return;
        }
        let then = now.saturating_add(nanoseconds(EVERY));
        let race = self
            .next
            .compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed);
        if race.is_ok() {
            let now = processors();
            let most = self.most.fetch_max(now, Ordering::Relaxed).max(now);
            let active = share(self.size, most, now);
            self.active.store(active, Ordering::Relaxed);
            self.processors.store(now, Ordering::Relaxed);
        }
    }
}

/// A worker that holds back. Times are in nanoseconds of the pool's clock.
pub struct Backoff {
    begun: u64,
    /// Time of the last check, and what the process had used by then.
    looked: (u64, Usage),
}

impl Backoff {
    /// Creates the state of a worker that begins to hold back.
    pub fn begin(now: u64) -> Backoff {
        let looked = (now, Usage::now().unwrap_or_default());
        Backoff { begun: now, looked }
    }

    /// Returns `true` if the worker is to continue to hold back: `processors` processors were in
    /// use since the last check.
    pub fn goes_on(&mut self, now: u64, processors: usize) -> bool {
        Usage::now().is_some_and(|usage| self.is_crowded(now, usage, processors))
    }

    /// As [`goes_on`](Self::goes_on), given the process's total usage.
    fn is_crowded(&mut self, now: u64, usage: Usage, processors: usize) -> bool {
        let (then, before) = std::mem::replace(&mut self.looked, (now, usage));
        let processors = processors as u64;
        // Half a processor is not enough for one more worker.
        let used = 2 * usage.time.saturating_sub(before.time);
        let in_use = used >= (now - then) * (2 * processors).saturating_sub(1);
        // If other processes preempt the threads, these need more time than they get.
        let taken_away = usage.preemptions.saturating_sub(before.preemptions) >= processors;
        (in_use || taken_away) && now - self.begun < nanoseconds(LONGEST)
    }
}

/// Usage of this process: processor time in nanoseconds, and the number of times that one of its
/// threads was preempted.
#[derive(Clone, Copy, Default)]
struct Usage {
    time: u64,
    preemptions: u64,
}

impl Usage {
    /// Returns the usage, if the system provides it.
    fn now() -> Option<Usage> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
            // SAFETY: there is room for the result, which is written if the call succeeds.
            let usage = unsafe {
                let refused = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0;
                (!refused).then(|| usage.assume_init())
            }?;
            let time =
                |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1000);
            Some(Usage {
                time: nanoseconds(time(usage.ru_utime) + time(usage.ru_stime)),
                preemptions: usage.ru_nivcsw as u64,
            })
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        None
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns how many of `size` workers have a processor, if there were up to `most` processors
/// before and are `now` processors: all, unless there are fewer than before; then in the same
/// proportion, and at least one.
fn share(size: usize, most: usize, now: usize) -> usize {
    if now >= most {
        return size;
    }
    (size * now).div_ceil(most).max(1)
}

#[cfg(test)]
#[path = "../tests/unit/share.rs"]
mod tests;
