//! Makes a processor's stores late.
//!
//! A store becomes visible to others only when those before it have, and a store to a line that
//! another processor has just written takes long. So a thread that calls [`Noise::make`] before an
//! operation, while others call it too, sees its loads overtake its stores by hundreds of
//! nanoseconds where no fence holds them back.

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
