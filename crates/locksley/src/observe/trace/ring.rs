//! The newest entries of one writer, for readers that do not stop it.
//!
//! ```text
//!   entries   n-2   n-1    n     .     .     .          `head` = n + 1: the next one to write
//!            |  .  |  .  |  .  |     | n-4 | n-3 |
//!                           ^ head mod length: what lies there may be half overwritten
//! ```
//!
//! **Invariant.** Entry `i` is in slot `i mod length` and complete, if `i < head` and
//! `i + length > head`. A writer at work writes entry `head`, over entry `head - length`, before it
//! raises `head`. So one slot more than the capacity keeps `capacity` entries readable at any time.
//!
//! **A reader** copies the slots below the `head` that it saw, looks at `head` again, and drops
//! those that may have been overwritten meanwhile: a seqlock whose sequence number is the writer's
//! own count. Slots are atomic words, so a torn copy is no data race, and is discarded.
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | G1 | write: fence before the slot's stores | Release | G2 | a reader that sees a word of entry `i` must see `head >= i` when it looks again; without it the earlier store of `head` may come later | `models::a_reader_sees_whole_entries` |
//! | G2 | read: fence after the slots' loads | Acquire | G1 | the second look at `head` might be older than the words | `models::a_reader_sees_whole_entries` |
//! | G3 | write: `head` is raised; read: first look | Release; Acquire | each other | one would see the count, and not the entries below it | `models::a_reader_sees_whole_entries` |
//! | G4 | read: second look | Relaxed | - | G2 orders it | none: nothing is weaker |

use locksley_trace::timeline::{EntryBatch, EntryWords};

use crate::sync::{AtomicU64, Ordering, fence};

/// Maximum number of entries of a ring: 256 MiB.
const MOST: usize = 1 << 24;

/// The ring. One thread writes, any thread reads.
pub(super) struct Ring {
    slots: Box<[[AtomicU64; 2]]>,
    /// Number of entries that have been written.
    head: AtomicU64,
}

impl Ring {
    /// Creates a ring for `capacity` entries, at least one.
    pub(super) fn new(capacity: usize) -> Ring {
        let slots = capacity.clamp(1, MOST) + 1;
        Ring {
            slots: (0..slots)
                .map(|_| [AtomicU64::new(0), AtomicU64::new(0)])
                .collect(),
            head: AtomicU64::new(0),
        }
    }

    fn length(&self) -> u64 {
        self.slots.len() as u64
    }

    fn slot(&self, number: u64) -> &[AtomicU64; 2] {
        &self.slots[(number % self.length()) as usize]
    }

    /// Writes an entry. For the one writer, which knows how many it has written.
    pub(super) fn push(&self, number: u64, words: EntryWords) {
        fence(Ordering::Release); // [G1]
        for (slot, word) in self.slot(number).iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.head.store(number + 1, Ordering::Release); // [G3]
    }

    /// Returns the entries from number `from` on that are still there.
    pub(super) fn read(&self, from: u64) -> EntryBatch {
        let head = self.head.load(Ordering::Acquire); // [G3]
        let oldest = |head: u64| (head + 1).saturating_sub(self.length());
        let copied = from.max(oldest(head));
        let copy = |number| {
            self.slot(number)
                .each_ref()
                .map(|word| word.load(Ordering::Relaxed))
        };
        let mut entries: Vec<EntryWords> = (copied..head).map(copy).collect();
        fence(Ordering::Acquire); // [G2]
        let intact = oldest(self.head.load(Ordering::Relaxed)); // [G4]
        let first = intact.clamp(copied, head.max(copied));
        entries.drain(..(first - copied) as usize);
        EntryBatch { entries, first }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../../tests/unit/observe/trace/ring.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "../../../tests/loom/observe/trace/ring.rs"]
mod models;
