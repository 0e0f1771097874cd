//! Decides when an idle thread stops yielding, because other programs want the processors.
//!
//! If another thread computes on the same processor, a yield lasts for that thread's time slice,
//! some milliseconds; a thread that sleeps gets a processor as soon as it is woken. So after a long
//! yield a worker sleeps for a while instead of yielding. Threads outside of the pool that wait for
//! it have a backoff of their own: if such a thread has woken a worker on its own processor, its
//! yield lasts as long as the task, which tells the workers nothing.
//!
//! A long yield may also come from two of the pool's own threads on one processor while another is
//! free. Sleeping once helps in that case, too: the system wakes a thread on a free processor, and
//! yields are short from then on. So the first pause is short, and each long yield doubles it,
//! until a series of short yields shows that there is room.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// In nanoseconds: a yield of at least this length gave the processor to a thread that computes.
const LONG: u64 = 500_000;

/// The first pause, in nanoseconds: long enough for the next step of the same thread to see it.
const FIRST: u64 = 500_000;

/// The longest pause, in nanoseconds.
const LAST: u64 = 128_000_000;

/// Number of short yields in a row after which no other thread is taken to compute on the
/// processor.
const ROOM: usize = 64;

/// What the yields of a worker have shown, or those of all threads outside of the pool. Its words
/// are hints: if threads write them at the same time, a yield may be lost.
#[derive(Debug)]
pub(crate) struct YieldBackoff {
    /// No thread yields before this time, in nanoseconds.
    until: AtomicU64,
    /// Length of the last pause; 0 if there is room.
    pause: AtomicU64,
    /// Number of short yields since the last long one.
    short: AtomicUsize,
}

impl YieldBackoff {
    pub(crate) fn new() -> YieldBackoff {
        YieldBackoff {
            until: AtomicU64::new(0),
            pause: AtomicU64::new(0),
            short: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if an idle thread may yield, and `false` if it should sleep.
    pub(crate) fn may_yield(&self, now: u64) -> bool {
        now >= self.until.load(Ordering::Relaxed)
    }

    /// Notes a yield.
    pub(crate) fn note_yield(&self, began: u64, ended: u64) {
        let pause = self.pause.load(Ordering::Relaxed);
        if ended.saturating_sub(began) >= LONG {
            if !self.may_yield(began) {
                // Several threads waited for the same processor, and another has noted that.
                return;
            }
            let pause = (2 * pause).clamp(FIRST, LAST);
            self.pause.store(pause, Ordering::Relaxed);
            self.short.store(0, Ordering::Relaxed);
            self.until.store(ended + pause, Ordering::Relaxed);
        } else if pause > 0 {
            let short = self.short.load(Ordering::Relaxed) + 1;
            self.short.store(short, Ordering::Relaxed);
            if short >= ROOM {
                self.pause.store(0, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/yield_backoff.rs"]
mod tests;
