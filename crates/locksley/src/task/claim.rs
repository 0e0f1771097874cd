//! Decides which thread runs a task that has a handle, and which one frees it.
//!
//! Such a task has two references: the *entry* in a queue, and the *handle*. The holder of either
//! may claim the task, once; the winner runs it. If the handle wins, the entry is a *ghost*; if the
//! entry wins, the handle's owner waits. The release of the last reference frees the memory.
//!
//! ```text
//!            entry popped, or stolen                   handle joined on a worker
//!                     │                                         │
//!                   claim ───────── one of them wins ───────── claim
//!                     │                                         │
//!                  release ── the last of them frees ──────── release
//! ```
//!
//! **A task runs exactly once.** One worker takes the entry out of its queue, and claims; the
//! handle claims only when it is joined. So there are at most two claims, and the first one wins.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | K1 | claim: swap | Relaxed | - | the closure was written before either reference was given away, and reached its owner by the queue or with the handle; what the runner writes is published by the latch and by K2 | `claim::models::one_of_two_runs_it_and_the_last_frees_it` |
//! | K2 | release: swap | AcqRel | itself | the last one frees what the other has read and written | as K1 |

use crate::sync::{AtomicBool, Ordering};

/// The claim to a task, and the references to it: an entry and a handle.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    claimed: AtomicBool,
    /// Set when the first of the two references has been released.
    released: AtomicBool,
}

impl Claim {
    /// Claims the task. Returns `true` if the caller must run it.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::Relaxed) // [K1]
    }

    /// Claims the task for a caller that has taken the entry out of its queue and has the handle
    /// too, so that no other thread can. The entry's reference is gone.
    #[inline]
    pub(crate) fn claim_alone(&self) {
        self.claimed.store(true, Ordering::Relaxed);
        self.released.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Relaxed)
    }

    /// Releases a reference. Returns `true` if it was the last one: then the caller must free the
    /// task.
    #[inline]
    pub(crate) fn release(&self) -> bool {
        self.released.swap(true, Ordering::AcqRel) // [K2]
    }
}

#[cfg(all(test, loom))]
#[path = "../../tests/loom/task/claim.rs"]
mod models;
