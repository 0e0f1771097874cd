//! The donation cell of a worker: IDLE, WORKING, or an offer.
//!
//! ```text
//!               donor: offer (CAS)
//!    +------+ ----------------------> +-------+
//!    | IDLE | <---------------------- | Offer |
//!    +------+    its worker: take     +-------+
//!      |  ^                               |
//!      |  | its worker: set_idle          | its worker: set_working
//!      v  |                               | (the offer lapses)
//!    +---------+ <------------------------'
//!    | WORKING |
//!    +---------+  initially
//! ```
//!
//! An offer that lapses, or that `set_idle` overwrites, loses no work: the entry's pointer is still
//! in the donor's deque.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | S1 | offer: compare-and-swap of IDLE | Release | S2 | the donee must see the entry as shared, or it refuses a good offer | `an_uncontested_offer_is_accepted` |
//! | S2 | take: swap with IDLE | Acquire | S1 | as S1 | `an_uncontested_offer_is_accepted` |
//!
//! The other accesses are Relaxed: they carry nothing but the state itself. The task's contents are
//! published by the entry, not by the cell.

use std::fmt;

use crossbeam_utils::CachePadded;

use super::Offer;
use crate::sync::{AtomicU64, Ordering};

const IDLE: u64 = 0;
const WORKING: u64 = 2;

/// The state cell of a worker. Donors read it and put offers into it; the other methods are for the
/// worker itself.
pub struct State(CachePadded<AtomicU64>);

impl State {
    /// Creates a cell in the state WORKING.
    pub fn new() -> State {
        State(CachePadded::new(AtomicU64::new(WORKING)))
    }

    /// For a donor: returns `true` if the worker is idle, with no offer waiting.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == IDLE
    }

    /// For a donor: offers a task if the worker is idle and has no offer yet. Returns `true` if the
    /// offer was made. The donor learns whether it was accepted when it pops the entry's pointer.
    #[inline]
    pub fn offer(&self, offer: Offer) -> bool {
        self.is_idle() && self.put(offer)
    }

    fn put(&self, offer: Offer) -> bool {
        let put = self.0.compare_exchange(
            IDLE,
            offer.0,
            Ordering::Release, // [S1]
            Ordering::Relaxed,
        );
        put.is_ok()
    }

    /// For the worker, while idle: takes the offer in the cell, if any, and makes room for another.
    #[inline]
    pub fn take(&self) -> Option<Offer> {
        Offer::from_state(self.0.load(Ordering::Relaxed))?;
        Offer::from_state(self.0.swap(IDLE, Ordering::Acquire)) // [S2]
    }

    /// For the worker: notes that it has found work. An offer in the cell lapses.
    #[inline]
    pub fn set_working(&self) {
        self.0.store(WORKING, Ordering::Relaxed);
    }

    /// For the worker: notes that it has no work and accepts offers.
    #[inline]
    pub fn set_idle(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.load(Ordering::Relaxed) {
            IDLE => f.write_str("IDLE"),
            WORKING => f.write_str("WORKING"),
            offer => Offer(offer).fmt(f),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_offer_replaces_idle_and_nothing_else() {
        let state = State::new();
        let offers = [Offer::new(1, 2, 3), Offer::new(0, 0, 0)];
        assert!(!state.offer(offers[0]));
        state.set_idle();
        assert!(state.offer(offers[0]));
        assert!(!state.offer(offers[1]));
        assert_eq!(state.take(), Some(offers[0]));
        assert_eq!(state.take(), None);
        assert!(state.offer(offers[1]));
        state.set_working();
        assert!(!state.offer(offers[0]));
        assert_eq!(state.take(), None);
        assert!(!state.is_idle());
    }
}
