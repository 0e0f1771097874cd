//! Heavy barriers that are shared by workers that go to sleep at about the same time.
//!
//! `README.md` describes them.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | Y1 | fence between the calls and the ticket | SeqCst | the heavy barrier (Z2) behind Y2 | a barrier could count for calls that it did not order | `models::a_barrier_is_shared` |
//! | Y2 | a barrier begins | Relaxed | - | Y1 and the barrier order it | |
//! | Y3 | a barrier ends | Release | Y4 | not shown by loom: its heavy barrier is a fence, which releases too | |
//! | Y4 | a look at what has ended | Acquire | Y3 | the sleeper could look for work before the barrier | `models::a_barrier_is_shared` |

use crossbeam_utils::CachePadded;
use locksley_queue::barrier;

use crate::sync::{AtomicU64, Ordering, fence};

/// The heavy barriers of a pool's sleepers.
#[derive(Debug, Default)]
pub(crate) struct SharedBarrier(CachePadded<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    /// Number of barriers that have begun.
    begun: AtomicU64,
    /// The largest number of a barrier that has ended.
    ended: AtomicU64,
}

/// Number of barriers that had begun at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

impl SharedBarrier {
    /// Returns a ticket for what the calling thread has stored so far.
    pub(crate) fn ticket(&self) -> Ticket {
        fence(Ordering::SeqCst); // [Y1]
        Ticket(self.0.begun.load(Ordering::Relaxed)) // [Y2]
    }

    /// Passes a heavy barrier. Returns `false` if it was refused.
    pub(crate) fn pass(&self) -> bool {
        let number = self.0.begun.fetch_add(1, Ordering::Relaxed) + 1; // [Y2]
        let ordered = barrier::heavy(); // [Z2]
        if ordered {
            self.0.ended.fetch_max(number, Ordering::Release); // [Y3]
        }
        ordered
    }

    /// Returns `true` if a barrier has ended that began after this ticket was taken.
    pub(crate) fn was_passed_since(&self, ticket: Ticket) -> bool {
        self.0.ended.load(Ordering::Acquire) > ticket.0 // [Y4]
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/scheduler/idle/shared_barrier.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../../../tests/loom/scheduler/idle/shared_barrier.rs"]
mod models;
