//! How long a worker without work goes on looking for work before it sleeps.
//!
//! Waking a worker takes some ten microseconds, during which a burst of short tasks gets no help. A
//! program with short serial phases pays that in every phase. So a worker whose last pauses were
//! short, and which was busy for a good part of the time between them, looks for work for as long
//! as such a pause may last. Any other worker sleeps at once. Hypervisors use a similar rule to
//! poll before they halt a virtual processor.
//!
//! Only one worker of a pool lingers at a time. When it finds a job, it wakes others.
//!
//! In addition, all workers linger whose last job was targeted at them, whatever their pauses were:
//! the next broadcast needs each of them, and waking them costs its caller more than the
//! broadcast's jobs.

use std::cell::Cell;

/// The longest pause that is worth waiting for, in nanoseconds: a few times what it takes to wake a
/// worker. Programs whose pauses are longer lose little by a wake-up in each.
const LONGEST: u64 = 150_000;

/// A pause is worth waiting for if it is at most this many times as long as the work between
/// pauses.
const WORTH: u64 = 4;

/// Approximate cost of waking a worker, for both sides together, in nanoseconds. Less work than
/// that is not worth a wake-up.
const WAKE_UP: u64 = 25_000;

/// A new value makes up one part in this many of an average.
const WEIGHT: u64 = 4;

/// What a worker remembers of its pauses, in nanoseconds. Accessed by the owner only.
#[derive(Debug)]
pub(crate) struct Linger {
    /// When the worker last ran out of work, or found some.
    since: Cell<u64>,
    /// The average length of its pauses. None counts as more than twice [`LONGEST`].
    pause: Cell<u64>,
    /// The average time that it was busy between them.
    busy: Cell<u64>,
    /// Set while it is the one worker of its pool that lingers.
    pub(crate) lingers: Cell<bool>,
    /// Set while it does the work that it was woken for.
    pub(crate) woken: Cell<bool>,
    /// Set if its last job was targeted at it.
    pub(crate) targeted: Cell<bool>,
}

impl Linger {
    pub(crate) fn new() -> Linger {
        Linger {
            since: Cell::new(0),
            pause: Cell::new(2 * LONGEST),
            busy: Cell::new(0),
            lingers: Cell::new(false),
            woken: Cell::new(false),
            targeted: Cell::new(false),
        }
    }

    /// Notes that the worker has run out of work. If it was woken for that work, returns whether it
    /// was worth a wake-up.
    pub(crate) fn begin_pause(&self, now: u64) -> Option<bool> {
        let busy = now.saturating_sub(self.since.replace(now));
        average(&self.busy, busy.min(WORTH * LONGEST));
        self.woken.take().then_some(busy >= WAKE_UP)
    }

    /// Notes that the worker has found work.
    pub(crate) fn end_pause(&self, now: u64) {
        let pause = now.saturating_sub(self.since.replace(now));
        average(&self.pause, pause.min(2 * LONGEST));
    }

    /// Returns `true` if the worker should look for work a while longer.
    pub(crate) fn is_worthwhile(&self, now: u64) -> bool {
        let (pause, busy) = (self.pause.get(), self.busy.get());
        let elapsed = now.saturating_sub(self.since.get());
        if self.targeted.get() {
            return elapsed < LONGEST;
        }
        pause <= LONGEST && pause <= WORTH * busy && elapsed < (2 * pause).min(LONGEST)
    }
}

fn average(average: &Cell<u64>, value: u64) {
    average.set((average.get() * (WEIGHT - 1) + value) / WEIGHT);
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/linger.rs"]
mod tests;
