//! Traces of reads, for the models.
//!
//! A thief reads a slot, then raises the top index by compare-and-swap with Release; the owner
//! reads that index with Acquire, then rewrites the slot. If one of the two were weaker, the thief
//! could read what the owner wrote later: load buffering, which loom never produces, since it runs
//! each load before the stores that come later. A trace turns it into message passing, which loom
//! does produce. The thief stores its [sequence number](Trace::leave), Relaxed, before its
//! compare-and-swap; the owner, before it rewrites the slot, [checks](Trace::expect) that it sees
//! the number of the theft that it knows of. An ordering that makes the trace visible also orders
//! the thief's read of the slot, because both come before the compare-and-swap.
//!
//! Without loom a trace has no size and its methods do nothing.

#[cfg(loom)]
use super::{AtomicU64, Ordering};

/// The highest sequence number of a thief that has read a slot and is about to take the item.
#[derive(Debug)]
pub(crate) struct Trace {
    #[cfg(loom)]
    start: u64,
    #[cfg(loom)]
    last: AtomicU64,
}

#[cfg(not(loom))]
impl Trace {
    #[inline(always)]
    pub(crate) const fn new(_start: u64) -> Trace {
        Trace {}
    }

    #[inline(always)]
    pub(crate) fn leave(&self, _number: u64) {}

    #[inline(always)]
    pub(crate) fn expect(&self, _number: u64) {}
}

#[cfg(loom)]
impl Trace {
    /// Creates an empty trace. Sequence numbers are counted from `start`, and may wrap around.
    pub(crate) fn new(start: u64) -> Trace {
        Trace {
            start,
            last: AtomicU64::new(0),
        }
    }

    /// Records the number of the theft that the caller is about to try.
    pub(crate) fn leave(&self, number: u64) {
        let nth = number.wrapping_sub(self.start).wrapping_add(1);
        self.last.fetch_max(nth, Ordering::Relaxed);
    }

    /// Asserts that the theft with this number, or a later one, is visible in the trace.
    pub(crate) fn expect(&self, number: u64) {
        let nth = number.wrapping_sub(self.start).wrapping_add(1);
        assert!(
            self.last.load(Ordering::Relaxed) >= nth,
            "a slot is rewritten that a thief may not have read yet"
        );
    }
}
