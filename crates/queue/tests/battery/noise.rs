//! Delays a processor's stores.
//!
//! A store becomes visible to others only after the stores before it, and a store to a cache line
//! that another processor has just written takes long. So in a thread that calls [`Noise::make`]
//! before an operation, while others call it too, loads overtake stores by hundreds of nanoseconds
//! where no fence prevents it.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

/// A few lines of memory that every thread writes and none reads.
#[derive(Default)]
pub(crate) struct Noise([CachePadded<AtomicU32>; 6]);

impl Noise {
    #[inline]
    pub(crate) fn make(&self) {
        for line in &self.0 {
            line.store(0, Ordering::Relaxed);
        }
    }
}
