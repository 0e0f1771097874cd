//! How many of a pool's workers have a processor, while that changes.
//!
//! A container's quota or the affinity mask may be changed while a program runs. Workers for which
//! there is no processor any more would only take time from the others, and use up a quota sooner.
//! So a pool looks once a second how many processors there are, and if there are fewer than there
//! were before, workers beyond their share hold back: before each job they sleep for [`PAUSE`].
//! They are not shut out, because a task may wait for one that only such a worker is free to run.

use std::time::Duration;

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// How long it is between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// How long a worker beyond the share sleeps before each job.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// How many workers have a processor.
pub(crate) struct Share {
    /// The most processors that there were at any look; 0 before the first. The pool does not look
    /// when it is built: a program that ends soon had better not ask.
    most: AtomicUsize,
    /// How many workers the pool has.
    size: usize,
    /// How many of them have a processor.
    active: AtomicUsize,
    /// When to look again, in nanoseconds of the pool's clock.
    next: AtomicU64,
}

impl Share {
    pub(crate) fn new(size: usize) -> Share {
        Share {
            most: AtomicUsize::new(0),
            size,
            active: AtomicUsize::new(size),
            next: AtomicU64::new(nanoseconds(EVERY)),
        }
    }

    /// How many workers have a processor.
    #[inline]
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Asks `processors` how many there are, if that has not been done for a second before `now`.
    pub(crate) fn look(&self, now: u64, processors: impl FnOnce() -> usize) {
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
        }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_many_workers_for_each_processor_as_before() {
        assert_eq!(share(8, 8, 8), 8);
        assert_eq!(share(8, 8, 16), 8);
        assert_eq!(share(8, 8, 3), 3);
        assert_eq!(share(8, 8, 0), 1);
        assert_eq!(
            share(8, 2, 2),
            8,
            "more workers than processors, as was asked for"
        );
        assert_eq!(share(8, 2, 1), 4);
        assert_eq!(share(2, 64, 63), 2);
        assert_eq!(share(2, 64, 32), 1);
    }

    #[test]
    fn one_look_in_a_second() {
        let share = Share::new(4);
        let second = nanoseconds(EVERY);
        share.look(second - 1, || unreachable!("too early"));
        assert_eq!(share.active(), 4);
        share.look(second, || 4);
        assert_eq!(share.active(), 4);
        share.look(2 * second - 1, || unreachable!("too early"));
        share.look(2 * second, || 2);
        assert_eq!(share.active(), 2);
        share.look(3 * second, || 4);
        assert_eq!(share.active(), 4);
    }
}
