//! What each worker has done, counted.
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
//! and its methods no body.

#[cfg(all(feature = "stats", not(loom)))]
mod observer;

#[cfg(all(feature = "stats", not(loom)))]
pub use observer::Observer;

pub(crate) use locksley_trace::stats::Event;

#[cfg(all(feature = "stats", not(loom)))]
mod on {
    use locksley_trace::stats::{self, Event, WorkerStats};

    use crate::strategy::local_queue::TransferCounts;
    use crate::sync::{AtomicU64, Ordering};

    /// One worker's counters.
    #[derive(Debug)]
    #[repr(align(128))]
    pub(crate) struct Counters {
        counts: [AtomicU64; stats::EVENTS],
        depth: AtomicU64,
        deepest: AtomicU64,
    }

    impl Default for Counters {
        fn default() -> Counters {
            Counters {
                counts: std::array::from_fn(|_| AtomicU64::new(0)),
                depth: AtomicU64::new(0),
                deepest: AtomicU64::new(0),
            }
        }
    }

    impl Counters {
        /// `true` if events are counted.
        pub(crate) const ON: bool = true;

        /// Counts an event. For the owner.
        #[inline]
        pub(crate) fn count(&self, event: Event) {
            let count = &self.counts[event as usize];
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }

        /// Counts several events of a kind. For the owner.
        #[inline]
        pub(crate) fn add(&self, event: Event, many: usize) {
            let count = &self.counts[event as usize];
            let sum = count.load(Ordering::Relaxed) + many as u64;
            count.store(sum, Ordering::Relaxed);
        }

        /// Counts an event. For threads that share the counters.
        pub(crate) fn count_shared(&self, event: Event) {
            self.counts[event as usize].fetch_add(1, Ordering::Relaxed);
        }

        fn set(&self, event: Event, value: u64) {
            self.counts[event as usize].store(value, Ordering::Relaxed);
        }

        /// Publishes what the calling thread's queues have counted, and what its own deque has
        /// exposed. For the owner.
        pub(crate) fn publish(&self, exposed: u64) {
            let counts = locksley_queue::counts::of_this_thread();
            self.set(Event::Fence, counts.fences);
            self.set(Event::Rmw, counts.rmws);
            self.set(Event::Membarrier, counts.membarriers);
            self.set(Event::Exposed, exposed);
        }

        /// Publishes what the worker's queue has given and taken. For the owner.
        pub(crate) fn publish_transfers(&self, transfers: TransferCounts) {
            self.set(Event::Offered, transfers.offered);
            self.set(Event::Refused, transfers.refused);
            self.set(Event::Mailed, transfers.mailed);
            self.set(Event::Accepted, transfers.accepted);
            self.set(Event::Late, transfers.late);
            self.set(Event::Ghost, transfers.ghosts);
            self.set(Event::Dealt, transfers.dealt);
            self.set(Event::Kept, transfers.kept);
            self.set(Event::Collected, transfers.collected);
            self.set(Event::Recalled, transfers.recalled);
            self.set(Event::Near, transfers.near);
            self.set(Event::Hit, transfers.hits);
        }

        /// The owner's depth is now this.
        pub(crate) fn set_depth(&self, depth: usize) {
            let depth = depth as u64;
            self.depth.store(depth, Ordering::Relaxed);
            if depth > self.deepest.load(Ordering::Relaxed) {
                self.deepest.store(depth, Ordering::Relaxed);
            }
        }

        pub(crate) fn snapshot(&self) -> WorkerStats {
            WorkerStats::new(
                |event| self.counts[event as usize].load(Ordering::Relaxed),
                self.depth.load(Ordering::Relaxed),
                self.deepest.load(Ordering::Relaxed),
            )
        }
    }
}

#[cfg(not(all(feature = "stats", not(loom))))]
mod off {
    use super::Event;
    use crate::strategy::local_queue::TransferCounts;

    /// Counters that count nothing.
    #[derive(Debug, Default)]
    pub(crate) struct Counters {}

    const _: () = assert!(size_of::<Counters>() == 0);

    impl Counters {
        pub(crate) const ON: bool = false;

        #[inline(always)]
        pub(crate) fn count(&self, _: Event) {}

        #[inline(always)]
        pub(crate) fn add(&self, _: Event, _: usize) {}

        #[inline(always)]
        pub(crate) fn count_shared(&self, _: Event) {}

        #[inline(always)]
        pub(crate) fn publish(&self, _: u64) {}

        #[inline(always)]
        pub(crate) fn publish_transfers(&self, _: TransferCounts) {}

        #[inline(always)]
        pub(crate) fn set_depth(&self, _: usize) {}
    }
}

#[cfg(not(all(feature = "stats", not(loom))))]
pub(crate) use off::Counters;
#[cfg(all(feature = "stats", not(loom)))]
pub(crate) use on::Counters;
