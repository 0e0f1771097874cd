//! A bounded mailbox: many senders, one receiver, and no operation waits.
//!
//! A ring of slots. Positions are numbered without end, and each slot has a *stamp*: the position
//! that it serves, and whether it holds the mail for that position. Senders claim positions with a
//! compare-and-swap on `tail` and then fill the slot; the one receiver takes the mail and frees the
//! slot for the next lap. A full mailbox refuses mail. A sender that stalls between its claim and
//! the filling of the slot hides nothing but its own mail: the receiver looks past the slot.
//!
//! ```text
//!   position = | lap | 0 | index |     stamp = | lap | full | index |     (index < capacity)
//!
//!              receiver's head            tail: the next position to claim
//!                    |                      |
//!                    v                      v
//!   +--------+--------+--------+--------+--------+--------+
//!   |        |claimed,|        |  mail  |        |        |
//!   |        |unfilled| (taken)|        |        |        |
//!   +--------+--------+--------+--------+--------+--------+
//!    lap 8 0  lap 7 0  lap 8 0  lap 7 1  lap 7 0  lap 7 0      <- stamps: lap, full
//! ```
//!
//! # Invariant
//!
//! The stamp of the slot of position `p` takes the values `p` (free: the sender that claims `p` may
//! fill it), `p` with the full bit (only the receiver may take the mail), and `p` one lap later
//! (free again). Only the claimant of `p` makes the first step and only the receiver the second, so
//! the cell beside the stamp has one user at any time. `tail` moves past a position only when its
//! slot is free for it, so it is never more than one lap ahead of the oldest position whose mail
//! has not been taken.
//!
//! # Operations
//!
//! - [`Sender::send`] (enqueue): read `tail` and the stamp of its slot. If the slot is free for
//!   this position, advance `tail` by one with a compare-and-swap, write the item, and set the full
//!   bit. If the stamp is still that of the previous lap, the mailbox is full, and the item is
//!   returned. Otherwise `tail` has advanced: start again.
//! - [`consume`](Consumer::consume) (dequeue): if the slot at `head` is full, take its mail. Else
//!   read `tail` once and look at the slots from `head` up to it, in order, and take the first mail
//!   found. That costs one step for each position in between, and only while a sender has claimed a
//!   position and not filled it.
//!
//! ```
//! use locksley_queue::{Consumer, mailbox};
//!
//! let (sender, mut mailbox) = mailbox::bounded(3);
//! let other = sender.clone();
//! sender.send(1_u32).unwrap();
//! other.send(2).unwrap();
//! sender.send(3).unwrap();
//! assert_eq!(other.send(4).unwrap_err().into_inner(), 4); // full: it comes back
//! assert_eq!(mailbox.consume(), Some(1));
//! other.send(4).unwrap();
//! ```
//!
//! # Theorem
//!
//! Except for refusals, the mailbox is a linearizable first-in-first-out queue. `send` is
//! lock-free: it starts again only if another `send` has claimed a position. `consume` is
//! wait-free, with at most `capacity` steps beyond the slots it has already emptied. (Section 6.3.3
//! of Rito's thesis only asks for a constant-time queue whose dequeue returns EMPTY or a valid
//! entry.) Argument:
//!
//! - *Order.* Mail `a` must come before `b` only if the `send` of `a` ended before that of `b`
//!   began; then `a` has the smaller position. The receiver takes `b` before `a` only after it has
//!   looked at `a`'s slot in the same pass and found it unfilled. At the start of the pass `b`'s
//!   position was already claimed, so the `send` of `b` had begun, and that of `a` had not ended.
//! - *None.* Each slot was unfilled when it was looked at, therefore also when the pass began; that
//!   is a moment at which the mailbox was empty.
//! - *Refusal.* The slot of the next position still has the stamp of the previous lap. If no sender
//!   is between claim and filling, this means that the mailbox holds `capacity` items. If a sender
//!   stalls there, the others can go round the ring once. Then they are refused (not blocked) until
//!   its slot has been filled and emptied, although there is less mail than `capacity`.
//!
//! # Deviations from the paper
//!
//! The thesis's Algorithm 13 is a sketch, and incorrect: its dequeue reads `bottom` where it means
//! `top`; and two concurrent enqueues can move `bottom` behind `top`, after which the two are never
//! equal again and dequeue returns garbage. Its array has no end. The stamps solve both problems.
//! The thesis avoids synchronization between senders for speed; here it is one compare-and-swap on
//! a cache line that only senders write.
//!
//! # Orderings
//!
//! | tag | operation | ordering | pairs with | why not weaker | test |
//! |---|---|---|---|---|---|
//! | O1 | send: load the stamp | Acquire | O6, O3 | the receiver's last use of the cell must be over; and a sender that finds the slot filled must see the `tail` that its filler left | `full_mailbox` |
//! | O2 | send: compare-and-swap of `tail`, success | Release | O5 | the receiver that sees this position claimed must see what was filled before the claim, or it takes a sender's second letter before the first | `letters_of_one_sender_stay_in_order` |
//! | O3 | send: store the stamp with the full bit | Release | O4 | the receiver must see the item | `two_senders` |
//! | O4 | consume: load a stamp | Acquire | O3 | as O3 | `two_senders` |
//! | O5 | consume: load `tail` | Acquire | O2 | as O2 | `letters_of_one_sender_stay_in_order` |
//! | O6 | consume: store the stamp for the next lap | Release | O1 | the next sender must not write the cell before the item is out | `full_mailbox` |
//!
//! `tail` is loaded Relaxed by senders: an old value fails the compare-and-swap or finds a stamp
//! that is ahead of it.

use std::mem::MaybeUninit;

use crossbeam_utils::CachePadded;

use crate::sync::{Arc, AtomicU64, Ordering, UnsafeCell};
use crate::traits::{Consumer, Full, Producer};
use crate::word::Word;

struct Slot<T> {
    stamp: AtomicU64,
    /// Accessed by the claimant of the stamp's position until it sets the full bit, then by the
    /// receiver until it clears the bit. Initialized while the bit is set.
    cell: UnsafeCell<MaybeUninit<T>>,
}

struct Shared<T> {
    /// The next position to claim. Written by senders.
    tail: CachePadded<AtomicU64>,
    slots: Box<[Slot<T>]>,
    ring: Positions,
}

// SAFETY: a cell has one user at any time (see the field), and items are only moved in and out.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            if self.ring.is_full(slot.stamp.load(Ordering::Relaxed)) {
                // SAFETY: the full bit says that the cell is initialized, and no other thread is
                // left to take the item.
                slot.cell
                    .with_mut(|cell| unsafe { (*cell).assume_init_drop() });
            }
        }
    }
}

/// Arithmetic of positions: `lap | 0 | index`, so that a ring can have any capacity, and the stamp
/// of a position differs from that of the next lap even if the capacity is 1.
#[derive(Clone, Copy, Debug)]
struct Positions {
    last: u64,
    full: u64,
}

impl Positions {
    fn new(capacity: usize) -> Positions {
        Positions {
            last: capacity as u64 - 1,
            full: (capacity as u64).next_power_of_two(),
        }
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index is less than the capacity"
    )]
    fn index(self, position: u64) -> usize {
        (position & (self.full - 1)) as usize
    }

    /// Returns the position after this one.
    #[inline]
    fn next(self, position: u64) -> u64 {
        let index = position & (self.full - 1);
        if index < self.last {
            position + 1
        } else {
            self.next_lap(position - index)
        }
    }

    /// Returns the same slot's next position.
    #[inline]
    fn next_lap(self, position: u64) -> u64 {
        position.wrapping_add(2 * self.full)
    }

    /// Returns the same slot's previous position.
    #[inline]
    fn lap_before(self, position: u64) -> u64 {
        position.wrapping_sub(2 * self.full)
    }

    #[inline]
    fn is_full(self, stamp: u64) -> bool {
        stamp & self.full != 0
    }
}

/// Creates a mailbox with room for `capacity` items, clamped to 1..=2^31, and its first sender.
///
/// Items that are left are dropped with the last handle.
pub fn bounded<T: Word>(capacity: usize) -> (Sender<T>, Mailbox<T>) {
    starting_at(capacity, 0)
}

/// Creates a mailbox whose laps are counted from `start`.
#[doc(hidden)]
pub fn starting_at<T: Word>(capacity: usize, start: u64) -> (Sender<T>, Mailbox<T>) {
    let capacity = capacity.clamp(1, 1 << 31);
    let ring = Positions::new(capacity);
    let head = start.wrapping_mul(2 * ring.full);
    let slot = |index: usize| Slot {
        stamp: AtomicU64::new(head + index as u64),
        cell: UnsafeCell::new(MaybeUninit::uninit()),
    };
    let tail = CachePadded::new(AtomicU64::new(head));
    let shared = Arc::new(Shared {
        tail,
        slots: (0..capacity).map(slot).collect(),
        ring,
    });
    (
        Sender {
            shared: Arc::clone(&shared),
        },
        Mailbox { shared, head },
    )
}

/// The sending side. Senders may be cloned and shared.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Word> Sender<T> {
    /// Appends an item.
    ///
    /// # Errors
    ///
    /// A mailbox without room returns the item in [`Full`]. So does one whose receiver was dropped,
    /// once it is full.
    #[inline]
    pub fn send(&self, item: T) -> Result<(), Full<T>> {
        let Shared { tail, slots, ring } = &*self.shared;
        let mut position = tail.load(Ordering::Relaxed);
        loop {
            let slot = &slots[ring.index(position)];
            let stamp = slot.stamp.load(Ordering::Acquire); // [O1]
            if stamp != position {
                if stamp & !ring.full == ring.lap_before(position) {
                    return Err(Full(item));
                }
                position = tail.load(Ordering::Relaxed);
                continue;
            }
            let claim = tail.compare_exchange(
                position,
                ring.next(position),
                Ordering::Release, // [O2]
                Ordering::Relaxed,
            );
            if let Err(now) = claim {
                position = now;
                continue;
            }
            // SAFETY: the stamp says that the slot is free for this position, and the
            // compare-and-swap that no other sender has claimed it.
            slot.cell.with_mut(|cell| unsafe { (*cell).write(item) });
            slot.stamp.store(position | ring.full, Ordering::Release); // [O3]
            return Ok(());
        }
    }
}

impl<T: Word> Producer for Sender<T> {
    type Item = T;

    #[inline]
    fn produce(&mut self, item: T) -> Result<(), Full<T>> {
        self.send(item)
    }
}

/// The receiving side.
pub struct Mailbox<T> {
    shared: Arc<Shared<T>>,
    /// The oldest position whose mail may not have been taken.
    head: u64,
}

/// State of a position, as the receiver finds it.
enum Found<T> {
    Mail(T),
    Unfilled,
    Taken,
}

impl<T: Word> Mailbox<T> {
    /// Returns the capacity, in items.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// Takes the mail of a position, if it has arrived.
    #[inline]
    fn take(&mut self, position: u64) -> Found<T> {
        let ring = self.shared.ring;
        let slot = &self.shared.slots[ring.index(position)];
        let stamp = slot.stamp.load(Ordering::Acquire); // [O4]
        if stamp == position {
            return Found::Unfilled;
        }
        if stamp != position | ring.full {
            return Found::Taken;
        }
        // SAFETY: the full bit of this position is set, so the cell is initialized and the
        // receiver's, and `&mut self` is the only receiver. Clearing the bit makes this the only
        // move out of it.
        let item = slot.cell.with(|cell| unsafe { (*cell).assume_init_read() });
        slot.stamp.store(ring.next_lap(position), Ordering::Release); // [O6]
        Found::Mail(item)
    }

    /// Looks for mail behind the slot at `head`, which is unfilled.
    #[cold]
    fn look_past_head(&mut self) -> Option<T> {
        let tail = self.shared.tail.load(Ordering::Acquire); // [O5]
        // The distance from an unfilled head to the tail is at most one lap, so the loop ends.
        let mut position = self.head;
        while position != tail {
            if let Found::Mail(item) = self.take(position) {
                return Some(item);
            }
            position = self.shared.ring.next(position);
        }
        None
    }
}

impl<T: Word> Consumer for Mailbox<T> {
    type Item = T;

    #[inline]
    fn consume(&mut self) -> Option<T> {
        loop {
            match self.take(self.head) {
                Found::Mail(item) => {
                    self.head = self.shared.ring.next(self.head);
                    return Some(item);
                }
                Found::Unfilled => return self.look_past_head(),
                Found::Taken => self.head = self.shared.ring.next(self.head),
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_capacity_makes_laps() {
        for capacity in 1..=9_usize {
            let (sender, mut mailbox) = starting_at(capacity, u64::MAX - 2);
            assert_eq!(mailbox.capacity(), capacity);
            for round in 0..7 {
                for item in 0..capacity {
                    assert_eq!(sender.send(round + item), Ok(()));
                }
                assert_eq!(sender.send(99), Err(Full(99)));
                for item in 0..capacity {
                    assert_eq!(mailbox.consume(), Some(round + item));
                }
                assert_eq!(mailbox.consume(), None);
            }
        }
    }

    #[test]
    fn a_stalled_sender_hides_only_its_own_mail() {
        let (sender, mut mailbox) = starting_at(3, u64::MAX);
        let Shared { tail, slots, ring } = &*sender.shared;
        let stalled = tail.load(Ordering::Relaxed);
        tail.store(ring.next(stalled), Ordering::Relaxed);
        for item in 0..5_u32 {
            if item < 2 {
                assert_eq!(sender.send(item), Ok(()));
                assert_eq!(mailbox.consume(), Some(item));
            } else {
                assert_eq!(sender.send(item), Err(Full(item)));
            }
            assert_eq!(mailbox.consume(), None);
        }
        slots[0].cell.with_mut(|cell| {
            // SAFETY: the position was claimed above, and there is no other thread.
            unsafe { (*cell).write(7) };
        });
        slots[0].stamp.store(stalled | ring.full, Ordering::Relaxed);
        assert_eq!(mailbox.consume(), Some(7));
        assert_eq!(sender.send(8), Ok(()));
        assert_eq!(mailbox.consume(), Some(8));
        assert_eq!(mailbox.consume(), None);
    }

    #[test]
    fn what_is_inside_is_dropped_once() {
        let item = std::sync::Arc::new(());
        let (sender, mut mailbox) = bounded(4);
        for _ in 0..4 {
            sender.send(std::sync::Arc::clone(&item)).unwrap();
        }
        drop(mailbox.consume());
        drop(mailbox);
        assert_eq!(std::sync::Arc::strong_count(&item), 4);
        drop(sender);
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
    }
}
