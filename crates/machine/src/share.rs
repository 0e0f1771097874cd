//! How many of a pool's workers have a processor, while that changes.
//!
//! A container's quota or the affinity mask may be changed while a program runs. Workers for which
//! there is no processor any more would only take time from the others, and use up a quota sooner.
//! So a pool looks once a second how many processors there are, and if there are fewer than there
//! were before, workers beyond their share hold back before they take a job. So do workers for
//! which make has no job (`jobserver`).
//!
//! They are not shut out, because a task may wait for one that only such a worker is free to run. A
//! worker that holds back sleeps for [`PAUSE`] at a time, and goes on only as long as the process
//! uses the processors that there are for it; and no longer than `LONGEST`.

use std::time::Duration;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How long it is between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// How long a worker beyond the share sleeps at a time.
pub const PAUSE: Duration = Duration::from_millis(20);

/// After how long such a worker takes a job even if all processors are in use: what uses them may
/// be other threads of the program, or tasks that wait for that job.
const LONGEST: Duration = Duration::from_millis(200);

/// How many workers have a processor.
pub struct Share {
    /// The most processors that there were at any look; 0 before the first. The pool does not look
    /// when it is built: a program that ends soon had better not ask.
    most: AtomicUsize,
    /// How many workers the pool has.
    size: usize,
    /// How many of them have a processor.
    active: AtomicUsize,
    /// How many processors there were at the last look.
    processors: AtomicUsize,
    /// When to look again, in nanoseconds of the pool's clock.
    next: AtomicU64,
}

impl Share {
    /// Creates the share of a pool of `size` workers, which all have a processor at first.
    pub fn new(size: usize) -> Share {
        Share {
            most: AtomicUsize::new(0),
            size,
            active: AtomicUsize::new(size),
            processors: AtomicUsize::new(size),
            next: AtomicU64::new(nanoseconds(EVERY)),
        }
    }

    /// How many workers have a processor.
    #[inline]
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// How many processors the workers that have one share.
    pub fn processors(&self) -> usize {
        self.active().min(self.processors.load(Ordering::Relaxed))
    }

    /// Asks `processors` how many there are, if that has not been done for a second before `now`.
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
pub struct Hold {
    begun: u64,
    /// When it last looked, and what the process had used by then.
    looked: (u64, Usage),
}

impl Hold {
    /// Begins to hold a worker back.
    pub fn begin(now: u64) -> Hold {
        let looked = (now, Usage::now().unwrap_or_default());
        Hold { begun: now, looked }
    }

    /// Returns `true` if the worker goes on holding back: so many processors were in use since the
    /// last look.
    pub fn goes_on(&mut self, now: u64, processors: usize) -> bool {
        Usage::now().is_some_and(|usage| self.is_crowded(now, usage, processors))
    }

    /// The same, for a process that has used so much in all.
    fn is_crowded(&mut self, now: u64, usage: Usage, processors: usize) -> bool {
        let (then, before) = std::mem::replace(&mut self.looked, (now, usage));
        let processors = processors as u64;
        // Half a processor is not enough for one more worker.
        let used = 2 * usage.time.saturating_sub(before.time);
        let in_use = used >= (now - then) * (2 * processors).saturating_sub(1);
        // Where other processes take their turns, the threads want more than they get.
        let taken_away = usage.preemptions.saturating_sub(before.preemptions) >= processors;
        (in_use || taken_away) && now - self.begun < nanoseconds(LONGEST)
    }
}

/// What this process has used: processor time in nanoseconds, and how many times a processor was
/// taken away from one of its threads.
#[derive(Clone, Copy, Default)]
struct Usage {
    time: u64,
    preemptions: u64,
}

impl Usage {
    /// What the system tells, if it does.
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

/// How many of `size` workers, for which there were up to `most` processors, have one of those that
/// there are `now`: all, unless there are fewer; then as many as before for each of them, and one
/// at least.
fn share(size: usize, most: usize, now: usize) -> usize {
    if now >= most {
        return size;
    }
    (size * now).div_ceil(most).max(1)
}

#[cfg(test)]
#[path = "../tests/unit/share.rs"]
mod tests;
