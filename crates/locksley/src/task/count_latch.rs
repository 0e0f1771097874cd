//! The number of a scope's unfinished tasks: a count that its owner changes without atomic
//! read-modify-writes.
//!
//! The owner, the worker that waits for the scope, spawns most of its tasks, and runs many of them.
//! It counts those in its own cell (`local`); all other threads add to and subtract from a shared
//! word (`shared`). Either part may be negative; the sum is the number of unfinished tasks. While
//! the owner is busy, it computes the sum itself. Before it sleeps it *settles*: it adds its own
//! count to the shared word and marks that word. From then on all threads count there, and the
//! thread that brings the count to zero sets the latch.
//!
//! ```text
//!   shared   | count, signed          | settled |
//!            63                       1         0
//! ```
//!
//! **No thread accesses a count that may be gone.** The owner leaves when it finds that the sum is
//! zero. By then every other thread has subtracted what it had added, and that subtraction was its
//! last access, unless it saw the mark: with the mark, the owner leaves only when the latch is set,
//! and setting the latch is the last access.
//!
//! A count without an owner is settled from the start.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | P1 | take away one | AcqRel | itself, P2 | the thread that finds zero must see what all tasks wrote | `count_latch::models::the_owner_sees_what_all_wrote` |
//! | P2 | the owner reads the sum; settling | Acquire | P1 | as P1 | as P1 |

use crate::sync::{AtomicBool, AtomicIsize, Ordering};
use crate::task::latch::{Awaited, Latch};

/// One task in the shared word.
const ONE: isize = 2;

/// Set when the owner, too, counts in the shared word, and waits for the latch.
const SETTLED: isize = 1;

/// A count of unfinished tasks. It starts at one, for the waiter.
#[derive(Debug)]
pub(crate) struct CountLatch {
    /// The owner's part of the count, until it settles. Loaded and stored by the owner's thread
    /// only.
    local: AtomicIsize,
    /// Set if the owner has settled. Accessed by the owner's thread only.
    settled: AtomicBool,
    shared: AtomicIsize,
    /// Set when a settled count comes to zero.
    pub(crate) latch: Latch,
}

impl CountLatch {
    /// Creates a count with an owner.
    pub(crate) fn owned() -> CountLatch {
        CountLatch {
            local: AtomicIsize::new(1),
            settled: AtomicBool::new(false),
            shared: AtomicIsize::new(0),
            latch: Latch::new(),
        }
    }

    /// Creates a count without an owner, for threads that all use the shared word.
    pub(crate) fn shared() -> CountLatch {
        CountLatch {
            local: AtomicIsize::new(0),
            settled: AtomicBool::new(true),
            shared: AtomicIsize::new(ONE | SETTLED),
            latch: Latch::new(),
        }
    }

    /// Returns `true` if the caller counts in the owner's cell.
    #[inline]
    fn is_local(&self, by_owner: bool) -> bool {
        by_owner && !self.settled.load(Ordering::Relaxed)
    }

    fn count_here(&self, difference: isize) {
        let local = self.local.load(Ordering::Relaxed);
        self.local.store(local + difference, Ordering::Relaxed);
    }

    /// Adds one. The caller holds one already, so the count is not zero. `by_owner` is `true` on
    /// the owner's thread.
    #[inline]
    pub(crate) fn add(&self, by_owner: bool) {
        if self.is_local(by_owner) {
            self.count_here(1);
        } else {
            self.shared.fetch_add(ONE, Ordering::Relaxed);
        }
    }

    /// Subtracts one, which the caller holds. If this returns `true`, the caller must set the
    /// latch, and no other thread will; otherwise it must not access the count again, unless it is
    /// the owner.
    #[inline]
    pub(crate) fn take_away(&self, by_owner: bool) -> bool {
        if self.is_local(by_owner) {
            self.count_here(-1);
            return false;
        }
        let before = self.shared.fetch_sub(ONE, Ordering::AcqRel); // [P1]
        before == ONE | SETTLED
    }
}

impl Awaited for CountLatch {
    #[inline]
    fn is_over(&self) -> bool {
        if self.settled.load(Ordering::Relaxed) {
            return self.latch.probe();
        }
        let shared = self.shared.load(Ordering::Acquire); // [P2]
        shared / ONE + self.local.load(Ordering::Relaxed) == 0
    }

    fn latch(&self) -> Option<&Latch> {
        if self.settled.load(Ordering::Relaxed) {
            return Some(&self.latch);
        }
        let local = self.local.load(Ordering::Relaxed);
        let settled = local * ONE + SETTLED;
        let before = self.shared.fetch_add(settled, Ordering::AcqRel); // [P2]
        self.local.store(0, Ordering::Relaxed);
        // If no task is left, no thread will set the latch.
        let over = before / ONE + local == 0;
        self.settled.store(!over, Ordering::Relaxed);
        (!over).then_some(&self.latch)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/task/count_latch.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/count_latch.rs"]
mod models;
