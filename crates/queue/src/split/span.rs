//! The word that owner and thieves share: the range of the public items.

use crate::ring::{Index, STRIDE};

/// The public part of a deque, packed into one word.
///
/// | bits | meaning |
/// |---|---|
/// | 63..24 | `top`, in slots, modulo 2^40 |
/// | 23..1 | number of items from `top` on that are public, or are to become public |
/// | 0 | set while a thief is forcing them to become public: they are not public yet |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) u64);

const FORCING: u64 = 1;
const LEN_SHIFT: u32 = 1;
const TOP_SHIFT: u32 = 24;

/// The largest number of items that can be public at once. The others stay private.
pub(super) const MOST_PUBLIC: u64 = (1 << (TOP_SHIFT - LEN_SHIFT)) - 1;

/// Number of bits of `top`.
const TOP_BITS: u32 = u64::BITS - TOP_SHIFT;

const _: () = assert!(FORCING < 1 << LEN_SHIFT && LEN_SHIFT < TOP_SHIFT);

impl Span {
    /// Returns the span of `len` public items from the index `top` on.
    pub(super) fn new(top: Index, len: u64) -> Span {
        debug_assert!(len <= MOST_PUBLIC);
        Span((top / STRIDE) << TOP_SHIFT | len << LEN_SHIFT)
    }

    /// Returns the span of the same items while a thief is forcing them to become public.
    pub(super) fn forced(self) -> Span {
        Span(self.0 | FORCING)
    }

    pub(super) fn is_forcing(self) -> bool {
        self.0 & FORCING != 0
    }

    /// Returns the number of public items.
    pub(super) fn len(self) -> u64 {
        if self.is_forcing() {
            0
        } else {
            (self.0 >> LEN_SHIFT) & MOST_PUBLIC
        }
    }

    /// Returns `top`, given an index less than 2^39 slots away from it.
    pub(super) fn top(self, near: Index) -> Index {
        let ahead = (near / STRIDE).wrapping_sub(self.0 >> TOP_SHIFT);
        // The difference of the low 40 bits, with its sign.
        let ahead = (ahead << TOP_SHIFT) as i64 >> (u64::BITS - TOP_BITS);
        near.wrapping_sub((ahead as u64).wrapping_mul(STRIDE))
    }

    /// Returns the end of the public part, given an index near it.
    pub(super) fn split(self, near: Index) -> Index {
        self.top(near).wrapping_add(self.len() * STRIDE)
    }

    /// Returns the span without the first `count` items.
    pub(super) fn without_oldest(self, count: u64) -> Span {
        // The carry out of the topmost bit is lost: `top` wraps around.
        Span(
            self.0
                .wrapping_add(count << TOP_SHIFT)
                .wrapping_sub(count << LEN_SHIFT),
        )
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for (top, len) in [
            (0, 0),
            (STRIDE, 1),
            (((1 << TOP_BITS) - 1) * STRIDE, MOST_PUBLIC),
            (1 << 50, 7),
        ] {
            let span = Span::new(top, len);
            for near in [top, top + 8 * STRIDE, top.wrapping_sub(STRIDE)] {
                assert_eq!(span.top(near), top);
                assert_eq!(span.split(near), top + len * STRIDE);
            }
            assert_eq!(span.len(), len);
            assert!(!span.is_forcing());
        }
    }

    #[test]
    fn what_is_being_forced_is_not_public() {
        let span = Span::new(80, 5).forced();
        assert!(span.is_forcing());
        assert_eq!((span.len(), span.top(80), span.split(80)), (0, 80, 80));
    }

    #[test]
    fn the_top_wraps_round() {
        let last = ((1 << 40) - 1) * STRIDE;
        let span = Span::new(last, 3).without_oldest(2);
        assert_eq!(span.len(), 1);
        assert_eq!(span.top(last), last + 2 * STRIDE);
    }
}
