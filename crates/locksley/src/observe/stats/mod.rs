//! Counters of what each worker has done.
//!
//! Every worker has its own counters, on cache lines of its own, and is the only one that writes
//! them: a relaxed load and a relaxed store, no read-modify-write. Others read them at any time.
//! Threads outside of the pool share one set, which they add to atomically: each of their events
//! takes a lock or wakes a thread anyway. The fast path of `join` counts nothing.
//!
//! The counters say nothing about order: a reader may see one event and not yet another that came
//! before it. What happened before a result was handed over is counted when the result is seen;
//! fences, read-modify-writes and membarriers are copied from the thread's own count when it takes
//! a job, ends a wait or parks.
//!
//! Without the feature `stats` (and under loom, which has enough to do) [`Counters`] has no size
//! and its methods do nothing.

#[cfg(all(feature = "stats", not(loom)))]
mod observer;

#[cfg(all(feature = "stats", not(loom)))]
pub use observer::Observer;

pub(crate) use locksley_trace::stats::Event;

use locksley_trace::stats::EVENTS;
#[cfg(all(feature = "stats", not(loom)))]
use locksley_trace::stats::WorkerStats;

#[cfg(all(feature = "stats", not(loom)))]
use crate::strategy::local_queue::TransferCounts;
use crate::sync::{AtomicU64, Ordering};

/// Indices of the depth and of its maximum, after those of the events.
const DEPTH: usize = EVENTS;
const DEEPEST: usize = EVENTS + 1;

#[derive(Debug)]
#[cfg_attr(all(feature = "stats", not(loom)), repr(align(128)))]
pub(crate) struct Counters {
    counts: [AtomicU64; if Counters::ON { EVENTS + 2 } else { 0 }],
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Counters {
    /// `true` if events are counted.
    pub(crate) const ON: bool = cfg!(all(feature = "stats", not(loom)));

    #[inline]
    fn get(&self, index: usize) -> u64 {
        self.counts[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, index: usize, value: u64) {
        self.counts[index].store(value, Ordering::Relaxed);
    }

    /// Counts an event. For the owner.
    #[inline]
    pub(crate) fn count(&self, event: Event) {
        self.add(event, 1);
    }

    /// Counts several events of a kind. For the owner.
    #[inline]
    pub(crate) fn add(&self, event: Event, many: usize) {
        if Counters::ON {
            self.set(event as usize, self.get(event as usize) + many as u64);
        }
    }

    /// Counts an event. For threads that share the counters.
    pub(crate) fn count_shared(&self, event: Event) {
        if Counters::ON {
            self.counts[event as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Publishes what the calling thread's queues have counted, and what its own deque has
    /// exposed. For the owner.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn publish(&self, exposed: u64) {
        let counts = locksley_queue::counts::of_this_thread();
        self.set(Event::Fence as usize, counts.fences);
        self.set(Event::Rmw as usize, counts.rmws);
        self.set(Event::Membarrier as usize, counts.membarriers);
        self.set(Event::Exposed as usize, exposed);
    }

    /// Publishes what the worker's queue has given and taken. For the owner.
    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn publish_transfers(&self, transfers: TransferCounts) {
        let counts = [
            (Event::Offered, transfers.offered),
            (Event::Refused, transfers.refused),
            (Event::Mailed, transfers.mailed),
            (Event::Accepted, transfers.accepted),
            (Event::Late, transfers.late),
            (Event::Ghost, transfers.ghosts),
            (Event::Dealt, transfers.dealt),
            (Event::Kept, transfers.kept),
            (Event::Collected, transfers.collected),
            (Event::Recalled, transfers.recalled),
            (Event::Near, transfers.near),
            (Event::Hit, transfers.hits),
        ];
        for (event, count) in counts {
            self.set(event as usize, count);
        }
    }

    /// Sets the owner's depth, and updates its maximum.
    pub(crate) fn set_depth(&self, depth: usize) {
        if Counters::ON {
            self.set(DEPTH, depth as u64);
            self.set(DEEPEST, self.get(DEEPEST).max(depth as u64));
        }
    }

    #[cfg(all(feature = "stats", not(loom)))]
    pub(crate) fn snapshot(&self) -> WorkerStats {
        WorkerStats::new(
            |event| self.get(event as usize),
            self.get(DEPTH),
            self.get(DEEPEST),
        )
    }
}

const _: () = assert!(Counters::ON || size_of::<Counters>() == 0);
