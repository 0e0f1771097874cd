//! The owner's position in the circle of slots.
//!
//! Within one round of the indices through the circle the owner needs no index: its bottom is the
//! address of a slot, and two more addresses bound the range in which it may move on the fast path.

use crate::ring::{Index, STRIDE, View, distance};
use crate::sync::AtomicPtr;

/// A position in a round: the address of its slot, or the address one past the circle's last slot.
pub(super) type Cursor = *const AtomicPtr<()>;

/// The data that the owner's fast path needs besides its cursor.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// A pop at this cursor takes the slow path.
    pub(super) floor: Cursor,
    /// A push at this cursor takes the slow path.
    pub(super) ceiling: Cursor,
    /// The circle's first slot, and its index in this round.
    first: Cursor,
    start: Index,
}

impl Bounds {
    /// Returns the bounds for the round of `index`. The floor is the start of the round, or
    /// `lowest` if that comes later; the ceiling is its end, or `limit` if that comes earlier.
    #[inline]
    pub(super) fn new(view: &View, index: Index, lowest: Index, limit: Index) -> Bounds {
        let start = view.round_start(index);
        let end = view.limit(start);
        let first = view.first().as_ptr().cast_const();
        let mut bounds = Bounds {
            floor: first,
            ceiling: first,
            first,
            start,
        };
        if distance(start, lowest) > 0 {
            bounds.floor = bounds.cursor(lowest);
        }
        bounds.ceiling = bounds.cursor(if distance(limit, end) > 0 { limit } else { end });
        bounds
    }

    /// Returns the position of an index of this round, or of its end.
    #[inline]
    pub(super) fn cursor(&self, index: Index) -> Cursor {
        let slots = index.wrapping_sub(self.start) / STRIDE;
        self.first.wrapping_add(slots as usize)
    }

    /// Returns the index of a position.
    #[inline]
    pub(super) fn index(&self, cursor: Cursor) -> Index {
        let slots = (cursor.addr() - self.first.addr()) / size_of::<AtomicPtr<()>>();
        self.start.wrapping_add(slots as u64 * STRIDE)
    }
}
